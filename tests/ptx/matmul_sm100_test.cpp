// SPDX-License-Identifier: Apache-2.0
//
// The Blackwell matmuls as nvcc compiles them, in the simulated SM: exact on integers, as the same kernels in C++
// are, under several schedules, and there is nothing to report.
#include "../support/matmul_cases.h"
#include "module_file.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using reference::MatmulCase;
using test::runs_right_on_sm100;

const sim::PtxModule& module() {
  static const sim::PtxModule loaded = test::load("matmul_sm100_instances", "sm_100a");
  return loaded;
}

struct Instance {
  const char* config;
  MatmulElement input;
  OperandLayout a_layout = OperandLayout::kKMajor;
  OperandLayout b_layout = OperandLayout::kKMajor;
};

TEST(PtxMatmulSm100, EveryTypeAndLayoutIsExactUnderSeveralSchedules) {
  using enum OperandLayout;
  constexpr Instance kInstances[] = {{"1sm_128x64_1x1", MatmulElement::kBf16},
                                     {"1sm_128x32_2x2_static", MatmulElement::kTf32},
                                     {"2sm_256x256_2x1", MatmulElement::kBf16},
                                     {"2sm_256x64_4x2", MatmulElement::kE4m3},
                                     {"2sm_256x128_2x1_fused", MatmulElement::kFp16},
                                     {"1sm_64x64_1x1", MatmulElement::kFp16},
                                     {"1sm_128x64_1x1", MatmulElement::kBf16, kMnMajor, kMnMajor},
                                     {"2sm_256x256_2x1", MatmulElement::kTf32, kKMajor, kMnMajor},
                                     {"2sm_256x128_2x1_fused", MatmulElement::kE5m2, kMnMajor, kKMajor}};
  for (const Instance& instance : kInstances) {
    for (const std::uint64_t schedule : {0u, 3u}) {
      // Sizes in which rows of every layout start on 16 bytes.
      const MatmulCase matmul{.problem = {.m = 272,
                                          .n = 136,
                                          .k = 208,
                                          .a_type = instance.input,
                                          .b_type = instance.input,
                                          .out_type = test::kOutputs[schedule % 2],
                                          .a_layout = instance.a_layout,
                                          .b_layout = instance.b_layout,
                                          .config = instance.config}};
      const sim::PtxInstead instead(module());
      EXPECT_TRUE(runs_right_on_sm100(matmul, 8, schedule)) << instance.config;
      EXPECT_EQ(instead.launches(), 1u);
    }
  }
}

// One pair of SMs, so that cluster launch control hands out most of the tiles.
TEST(PtxMatmulSm100, ClusterLaunchControlHandsOutTiles) {
  const MatmulCase matmul{.problem = {.m = 600, .n = 260, .k = 72, .config = "2sm_256x256_2x1"}};
  const sim::PtxInstead instead(module());
  EXPECT_TRUE(runs_right_on_sm100(matmul, 2, 5));
}

TEST(PtxMatmulSm100, SplitsOfKAddUp) {
  const MatmulCase matmul{
      .problem = {.m = 72, .n = 71, .k = 328, .batches = 2, .splits = 3, .config = "1sm_128x64_1x1"}, .more = 1};
  const sim::PtxInstead instead(module());
  EXPECT_TRUE(runs_right_on_sm100(matmul, 8, 3));
  EXPECT_EQ(instead.launches(), 2u);
}

TEST(PtxMatmulSm100, BlockwiseFp8IsExact) {
  for (const std::uint64_t schedule : {0u, 7u}) {
    reference::MatmulScaledCase matmul =
        test::some_scaled_tiles(ScaledFormat::kBlockwiseE4m3, "1sm_128x64_2x2", schedule);
    const sim::PtxInstead instead(module());
    EXPECT_TRUE(test::runs_right(matmul, 4, schedule));
    EXPECT_EQ(instead.launches(), 1u);
  }
}

}  // namespace
}  // namespace heddle
