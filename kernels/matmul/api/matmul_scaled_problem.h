// SPDX-License-Identifier: Apache-2.0
//
// Matmuls of numbers with scales:
//
//   out = alpha * (A with its scales) * (B with its scales)
//
// A is [M, K], B is [N, K], out is [M, N], row-major. Block-scaled formats have a byte of scale for each row and
// 32 (NVFP4: 16) numbers along K: scales are [M, K / 32] and [N, K / 32], rounded up. Blockwise FP8 has floats:
// [M, K / 128] for A and [N / 128, K / 128] for B, rounded up. fp4 has two numbers in a byte, the first in the
// low half.
//
// Block-scaled operands may come in groups of rows, as matmul_grouped_problem.h has them: B is [groups, N, K]
// with scales of [groups * N, K / 32], and group_rows has a number for each group. Blockwise FP8 in groups is
// matmul_grouped's.
//
//   MatmulScaledProblem problem{.m = 512, .n = 512, .k = 512, .format = ScaledFormat::kNvfp4};
//   MatmulScaledTensors tensors{
//       .a = a, .b = b, .a_scales = {sa, 512, 32}, .b_scales = {sb, 512, 32}, .out = out};
#pragma once

#include "matmul_element.h"
#include "matmul_grouped_problem.h"

#include <cstdint>
#include <string>

namespace heddle {

// Where two types are named, A has the first and B the second.
enum class ScaledFormat : std::uint8_t {
  kMxfp8E4m3,
  kMxfp8E5m2,
  kMxfp8E4m3E5m2,
  kMxfp8E5m2E4m3,
  kMxfp4,
  kNvfp4,
  kBlockwiseE4m3,
  kBlockwiseE5m2,
};

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
  MatmulElement out_type = MatmulElement::kBf16;
  std::int64_t a_pitch = 0;  // from one row to the next; 0: rows follow one another. Rows start on 16 bytes
  std::int64_t b_pitch = 0;
  std::int64_t out_pitch = 0;
  std::int64_t groups = 1;  // of rows; with kAll there is one
  GroupRows rows = GroupRows::kAll;
  float alpha = 1;          // such as NVFP4's scale of the whole tensor; 1 with blockwise FP8
  std::string config = {};  // a name from matmul_scaled_configs(); empty: chosen
};

// Dense, row-major.
struct ScaleMatrix {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

// How many scales a problem takes.
struct ScaleShapes {
  std::int64_t a_rows = 0;
  std::int64_t b_rows = 0;
  std::int64_t cols = 0;
};
ScaleShapes scale_shapes_of(const MatmulScaledProblem& problem);

struct MatmulScaledTensors {
  const void* a = nullptr;
  const void* b = nullptr;
  ScaleMatrix a_scales = {};
  ScaleMatrix b_scales = {};
  void* out = nullptr;
  const std::int32_t* group_rows = nullptr;  // a number for each group
};

}  // namespace heddle
