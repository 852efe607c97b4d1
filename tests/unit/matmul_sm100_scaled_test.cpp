// SPDX-License-Identifier: Apache-2.0
//
// The Blackwell matmuls with scales in the simulated SM: MXFP8, MXFP4, NVFP4 and blockwise FP8, every
// configuration, ragged and empty problems, under several schedules, without a report.
#include "../support/matmul_cases.h"
#include "../support/schedule_share.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using test::kOutputs;
using test::MatmulData;
using test::MatmulScaledCase;
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
