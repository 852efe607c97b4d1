// SPDX-License-Identifier: Apache-2.0
//
// Running the Blackwell matmuls with scales from a host program:
//
//   out = alpha * (A with its scales) * (B with its scales)^T
//
// A is [M, K], B is [N, K], out is [M, N], row-major, in host memory. Block-scaled formats have a byte of scale
// for each row and 32 (NVFP4: 16) numbers along K: scales are [M, K / 32] and [N, K / 32], rounded up. Blockwise
// FP8 has floats: [M, K / 128] for A and [N / 128, K / 128] for B, rounded up. fp4 has two numbers in a byte, the
// first in the low half.
//
//   MatmulScaledProblem problem{.m = 512, .n = 512, .k = 512, .format = ScaledFormat::kNvfp4};
//   matmul_scaled<Target::kSim>(problem, {.a = a, .b = b, .a_scales = {sa, 512, 32}, .b_scales = {sb, 512, 32},
//   .out = out}, {});
//
// A problem that cannot be run is refused with an InputError, and a run that ends with a report gives no result:
// in both cases nothing has been written.
#pragma once

#include "matmul_element.h"
#include "matmul_sm100_host.h"

#include <heddle/host/run_options.h>
#include <heddle/isa/target.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

enum class ScaledFormat : std::uint8_t { kMxfp8E4m3, kMxfp8E5m2, kMxfp4, kNvfp4, kBlockwiseE4m3, kBlockwiseE5m2 };

const char* name_of(ScaledFormat format);
bool is_blockwise(ScaledFormat format);
std::uint32_t bits_of_element(ScaledFormat format);
std::uint32_t scale_vector_of(ScaledFormat format);  // numbers along K that share a scale

// Sizes and pitches count numbers, also those of fp4.
struct MatmulScaledProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  ScaledFormat format = ScaledFormat::kMxfp8E4m3;
  MatmulElement output = MatmulElement::kBf16;
  std::int64_t a_pitch = 0;  // from one row to the next; 0: rows follow one another. Rows start on 16 bytes
  std::int64_t b_pitch = 0;
  std::int64_t out_pitch = 0;
  float alpha = 1;          // such as NVFP4's scale of the whole tensor; 1 with blockwise FP8
  std::string config = {};  // a name from matmul_scaled_configs(); empty: the first
};

// Dense, row-major.
struct ScaleMatrix {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

struct MatmulScaledTensors {
  const void* a = nullptr;
  const void* b = nullptr;
  ScaleMatrix a_scales = {};
  ScaleMatrix b_scales = {};
  void* out = nullptr;
};

template <Target target>
RunOutcome matmul_scaled(const MatmulScaledProblem& problem, const MatmulScaledTensors& tensors,
                         const RunOptions& options);

std::vector<std::string> matmul_scaled_configs(ScaledFormat format);

// Everything that follows from a problem. Throws InputError for one that cannot be run.
struct MatmulScaledPlan {
  std::uint32_t config = 0;
  std::uint64_t a_pitch_bytes = 0;
  std::uint64_t b_pitch_bytes = 0;
  std::uint64_t row_bytes = 0;  // of A and B, without what pads them
  std::uint64_t out_pitch = 0;
  std::size_t a_bytes = 0;
  std::size_t b_bytes = 0;
  std::size_t out_bytes = 0;
  bool is_ragged = false;
};
MatmulScaledPlan plan_matmul_scaled(const MatmulScaledProblem& problem, const MatmulScaledTensors& tensors);

// Scales as the kernels read them. Blocks of 512 bytes for 128 rows x 4 scales, blocks along K first; what pads
// the last blocks is zero.
std::vector<unsigned char> scale_blocks(const ScaleMatrix& scales);
// Floats with rows and columns changed round, rows padded to 16 bytes.
std::vector<float> transposed_scales(const ScaleMatrix& scales);

template <>
RunOutcome matmul_scaled<Target::kSim>(const MatmulScaledProblem&, const MatmulScaledTensors&, const RunOptions&);
template <>
RunOutcome matmul_scaled<Target::kCuda>(const MatmulScaledProblem&, const MatmulScaledTensors&,
                                        const RunOptions&);

}  // namespace heddle
