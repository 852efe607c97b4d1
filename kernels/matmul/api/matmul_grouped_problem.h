// SPDX-License-Identifier: Apache-2.0
//
// Grouped matmuls, as a mixture of experts has them: every group of rows of A is multiplied by a B of its own,
//
//   out[rows of g] = A[rows of g] * B[g]
//
// A is [M, K], B is [groups, N, K] and out is [M, N], row-major, with sums in float. Which rows are a group's is
// known on the device only, in one number for each group:
//
//   kAll     there is one group, of all rows, and no number: an ordinary matmul.
//   kEnds    groups follow one another without gaps, and the number is where the group ends: rows from the end of
//            the group before, or 0, up to it. Rows from the last end on are in no group.
//   kCounts  every group has a place of M / groups rows, and the number is how many of them it has, from the
//   first
//            on.
//
// Rows in no group are neither stored nor, by what they hold, of influence on others. Nobody checks the numbers
// before the kernel reads them: an end before that of the group before it makes its group empty, one beyond M
// counts as M, a count beyond the place as the whole place, and negative numbers as 0. No number makes the kernel
// read or write outside of its tensors.
//
// FP8 operands (e4m3 times e4m3, or e5m2 times e4m3) have float scales, by which their numbers are multiplied:
//
//   kTensors  one of A, and one of B for each group: a_scales has 1 number, b_scales is [groups].
//   kRows     one for each row of both: a_scales is [M], b_scales is [groups, N].
//   kBlocks   one for each row of A and 128 numbers along K, and one for each 128 x 128 numbers of B, rounded up:
//             a_scales is [K / 128, M], with rows of a_scales_pitch numbers, and b_scales [groups, N / 128, K /
//             128].
//
// With kBlocks every 128 numbers along K are summed by themselves and added up in float. Hopper's tensor cores
// add FP8 products with fewer bits than a float has, so that errors grow with K; with is_exact they sum in such
// steps too. Those of Blackwell add them as they add bf16, and refuse is_exact.
//
//   MatmulGroupedProblem problem{.groups = 8, .m = 8192, .n = 14336, .k = 4096};
//   matmul_grouped(problem, {.a = a, .b = b, .group_rows = ends, .out = out}, stream);
#pragma once

#include "matmul_element.h"

#include <cstdint>
#include <string>

namespace heddle {

enum class GroupRows : std::uint8_t { kEnds, kCounts, kAll };
enum class GroupScaling : std::uint8_t { kNone, kTensors, kRows, kBlocks };

// Sizes and pitches in elements. A size may be 0, but not k.
struct MatmulGroupedProblem {
  std::int64_t groups = 0;
  std::int64_t m = 0;  // rows of A and of out, in all
  std::int64_t n = 0;  // a multiple of 8
  std::int64_t k = 0;
  GroupRows rows = GroupRows::kEnds;
  MatmulElement a_type = MatmulElement::kBf16;
  MatmulElement b_type = MatmulElement::kBf16;
  GroupScaling scaling = GroupScaling::kNone;
  bool is_exact = false;                          // of FP8: every 128 numbers along K are added up in float
  MatmulElement out_type = MatmulElement::kBf16;  // or fp16, or fp32
  std::int64_t a_pitch = 0;  // from one row to the next; 0: rows follow one another. Rows start on 16 bytes
  std::int64_t b_pitch = 0;
  std::int64_t out_pitch = 0;
  std::int64_t b_group_stride = 0;  // from one group's B to the next; 0: they follow one another
  std::int64_t a_scales_pitch = 0;  // of blocks along K; 0: M rounded up to a multiple of 4
  std::int64_t expected_rows = 0;   // of a group, to choose a configuration by; 0: all rows divided by the groups
  bool is_dependent = true;         // on a GPU: may start while the kernel before it in the stream still runs
  std::string config = {};          // a name from matmul_grouped_configs(); empty: chosen
};

// All in the memory of the device, or all in the host's: see matmul_grouped().
struct MatmulGroupedTensors {
  const void* a = nullptr;
  const void* b = nullptr;
  const std::int32_t* group_rows = nullptr;  // a number for each group
  void* out = nullptr;
  const float* a_scales = nullptr;
  const float* b_scales = nullptr;
};

const char* name_of(GroupRows rows);
const char* name_of(GroupScaling scaling);

}  // namespace heddle
