// SPDX-License-Identifier: Apache-2.0
//
// The Blackwell matmul with operands that are not both K-major, and with e4m3 and e5m2 mixed, in the simulated
// SM: every kernel under twenty schedules, ragged and empty problems, without a report.
#include "../support/matmul_cases.h"
#include "../support/schedule_share.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

namespace heddle {
namespace {

using test::few_sms;
using test::in_layouts;
using test::kOutputs;
using test::MatmulCase;
using test::MatmulData;
using test::OperandLayouts;
using test::runs_right_on_sm100;
using test::some_tiles;

class MatmulSm100Layouts : public ::testing::TestWithParam<OperandLayouts> {};

// Types take turns, so that each kernel has twenty schedules.
TEST_P(MatmulSm100Layouts, AreExactUnderRandomSchedules) {
  for (const std::string& config : test::kConfigsWithLayouts) {
    for (std::uint64_t seed = 1; seed <= test::schedule_share(60); ++seed) {
      ASSERT_TRUE(runs_right_on_sm100(in_layouts(some_tiles(config, seed), GetParam(), seed),
                                      few_sms(config, seed), seed));
    }
  }
}

TEST_P(MatmulSm100Layouts, KeepTheErrorBoundOnRandomData) {
  for (const std::string& config : test::kConfigsWithLayouts) {
    for (std::uint64_t turn = 0; turn < test::schedule_share(5); ++turn) {
      MatmulCase matmul = in_layouts(some_tiles(config, turn), GetParam(), turn);
      matmul.data = MatmulData::kRandom;
      EXPECT_TRUE(runs_right_on_sm100(matmul, 8, turn));
    }
  }
}

TEST_P(MatmulSm100Layouts, SizesMixedAreExactOnIntegers) {
  constexpr std::int64_t kSizes[] = {1, 7, 64, 128, 200, 256, 384, 520};
  for (std::uint64_t i = 0; i < test::schedule_share(9); ++i) {  // three kinds in three configurations
    MatmulCase matmul{.problem = {.m = kSizes[(i + 2) % 8],
                                  .n = kSizes[(i * 3 + 1) % 8],
                                  .k = kSizes[(i * 5 + 3) % 8],
                                  .out_type = kOutputs[i % 3],
                                  .config = test::kConfigsWithLayouts[i / 3]},
                      .seed = i + 1,
                      .more = static_cast<std::int64_t>(i % 2)};
    EXPECT_TRUE(runs_right_on_sm100(in_layouts(matmul, GetParam(), i), 8, i));
  }
}

TEST_P(MatmulSm100Layouts, BatchesSplitsAndEmptyProblems) {
  test::CaseShare share(2);
  for (const std::string& config : test::kConfigsWithLayouts) {
    if (!share.takes_next()) continue;
    const MatmulCase batches{.problem = {.m = 136, .n = 72, .k = 72, .batches = 2, .config = config}};
    EXPECT_TRUE(runs_right_on_sm100(in_layouts(batches, GetParam(), 0), 8, 3));
    const MatmulCase splits{.problem = {.m = 72, .n = 71, .k = 328, .splits = 3, .config = config}};
    EXPECT_TRUE(runs_right_on_sm100(in_layouts(splits, GetParam(), 0), 8, 3));
    const MatmulCase empty{.problem = {.m = 136, .n = 72, .k = 0, .config = config}};
    EXPECT_TRUE(runs_right_on_sm100(in_layouts(empty, GetParam(), 0)));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulSm100Layouts, ::testing::ValuesIn(test::kOtherLayouts),
                         [](const auto& layouts) { return std::string(layouts.param.name); });

TEST(MatmulSm100MixedTypes, AreExactInEveryConfiguration) {
  for (const std::string& config : matmul_sm100_configs()) {
    for (std::uint64_t turn = 0; turn < test::schedule_share(4); ++turn) {
      MatmulCase matmul = some_tiles(config, turn);
      matmul.problem.a_type = turn % 2 == 0 ? MatmulElement::kE4m3 : MatmulElement::kE5m2;
      matmul.problem.b_type = turn % 2 == 0 ? MatmulElement::kE5m2 : MatmulElement::kE4m3;
      EXPECT_TRUE(runs_right_on_sm100(matmul, few_sms(config, turn), turn));
    }
  }
}

TEST(MatmulSm100Layouts, AreRefusedWhereAConfigurationDoesNotTakeThem) {
  MatmulCase matmul{
      .problem = {.m = 64, .n = 64, .k = 64, .b_layout = OperandLayout::kMnMajor, .config = "1sm_64x64_1x1"}};
  matmul.prepare();
  try {
    matmul_sm100<Target::kSim>(matmul.problem, matmul.tensors(), {});
    FAIL() << "it was not refused";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "matmul: configuration '1sm_64x64_1x1' takes A as [M, K] and B as [N, K]; 1sm_128x64_1x1, "
                 "2sm_256x256_2x1, 2sm_256x128_2x1_fused take other layouts");
  }
}

}  // namespace
}  // namespace heddle
