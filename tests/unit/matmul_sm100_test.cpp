// SPDX-License-Identifier: Apache-2.0
//
// The Blackwell matmul in the simulated SM: every configuration and pair of types, ragged and empty problems, few
// and many SMs, under several schedules, without a report.
#include "../support/matmul_cases.h"
#include "../support/schedule_share.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using test::few_sms;
using test::kInputs;
using test::kOutputs;
using test::MatmulCase;
using test::MatmulData;
using test::runs_right_on_sm100;
using test::some_tiles;

// Every configuration with every type.
TEST(MatmulSm100, SizesMixedAreExactOnIntegers) {
  constexpr std::int64_t kSizes[] = {1, 7, 64, 128, 200, 256, 384, 520};
  const std::vector<std::string> configs = matmul_sm100_configs();
  std::uint64_t turn = 0;
  for (std::uint32_t shift = 0; shift < test::schedule_share(9); ++shift) {
    for (std::uint32_t i = 0; i < 8; ++i, ++turn) {
      MatmulCase matmul{.problem = {.m = kSizes[i],
                                    .n = kSizes[(i * 3 + shift) % 8],
                                    .k = kSizes[(i * 5 + 2 * shift + 1) % 8],
                                    .a_type = kInputs[turn % 5],
                                    .b_type = kInputs[turn % 5],
                                    .out_type = kOutputs[turn % 3],
                                    .config = configs[turn / 2 % configs.size()]},
                        .seed = turn + 1,
                        .more = static_cast<std::int64_t>(turn % 2)};
      EXPECT_TRUE(runs_right_on_sm100(matmul, 8, turn));
    }
  }
}

class MatmulSm100OfConfig : public ::testing::TestWithParam<std::string> {};

// Types take turns, so that each kernel has twenty schedules.
TEST_P(MatmulSm100OfConfig, IsExactUnderRandomSchedules) {
  for (std::uint64_t seed = 1; seed <= test::schedule_share(100); ++seed) {
    MatmulCase matmul = some_tiles(GetParam(), seed);
    ASSERT_TRUE(runs_right_on_sm100(matmul, few_sms(GetParam(), seed), seed));
  }
}

TEST_P(MatmulSm100OfConfig, KeepsTheErrorBoundOnRandomData) {
  for (std::uint64_t turn = 0; turn < test::schedule_share(15); ++turn) {
    MatmulCase matmul = some_tiles(GetParam(), turn);
    matmul.data = MatmulData::kRandom;
    EXPECT_TRUE(runs_right_on_sm100(matmul, 8, turn));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulSm100OfConfig, ::testing::ValuesIn(matmul_sm100_configs()),
                         [](const auto& config) { return config.param; });

TEST(MatmulSm100, KOfOneStageAndOfMany) {
  test::CaseShare share(5);
  for (const std::string& config : matmul_sm100_configs()) {
    for (const std::int64_t k : {8, 64, 72, 1000}) {
      if (!share.takes_next()) continue;
      EXPECT_TRUE(runs_right_on_sm100({.problem = {.m = 64, .n = 40, .k = k, .config = config}}, 8,
                                      static_cast<std::uint64_t>(k)));
    }
  }
}

TEST(MatmulSm100, MoreAndFewerTilesThanSms) {
  struct Tiles {
    std::int64_t m, n;
    const char* config;
    std::uint32_t sms[2];
  };
  test::CaseShare share(3);
  std::uint64_t schedule = 0;
  for (const Tiles& tiles :
       {Tiles{384, 200, "1sm_128x64_1x1", {1, 64}}, Tiles{384, 200, "1sm_64x64_1x1", {1, 64}},
        Tiles{384, 200, "1sm_128x32_2x2_static", {4, 64}}, Tiles{1000, 520, "2sm_256x256_2x1", {2, 64}},
        Tiles{1000, 264, "2sm_256x64_4x2", {8, 64}}}) {
    for (const std::uint32_t sms : tiles.sms) {
      ++schedule;
      if (!share.takes_next()) continue;
      EXPECT_TRUE(runs_right_on_sm100({.problem = {.m = tiles.m, .n = tiles.n, .k = 72, .config = tiles.config}},
                                      sms, schedule));
    }
  }
}

TEST(MatmulSm100, BatchesOfMatrices) {
  test::CaseShare share(3);
  for (const std::string& config : matmul_sm100_configs()) {
    if (!share.takes_next()) continue;
    EXPECT_TRUE(
        runs_right_on_sm100({.problem = {.m = 136, .n = 72, .k = 72, .batches = 3, .config = config}}, 8, 3));
  }
}

TEST(MatmulSm100, EpilogueActivatesAndAdds) {
  test::CaseShare share(5);
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kSilu}) {
    for (const MatmulElement output : kOutputs) {
      for (const std::int64_t splits : {1, 2}) {
        if (!share.takes_next()) continue;
        MatmulCase matmul{.problem = {.m = 72,
                                      .n = 72,
                                      .k = 136,
                                      .batches = splits,
                                      .out_type = output,
                                      .alpha = 0.125f,
                                      .activation = activation,
                                      .splits = splits},
                          .data = MatmulData::kRandom,
                          .more = 1,
                          .has_bias = true,
                          .has_residual = true};
        EXPECT_TRUE(runs_right_on_sm100(matmul, 4, 5));
      }
    }
  }
}

// Once with a residual too, and once with K split: then a second kernel reads what the output held.
TEST(MatmulSm100, EpilogueAddsWhatTheOutputHeld) {
  test::CaseShare share(3);
  for (const MatmulElement output : kOutputs) {
    for (const std::int64_t splits : {1, 2}) {
      if (!share.takes_next()) continue;
      MatmulCase matmul{.problem = {.m = 200,
                                    .n = 71,
                                    .k = 136,
                                    .batches = 2,
                                    .out_type = output,
                                    .alpha = 2,
                                    .beta = 0.5f,
                                    .activation = Activation::kRelu,
                                    .splits = splits},
                        .more = 1,
                        .has_bias = true,
                        .has_residual = output != MatmulElement::kFp16};
      EXPECT_TRUE(runs_right_on_sm100(matmul, 4, 5));
    }
  }
}

TEST(MatmulSm100, SplitsOfKAddUp) {
  test::CaseShare share(5);
  for (const std::string& config : matmul_sm100_configs()) {
    for (const std::int64_t splits : {3, 9}) {
      if (!share.takes_next()) continue;
      MatmulCase matmul{.problem = {.m = 72, .n = 71, .k = 328, .batches = 2, .splits = splits, .config = config},
                        .more = 1,
                        .has_residual = splits == 3};
      EXPECT_TRUE(runs_right_on_sm100(matmul, 8, static_cast<std::uint64_t>(splits)));
    }
  }
}

TEST(MatmulSm100, EmptyProblemsWriteNothingOrZeros) {
  EXPECT_TRUE(runs_right_on_sm100({.problem = {.m = 0, .n = 64, .k = 64}}));
  EXPECT_TRUE(runs_right_on_sm100({.problem = {.m = 64, .n = 0, .k = 64}}));
  EXPECT_TRUE(runs_right_on_sm100({.problem = {.m = 64, .n = 64, .k = 64, .batches = 0}}));
  for (const std::string& config : matmul_sm100_configs()) {
    EXPECT_TRUE(runs_right_on_sm100({.problem = {.m = 200, .n = 72, .k = 0, .config = config}}));
  }
}

TEST(MatmulSm100, RowsThatEndInsideOf16BytesLeaveTheRestAlone) {
  for (const MatmulElement output : kOutputs) {
    for (const std::int64_t n : {1, 7, 61, 131}) {
      MatmulCase matmul{.problem = {.m = 130, .n = n, .k = 64, .out_type = output}, .more = 1};
      EXPECT_TRUE(runs_right_on_sm100(matmul, 8, 1));
    }
  }
}

}  // namespace
}  // namespace heddle
