/* SPDX-License-Identifier: Apache-2.0
 *
 * heddle for C, and for every language that can call C: PTX in the simulated SM. libheddle.so has it; the Python
 * module is written on it.
 *
 *   heddle_module* module = heddle_module_load(text, "saxpy.ptx");
 *   heddle_region regions[] = {{"x", x, bytes, 1}, {"y", y, bytes, 1}};
 *   heddle_launch launch = {.kernel = "saxpy", .arch = "sm90", .grid = {4, 1, 1}, .block = {128, 1, 1},
 *                           .parameters = &parameters, .parameter_bytes = sizeof parameters,
 *                           .regions = regions, .region_count = 2, .check_races = 1};
 *   heddle_report* report = heddle_module_launch(module, &launch);
 *   if (report == NULL) puts(heddle_error());
 *
 * A call that fails returns null or a number that is not 0, and heddle_error() says why, by the rule, the value
 * and what would pass. Nothing throws. What is returned as text lives as long as what it was asked of. Before
 * version 1.0 structures may grow at their end.
 */
#pragma once

#include <stddef.h>  // NOLINT: this header is C
#include <stdint.h>  // NOLINT

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heddle_module heddle_module;
typedef struct heddle_report heddle_report;

const char* heddle_version(void);

/* Why the last call of this thread failed. */
const char* heddle_error(void);

typedef struct {
  const char* name;
  size_t bytes;
  size_t offset; /* in the parameters of a launch */
  int is_float;
} heddle_parameter;

typedef struct {
  const char* name;
  const heddle_parameter* parameters;
  size_t parameter_count;
  size_t parameter_bytes; /* of all */
  uint32_t max_threads;   /* 0: it does not say */
  uint32_t required_block[3];
  uint32_t required_cluster[3];
  size_t static_shared_bytes;
  const char* unsupported; /* why it cannot be run; "" if it can */
} heddle_kernel;

/* `name` is what reports call the text. */
heddle_module* heddle_module_load(const char* text, const char* name);
void heddle_module_free(heddle_module* module);
const char* heddle_module_target(const heddle_module* module); /* such as sm_90a */
size_t heddle_module_kernel_count(const heddle_module* module);
int heddle_module_kernel(const heddle_module* module, size_t index, heddle_kernel* kernel);

/* A tensor map for a parameter of 128 bytes; dimension 0 is the contiguous one. */
typedef struct {
  const char* type; /* u8, u16, u32, i32, u64, i64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz */
  uint32_t rank;
  const void* address;
  uint64_t dims[5];    /* elements */
  uint64_t strides[4]; /* bytes from one index to the next, of dimensions 1 up */
  uint32_t box[5];     /* elements */
  const char* swizzle; /* none, 32B, 64B or 128B */
} heddle_tensor;
int heddle_tensor_map(const heddle_tensor* tensor, void* map);

/* Memory that kernels may reach, by the address that it has here. */
typedef struct {
  const char* name;
  void* begin;
  size_t bytes;
  int is_writable;
} heddle_region;

typedef void (*heddle_print)(void* context, const char* text, size_t bytes);

/* What is 0 or null is as in `heddle exec`, but for check_races. */
typedef struct {
  const char* kernel;
  const char* arch; /* sm90 or sm100 */
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t cluster[3]; /* 0, 0, 0: what the kernel asks for, or none */
  size_t dynamic_shared_bytes;
  const void* parameters;
  size_t parameter_bytes;
  const heddle_region* regions;
  size_t region_count;
  uint32_t sms;
  const char* schedule;
  uint32_t schedules; /* more of them, each from the same memory */
  uint64_t seed;      /* of the first of these */
  uint32_t pct_depth;
  uint64_t budget; /* instructions */
  int check_races;
  int strict;
  const char* const* accepted; /* as --accept has them */
  size_t accepted_count;
  heddle_print print; /* what the kernel prints; null: to the standard output */
  void* print_context;
} heddle_launch;

/* Runs to the end. A mistake of the kernel is in the report; null is for a launch that no card would take. */
heddle_report* heddle_module_launch(const heddle_module* module, const heddle_launch* launch);

typedef struct {
  const char* code;        /* a section of docs/diagnostics.md */
  const char* verdict;     /* wrong, formal or unsupported */
  const char* text;        /* the whole message */
  const char* accepted_by; /* the rule that let it pass, or "" */
  const char* const* places;
  size_t place_count;
  uint64_t times;
  int has_stopped; /* the launch ended with it */
} heddle_finding;

/* Those that stopped the launch come first. */
size_t heddle_report_count(const heddle_report* report);
int heddle_report_finding(const heddle_report* report, size_t index, heddle_finding* finding);
const char* heddle_report_kernel(const heddle_report* report);
const char* heddle_report_schedule(const heddle_report* report);
uint64_t heddle_report_instructions(const heddle_report* report);
void heddle_report_free(heddle_report* report);

/* Matmuls, where heddle was built with its kernels: out = alpha * A * B + beta * out + bias, as
 * kernels/matmul/api/matmul_problem.h has it. Sizes, pitches and strides in elements. */
typedef struct {
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t batches;
  const char* a_type; /* bf16, fp16, fp32, tf32, e4m3 or e5m2 */
  const char* b_type;
  const char* out_type;
  int a_is_mn_major; /* A is [K, M] in memory */
  int b_is_mn_major; /* B is [K, N] in memory, and not [N, K] */
  int64_t a_pitch;   /* 0: rows follow one another */
  int64_t b_pitch;
  int64_t out_pitch;
  int64_t a_batch_stride; /* 0: matrices follow one another */
  int64_t b_batch_stride;
  int64_t out_batch_stride;
  float alpha;
  float beta;
  const void* a;
  const void* b;
  void* out;
  const void* bias;     /* null: none */
  uint32_t sms;         /* of the simulated card; 0: 4 */
  const char* schedule; /* null: round robin */
} heddle_matmul_call;

/* In host memory, on "sim:sm90", "sim:sm100" or "cuda:N". Where the kernel is stopped, heddle_error() is the
 * report. */
int heddle_matmul(const heddle_matmul_call* call, const char* device);
/* In the memory of the current GPU: starts it in the stream (a cudaStream_t) and does not wait. */
int heddle_matmul_in_stream(const heddle_matmul_call* call, void* stream);
/* The same with other addresses than the call's, for one that is made once and then only read. */
int heddle_matmul_of_addresses(const heddle_matmul_call* call, const void* a, const void* b, void* out,
                               const void* bias, void* stream);

/* Matmuls of groups of rows, and of FP8 with scales, for Hopper: kernels/matmul/api/matmul_grouped_problem.h. */
typedef struct {
  int64_t groups;
  int64_t m;
  int64_t n;
  int64_t k;
  const char* rows;    /* ends, counts or all */
  const char* scaling; /* none, tensors, rows or blocks */
  const char* a_type;  /* bf16, e4m3 or e5m2 */
  const char* b_type;
  const char* out_type; /* bf16, fp16 or fp32 */
  int is_exact;
  int64_t a_pitch; /* 0: rows follow one another */
  int64_t b_pitch;
  int64_t out_pitch;
  int64_t b_group_stride;
  int64_t a_scales_pitch;
  const void* a;
  const void* b;
  const int32_t* group_rows;
  void* out;
  const float* a_scales;
  const float* b_scales;
  uint32_t sms;
  const char* schedule;
} heddle_matmul_grouped_call;

/* As heddle_matmul(), and as heddle_matmul_in_stream(). */
int heddle_matmul_grouped(const heddle_matmul_grouped_call* call, const char* device);
int heddle_matmul_grouped_in_stream(const heddle_matmul_grouped_call* call, void* stream);

/* Attention, likewise: o = softmax(Q K^T * scale) V for every head of every batch, as
 * kernels/attention/attention_problem.h has it. Strides in elements. */
typedef struct {
  int64_t row; /* 0 for all three: rows follow one another, then heads, then batches */
  int64_t head;
  int64_t batch;
} heddle_attention_strides;

typedef struct {
  int64_t batches;
  int64_t heads;
  int64_t key_heads; /* 0: as heads */
  int64_t queries;
  int64_t keys;
  int64_t head_dim;
  int64_t value_dim; /* 0: as head_dim */
  const char* type;  /* bf16 or fp16 */
  int is_causal;
  int64_t window; /* 0: none */
  float soft_cap; /* 0: none */
  float scale;    /* 0: 1 / sqrt(head_dim) */
  heddle_attention_strides q_strides;
  heddle_attention_strides k_strides;
  heddle_attention_strides v_strides;
  heddle_attention_strides o_strides;
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* lse;         /* null: not wanted */
  const float* sinks; /* null: none */
  int64_t query_rows; /* where batches lie one after another, with offsets; otherwise 0 */
  int64_t key_rows;
  const int32_t* query_offsets;
  const int32_t* key_offsets;
  uint32_t sms;         /* of the simulated card; 0: 4 */
  const char* schedule; /* null: round robin */
} heddle_attention_call;

int heddle_attention(const heddle_attention_call* call, const char* device);
int heddle_attention_in_stream(const heddle_attention_call* call, void* stream);

#ifdef __cplusplus
}
#endif
