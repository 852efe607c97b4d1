// SPDX-License-Identifier: Apache-2.0
//
// Matrix multiplication from a host program, on a GPU or in the simulated SM:
//
//   out = activation(alpha * A * B + beta * out + bias) + residual
//
// A is [M, K], B is [N, K] or [K, N], out is [M, N], all row-major; `pitch` is the number of elements from one
// row to the next. Sums are float.
//
//   MatmulProblem problem{.m = 4096, .n = 4096, .k = 4096};
//   matmul<Target::kCuda>(problem, {.a = a, .b = b, .out = out}, stream);
//
// A problem that cannot be run is refused with an InputError before anything is written.
#pragma once

#include <heddle/host/run_options.h>
#include <heddle/isa/gpu_list.h>
#include <heddle/isa/target.h>

#include "matmul_epilogue.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

enum class MatmulType : std::uint8_t { kBf16, kFp16, kFp32 };
enum class BLayout : std::uint8_t { kNK, kKN };

struct MatmulProblem {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  MatmulType input = MatmulType::kBf16;   // bf16 or fp16
  MatmulType output = MatmulType::kBf16;
  BLayout b_layout = BLayout::kNK;
  std::uint64_t a_pitch = 0;              // in elements; 0: rows follow one another. Rows start on 16 bytes
  std::uint64_t b_pitch = 0;
  std::uint64_t out_pitch = 0;
  std::uint64_t residual_pitch = 0;
  float alpha = 1;
  float beta = 0;
  Activation activation = Activation::kNone;
  bool is_dependent = true;               // may start while the kernel before it in the stream still runs
  std::string config = {};                // a name from matmul_configs(); behind it "@m8" or "@n8" for the
                                          // order of tiles, and "/4" for a K in four parts
};

// On the device. `bias` has N elements and `residual` is [M, N], both of the output's type. a, b and out begin on 16
// bytes. What is read may not overlap what is written, except that `residual` may be `out` itself. Whether the device
// can reach the addresses is not checked.
struct MatmulTensors {
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
  const void* bias = nullptr;
  const void* residual = nullptr;
  void* workspace = nullptr;          // for partial sums where K is split; without it, it is not
  std::uint64_t workspace_bytes = 0;  // kMatmulWorkspaceBytes is enough for every split that is worth it
};

inline constexpr std::uint64_t kMatmulWorkspaceBytes = std::uint64_t{32} << 20;

// Starts the multiplication in a stream (a cudaStream_t) of the current device.
template <Target target>
void matmul(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream);

// The same with everything in host memory, and a report where the simulated SM found a mistake.
struct MatmulData {
  std::vector<unsigned char> a;
  std::vector<unsigned char> b;
  std::vector<unsigned char> out;       // read where beta is not 0
  std::vector<unsigned char> bias;      // empty: none
  std::vector<unsigned char> residual;  // empty: none
};
template <Target target>
RunOutcome matmul(const MatmulProblem& problem, MatmulData& data, const RunOptions& options);

// The configurations that can run this problem, by name; and the one that is taken where it names none.
std::vector<std::string> matmul_configs(const MatmulProblem& problem, bool has_epilogue, bool is_simulated);
std::string matmul_choice(const MatmulProblem& problem, bool has_epilogue, bool is_simulated,
                          std::uint64_t workspace_bytes = 0, const std::string& gpu = {});

// Reads choices that a search found (matmul_bench --tune) instead of the file that HEDDLE_TUNE_FILE names; "" for
// none. Throws InputError for a file that cannot be read. The format is in matmul_tune_file.h.
void matmul_use_tune_file(const std::string& path);

template <Target target>
GpuList matmul_gpus();

template <>
void matmul<Target::kSim>(const MatmulProblem&, const MatmulTensors&, void*);
template <>
void matmul<Target::kCuda>(const MatmulProblem&, const MatmulTensors&, void*);
template <>
RunOutcome matmul<Target::kSim>(const MatmulProblem&, MatmulData&, const RunOptions&);
template <>
RunOutcome matmul<Target::kCuda>(const MatmulProblem&, MatmulData&, const RunOptions&);
template <>
GpuList matmul_gpus<Target::kSim>();
template <>
GpuList matmul_gpus<Target::kCuda>();

}  // namespace heddle
