// SPDX-License-Identifier: Apache-2.0
//
// The grouped Hopper matmul in the simulated SM against sums in double: groups of all sizes, numbers of rows that
// make no sense, rows in no group, schedules; and mistakes planted in its ring.
#include "matmul/device/matmul_sm90_grouped.h"
#include "matmul/host/matmul_grouped_plan.h"
#include "matmul/reference/matmul_reference.h"

#include <heddle/host/error.h>
#include <heddle/host/tensor_map.h>
#include <heddle/sim/launch.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace heddle {
namespace {

using reference::Matrices;

constexpr const char* kSmall[] = {"256x24x64_3_1x2", "128x40x64_2_2x1", "64x16x64_3_1x1"};

struct Case {
  MatmulGroupedProblem problem;
  std::vector<std::int32_t> numbers;  // of rows
  bool is_random = false;             // otherwise integers, whose sums are exact
  Matrices a, b, out;

  Case(const MatmulGroupedProblem& p, std::vector<std::int32_t> group_rows, std::uint64_t seed = 1,
       bool random = false)
      : problem(p), numbers(std::move(group_rows)), is_random(random) {
    problem.groups = static_cast<std::int64_t>(numbers.size());
    a = Matrices(MatmulElement::kBf16, p.m, p.k, 1, 0);
    b = Matrices(MatmulElement::kBf16, p.n, p.k, problem.groups, 0);
    out = Matrices(p.out_type, p.m, p.n, 1, 1);
    problem.a_pitch = a.pitch;
    problem.b_pitch = b.pitch;
    problem.out_pitch = out.pitch;
    problem.b_group_stride = b.pitch * p.n;
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    const auto number = [&] {
      return is_random ? reference::rounded(reference::format_of(MatmulElement::kBf16), normal(engine))
                       : static_cast<double>(engine() % 7) - 3.0;
    };
    fill(a, number);
    fill(b, number);
  }

  template <class Number>
  static void fill(Matrices& matrices, const Number& number) {
    for (std::int64_t batch = 0; batch < matrices.batches; ++batch) {
      for (std::int64_t row = 0; row < matrices.rows; ++row) {
        for (std::int64_t col = 0; col < matrices.cols; ++col) matrices.set(batch, row, col, number());
      }
    }
  }

  MatmulGroupedTensors tensors() {
    return {.a = a.bytes.data(), .b = b.bytes.data(), .group_rows = numbers.data(), .out = out.bytes.data()};
  }
  RunOutcome run(const std::string& schedule = "rr", std::uint32_t sms = 4) {
    return matmul_grouped_sm90<Target::kSim>(problem, tensors(),
                                             {.kernel = "matmul", .schedule = schedule, .sms = sms});
  }

  // The group of each row, or -1: what the problem's page says, one row at a time.
  std::vector<std::int64_t> group_of_rows() const {
    std::vector<std::int64_t> groups(static_cast<std::size_t>(problem.m), -1);
    std::int64_t row = 0;
    for (std::int64_t g = 0; g < problem.groups; ++g) {
      const std::int64_t given = numbers[static_cast<std::size_t>(g)];
      if (problem.rows == GroupRows::kEnds) {
        for (; row < std::min(given, problem.m); ++row) groups[static_cast<std::size_t>(row)] = g;
      } else {
        const std::int64_t place = problem.m / problem.groups;
        for (std::int64_t i = 0; i < std::min(given, place); ++i) {
          groups[static_cast<std::size_t>(g * place + i)] = g;
        }
      }
    }
    return groups;
  }

  testing::AssertionResult is_right() const {
    const std::vector<std::int64_t> groups = group_of_rows();
    reference::MatmulVerdict verdict;
    for (std::int64_t m = 0; m < problem.m; ++m) {
      const std::int64_t g = groups[static_cast<std::size_t>(m)];
      if (g < 0) {
        const auto first = out.bytes.begin() + static_cast<std::ptrdiff_t>(out.offset(0, m, 0));
        const auto end = out.bytes.begin() + static_cast<std::ptrdiff_t>(out.offset(0, m, problem.n - 1) + 1);
        if (!std::all_of(first, end, [](unsigned char byte) { return byte == Matrices::kPoison; })) {
          return testing::AssertionFailure() << "row " << m << " is in no group and was written";
        }
        continue;
      }
      for (std::int64_t n = 0; n < problem.n; ++n) {
        double sum = 0;
        double magnitude = 0;
        for (std::int64_t k = 0; k < problem.k; ++k) {
          const double product = a.get(0, m, k) * b.get(g, n, k);
          sum += product;
          magnitude += std::abs(product);
        }
        const double bound = reference::bound_of_sum(problem.k, 16, magnitude) +
                             reference::bound_of_rounding(problem.out_type, sum, magnitude);
        reference::compare_element(verdict, out, 0, m, n, sum, bound, !is_random);
      }
    }
    if (!verdict.ok()) return testing::AssertionFailure() << verdict.wrong;
    if (!out.is_padding_whole()) return testing::AssertionFailure() << reference::kWroteBetweenRows;
    return testing::AssertionSuccess();
  }
};

testing::AssertionResult runs_right(Case c, const std::string& schedule = "rr", std::uint32_t sms = 4) {
  const RunOutcome outcome = c.run(schedule, sms);
  if (!outcome.ok()) return testing::AssertionFailure() << outcome.report;
  if (!outcome.remarks.empty()) return testing::AssertionFailure() << outcome.remarks;
  return c.is_right();
}

MatmulGroupedProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, const char* config,
                                MatmulElement out = MatmulElement::kBf16) {
  return {.m = m, .n = n, .k = k, .out_type = out, .config = config};
}

TEST(MatmulSm90Grouped, GroupsThatEndAnywhereAreExact) {
  for (const char* config : kSmall) {
    for (const MatmulElement out : {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kFp32}) {
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
  for (const char* config : kSmall) {
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
  for (const char* config : {"256x176x64_3_1x2", "256x128x64_4_1x2", "128x256x64_4_2x1", "64x256x64_5_1x1"}) {
    EXPECT_TRUE(runs_right(Case(problem_of(400, 368, 330, config), {100, 117, 400})));
  }
}

TEST(MatmulSm90Grouped, ChoosesByTheRowsOfAGroup) {
  const MatmulGroupedTensors apart{.a = reinterpret_cast<void*>(std::uintptr_t{1} << 44),
                                   .b = reinterpret_cast<void*>(std::uintptr_t{2} << 44),
                                   .group_rows = reinterpret_cast<std::int32_t*>(std::uintptr_t{3} << 44),
                                   .out = reinterpret_cast<void*>(std::uintptr_t{4} << 44)};
  const auto choice = [&](MatmulGroupedProblem problem) {
    return matmul_grouped_sm90_configs(false)[plan_matmul_grouped(problem, apart, false).instance];
  };
  EXPECT_EQ(choice({.groups = 128, .m = 8192, .n = 4096, .k = 2048}), "64x256x64_5_1x1");
  EXPECT_NE(choice({.groups = 8, .m = 8192, .n = 14336, .k = 4096}), "64x256x64_5_1x1");
  EXPECT_EQ(choice({.groups = 8, .m = 8192, .n = 14336, .k = 4096, .expected_rows = 20}), "64x256x64_5_1x1");
}

class MatmulSm90GroupedSchedules : public testing::TestWithParam<int> {};

TEST_P(MatmulSm90GroupedSchedules, GiveTheSameNumbers) {
  for (const char* config : kSmall) {
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
       "rows is 9; its enumerators are 0 to 1"},
      {"OutputOfFp8", [](auto& p, auto&) { p.out_type = MatmulElement::kE4m3; },
       "bf16 to e4m3 is not a supported pair of types; the output is bf16, fp16 or fp32"},
      {"ShortPitch", [](auto& p, auto&) { p.a_pitch = 56; }, "a_pitch is 56 elements, less than the 64 of a row"},
      {"GroupsOverlap", [](auto& p, auto&) { p.b_group_stride = 64; },
       "b_batch_stride is 64 elements, less than the 2560 of a matrix"},
      {"NegativeExpectation", [](auto& p, auto&) { p.expected_rows = -1; },
       "expected_rows is -1; 0 for unknown, or more"},
      {"NoSuchConfiguration", [](auto& p, auto&) { p.config = "1x1"; },
       "no configuration of grouped matmuls is called '1x1'; there are 256x176x64_3_1x2, "},
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
  using Kernel = MatmulSm90Grouped<kTiny, bf16, Backend>;
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
