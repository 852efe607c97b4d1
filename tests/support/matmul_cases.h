// SPDX-License-Identifier: Apache-2.0
//
// Matmuls to test with, and running them in the simulated SM against the reference.
#pragma once

#include "matmul_families.h"
#include "matmul_scaled_reference.h"
#include "matmul_sm100_host.h"
#include "matmul_sm100_scaled_host.h"
#include "matmul_sm90_plan.h"

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
                                                  ScaledFormat::kMxfp4,         ScaledFormat::kNvfp4,
                                                  ScaledFormat::kBlockwiseE4m3, ScaledFormat::kBlockwiseE5m2};

// Schedule 0 is round robin.
inline std::string schedule_name(std::uint64_t schedule) {
  return schedule == 0 ? "rr" : fmt::format("{:x}", schedule);
}

// Runs: no report, and the right output.
template <class Case, class Run>
::testing::AssertionResult runs_right(Case& matmul, std::uint32_t sms, std::uint64_t schedule, const Run& run) {
  matmul.prepare();
  const std::string name = schedule_name(schedule);
  const RunOutcome outcome =
      run(matmul.problem, matmul.tensors(), RunOptions{.kernel = "matmul", .schedule = name, .sms = sms});
  if (!outcome.ok()) {
    return ::testing::AssertionFailure() << matmul.describe() << " schedule " << name << " reports\n"
                                         << outcome.report;
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
                      .activation = is_fused && turn % 4 < 2 ? Activation::kRelu : Activation::kNone,
                      .config = config},
          .seed = turn + 1,
          .has_bias = is_fused && turn % 3 != 0,
          .has_residual = is_fused && turn % 7 != 0};
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
