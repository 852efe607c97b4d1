// SPDX-License-Identifier: Apache-2.0
//
// The Blackwell matmuls with scales in the simulated SM: MXFP8, MXFP4, NVFP4 and blockwise FP8, every
// configuration, ragged and empty problems, under several schedules, without a report.
#include "../support/matmul_cases.h"
#include "../support/schedule_share.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace heddle {
namespace {

using test::kOutputs;
using test::MatmulData;
using test::MatmulScaledCase;
using test::MatmulVerdict;
using test::runs_right;
using test::some_scaled_tiles;

class MatmulScaled : public ::testing::TestWithParam<ScaledFormat> {};

TEST_P(MatmulScaled, IsExactUnderTwentySchedulesInEachConfiguration) {
  for (const std::string& config : matmul_scaled_sm100_configs(GetParam())) {
    for (std::uint64_t seed = 1; seed <= test::schedule_share(20); ++seed) {
      MatmulScaledCase matmul = some_scaled_tiles(GetParam(), config, seed);
      ASSERT_TRUE(runs_right(matmul, test::few_sms(config, seed), seed));
    }
  }
}

TEST_P(MatmulScaled, KeepsTheErrorBoundOnRandomData) {
  test::CaseShare share(3);
  for (const std::string& config : matmul_scaled_sm100_configs(GetParam())) {
    if (!share.takes_next()) continue;
    for (std::uint64_t turn = 0; turn < test::schedule_share(3); ++turn) {
      MatmulScaledCase matmul = some_scaled_tiles(GetParam(), config, turn);
      matmul.data = MatmulData::kRandom;
      EXPECT_TRUE(runs_right(matmul, 8, turn));
    }
  }
}

TEST_P(MatmulScaled, SizesMixedAreExactOnIntegers) {
  constexpr std::int64_t kSizes[] = {1, 7, 64, 128, 200, 256, 384, 520};
  const std::vector<std::string> configs = matmul_scaled_sm100_configs(GetParam());
  for (std::uint64_t i = 0; i < test::schedule_share(8); ++i) {
    const std::int64_t k = kSizes[(i * 5 + 1) % 8];
    MatmulScaledCase matmul{.problem = {.m = kSizes[i],
                                        .n = kSizes[(i * 3) % 8],
                                        .k = bits_of_element(GetParam()) == 4 ? (k + 1) / 2 * 2 : k,
                                        .format = GetParam(),
                                        .out_type = kOutputs[i % 3],
                                        .config = configs[i % configs.size()]},
                            .seed = i + 1,
                            .more = static_cast<std::int64_t>(i % 2)};
    EXPECT_TRUE(runs_right(matmul, 8, i));
  }
}

TEST_P(MatmulScaled, MoreAndFewerTilesThanSms) {
  test::CaseShare share(7);
  for (const std::uint32_t sms : {8u, 64u}) {
    for (const std::string& config : matmul_scaled_sm100_configs(GetParam())) {
      if (!share.takes_next()) continue;
      MatmulScaledCase matmul{.problem = {.m = 392,
                                          .n = 264,
                                          .k = 32,
                                          .format = GetParam(),
                                          .out_type = MatmulElement::kFp32,
                                          .config = config}};
      EXPECT_TRUE(runs_right(matmul, sms, sms));
    }
  }
}

TEST_P(MatmulScaled, EmptyProblemsWriteNothingOrZeros) {
  for (const std::string& config : matmul_scaled_sm100_configs(GetParam())) {
    MatmulScaledCase no_k{.problem = {.m = 136, .n = 72, .k = 0, .format = GetParam(), .config = config}};
    EXPECT_TRUE(runs_right(no_k, 8, 1));
    MatmulScaledCase no_m{.problem = {.m = 0, .n = 72, .k = 64, .format = GetParam(), .config = config}};
    EXPECT_TRUE(runs_right(no_m, 8, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulScaled, ::testing::ValuesIn(test::kScaledFormats),
                         [](const auto& format) { return std::string(name_of(format.param)); });

// Groups of rows that end anywhere, whose scales a warp brings: without a report or a remark.
::testing::AssertionResult group_runs_right(MatmulScaledCase matmul, const std::string& schedule = "rr") {
  matmul.more = 1;
  matmul.prepare();
  const RunOutcome outcome = matmul_scaled_sm100<Target::kSim>(
      matmul.problem, matmul.tensors(), {.kernel = "matmul", .schedule = schedule, .sms = 3});
  if (!(outcome.report + outcome.remarks).empty()) {
    return ::testing::AssertionFailure() << matmul.describe() << "\n" << outcome.report << outcome.remarks;
  }
  const MatmulVerdict verdict = matmul.verify();
  if (!verdict.ok()) return ::testing::AssertionFailure() << matmul.describe() << ": " << verdict.wrong;
  return ::testing::AssertionSuccess();
}

class MatmulScaledGroups : public ::testing::TestWithParam<ScaledFormat> {
 protected:
  static MatmulScaledCase groups(std::int64_t m, std::int64_t n, std::int64_t k,
                                 std::vector<std::int32_t> numbers, GroupRows rows = GroupRows::kEnds) {
    return {.problem = {.m = m, .n = n, .k = k, .format = GetParam(), .rows = rows},
            .numbers = std::move(numbers)};
  }
};

TEST_P(MatmulScaledGroups, ThatEndAnywhereAreExactOnIntegers) {
  MatmulScaledCase matmul = groups(330, 136, 328, {70, 70, 203, 310});
  for (const MatmulElement out : kOutputs) {
    matmul.problem.out_type = out;
    EXPECT_TRUE(group_runs_right(matmul));
  }
}

TEST_P(MatmulScaledGroups, EmptyTinyAndHugeOnesAreExactOnIntegers) {
  EXPECT_TRUE(group_runs_right(groups(300, 40, 72, {0, 1, 3, 3, 290, 291, 300})));
  EXPECT_TRUE(group_runs_right(groups(100, 40, 72, {0, 0, 0})));
  EXPECT_TRUE(group_runs_right(groups(3 * 70, 40, 72, {70, 0, 37}, GroupRows::kCounts)));
}

TEST_P(MatmulScaledGroups, NumbersThatMakeNoSenseAreCut) {
  constexpr std::int32_t kMost = 2147483647;
  EXPECT_TRUE(group_runs_right(groups(150, 24, 72, {100, 50, kMost, -kMost})));
  EXPECT_TRUE(group_runs_right(groups(120, 24, 72, {kMost, -1, 39, -kMost}, GroupRows::kCounts)));
}

TEST_P(MatmulScaledGroups, KeepTheErrorBoundOnRandomData) {
  MatmulScaledCase matmul = groups(140, 72, 712, {33, 140});
  matmul.data = MatmulData::kRandom;
  matmul.problem.alpha = 0.5f;
  EXPECT_TRUE(group_runs_right(matmul));
}

TEST_P(MatmulScaledGroups, AreExactUnderTwentySchedules) {
  for (std::uint64_t seed = 1; seed <= test::schedule_share(20); ++seed) {
    MatmulScaledCase matmul = groups(150, 40, 712, {20, 20, 139, 150});
    matmul.seed = seed;
    EXPECT_TRUE(group_runs_right(matmul, std::to_string(seed)));
  }
}

INSTANTIATE_TEST_SUITE_P(BlockScaled, MatmulScaledGroups,
                         ::testing::Values(ScaledFormat::kMxfp8E4m3, ScaledFormat::kMxfp8E5m2E4m3,
                                           ScaledFormat::kMxfp4, ScaledFormat::kNvfp4),
                         [](const auto& format) { return std::string(name_of(format.param)); });

TEST(MatmulScaledGroupsRefusals, NameTheRuleAndWriteNothing) {
  struct Refusal {
    std::function<void(MatmulScaledCase&, MatmulScaledTensors&)> spoil;
    std::string message;
  };
  const Refusal refusals[] = {
      {[](auto& c, auto&) { c.problem.format = ScaledFormat::kBlockwiseE4m3; },
       "the format is blockwise_e4m3, and rows are in groups; matmul_grouped takes blocks of 128"},
      {[](auto& c, auto&) { c.problem.k = 0; }, "k is 0; groups take 1 and more"},
      {[](auto& c, auto&) { c.problem.n = 41; },
       "n is 41; groups store their last rows 16 bytes at a time, and 48 would pass"},
      {[](auto& c, auto&) { c.problem.rows = GroupRows::kAll; },
       "groups is 2, and all rows are one group; 1 would pass"},
      {[](auto& c, auto&) { c.problem.rows = GroupRows::kCounts, c.problem.m = 31; },
       "m is 31 and there are 2 groups with places of equal size; 32 would pass"},
      {[](auto&, auto& t) { t.group_rows = nullptr; }, "group_rows is null and has 8 bytes"},
      {[](auto&, auto& t) { t.b_scales.rows = 40; }, "b_scales is 40 x 3; this problem takes 80 x 3"},
      {[](auto& c, auto&) { c.problem.config = "2sm_256x256_2x1"; },
       "no configuration for mxfp8_e4m3 is called '2sm_256x256_2x1'; there are 1sm_128x128_1x1"},
  };
  for (const Refusal& refusal : refusals) {
    MatmulScaledCase matmul{.problem = {.m = 30, .n = 40, .k = 72, .rows = GroupRows::kEnds},
                            .numbers = {10, 30}};
    matmul.prepare();
    MatmulScaledTensors tensors = matmul.tensors();
    refusal.spoil(matmul, tensors);
    try {
      matmul_scaled_sm100<Target::kSim>(matmul.problem, tensors, {.kernel = "matmul"});
      ADD_FAILURE() << "it ran: " << refusal.message;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("matmul: " + refusal.message, 0), 0u) << error.what();
    }
    for (const unsigned char byte : matmul.out.bytes) ASSERT_EQ(byte, reference::Matrices::kPoison);
  }
}

// The epilogue reads scales out of stages that are then filled anew: without a word about fences.
TEST(MatmulScaledBlockwise, ATileHasMoreStepsOfKThanStages) {
  for (const std::string& config : matmul_scaled_sm100_configs(ScaledFormat::kBlockwiseE4m3)) {
    MatmulScaledCase matmul{.problem = {.m = 24,
                                        .n = 40,
                                        .k = 9 * 128 + 16,
                                        .format = ScaledFormat::kBlockwiseE4m3,
                                        .out_type = MatmulElement::kFp32,
                                        .config = config}};
    matmul.prepare();
    const RunOutcome outcome =
        matmul_scaled_sm100<Target::kSim>(matmul.problem, matmul.tensors(), {.kernel = "matmul", .sms = 8});
    EXPECT_EQ(outcome.report + outcome.remarks, "") << config;
    EXPECT_EQ(matmul.verify().wrong, "") << config;
  }
}

TEST(MatmulScaledAlpha, ScalesTheWholeTensor) {
  MatmulScaledCase matmul = some_scaled_tiles(ScaledFormat::kNvfp4, "2sm_256x256_2x1", 2);
  matmul.problem.alpha = 0.25f;
  EXPECT_TRUE(runs_right(matmul, 4, 1));
}

}  // namespace
}  // namespace heddle
