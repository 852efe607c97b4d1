// SPDX-License-Identifier: Apache-2.0
//
// The grouped Blackwell matmuls in the simulated SM against sums in double: bf16, FP8 with scales of tensors, of
// rows and of blocks; groups of all sizes, numbers of rows that make no sense, rows in no group, schedules.
#define HEDDLE_GROUPED_SM100
#include "../support/matmul_grouped_case.h"
#include "../support/schedule_share.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace heddle {
namespace {

using reference::Matrices;
using test::runs_right;
using Case = test::MatmulGroupedCase;

constexpr const char* kConfigs[] = {"1sm_64x128_1x1", "1sm_128x128_1x1", "2sm_256x256_2x1"};
constexpr const char* kBlocks[] = {"1sm_128x128_1x1", "1sm_128x64_1x2"};

MatmulGroupedProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& config,
                                MatmulElement out = MatmulElement::kBf16) {
  return {.m = m, .n = n, .k = k, .out_type = out, .config = config};
}

MatmulGroupedProblem fp8(std::int64_t m, std::int64_t n, std::int64_t k, GroupScaling scaling,
                         const std::string& config) {
  MatmulGroupedProblem problem = problem_of(m, n, k, config);
  problem.a_type = problem.b_type = MatmulElement::kE4m3;
  problem.scaling = scaling;
  return problem;
}

TEST(MatmulSm100Grouped, GroupsThatEndAnywhereAreExact) {
  test::CaseShare share(3);
  for (const char* config : kConfigs) {
    for (const MatmulElement out : {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kFp32}) {
      if (!share.takes_next()) continue;
      EXPECT_TRUE(runs_right(Case(problem_of(290, 88, 136, config, out), {130, 131, 170, 175, 290})));
    }
  }
}

TEST(MatmulSm100Grouped, TilesOfSeveralColumnsAreExact) {
  for (const char* config : kConfigs) {
    EXPECT_TRUE(runs_right(Case(problem_of(140, 328, 72, config), {33, 140})));
  }
}

TEST(MatmulSm100Grouped, RandomNumbersKeepTheBound) {
  for (const char* config : kConfigs) {
    EXPECT_TRUE(runs_right(Case(problem_of(150, 72, 200, config), {37, 100, 150}, 3, true)));
  }
}

TEST(MatmulSm100Grouped, EmptyGroupsAreWithoutInfluence) {
  for (const char* config : kConfigs) {
    EXPECT_TRUE(runs_right(Case(problem_of(100, 48, 64, config), {0, 0, 70, 70, 70, 100, 100})));
    EXPECT_TRUE(runs_right(Case(problem_of(100, 48, 64, config), {0, 0, 0})));
  }
}

TEST(MatmulSm100Grouped, OneHugeGroupBesideTinyOnes) {
  test::CaseShare share(3);
  for (const char* config : kConfigs) {
    if (!share.takes_next()) continue;
    EXPECT_TRUE(runs_right(Case(problem_of(1100, 40, 64, config), {3, 1080, 1081, 1100})));
  }
}

TEST(MatmulSm100Grouped, ManyTinyGroups) {
  std::vector<std::int32_t> ends;
  for (std::int32_t g = 0; g < 40; ++g) ends.push_back((ends.empty() ? 0 : ends.back()) + g % 4);
  test::CaseShare share(3);
  for (const char* config : kConfigs) {
    if (!share.takes_next()) continue;
    EXPECT_TRUE(runs_right(Case(problem_of(ends.back(), 24, 64, config), ends)));
  }
}

TEST(MatmulSm100Grouped, RowsAfterTheLastEndStayAsTheyAre) {
  for (const char* config : kConfigs) EXPECT_TRUE(runs_right(Case(problem_of(200, 40, 64, config), {20, 61})));
}

TEST(MatmulSm100Grouped, CountsLeaveTheRestOfEachPlaceAsItIs) {
  for (const char* config : kConfigs) {
    MatmulGroupedProblem problem = problem_of(4 * 90, 56, 72, config);
    problem.rows = GroupRows::kCounts;
    EXPECT_TRUE(runs_right(Case(problem, {90, 0, 17, 64})));
  }
}

// Whatever they are, nothing outside is touched: the simulated SM would report it.
TEST(MatmulSm100Grouped, NumbersThatMakeNoSenseAreCut) {
  constexpr std::int32_t kMost = 2147483647;
  constexpr std::int32_t kLeast = -2147483647 - 1;
  test::CaseShare share(4);
  for (const char* config : kConfigs) {
    const MatmulGroupedProblem problem = problem_of(160, 40, 64, config);
    for (const std::vector<std::int32_t>& ends : std::vector<std::vector<std::int32_t>>{
             {100, 50, 150, 149}, {-5, 30, kLeast, 160}, {100, 161, kMost, 7}, {kMost, kLeast, kMost, kMost}}) {
      if (share.takes_next()) {
        EXPECT_TRUE(runs_right(Case(problem, ends)));
      }
    }
    MatmulGroupedProblem places = problem;
    places.rows = GroupRows::kCounts;
    if (share.takes_next()) {
      EXPECT_TRUE(runs_right(Case(places, {kMost, -1, 39, kLeast})));
    }
  }
}

TEST(MatmulSm100GroupedFp8, ScalesOfTensorsAndRowsAreExactOnIntegers) {
  test::CaseShare share(3);
  for (const GroupScaling scaling : {GroupScaling::kTensors, GroupScaling::kRows}) {
    for (const char* config : kConfigs) {
      MatmulGroupedProblem problem = fp8(150, 88, 144, scaling, config);
      if (share.takes_next()) {
        EXPECT_TRUE(runs_right(Case(problem, {33, 130, 129, 1000})));
      }
      problem.a_type = MatmulElement::kE5m2;
      problem.out_type = MatmulElement::kFp32;
      if (share.takes_next()) {
        EXPECT_TRUE(runs_right(Case(problem, {60, 60, 140}, 2)));
      }
    }
  }
}

TEST(MatmulSm100GroupedFp8, OneGroupOfAllRowsReadsNoNumber) {
  MatmulGroupedProblem problem = fp8(70, 24, 144, GroupScaling::kTensors, kConfigs[0]);
  problem.rows = GroupRows::kAll;
  EXPECT_TRUE(runs_right(Case(problem, {0})));
}

TEST(MatmulSm100GroupedFp8, BlocksAreExactOnIntegers) {
  test::CaseShare share(3);
  for (const char* config : kBlocks) {
    MatmulGroupedProblem problem = fp8(330, 136, 272, GroupScaling::kBlocks, config);
    if (share.takes_next()) {
      EXPECT_TRUE(runs_right(Case(problem, {70, 70, 203, 310})));
    }
    problem.m = 200;
    if (share.takes_next()) {
      EXPECT_TRUE(runs_right(Case(problem, {1, 3, 5, 130, 131, 134, 190})));
    }
    problem.rows = GroupRows::kCounts;
    problem.m = 3 * 70;
    if (share.takes_next()) {
      EXPECT_TRUE(runs_right(Case(problem, {70, 0, 37}, 7)));
    }
  }
}

// The epilogue reads scales out of stages that are then filled anew.
TEST(MatmulSm100GroupedFp8, ATileHasMoreStepsOfKThanStages) {
  for (const char* config : kBlocks) {
    EXPECT_TRUE(runs_right(Case(fp8(50, 40, 9 * 128, GroupScaling::kBlocks, config), {20, 50})));
  }
}

TEST(MatmulSm100GroupedFp8, RandomNumbersKeepTheBound) {
  for (const GroupScaling scaling : {GroupScaling::kTensors, GroupScaling::kRows}) {
    EXPECT_TRUE(runs_right(Case(fp8(130, 56, 272, scaling, kConfigs[1]), {20, 130}, 3, true)));
  }
  for (const char* config : kBlocks) {
    EXPECT_TRUE(runs_right(Case(fp8(130, 160, 272, GroupScaling::kBlocks, config), {77, 130}, 5, true)));
  }
}

TEST(MatmulSm100Grouped, ChoosesByTheRowsOfAGroup) {
  const MatmulGroupedTensors apart{.a = reinterpret_cast<void*>(std::uintptr_t{1} << 44),
                                   .b = reinterpret_cast<void*>(std::uintptr_t{2} << 44),
                                   .group_rows = reinterpret_cast<std::int32_t*>(std::uintptr_t{3} << 44),
                                   .out = reinterpret_cast<void*>(std::uintptr_t{4} << 44)};
  const auto choice = [&](MatmulGroupedProblem problem) {
    return config_of(plan_matmul_grouped(problem, apart, false, Arch::kSm100));
  };
  EXPECT_EQ(choice({.groups = 128, .m = 8192, .n = 4096, .k = 2048}), "1sm_64x128_1x1");
  EXPECT_EQ(choice({.groups = 64, .m = 8192, .n = 4096, .k = 2048}), "1sm_128x128_1x1");
  EXPECT_EQ(choice({.groups = 8, .m = 8192, .n = 14336, .k = 4096}), "2sm_256x256_2x1");
  EXPECT_EQ(choice({.groups = 8, .m = 8192, .n = 14336, .k = 4096, .expected_rows = 20}), "1sm_64x128_1x1");
}

class MatmulSm100GroupedSchedules : public testing::TestWithParam<int> {};

TEST_P(MatmulSm100GroupedSchedules, GiveTheSameNumbers) {
  for (const char* config : kConfigs) {
    if (!test::is_whole() && config != kConfigs[GetParam() % 3]) continue;
    EXPECT_TRUE(
        runs_right(Case(problem_of(230, 56, 136, config), {70, 70, 180, 230}), std::to_string(GetParam()), 2));
  }
  const char* const blocks = kBlocks[GetParam() % 2];
  if (test::is_whole() || GetParam() % 4 == 0) {
    EXPECT_TRUE(runs_right(Case(fp8(150, 56, 272, GroupScaling::kBlocks, blocks), {70, 70, 130, 150}),
                           std::to_string(GetParam()), 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Twenty, MatmulSm100GroupedSchedules, testing::Range(1, 21));

TEST(MatmulSm100GroupedRefusals, NameTheRuleAndWriteNothing) {
  struct Refusal {
    const char* name;
    std::function<void(MatmulGroupedProblem&)> spoil;
    std::string message;
  };
  const std::vector<Refusal> refusals = {
      {"NoK", [](auto& p) { p.k = 0; }, "k is 0; sm100 takes 1 and more"},
      {"OddN", [](auto& p) { p.n = 41; },
       "n is 41; groups store their last rows 16 bytes at a time, and 48 would pass"},
      {"NoSuchConfiguration", [](auto& p) { p.config = "1x1"; },
       "no configuration for this problem is called '1x1'; there are 1sm_64x128_1x1, "},
      {"ExactFp8",
       [](auto& p) {
         p.a_type = p.b_type = MatmulElement::kE4m3;
         p.scaling = GroupScaling::kRows;
         p.is_exact = true;
       },
       "is_exact is for sm90, whose tensor cores add FP8 with fewer bits than bf16; "},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.name);
    Case c(problem_of(30, 40, 64, ""), {10, 30});
    refusal.spoil(c.problem);
    try {
      c.run();
      ADD_FAILURE() << "it ran";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("matmul: " + refusal.message, 0), 0u) << error.what();
    }
    for (const unsigned char byte : c.out.bytes) ASSERT_EQ(byte, Matrices::kPoison);
  }
}

TEST(MatmulSm100GroupedRefusals, EmptyProblemsWriteNothing) {
  EXPECT_TRUE(runs_right(Case(problem_of(0, 40, 64, ""), {0, 0})));
  EXPECT_TRUE(runs_right(Case(problem_of(30, 40, 64, ""), {})));
}

}  // namespace
}  // namespace heddle
