// SPDX-License-Identifier: Apache-2.0
//
// Attention behind functions that Python's ctypes can call: attention_bench.py and attention_decode_bench.py
// measure it beside torch.
#include "attention/attention_decode_sm90_host.h"
#include "attention/attention_fp8_sm90_host.h"
#include "attention/attention_sm90_host.h"

#include <heddle/host/error.h>

#include <exception>
#include <string>

namespace {

// Null if `work` has started something, otherwise why not, until the next call of this thread.
template <class Work>
const char* error_of(const Work& work) {
  thread_local std::string error;
  try {
    work();
    return nullptr;
  } catch (const std::exception& refused) {
    error = refused.what();
    return error.c_str();
  }
}

}  // namespace

// As AttentionCall of attention_bench.py has it. Tensors on the current GPU, without gaps: [batches, heads, rows,
// dim]; for decoding K and V may be [pages, page_size, key heads, dim]; with query_rows, [rows, heads, dim].
struct HeddleAttention {
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* lse;
  const float* sinks;
  void* stream;
  const std::int32_t* lengths;
  const std::int32_t* page_table;
  void* workspace;
  const std::int32_t* query_offsets;
  const std::int32_t* key_offsets;
  std::int64_t batches;
  std::int64_t heads;
  std::int64_t key_heads;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t head_dim;
  std::int64_t value_dim;
  std::int64_t is_fp16;
  std::int64_t is_causal;
  std::int64_t window;
  std::int64_t page_size;
  std::int64_t pages;
  std::int64_t query_rows;
  std::int64_t key_rows;
  float soft_cap;

  heddle::AttentionProblem problem() const {
    heddle::AttentionProblem problem{
        .batches = batches,
        .heads = heads,
        .key_heads = key_heads,
        .queries = queries,
        .keys = keys,
        .head_dim = head_dim,
        .value_dim = value_dim,
        .type = is_fp16 != 0 ? heddle::AttentionElement::kFp16 : heddle::AttentionElement::kBf16,
        .is_causal = is_causal != 0,
        .window = window,
        .soft_cap = soft_cap,
        .query_rows = query_rows,
        .key_rows = key_rows};
    if (query_rows != 0) {
      problem.q_strides = {.row = heads * head_dim, .head = head_dim};
      problem.k_strides = {.row = key_heads * head_dim, .head = head_dim};
      problem.v_strides = {.row = key_heads * value_dim, .head = value_dim};
      problem.o_strides = {.row = heads * value_dim, .head = value_dim};
    }
    if (page_size != 0) {
      problem.k_strides = {
          .row = key_heads * head_dim, .head = head_dim, .batch = page_size * key_heads * head_dim};
      problem.v_strides = {
          .row = key_heads * value_dim, .head = value_dim, .batch = page_size * key_heads * value_dim};
    }
    return problem;
  }
  heddle::AttentionTensors tensors() const {
    return {.q = q,
            .k = k,
            .v = v,
            .o = o,
            .lse = lse,
            .sinks = sinks,
            .query_offsets = query_offsets,
            .key_offsets = key_offsets};
  }
  heddle::AttentionDecodeProblem decode_problem() const {
    return {.attention = problem(), .page_size = page_size, .pages = pages};
  }
};

extern "C" const char* heddle_attention(const HeddleAttention* call) {
  return error_of([&] {
    heddle::enqueue_attention_sm90<heddle::Target::kCuda>(call->problem(), call->tensors(), call->stream);
  });
}

extern "C" const char* heddle_attention_decode(const HeddleAttention* call) {
  return error_of([&] {
    heddle::enqueue_attention_decode_sm90<heddle::Target::kCuda>(call->decode_problem(),
                                                                 {.attention = call->tensors(),
                                                                  .lengths = call->lengths,
                                                                  .page_table = call->page_table,
                                                                  .workspace = call->workspace},
                                                                 call->stream);
  });
}

extern "C" const char* heddle_attention_decode_workspace(const HeddleAttention* call, std::size_t* bytes) {
  return error_of([&] { *bytes = heddle::attention_decode_workspace(call->decode_problem()); });
}

// As AttentionFp8Call of attention_bench.py has it: e4m3, V with its keys along rows, padded to 16.
struct HeddleAttentionFp8 {
  heddle::AttentionFp8Tensors tensors;
  void* stream;
  std::int64_t batches;
  std::int64_t heads;
  std::int64_t key_heads;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t head_dim;
  std::int64_t is_causal;
};

extern "C" const char* heddle_attention_fp8(const HeddleAttentionFp8* call) {
  return error_of([&] {
    heddle::enqueue_attention_fp8_sm90<heddle::Target::kCuda>({.batches = call->batches,
                                                               .heads = call->heads,
                                                               .key_heads = call->key_heads,
                                                               .queries = call->queries,
                                                               .keys = call->keys,
                                                               .head_dim = call->head_dim,
                                                               .is_causal = call->is_causal != 0},
                                                              call->tensors, call->stream);
  });
}
