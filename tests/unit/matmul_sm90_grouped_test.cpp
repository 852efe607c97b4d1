// SPDX-License-Identifier: Apache-2.0
//
// The grouped Hopper matmul in the simulated SM against sums in double: groups of all sizes, numbers of rows that
// make no sense, rows in no group, schedules; and mistakes planted in its ring.
#include "matmul/device/matmul_sm90_grouped.h"

#include "../support/matmul_grouped_case.h"
#include "../support/schedule_share.h"

#include <heddle/host/error.h>
#include <heddle/host/tensor_map.h>
#include <heddle/sim/launch.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace heddle {
namespace {

using reference::Matrices;
using test::runs_right;
using Case = test::MatmulGroupedCase;

constexpr const char* kSmall[] = {"256x24x64_3_1x2", "128x40x64_2_2x1", "64x16x64_3_1x1"};

MatmulGroupedProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, const char* config,
                                MatmulElement out = MatmulElement::kBf16) {
  return {.m = m, .n = n, .k = k, .out_type = out, .config = config};
}

TEST(MatmulSm90Grouped, GroupsThatEndAnywhereAreExact) {
  test::CaseShare share(4);  // which meets every configuration
  for (const char* config : kSmall) {
    for (const MatmulElement out : {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kFp32}) {
      if (!share.takes_next()) continue;
      EXPECT_TRUE(runs_right(Case(problem_of(450, 88, 200, config, out), {130, 131, 300, 305, 450})));
    }
  }
}

TEST(MatmulSm90Grouped, RandomNumbersKeepTheBound) {
  for (const char* config : kSmall) {
    EXPECT_TRUE(runs_right(Case(problem_of(300, 72, 330, config), {77, 200, 300}, 3, true)));
  }
}

TEST(MatmulSm90Grouped, EmptyGroupsAreWithoutInfluence) {
  for (const char* config : kSmall) {
    EXPECT_TRUE(runs_right(Case(problem_of(100, 48, 64, config), {0, 0, 70, 70, 70, 100, 100})));
    EXPECT_TRUE(runs_right(Case(problem_of(100, 48, 64, config), {0, 0, 0})));
  }
}

TEST(MatmulSm90Grouped, OneHugeGroupBesideTinyOnes) {
  test::CaseShare share(3);
  for (const char* config : kSmall) {
    if (!share.takes_next()) continue;
    EXPECT_TRUE(runs_right(Case(problem_of(1500, 40, 70, config), {3, 1480, 1481, 1500})));
  }
}

TEST(MatmulSm90Grouped, ManyTinyGroups) {
  std::vector<std::int32_t> ends;
  for (std::int32_t g = 0; g < 60; ++g) ends.push_back((ends.empty() ? 0 : ends.back()) + g % 4);
  for (const char* config : kSmall) {
    EXPECT_TRUE(runs_right(Case(problem_of(ends.back(), 24, 64, config), ends)));
  }
}

TEST(MatmulSm90Grouped, RowsAfterTheLastEndStayAsTheyAre) {
  for (const char* config : kSmall) EXPECT_TRUE(runs_right(Case(problem_of(200, 40, 64, config), {20, 61})));
}

TEST(MatmulSm90Grouped, CountsLeaveTheRestOfEachPlaceAsItIs) {
  for (const char* config : kSmall) {
    MatmulGroupedProblem problem = problem_of(4 * 90, 56, 130, config);
    problem.rows = GroupRows::kCounts;
    EXPECT_TRUE(runs_right(Case(problem, {90, 0, 17, 64})));
    EXPECT_TRUE(runs_right(Case(problem, {1, 89, 16, 33}, 5, true)));
  }
}

// Whatever they are, nothing outside is touched: the simulated SM would report it.
TEST(MatmulSm90Grouped, NumbersThatMakeNoSenseAreCut) {
  constexpr std::int32_t kMost = 2147483647;
  constexpr std::int32_t kLeast = -2147483647 - 1;
  for (const char* config : kSmall) {
    const MatmulGroupedProblem problem = problem_of(240, 40, 64, config);
    EXPECT_TRUE(runs_right(Case(problem, {100, 50, 150, 149})));
    EXPECT_TRUE(runs_right(Case(problem, {-5, 30, kLeast, 240})));
    EXPECT_TRUE(runs_right(Case(problem, {100, 241, kMost, 7})));
    EXPECT_TRUE(runs_right(Case(problem, {kMost, kLeast, kMost, kMost})));
    MatmulGroupedProblem places = problem;
    places.rows = GroupRows::kCounts;
    EXPECT_TRUE(runs_right(Case(places, {kMost, -1, 61, kLeast})));
  }
}

TEST(MatmulSm90Grouped, ConfigurationsOfTheGpu) {
  for (const char* config : {"256x176x64_3_1x2", "128x256x64_4_2x1", "64x256x64_5_1x1"}) {
    if (test::is_whole()) {
      EXPECT_TRUE(runs_right(Case(problem_of(400, 368, 330, config), {100, 117, 400})));
    } else {
      EXPECT_TRUE(runs_right(Case(problem_of(140, 184, 136, config), {40, 57, 140})));
    }
  }
}

TEST(MatmulSm90Grouped, ChoosesByTheRowsOfAGroup) {
  const MatmulGroupedTensors apart{.a = reinterpret_cast<void*>(std::uintptr_t{1} << 44),
                                   .b = reinterpret_cast<void*>(std::uintptr_t{2} << 44),
                                   .group_rows = reinterpret_cast<std::int32_t*>(std::uintptr_t{3} << 44),
                                   .out = reinterpret_cast<void*>(std::uintptr_t{4} << 44)};
  const auto choice = [&](MatmulGroupedProblem problem) {
    return config_of(plan_matmul_grouped(problem, apart, false));
  };
  EXPECT_EQ(choice({.groups = 128, .m = 8192, .n = 4096, .k = 2048}), "64x256x64_5_1x1");
  EXPECT_NE(choice({.groups = 8, .m = 8192, .n = 14336, .k = 4096}), "64x256x64_5_1x1");
  EXPECT_EQ(choice({.groups = 8, .m = 8192, .n = 14336, .k = 4096, .expected_rows = 20}), "64x256x64_5_1x1");
}

class MatmulSm90GroupedSchedules : public testing::TestWithParam<int> {};

TEST_P(MatmulSm90GroupedSchedules, GiveTheSameNumbers) {
  for (const char* config : kSmall) {
    if (!test::is_whole() && config != kSmall[GetParam() % 3]) continue;
    EXPECT_TRUE(
        runs_right(Case(problem_of(330, 56, 200, config), {70, 70, 230, 330}), std::to_string(GetParam()), 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Twenty, MatmulSm90GroupedSchedules, testing::Range(1, 21));

struct Refusal {
  const char* name;
  std::function<void(MatmulGroupedProblem&, MatmulGroupedTensors&)> spoil;
  std::string message;
};

TEST(MatmulGroupedRefusals, NameTheRuleAndWriteNothing) {
  const std::vector<Refusal> refusals = {
      {"NegativeGroups", [](auto& p, auto&) { p.groups = -1; }, "groups is -1; 0 to 1073741824"},
      {"TooManyRows", [](auto& p, auto&) { p.m = std::int64_t{1} << 31; }, "m is 2147483648; 0 to 1073741824"},
      {"NoK", [](auto& p, auto&) { p.k = 0; }, "k is 0; sm90 takes 1 and more"},
      {"OddN", [](auto& p, auto&) { p.n = 41; },
       "n is 41; groups store their last rows 16 bytes at a time, and 48 would pass"},
      {"PlacesDoNotDivide", [](auto& p, auto&) { p.rows = GroupRows::kCounts, p.m = 31; },
       "m is 31 and there are 2 groups with places of equal size; 32 would pass"},
      {"NotKindOfRows", [](auto& p, auto&) { p.rows = static_cast<GroupRows>(9); },
       "rows is 9; its enumerators are 0 to 2"},
      {"OutputOfFp8", [](auto& p, auto&) { p.out_type = MatmulElement::kE4m3; },
       "bf16 to e4m3 is not a supported pair of types; the output is bf16, fp16 or fp32"},
      {"ShortPitch", [](auto& p, auto&) { p.a_pitch = 56; }, "a_pitch is 56 elements, less than the 64 of a row"},
      {"GroupsOverlap", [](auto& p, auto&) { p.b_group_stride = 64; },
       "b_group_stride is 64 elements, less than the 2560 of a matrix"},
      {"NegativeExpectation", [](auto& p, auto&) { p.expected_rows = -1; },
       "expected_rows is -1; 0 for unknown, or more"},
      {"NoSuchConfiguration", [](auto& p, auto&) { p.config = "1x1"; },
       "no configuration for this problem is called '1x1'; there are 256x176x64_3_1x2, "},
      {"OneGroupOfAllRows", [](auto& p, auto&) { p.rows = GroupRows::kAll; },
       "groups is 2, and all rows are one group; 1 would pass"},
      {"ScalesOfBf16", [](auto& p, auto&) { p.scaling = GroupScaling::kRows; },
       "the types are bf16 and bf16, and the scales rows; FP8 has scales, and bf16 has none"},
      {"NoScalesOfFp8", [](auto& p, auto&) { p.a_type = p.b_type = MatmulElement::kE4m3; },
       "the types are e4m3 and e4m3, and the scales none; FP8 has scales, and bf16 has none"},
      {"TypesThatDoNotGoTogether", [](auto& p, auto&) { p.a_type = MatmulElement::kE4m3; },
       "e4m3 times bf16 is not a supported pair of types; bf16 times bf16, e4m3 times e4m3 or e5m2 times e4m3 "
       "would "
       "pass"},
      {"ExactBf16", [](auto& p, auto&) { p.is_exact = true; }, "is_exact is for FP8; false would pass"},
      {"NoNumbers", [](auto&, auto& t) { t.group_rows = nullptr; }, "group_rows is null and has 8 bytes"},
      {"OutIsA", [](auto&, auto& t) { t.out = const_cast<void*>(t.a); }, "out overlaps a: "},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.name);
    Case c(problem_of(30, 40, 64, ""), {10, 30});
    MatmulGroupedTensors tensors = c.tensors();
    refusal.spoil(c.problem, tensors);
    try {
      matmul_grouped_sm90<Target::kSim>(c.problem, tensors, {.kernel = "matmul"});
      ADD_FAILURE() << "it ran";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("matmul: " + refusal.message, 0), 0u) << error.what();
    }
    for (const unsigned char byte : c.out.bytes) ASSERT_EQ(byte, Matrices::kPoison);
  }
}

TEST(MatmulGroupedRefusals, EmptyProblemsWriteNothing) {
  EXPECT_TRUE(runs_right(Case(problem_of(0, 40, 64, ""), {0, 0})));
  EXPECT_TRUE(runs_right(Case(problem_of(30, 40, 64, ""), {})));
}

// One CTA with three groups, so that the ring goes round.
constexpr MatmulGroupedConfig kTiny{.tile_m = 64, .tile_n = 16, .stages = 2, .warpgroups = 1};
using TinyBackend = WgmmaInputBackend<kTiny.stages>;

template <class Backend>
bool is_silent() {
  using Kernel = MatmulSm90Grouped<kTiny, bf16, bf16, Backend>;
  Case c(problem_of(130, 16, 320, ""), {40, 100, 130});
  sim::GlobalMemory memory;
  memory.add("a", c.a.bytes.data(), c.a.bytes.size());
  memory.add("b", c.b.bytes.data(), c.b.bytes.size());
  memory.add("out", c.out.bytes.data(), c.out.bytes.size());
  memory.add("ends", c.numbers.data(), c.numbers.size() * sizeof(std::int32_t));
  const auto map = [](const void* address, std::uint64_t rows, std::uint64_t cols, std::uint64_t pitch,
                      std::uint32_t box_rows, std::uint32_t box_cols) {
    return tensor_map_2d({.type = TensorType::kBF16,
                          .address = address,
                          .rows = rows,
                          .cols = cols,
                          .row_bytes = pitch * 2,
                          .box_rows = box_rows,
                          .box_cols = box_cols,
                          .swizzle = Swizzle::k128B});
  };
  MatmulGroupedParams params{};
  params.a = map(c.a.bytes.data(), 130, 320, 320, 64, 64);
  params.b = make_tensor_map({.type = TensorType::kBF16,
                              .rank = 3,
                              .address = c.b.bytes.data(),
                              .dims = {320, 16, 3},
                              .strides = {640, 640 * 16},
                              .box = {64, 16, 1},
                              .swizzle = Swizzle::k128B});
  params.c = map(c.out.bytes.data(), 130, 16, static_cast<std::uint64_t>(c.out.pitch), 16, 16);
  params.c_tail = params.c;
  params.tiles = {.group_rows = {.numbers = c.numbers.data(), .groups = 3, .rows = 130}, .cluster_tiles_n = 1};
  params.k_blocks = 5;
  params.n = 16;
  params.out = c.out.bytes.data();
  params.out_pitch = static_cast<std::uint64_t>(c.out.pitch);
  params.output = MatmulElement::kBf16;
  const sim::Report report = sim::launch<Kernel>({.memory = &memory, .kernel = "matmul"}, {.grid = {1}}, params);
  return report.ok() && c.is_right();
}

TEST(MatmulSm90GroupedMistakes, NoneIsSilent) { EXPECT_TRUE(is_silent<TinyBackend>()); }

template <Mistake mistake>
void expect_found() {
  EXPECT_FALSE((is_silent<MutantBackend<TinyBackend, Mutation{mistake}>>()))
      << "mistake " << static_cast<int>(mistake);
}

TEST(MatmulSm90GroupedMistakes, AreFound) {
  expect_found<Mistake::kDropRelease>();
  expect_found<Mistake::kDropArrive>();
  expect_found<Mistake::kShortExpect>();
  expect_found<Mistake::kLongExpect>();
  expect_found<Mistake::kWrongPhase>();
  expect_found<Mistake::kLargeCount>();
  expect_found<Mistake::kNoConsumerWait>();
  expect_found<Mistake::kNoProducerWait>();
}

}  // namespace
}  // namespace heddle
