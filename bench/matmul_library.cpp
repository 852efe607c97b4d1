// SPDX-License-Identifier: Apache-2.0
//
// Grouped matmuls and those of FP8 behind functions that Python's ctypes can call: matmul_suites.py measures them
// beside torch.
#include "matmul/host/matmul_grouped_plan.h"

#include <heddle/host/error.h>

#include <exception>
#include <string>

namespace {

thread_local std::string text;  // what the last call of this thread gave back

}  // namespace

// What a call multiplies, without its tensors. Tensors have no gaps.
struct HeddleMatmul {
  int groups;
  int m;
  int n;
  int k;
  int rows;     // heddle::GroupRows
  int is_fp8;   // e4m3 times e4m3, otherwise bf16
  int scaling;  // heddle::GroupScaling
  int is_exact;
  int expected_rows;
};

namespace {

heddle::MatmulGroupedProblem problem_of(const HeddleMatmul& matmul, const char* config) {
  const heddle::MatmulElement type =
      matmul.is_fp8 != 0 ? heddle::MatmulElement::kE4m3 : heddle::MatmulElement::kBf16;
  return {.groups = matmul.groups,
          .m = matmul.m,
          .n = matmul.n,
          .k = matmul.k,
          .rows = static_cast<heddle::GroupRows>(matmul.rows),
          .a_type = type,
          .b_type = type,
          .scaling = static_cast<heddle::GroupScaling>(matmul.scaling),
          .is_exact = matmul.is_exact != 0,
          .expected_rows = matmul.expected_rows,
          .config = config};
}

}  // namespace

// Tensors on the current GPU; an empty name of a configuration for the library's choice. Null if it was started,
// otherwise why not.
extern "C" const char* heddle_matmul_grouped(const HeddleMatmul* matmul, const void* a, const void* b,
                                             const std::int32_t* group_rows, const float* a_scales,
                                             const float* b_scales, void* out, const char* config, void* stream) {
  try {
    heddle::enqueue_matmul_grouped_sm90<heddle::Target::kCuda>(
        problem_of(*matmul, config),
        {.a = a, .b = b, .group_rows = group_rows, .out = out, .a_scales = a_scales, .b_scales = b_scales},
        stream);
    return nullptr;
  } catch (const std::exception& refused) {
    text = refused.what();
    return text.c_str();
  }
}

// The names of the configurations that can run it, separated by commas.
extern "C" const char* heddle_matmul_grouped_configs(const HeddleMatmul* matmul) {
  text.clear();
  for (const std::string& name : heddle::matmul_grouped_sm90_configs(problem_of(*matmul, ""), false)) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text.c_str();
}
