// SPDX-License-Identifier: Apache-2.0
//
// FP8 on Hopper in the simulated SM, whose tensor cores add FP8 products as coarsely as the chip's: scales of
// tensors, of rows and of blocks, sums in the tensor cores and in float, one group and several.
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

MatmulGroupedProblem fp8(std::int64_t m, std::int64_t n, std::int64_t k, GroupScaling scaling,
                         const std::string& config, bool is_exact = false) {
  return {.m = m,
          .n = n,
          .k = k,
          .rows = GroupRows::kAll,
          .a_type = MatmulElement::kE4m3,
          .b_type = MatmulElement::kE4m3,
          .scaling = scaling,
          .is_exact = is_exact,
          .config = config};
}

constexpr const char* kWhole = "128x24x128_2_1x2_e4m3";
constexpr const char* kTurns = "64x24x128_2_1x2_e4m3_pingpong";
constexpr const char* kExact = "256x24x128_2_1x2_e4m3_exact";
constexpr const char* kBlocks[] = {"256x32x128_2_1x2_e4m3_blocks", "128x96x128_3_2x1_e4m3_blocks"};
constexpr const char* kE5m2 = "64x16x128_3_1x1_e5m2";

TEST(MatmulSm90Fp8, ScalesOfTensorsAndRowsAreExactOnIntegers) {
  test::CaseShare share(3);  // which meets both kernels with both scalings
  for (const GroupScaling scaling : {GroupScaling::kTensors, GroupScaling::kRows}) {
    for (const MatmulElement out : {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kFp32}) {
      MatmulGroupedProblem whole = fp8(150, 88, 336, scaling, kWhole);
      whole.out_type = out;
      if (share.takes_next()) {
        EXPECT_TRUE(runs_right(Case(whole, {})));
      }
      MatmulGroupedProblem exact = fp8(300, 40, 272, scaling, kExact, true);
      exact.out_type = out;
      if (share.takes_next()) {
        EXPECT_TRUE(runs_right(Case(exact, {})));
      }
    }
  }
}

// Each warpgroup has a tile of its own: several of each, and fewer than warpgroups.
TEST(MatmulSm90Fp8, TilesInTurnsAreExactOnIntegers) {
  for (const MatmulElement out : {MatmulElement::kBf16, MatmulElement::kFp32}) {
    MatmulGroupedProblem several = fp8(210, 88, 528, GroupScaling::kTensors, kTurns);
    several.out_type = out;
    EXPECT_TRUE(runs_right(Case(several, {})));
  }
  EXPECT_TRUE(runs_right(Case(fp8(40, 16, 272, GroupScaling::kTensors, kTurns), {})));
  EXPECT_TRUE(runs_right(Case(fp8(130, 56, 400, GroupScaling::kTensors, kTurns), {}, 3, true)));
}

TEST(MatmulSm90Fp8, TilesInTurnsAreOfAllRows) {
  MatmulGroupedProblem problem = fp8(64, 24, 128, GroupScaling::kTensors, kTurns);
  problem.rows = GroupRows::kEnds;
  try {
    Case(problem, {64}).run();
    FAIL() << "a group of some rows was let pass";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("no configuration for this problem is called"), std::string::npos)
        << error.what();
  }
}

TEST(MatmulSm90Fp8, OneGroupOfAllRowsReadsNoNumber) {
  EXPECT_TRUE(runs_right(Case(fp8(70, 24, 144, GroupScaling::kTensors, kWhole), {0})));
}

TEST(MatmulSm90Fp8, RandomNumbersKeepTheBound) {
  for (const GroupScaling scaling : {GroupScaling::kTensors, GroupScaling::kRows}) {
    EXPECT_TRUE(runs_right(Case(fp8(130, 56, 400, scaling, kWhole), {}, 3, true)));
    EXPECT_TRUE(runs_right(Case(fp8(130, 56, 400, scaling, kExact, true), {}, 4, true)));
  }
  for (const char* config : kBlocks) {
    EXPECT_TRUE(runs_right(Case(fp8(270, 160, 400, GroupScaling::kBlocks, config), {}, 5, true)));
  }
}

TEST(MatmulSm90Fp8, BlocksAreExactOnIntegers) {
  for (const char* config : kBlocks) {
    EXPECT_TRUE(runs_right(Case(fp8(300, 296, 384, GroupScaling::kBlocks, config), {})));
    EXPECT_TRUE(runs_right(Case(fp8(33, 8, 16, GroupScaling::kBlocks, config), {})));
    EXPECT_TRUE(runs_right(Case(fp8(1, 136, 528, GroupScaling::kBlocks, config), {})));
  }
}

// Small tiles: four stages together, of which one is added while the next is multiplied, and what is left of K.
TEST(MatmulSm90Fp8, StagesThatAreAddedMeanwhileAreExact) {
  for (const std::int64_t k : {400, 512, 1168}) {
    EXPECT_TRUE(runs_right(Case(fp8(70, 40, k, GroupScaling::kBlocks, "64x16x128_16_1x1_e4m3_blocks"), {})));
  }
  EXPECT_TRUE(
      runs_right(Case(fp8(70, 264, 1168, GroupScaling::kBlocks, "128x64x128_8_1x4_e4m3_blocks"), {}, 5, true)));
  EXPECT_TRUE(
      runs_right(Case(fp8(70, 136, 672, GroupScaling::kRows, "128x64x128_8_1x4_e4m3_exact", true), {}, 6, true)));
}

TEST(MatmulSm90Fp8, GroupsHaveScalesOfTheirOwn) {
  test::CaseShare share(2);
  for (const char* config : kBlocks) {
    MatmulGroupedProblem problem = fp8(330, 136, 272, GroupScaling::kBlocks, config);
    problem.rows = GroupRows::kEnds;
    if (share.takes_next()) {
      EXPECT_TRUE(runs_right(Case(problem, {70, 70, 203, 310})));
    }
    if (share.takes_next()) {
      EXPECT_TRUE(runs_right(Case(problem, {1, 3, 5, 130, 131, 134, 263})));
    }
    problem.rows = GroupRows::kCounts;
    if (share.takes_next()) {
      EXPECT_TRUE(runs_right(Case(problem, {110, 0, 37}, 7, true)));
    }
  }
  for (const GroupScaling scaling : {GroupScaling::kTensors, GroupScaling::kRows}) {
    MatmulGroupedProblem problem = fp8(200, 40, 144, scaling, kWhole);
    problem.rows = GroupRows::kEnds;
    if (share.takes_next()) {
      EXPECT_TRUE(runs_right(Case(problem, {33, 150, 149, 1000})));
    }
  }
}

TEST(MatmulSm90Fp8, E5m2TimesE4m3) {
  MatmulGroupedProblem problem = fp8(100, 40, 272, GroupScaling::kRows, kE5m2);
  problem.a_type = MatmulElement::kE5m2;
  EXPECT_TRUE(runs_right(Case(problem, {})));
  EXPECT_TRUE(runs_right(Case(problem, {}, 9, true)));
}

// 4096 times 9 is more than the tensor cores can count to.
TEST(MatmulSm90Fp8, SumsInFloatAreExactWhereThoseOfTheTensorCoresAreNot) {
  for (const bool is_exact : {false, true}) {
    MatmulGroupedProblem problem =
        fp8(64, 24, 4096, GroupScaling::kTensors, is_exact ? kExact : kWhole, is_exact);
    problem.out_type = MatmulElement::kFp32;
    Case c(problem, {});
    for (Matrices* matrices : {&c.a, &c.b}) {
      for (std::int64_t row = 0; row < matrices->rows; ++row) {
        for (std::int64_t k = 0; k < 4096; ++k) matrices->set(0, row, k, 3.0);
      }
    }
    ASSERT_TRUE(c.run().ok());
    EXPECT_EQ(static_cast<bool>(c.is_right()), is_exact);
  }
}

// Several tiles of each along both edges, or one.
TEST(MatmulSm90Fp8, ConfigurationsOfTheGpu) {
  const auto any = [](GroupScaling scaling, const std::string& config, bool is_exact) {
    return test::is_whole() ? fp8(300, 280, 400, scaling, config, is_exact)
                            : fp8(130, 104, 272, scaling, config, is_exact);
  };
  const auto run_all = [&](GroupScaling scaling, bool is_exact) {
    for (const std::string& config : matmul_grouped_sm90_configs(any(scaling, "", is_exact), false)) {
      EXPECT_TRUE(runs_right(Case(any(scaling, config, is_exact), {}))) << config;
    }
  };
  run_all(GroupScaling::kTensors, false);
  run_all(GroupScaling::kRows, false);
  run_all(GroupScaling::kRows, true);
  run_all(GroupScaling::kBlocks, false);
}

class MatmulSm90Fp8Schedules : public testing::TestWithParam<int> {};

TEST_P(MatmulSm90Fp8Schedules, GiveTheSameNumbers) {
  const std::string schedule = std::to_string(GetParam());
  for (const char* config : kBlocks) {
    if (!test::is_whole() && config != kBlocks[GetParam() % 2]) continue;
    EXPECT_TRUE(runs_right(Case(fp8(290, 72, 400, GroupScaling::kBlocks, config), {}), schedule, 2));
  }
  if (!test::is_whole() && GetParam() % 4 != 0) return;
  EXPECT_TRUE(runs_right(Case(fp8(290, 56, 400, GroupScaling::kRows, kExact, true), {}), schedule, 2));
}

INSTANTIATE_TEST_SUITE_P(Twenty, MatmulSm90Fp8Schedules, testing::Range(1, 21));

struct Refusal {
  const char* name;
  std::function<void(MatmulGroupedProblem&, MatmulGroupedTensors&)> spoil;
  std::string message;
};

TEST(MatmulSm90Fp8Refusals, NameTheRuleAndWriteNothing) {
  const std::vector<Refusal> refusals = {
      {"NoScalesOfA", [](auto&, auto& t) { t.a_scales = nullptr; }, "a_scales is null and has 248 bytes"},
      {"NoScalesOfB", [](auto&, auto& t) { t.b_scales = nullptr; }, "b_scales is null and has 8 bytes"},
      {"NotAScaling", [](auto& p, auto&) { p.scaling = static_cast<GroupScaling>(4); },
       "scaling is 4; its enumerators are 0 to 3"},
      {"ShortPitchOfScales", [](auto& p, auto&) { p.a_scales_pitch = 28; },
       "a_scales_pitch is 28 elements, less than the 30 of a row"},
      {"PitchOfScales", [](auto& p, auto&) { p.a_scales_pitch = 30; },
       "rows of a_scales are 30 elements apart, 120 bytes; the copy engine takes multiples of 16 bytes. A pitch "
       "of "
       "32 would pass"},
      {"OddK", [](auto& p, auto&) { p.k = 152, p.a_pitch = p.b_pitch = 152; },
       "rows of a are 152 elements apart, 152 bytes; the copy engine takes multiples of 16 bytes. A pitch of 160 "
       "would pass"},
      {"OutIsAScale", [](auto&, auto& t) { t.out = const_cast<float*>(t.a_scales); }, "out overlaps a_scales: "},
      {"NoBlocksOfE5m2", [](auto& p, auto&) { p.a_type = MatmulElement::kE5m2; },
       "there is no kernel for e5m2 times e4m3 with scales of blocks; e4m3 times e4m3 would pass"},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.name);
    Case c(fp8(30, 40, 160, GroupScaling::kBlocks, ""), {});
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

// One CTA with three tiles of five stages, so that the ring goes round.
constexpr MatmulGroupedConfig kTiny{.tile_m = 64,
                                    .tile_n = 16,
                                    .tile_k = 128,
                                    .stages = 2,
                                    .warpgroups = 1,
                                    .accumulation = Accumulation::kBlockwise};
using TinyBackend = ScaledInputBackend<kTiny.stages, false>;

template <class Backend>
bool is_silent() {
  using Kernel = MatmulSm90Grouped<kTiny, e4m3, e4m3, Backend>;
  Case c(fp8(130, 16, 640, GroupScaling::kBlocks, ""), {});
  sim::GlobalMemory memory;
  memory.add("a", c.a.bytes.data(), c.a.bytes.size());
  memory.add("b", c.b.bytes.data(), c.b.bytes.size());
  memory.add("out", c.out.bytes.data(), c.out.bytes.size());
  memory.add("a_scales", c.a_scales.data(), c.a_scales.size() * sizeof(float));
  memory.add("b_scales", c.b_scales.data(), c.b_scales.size() * sizeof(float));
  MatmulGroupedParams params{};
  params.a = tensor_map_2d({.type = tensor_type<e4m3>,
                            .address = c.a.bytes.data(),
                            .rows = 130,
                            .cols = 640,
                            .row_bytes = 640,
                            .box_rows = 64,
                            .box_cols = 128,
                            .swizzle = Swizzle::k128B});
  params.b = make_tensor_map({.type = tensor_type<e4m3>,
                              .rank = 3,
                              .address = c.b.bytes.data(),
                              .dims = {640, 16, 1},
                              .strides = {640, 640 * 16},
                              .box = {128, 16, 1},
                              .swizzle = Swizzle::k128B});
  params.c = tensor_map_2d({.type = TensorType::kBF16,
                            .address = c.out.bytes.data(),
                            .rows = 130,
                            .cols = 16,
                            .row_bytes = static_cast<std::uint64_t>(c.out.pitch) * 2,
                            .box_rows = 16,
                            .box_cols = 16,
                            .swizzle = Swizzle::k128B});
  params.c_tail = params.c;
  params.a_scales = tensor_map_2d({.type = TensorType::kF32,
                                   .address = c.a_scales.data(),
                                   .rows = 5,
                                   .cols = 130,
                                   .row_bytes = 132 * sizeof(float),
                                   .box_rows = 1,
                                   .box_cols = 64,
                                   .swizzle = Swizzle::kNone});
  params.b_scales = c.b_scales.data();
  params.tiles = {.group_rows = {.groups = 1, .rows = 130}, .cluster_tiles_n = 1};
  params.k_blocks = 5;
  params.n = 16;
  params.out = c.out.bytes.data();
  params.out_pitch = static_cast<std::uint64_t>(c.out.pitch);
  params.output = MatmulElement::kBf16;
  const sim::Report report = sim::launch<Kernel>({.memory = &memory, .kernel = "matmul"}, {.grid = {1}}, params);
  return report.ok() && c.is_right();
}

TEST(MatmulSm90Fp8Mistakes, NoneIsSilent) { EXPECT_TRUE(is_silent<TinyBackend>()); }

template <Mistake mistake>
void expect_found() {
  EXPECT_FALSE((is_silent<MutantBackend<TinyBackend, Mutation{mistake}>>()))
      << "mistake " << static_cast<int>(mistake);
}

TEST(MatmulSm90Fp8Mistakes, AreFound) {
  expect_found<Mistake::kDropRelease>();
  expect_found<Mistake::kDropArrive>();
  expect_found<Mistake::kShortExpect>();
  expect_found<Mistake::kWrongPhase>();
  expect_found<Mistake::kSmallCount>();
  expect_found<Mistake::kNoConsumerWait>();
  expect_found<Mistake::kNoProducerWait>();
}

}  // namespace
}  // namespace heddle
