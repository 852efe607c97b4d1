// SPDX-License-Identifier: Apache-2.0
//
// Matmuls to test with, and running them in the simulated SM against the reference.
#pragma once

#include "matmul/host/matmul_families.h"
#include "matmul/host/matmul_sm100_host.h"
#include "matmul/host/matmul_sm100_scaled_host.h"
#include "matmul/host/matmul_sm90_plan.h"
#include "matmul/reference/matmul_scaled_reference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace heddle::test {

using reference::MatmulCase;
using reference::MatmulData;
using reference::MatmulScaledCase;
using reference::MatmulVerdict;

inline constexpr MatmulElement kInputs[] = {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kTf32,
                                            MatmulElement::kE4m3, MatmulElement::kE5m2};
inline constexpr MatmulElement kOutputs[] = {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kFp32};
inline constexpr ScaledFormat kScaledFormats[] = {ScaledFormat::kMxfp8E4m3,     ScaledFormat::kMxfp8E5m2,
                                                  ScaledFormat::kMxfp8E4m3E5m2, ScaledFormat::kMxfp8E5m2E4m3,
                                                  ScaledFormat::kMxfp4,         ScaledFormat::kNvfp4,
                                                  ScaledFormat::kBlockwiseE4m3, ScaledFormat::kBlockwiseE5m2};

// Schedule 0 is round robin.
inline std::string schedule_name(std::uint64_t schedule) {
  return schedule == 0 ? "rr" : fmt::format("{:x}", schedule);
}

// Runs: no report, no remark, and the right output.
template <class Case, class Run>
::testing::AssertionResult runs_right(Case& matmul, std::uint32_t sms, std::uint64_t schedule, const Run& run) {
  matmul.prepare();
  const std::string name = schedule_name(schedule);
  const RunOutcome outcome =
      run(matmul.problem, matmul.tensors(), RunOptions{.kernel = "matmul", .schedule = name, .sms = sms});
  if (!outcome.ok() || !outcome.remarks.empty()) {
    return ::testing::AssertionFailure() << matmul.describe() << " schedule " << name << " reports\n"
                                         << outcome.report << outcome.remarks;
  }
  const MatmulVerdict verdict = matmul.verify();
  if (verdict.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << matmul.describe() << " schedule " << name << ": " << verdict.wrong;
}

inline ::testing::AssertionResult runs_right_on_sm90(MatmulCase matmul, std::uint32_t sms,
                                                     std::uint64_t schedule) {
  return runs_right(matmul, sms, schedule,
                    [](const auto&... args) { return heddle::matmul_sm90<Target::kSim>(args...); });
}

inline ::testing::AssertionResult runs_right_on_sm100(MatmulCase matmul, std::uint32_t sms = 8,
                                                      std::uint64_t schedule = 0) {
  return runs_right(matmul, sms, schedule,
                    [](const auto&... args) { return heddle::matmul_sm100<Target::kSim>(args...); });
}

inline ::testing::AssertionResult runs_right(MatmulScaledCase& matmul, std::uint32_t sms,
                                             std::uint64_t schedule) {
  return runs_right(matmul, sms, schedule,
                    [](const auto&... args) { return heddle::matmul_scaled_sm100<Target::kSim>(args...); });
}

// Several tiles, ragged on all sides; on few SMs, the ring of every configuration goes round. Types, and what a
// fused epilogue does, take turns.
inline MatmulCase some_tiles(const std::string& config, std::uint64_t turn) {
  const bool is_wide = config.find("4x2") != std::string::npos;
  const bool is_fused = config.find("fused") != std::string::npos;
  const bool has_one_tile = config.find("2x1") != std::string::npos;
  return {.problem = {.m = 136,
                      .n = is_wide ? 136 : 72,
                      .k = has_one_tile ? 328
                           : is_wide    ? 264
                                        : 200,
                      .a_type = kInputs[turn % 5],
                      .b_type = kInputs[turn % 5],
                      .out_type = kOutputs[turn / 5 % 3],
                      .alpha = is_fused && turn % 2 == 0 ? 2.0f : 1.0f,
                      .beta = is_fused && turn % 4 == 1 ? -1.0f : 0.0f,
                      .activation = is_fused && turn % 4 < 2 ? Activation::kRelu : Activation::kNone,
                      .config = config},
          .seed = turn + 1,
          .has_bias = is_fused && turn % 3 != 0,
          .has_residual = is_fused && turn % 7 != 0};
}

// Layouts of operands but both K-major, and the configurations that take them.
struct OperandLayouts {
  const char* name;
  OperandLayout a;
  OperandLayout b;
};
inline constexpr OperandLayouts kOtherLayouts[] = {
    {"a_km_b_nk", OperandLayout::kMnMajor, OperandLayout::kKMajor},
    {"a_mk_b_kn", OperandLayout::kKMajor, OperandLayout::kMnMajor},
    {"a_km_b_kn", OperandLayout::kMnMajor, OperandLayout::kMnMajor},
};
inline const std::string kConfigsWithLayouts[] = {"1sm_128x64_1x1", "2sm_256x256_2x1", "2sm_256x128_2x1_fused"};

// The same problem so laid out. Kinds take turns, and within them types and their mixes.
inline MatmulCase in_layouts(MatmulCase matmul, const OperandLayouts& layouts, std::uint64_t turn) {
  constexpr MatmulElement kTypes[3][2] = {{MatmulElement::kBf16, MatmulElement::kFp16},
                                          {MatmulElement::kE4m3, MatmulElement::kE5m2},
                                          {MatmulElement::kTf32, MatmulElement::kTf32}};
  const auto& types = kTypes[turn % 3];
  matmul.problem.a_type = types[turn / 3 % 2];
  matmul.problem.b_type = turn % 3 == 1 ? types[turn / 6 % 2] : matmul.problem.a_type;
  matmul.problem.a_layout = layouts.a;
  matmul.problem.b_layout = layouts.b;
  return matmul;
}

inline MatmulScaledCase some_scaled_tiles(ScaledFormat format, const std::string& config, std::uint64_t turn) {
  const std::int64_t k = config.find("2x1") != std::string::npos   ? 456
                         : config.find("4x2") != std::string::npos ? 328
                                                                   : 200;
  return {.problem = {.m = 136,
                      .n = 136,
                      .k = bits_of_element(format) == 4 ? 2 * k - 72 : k,
                      .format = format,
                      .out_type = kOutputs[turn % 3],
                      .config = config},
          .seed = turn + 1};
}

// One cluster of a configuration, or two: then it has several tiles, one after the other, and its rings go round.
inline std::uint32_t few_sms(const std::string& config, std::uint64_t turn) {
  const std::uint32_t cluster = config.find("4x2") != std::string::npos   ? 8
                                : config.find("2x2") != std::string::npos ? 4
                                : config.find("2x1") != std::string::npos ? 2
                                                                          : 1;
  return cluster == 8 ? cluster : cluster << turn % 2;
}

}  // namespace heddle::test
