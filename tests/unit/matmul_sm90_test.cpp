// SPDX-License-Identifier: Apache-2.0
//
// The Hopper matmul in the simulated SM: exact on integers, at ragged edges, in every form, under many
// schedules, with no report.
#include "../support/matmul_cases.h"
#include "../support/schedule_share.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle {
namespace {

using test::MatmulCase;
using test::runs_right_on_sm90;

const std::vector<std::string>& small_configs() {
  static const std::vector<std::string> names = {"128x24x64_3_2x1_coop_fused", "64x40x64_2_1x2_pingpong_fused",
                                                 "64x80x64_3_2x2_pingpong_fused", "64x16x128_2_1x1_single_fused"};
  return names;
}

TEST(MatmulSm90, EveryFormIsExactAtRaggedEdges) {
  test::CaseShare share(4);
  for (const std::string& config : small_configs()) {
    for (const MatmulElement output : {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kFp32}) {
      if (!share.takes_next()) continue;
      const MatmulProblem problem{.m = 150, .n = 92, .k = 200, .out_type = output, .config = config};
      EXPECT_TRUE(runs_right_on_sm90({.problem = problem, .seed = 5, .more = 1}, 4, 0));
    }
  }
}

const std::vector<std::string>& swapped_configs() {
  static const std::vector<std::string> names = {
      "24x128x64_3_1x1_coop_swapped", "72x64x64_3_1x1_pingpong_swapped", "40x192x64_2_1x1_single_swapped"};
  return names;
}

TEST(MatmulSm90, SwappedOperandsAreExactAtRaggedEdges) {
  test::CaseShare share(4);  // which meets every configuration, type and m
  std::vector<std::string> configs = swapped_configs();
  configs.push_back("24x64x64_2_2x1_single_swapped");
  for (const std::string& config : configs) {
    for (const MatmulElement output : {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kFp32}) {
      for (const std::int64_t m : {1, 93, 131}) {
        if (!share.takes_next()) continue;
        const MatmulProblem problem{.m = m, .n = 216, .k = 200, .out_type = output, .config = config};
        EXPECT_TRUE(runs_right_on_sm90({.problem = problem, .seed = 5, .more = 8}, 4, 0));
      }
    }
  }
}

// The CTAs of a cluster have a part of K each.
TEST(MatmulSm90, PartsOfKThatClustersJoinAreExactUnderSchedules) {
  test::CaseShare share(5);  // which meets every configuration, number of parts and type
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    if (!share.takes_next()) continue;
    const std::string& config = swapped_configs()[seed % swapped_configs().size()];
    const std::uint64_t parts = 2 + seed % 3;
    const MatmulProblem problem{.m = 60 + static_cast<std::int64_t>(seed),
                                .n = 200,
                                .k = 500,
                                .out_type = static_cast<MatmulElement>(seed % 3),
                                .config = fmt::format("{}@m2/{}", config, parts)};
    EXPECT_TRUE(runs_right_on_sm90({.problem = problem, .seed = seed, .more = 8}, 4, seed));
  }
}

// Operands are copied to where the copy engine can read them, and the sums to where it can store them.
TEST(MatmulSm90, RowsThatBeginAnywhereAreExact) {
  test::CaseShare share(2);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    if (!share.takes_next()) continue;
    MatmulProblem problem{.m = 70,
                          .n = 93 - static_cast<std::int64_t>(seed % 2) * 5,  // 88: only K is odd
                          .k = 131,
                          .out_type = static_cast<MatmulElement>(seed % 3),
                          .b_layout = seed % 3 == 0 ? OperandLayout::kMnMajor : OperandLayout::kKMajor,
                          .beta = seed == 4 ? 2.0f : 0.0f};
    EXPECT_TRUE(runs_right_on_sm90({.problem = problem,
                                    .seed = seed,
                                    .more = static_cast<std::int64_t>(seed / 3),
                                    .is_packed = true,
                                    .has_bias = seed == 3,
                                    .has_residual = seed == 5},
                                   4, seed));
  }
}

TEST(MatmulSm90, TilesOfManyRoundsAreExact) {
  test::CaseShare share(2);
  for (const std::string& config : small_configs()) {
    if (!share.takes_next()) continue;
    const MatmulProblem problem{.m = 300,
                                .n = 170,
                                .k = 130,
                                .a_type = MatmulElement::kFp16,
                                .b_type = MatmulElement::kFp16,
                                .config = config + "@n2"};
    EXPECT_TRUE(runs_right_on_sm90({.problem = problem, .seed = 6}, 4, 17));
  }
}

TEST(MatmulSm90, EveryChoiceOfTheLibraryCanBeRun) {
  for (const std::int64_t m : {1, 16, 100, 512, 4096, 8192}) {
    for (const std::int64_t n : {8, 512, 1000, 14336}) {
      for (const std::int64_t k : {8, 1024, 16384}) {
        const MatmulProblem problem{.m = m, .n = n, .k = k};
        const std::string choice = matmul_sm90_choice(problem, false, false);
        const std::vector<std::string> all = matmul_sm90_configs(problem, false, false);
        EXPECT_NE(std::find(all.begin(), all.end(), choice.substr(0, choice.find('@'))), all.end()) << choice;
        const MatmulSm90Choice without = choose_matmul_sm90(problem, {.workspace_bytes = 0});
        EXPECT_EQ(workspace_of(problem, {}, without), 0u) << name_of(without);
      }
    }
  }
}

TEST(MatmulSm90, OneElementIsExact) {
  for (const std::string& config : small_configs()) {
    EXPECT_TRUE(runs_right_on_sm90({.problem = {.m = 1, .n = 1, .k = 1, .config = config},
                                    .seed = 7,
                                    .has_bias = true,
                                    .has_residual = true},
                                   4, 0));
  }
}

TEST(MatmulSm90, BOfBothLayoutsIsExact) {
  const MatmulProblem problem{.m = 70,
                              .n = 100,
                              .k = 150,
                              .b_layout = OperandLayout::kMnMajor,
                              .config = "64x64x64_3_1x1_pingpong_kn_fused"};
  EXPECT_TRUE(runs_right_on_sm90({.problem = problem, .seed = 8, .more = 2}, 4, 0));
}

TEST(MatmulSm90, EpilogueIsExactOnIntegers) {
  for (const std::string& config : small_configs()) {
    for (const MatmulElement output : {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kFp32}) {
      const MatmulProblem problem{.m = 70,
                                  .n = 51,
                                  .k = 70,
                                  .out_type = output,
                                  .alpha = 2,
                                  .beta = -1,
                                  .activation = Activation::kRelu,
                                  .config = config};
      EXPECT_TRUE(runs_right_on_sm90(
          {.problem = problem, .seed = 9, .more = 1, .has_bias = true, .has_residual = true}, 4, 0));
    }
  }
}

TEST(MatmulSm90, KInPartsIsExactInEveryFormAndUnderSchedules) {
  test::CaseShare share(5);  // which meets every form
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    if (!share.takes_next()) continue;
    const std::string& config = small_configs()[seed % small_configs().size()];
    const std::uint64_t parts = 2 + seed % 2;  // of 5 blocks of 64, or 3 of 128: the last part is shorter
    const MatmulProblem problem{.m = 100 + static_cast<std::int64_t>(seed),
                                .n = 92,
                                .k = 320,
                                .out_type = static_cast<MatmulElement>(seed % 3),
                                .config = fmt::format("{}@m2/{}", config, parts)};
    EXPECT_TRUE(runs_right_on_sm90({.problem = problem, .seed = seed, .more = 1}, 4, seed));
  }
}

TEST(MatmulSm90, KInPartsHasTheWholeEpilogue) {
  for (const std::string config : {"64x16x128_2_1x1_single_fused/3", "64x112x64_9_2x1_single/5"}) {
    const MatmulProblem problem{.m = 70,
                                .n = 51,
                                .k = 300,
                                .out_type = MatmulElement::kFp16,
                                .alpha = 2,
                                .beta = -1,
                                .activation = Activation::kRelu,
                                .config = config};
    EXPECT_TRUE(runs_right_on_sm90(
        {.problem = problem, .seed = 9, .more = 1, .has_bias = true, .has_residual = true}, 4, 3));
  }
}

TEST(MatmulSm90, TheCallerCanAskForPartsOfK) {
  const MatmulProblem problem{.m = 33, .n = 40, .k = 640, .splits = 5};
  EXPECT_TRUE(matmul_sm90_choice(problem, false, true).ends_with("/5"));
  EXPECT_TRUE(runs_right_on_sm90({.problem = problem, .seed = 11}, 4, 0));
}

// Clusters add these parts up and store the rows, whose ends the copy engine cannot.
TEST(MatmulSm90, PartsOfKThatTheCallerAsksForEndRowsAnywhere) {
  for (const MatmulElement output : {MatmulElement::kFp16, MatmulElement::kFp32}) {
    const MatmulProblem problem{.m = 33, .n = 15, .k = 219, .out_type = output, .beta = -0.5, .splits = 2};
    EXPECT_TRUE(runs_right_on_sm90({.problem = problem, .seed = 12, .more = 1}, 4, 0));
  }
}

TEST(MatmulSm90, ConfigurationsOfTheGpuRunInTheSimulatedSm) {
  for (const char* config : {"128x256x64_4_2x1_coop", "128x176x64_5_2x1_pingpong", "64x112x64_9_2x1_single"}) {
    const MatmulProblem problem{.m = 200, .n = 264, .k = 330, .config = config};
    EXPECT_TRUE(runs_right_on_sm90({.problem = problem, .seed = 10}, 4, 0));
  }
}

TEST(MatmulSm90, EveryFormPassesUnderAHundredSchedules) {
  for (std::uint64_t seed = 1; seed <= test::schedule_share(100); ++seed) {
    const std::string& config = small_configs()[seed % small_configs().size()];
    const MatmulProblem problem{.m = 140, .n = 90, .k = 260, .config = config};
    EXPECT_TRUE(runs_right_on_sm90({.problem = problem, .seed = seed},
                                   static_cast<std::uint32_t>(4 + seed % 3 * 4), seed));
  }
}

TEST(MatmulSm90, AnOrderThatIsNoneIsRefused) {
  MatmulCase matmul{.problem = {.m = 8, .n = 8, .k = 8, .config = "64x16x128_2_1x1_single_fused@x"}};
  matmul.prepare();
  try {
    matmul_sm90<Target::kSim>(matmul.problem, matmul.tensors(), {});
    ADD_FAILURE() << "not refused";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "matmul: the order '@x' of a configuration; '@m8' and '@n8' are examples");
  }
}

}  // namespace
}  // namespace heddle
