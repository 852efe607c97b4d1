// SPDX-License-Identifier: Apache-2.0
//
// What the library chooses where the caller names no configuration.
#include "matmul/device/matmul_sm90_instances.h"
#include "matmul/host/generated/matmul_sm90_model.h"
#include "matmul/host/matmul_choice_cache.h"
#include "matmul/host/matmul_sm90_cost.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle {
namespace {

MatmulSm90Choice choice_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return choose_matmul_sm90({.m = m, .n = n, .k = k},
                            {.workspace_bytes = kMatmulWorkspaceBytes, .gpu = "NVIDIA H200"});
}

bool is_chosen(const MatmulSm90Instance& instance) {
  return instance.config.b_major == Major::kK && instance.group < MatmulGroup::kFused;
}

// A new instance is timed and fitted before the model can choose it.
TEST(MatmulSm90Choice, EveryInstanceHasFittedCosts) {
  for (const MatmulSm90Instance& instance : kMatmulSm90Instances) {
    MatmulSm90Config config = instance.config;
    if (!is_chosen(instance)) continue;
    config.store_tiles = 2;  // which is no part of a name
    EXPECT_EQ(std::ranges::count(kMatmulSm90InstanceCosts, config, &MatmulSm90InstanceCosts::config), 1)
        << config.tile_m << "x" << config.tile_n << "x" << config.tile_k;
  }
  EXPECT_EQ(std::size(kMatmulSm90InstanceCosts),
            static_cast<std::size_t>(std::ranges::count_if(
                kMatmulSm90Instances, [](const MatmulSm90Instance& instance) { return is_chosen(instance); })));
}

std::uint32_t instance_of(const MatmulSm90Config& fitted) {
  for (std::uint32_t i = 0; i < kMatmulSm90InstanceCount; ++i) {
    MatmulSm90Config config = kMatmulSm90Instances[i].config;
    config.store_tiles = fitted.store_tiles;
    if (config == fitted && !has_fused_epilogue(kMatmulSm90Instances[i])) return i;
  }
  return kMatmulSm90InstanceCount;
}

TEST(MatmulSm90Choice, TheModelIsTheOneThatWasFitted) {
  for (const MatmulSm90Sample& sample : kMatmulSm90Samples) {
    const MatmulSm90TimedShape& shape = kMatmulSm90TimedShapes[sample.shape];
    const double us = matmul_sm90_us(
        {.m = shape.m, .n = shape.n, .k = shape.k},
        {instance_of(kMatmulSm90InstanceCosts[sample.instance].config), sample.splits, sample.is_alone});
    EXPECT_NEAR(us / sample.us, 1, 2e-3)
        << shape.m << "," << shape.n << "," << shape.k << " instance " << int{sample.instance};
  }
}

// Weights are read once, whatever the tile: an SM must not lose its time on rows that do not exist. A card
// took 1.3 to 1.4 times as long as it needed with this tile.
TEST(MatmulSm90Choice, FewRowsGetNoTileOfManyRowsAndColumns) {
  for (const std::int64_t m : {1, 32, 128}) {
    const MatmulProblem problem{.m = m, .n = 28672, .k = 4096};
    const MatmulSm90Choice choice = choice_of(m, 28672, 4096);
    const std::uint32_t large = instance_of({128, 192, 64, 5, 2, 1, MatmulForm::kPingpong});
    ASSERT_LT(large, kMatmulSm90InstanceCount);
    EXPECT_GT(matmul_sm90_us(problem, {.instance = large}),
              1.1 * matmul_sm90_us(problem, {choice.instance, choice.splits, choice.is_alone}))
        << m;
    const double memory_us = 2.0 * 28672 * 4096 / kMatmulSm90Costs.memory_bytes_per_us;
    EXPECT_LT(matmul_sm90_us(problem, {choice.instance, choice.splits, choice.is_alone}), 1.3 * memory_us) << m;
  }
}

TEST(MatmulSm90Choice, LargeProblemsGetLargeTiles) {
  for (const std::int64_t extent : {6000, 8000, 12000}) {
    const MatmulSm90Config& config = kMatmulSm90Instances[choice_of(extent, extent, extent).instance].config;
    EXPECT_GE(config.tile_m * config.tile_n, 128u * 160u) << extent;
    EXPECT_EQ(choice_of(extent, extent, extent).splits, 1u);
  }
}

// A card took a fifth longer where launches overlapped: the CTAs of one lay scattered among those of the next.
TEST(MatmulSm90Choice, LaunchesThatLoseByAnOverlapWait) {
  const MatmulSm90Needs needs{.workspace_bytes = kMatmulWorkspaceBytes, .gpu = "NVIDIA H200"};
  MatmulProblem problem{.m = 432, .n = 1152, .k = 8192};
  const MatmulSm90Choice choice = choose_matmul_sm90(problem, needs);
  EXPECT_TRUE(choice.is_alone) << name_of(choice);
  EXPECT_EQ(kMatmulSm90Instances[choice.instance].config.cluster(), 1u);
  EXPECT_TRUE(name_of(choice).ends_with(":alone"));
  EXPECT_TRUE(read_matmul_sm90_choice(problem, needs, name_of(choice)).is_alone);
  EXPECT_FALSE(choose_matmul_sm90({.m = 4096, .n = 14336, .k = 4096}, needs).is_alone);
  problem.is_dependent = false;
  EXPECT_FALSE(choose_matmul_sm90(problem, needs).is_alone) << "it waits anyway";
}

TEST(MatmulSm90Choice, OneRowThatBeginsOn16BytesCountsAsPacked) {
  using Steps = std::array<std::int64_t, 3>;
  EXPECT_EQ(row_steps_of({.m = 2, .n = 304, .k = 648}), (Steps{16, 16, 16}));
  EXPECT_EQ(row_steps_of({.m = 2, .n = 304, .k = 648, .a_pitch = 640 * 3}), (Steps{128, 16, 16}));
  EXPECT_EQ(row_steps_of({.m = 1, .n = 304, .k = 648}), (Steps{128, 16, 128}));
  EXPECT_EQ(row_steps_of({.m = 1, .n = 304, .k = 648, .a_pitch = 648 * 3, .out_pitch = 312}),
            (Steps{128, 16, 128}));
  EXPECT_EQ(row_steps_of({.m = 1, .n = 304, .k = 648, .a_pitch = 649, .out_pitch = 305}), (Steps{1, 16, 1}))
      << "the copy engine takes no such pitch";
  EXPECT_EQ(row_steps_of({.m = 2, .n = 1, .k = 648, .b_pitch = 656, .out_pitch = 8}), (Steps{16, 128, 16}));
  EXPECT_EQ(row_steps_of({.m = 2, .n = 304, .k = 1, .b_layout = OperandLayout::kMnMajor, .b_pitch = 312}),
            (Steps{1, 128, 16}));
}

TEST(MatmulSm90Choice, TheCacheKnowsWhatAChoiceDependsOn) {
  MatmulChoiceCache cache;
  const MatmulProblem problem{.m = 300, .n = 304, .k = 640};
  const MatmulSm90Needs needs{.workspace_bytes = 1 << 20, .gpu = "NVIDIA H200"};
  EXPECT_EQ(cache.find(problem, needs, 1), nullptr);
  cache.put(problem, needs, {.instance = 3});
  ASSERT_NE(cache.find(problem, needs, 1), nullptr);
  EXPECT_EQ(cache.find(problem, needs, 1)->instance, 3u);
  const auto is_known = [&](const MatmulProblem& other, const MatmulSm90Needs& with) {
    return cache.find(other, with, 1) != nullptr;
  };
  for (std::int64_t MatmulProblem::*extent :
       {&MatmulProblem::m, &MatmulProblem::n, &MatmulProblem::k, &MatmulProblem::splits}) {
    MatmulProblem other = problem;
    other.*extent += 8;
    EXPECT_FALSE(is_known(other, needs));
  }
  MatmulProblem other = problem;
  other.a_type = MatmulElement::kFp16;
  EXPECT_FALSE(is_known(other, needs));
  other = problem;
  other.out_type = MatmulElement::kFp32;
  EXPECT_FALSE(is_known(other, needs));
  other = problem;
  other.b_layout = OperandLayout::kMnMajor;
  EXPECT_FALSE(is_known(other, needs));
  other = problem;
  other.is_dependent = false;
  EXPECT_FALSE(is_known(other, needs));
  for (const std::int64_t pitch : {1283, 1288, 1280}) {
    const bool is_on_128 = pitch == 1280;  // as rows of A and B are, and those of the output are on 16
    other = problem;
    other.a_pitch = pitch;
    EXPECT_EQ(is_known(other, needs), is_on_128) << pitch;
    other = problem;
    other.b_pitch = pitch;
    EXPECT_EQ(is_known(other, needs), is_on_128) << pitch;
    other = problem;
    other.out_pitch = pitch;
    EXPECT_EQ(is_known(other, needs), pitch == 1288) << pitch;
  }
  EXPECT_FALSE(is_known(problem, {.is_fused = true, .workspace_bytes = 1 << 20, .gpu = "NVIDIA H200"}));
  EXPECT_FALSE(is_known(problem, {.is_simulated = true, .workspace_bytes = 1 << 20, .gpu = "NVIDIA H200"}));
  EXPECT_FALSE(is_known(problem, {.workspace_bytes = 0, .gpu = "NVIDIA H200"}));
  EXPECT_FALSE(is_known(problem, {.workspace_bytes = 1 << 20, .gpu = "NVIDIA H100"}));
  EXPECT_TRUE(is_known(problem, needs));
  EXPECT_EQ(cache.find(problem, needs, 2), nullptr);
  EXPECT_FALSE(is_known(problem, needs));
}

}  // namespace
}  // namespace heddle
