// SPDX-License-Identifier: Apache-2.0
#include "c/error.h"

#include <heddle/c_api.h>
#include <heddle/host/error.h>
#include <heddle/kernels/matmul.h>

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

using heddle::InputError;
using heddle::MatmulElement;
using heddle::c::guarded;

namespace {

MatmulElement element_of(const char* name, const char* what) {
  const std::string_view text = name == nullptr ? "" : name;
  constexpr std::array kAll = {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kFp32,
                               MatmulElement::kTf32, MatmulElement::kE4m3, MatmulElement::kE5m2};
  for (const MatmulElement one : kAll) {
    if (text == heddle::name_of(one)) return one;
  }
  throw InputError(fmt::format("matmul: {} is '{}'; bf16, fp16, fp32, tf32, e4m3 or e5m2", what, text));
}

heddle::OperandLayout layout_of(int is_mn_major) {
  return is_mn_major != 0 ? heddle::OperandLayout::kMnMajor : heddle::OperandLayout::kKMajor;
}

heddle::MatmulProblem problem_of(const heddle_matmul_call& call) {
  heddle::MatmulProblem problem;
  problem.m = call.m;
  problem.n = call.n;
  problem.k = call.k;
  problem.batches = call.batches;
  problem.a_type = element_of(call.a_type, "a_type");
  problem.b_type = element_of(call.b_type, "b_type");
  problem.out_type = element_of(call.out_type, "out_type");
  problem.a_layout = layout_of(call.a_is_mn_major);
  problem.b_layout = layout_of(call.b_is_mn_major);
  problem.a_pitch = call.a_pitch;
  problem.b_pitch = call.b_pitch;
  problem.out_pitch = call.out_pitch;
  problem.a_batch_stride = call.a_batch_stride;
  problem.b_batch_stride = call.b_batch_stride;
  problem.out_batch_stride = call.out_batch_stride;
  problem.alpha = call.alpha;
  problem.beta = call.beta;
  return problem;
}

heddle::MatmulTensors tensors_of(const heddle_matmul_call& call) {
  return {.a = call.a, .b = call.b, .out = call.out, .bias = call.bias};
}

template <class Value, std::size_t count>
Value named(const char* what, const std::array<Value, count>& all, const char* name) {
  const std::string_view text = name == nullptr ? "" : name;
  std::string names;
  for (const Value one : all) {
    if (text == heddle::name_of(one)) return one;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", heddle::name_of(one));
  }
  throw InputError(fmt::format("matmul: {} is '{}'; there are {}", what, text, names));
}

heddle::MatmulGroupedProblem problem_of(const heddle_matmul_grouped_call& call) {
  using heddle::GroupRows;
  using heddle::GroupScaling;
  constexpr std::array kRows = {GroupRows::kEnds, GroupRows::kCounts, GroupRows::kAll};
  constexpr std::array kScalings = {GroupScaling::kNone, GroupScaling::kTensors, GroupScaling::kRows,
                                    GroupScaling::kBlocks};
  heddle::MatmulGroupedProblem problem;
  problem.groups = call.groups;
  problem.m = call.m;
  problem.n = call.n;
  problem.k = call.k;
  problem.rows = named("rows", kRows, call.rows);
  problem.scaling = named("scaling", kScalings, call.scaling);
  problem.a_type = element_of(call.a_type, "a_type");
  problem.b_type = element_of(call.b_type, "b_type");
  problem.out_type = element_of(call.out_type, "out_type");
  problem.is_exact = call.is_exact != 0;
  problem.a_pitch = call.a_pitch;
  problem.b_pitch = call.b_pitch;
  problem.out_pitch = call.out_pitch;
  problem.b_group_stride = call.b_group_stride;
  problem.a_scales_pitch = call.a_scales_pitch;
  return problem;
}

heddle::MatmulGroupedTensors tensors_of(const heddle_matmul_grouped_call& call) {
  return {.a = call.a,
          .b = call.b,
          .group_rows = call.group_rows,
          .out = call.out,
          .a_scales = call.a_scales,
          .b_scales = call.b_scales};
}

template <class Call>
heddle::RunOptions options_of(const Call& call) {
  heddle::RunOptions options{.kernel = "matmul"};
  if (call.sms != 0) options.sms = call.sms;
  if (call.schedule != nullptr) options.schedule = call.schedule;
  return options;
}

}  // namespace

HEDDLE_C_CALL int heddle_matmul(const heddle_matmul_call* call, const char* device) {
  return guarded(1, [&] {
    const heddle::RunOutcome outcome =
        heddle::matmul(problem_of(*call), tensors_of(*call), heddle::find_device(device), options_of(*call));
    if (!outcome.ok()) throw std::runtime_error(outcome.report);
    return 0;
  });
}

HEDDLE_C_CALL int heddle_matmul_in_stream(const heddle_matmul_call* call, void* stream) {
  return heddle_matmul_of_addresses(call, call->a, call->b, call->out, call->bias, stream);
}

HEDDLE_C_CALL int heddle_matmul_of_addresses(const heddle_matmul_call* call, const void* a, const void* b,
                                             void* out, const void* bias, void* stream) {
  return guarded(1, [&] {
    heddle::matmul(problem_of(*call), {.a = a, .b = b, .out = out, .bias = bias}, stream);
    return 0;
  });
}

HEDDLE_C_CALL int heddle_matmul_grouped(const heddle_matmul_grouped_call* call, const char* device) {
  return guarded(1, [&] {
    const heddle::RunOutcome outcome = heddle::matmul_grouped(problem_of(*call), tensors_of(*call),
                                                              heddle::find_device(device), options_of(*call));
    if (!outcome.ok()) throw std::runtime_error(outcome.report);
    return 0;
  });
}

HEDDLE_C_CALL int heddle_matmul_grouped_in_stream(const heddle_matmul_grouped_call* call, void* stream) {
  return guarded(1, [&] {
    heddle::matmul_grouped(problem_of(*call), tensors_of(*call), stream);
    return 0;
  });
}
