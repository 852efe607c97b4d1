// SPDX-License-Identifier: Apache-2.0
//
// The kernel of examples/seed_listings.h in the simulated SM, under several schedules.
#include <heddle/host/tensor_map.h>
#include <heddle/sim/launch.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "../../examples/seed_listings.h"
#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using namespace seed_listings;

int a_value(std::uint32_t m, std::uint32_t k) {
  return static_cast<int>((m * 7 + k * 3 + m * k) % 5) - 2 + (m == 0);
}
int b_value(std::uint32_t n, std::uint32_t k) { return static_cast<int>((n * 5 + k * 11 + n * k) % 7) - 3; }

template <Form form>
void run_listings(std::uint32_t tiles, std::uint32_t num_iters, const sim::Schedule& schedule,
                  std::uint32_t sms = 1) {
  const std::uint32_t depth = std::max(1u, num_iters) * kK;
  const std::uint32_t columns = std::max(1u, tiles) * kN;
  std::vector<bf16> a(kM * depth);
  std::vector<bf16> b(columns * depth);
  std::vector<float> c(columns * kM, -77.0f);
  for (std::uint32_t k = 0; k < depth; ++k) {
    for (std::uint32_t m = 0; m < kM; ++m) a[m * depth + k] = bf16::from_float(static_cast<float>(a_value(m, k)));
    for (std::uint32_t n = 0; n < columns; ++n) {
      b[n * depth + k] = bf16::from_float(static_cast<float>(b_value(n, k)));
    }
  }
  sim::GlobalMemory memory;
  memory.add("a", a.data(), a.size() * sizeof(bf16));
  memory.add("b", b.data(), b.size() * sizeof(bf16));
  memory.add("c", c.data(), c.size() * sizeof(float));
  const auto map = [&](std::vector<bf16>& matrix, std::uint32_t rows, std::uint32_t box_rows) {
    return make_tensor_map({.type = TensorType::kBF16,
                            .rank = 2,
                            .address = matrix.data(),
                            .dims = {depth, rows},
                            .strides = {depth * sizeof(bf16)},
                            .box = {kK, box_rows},
                            .swizzle = Swizzle::k128B});
  };
  const typename Listings<form>::Params params{.a = map(a, kM, kM),
                                               .b = map(b, columns, kN),
                                               .c = c.data(),
                                               .scheduler = make_tile_scheduler_params<kScheduler>({1, tiles}),
                                               .num_iters = num_iters};
  const sim::Report report = sim::launch<Listings<form>>(
      {.memory = &memory, .schedule = schedule, .arch = Arch::kSm100, .sms = sms, .kernel = "listings"},
      Listings<form>::launch_shape(params), params);
  ASSERT_TRUE(test::is_silent(report));
  EXPECT_EQ(report.stats.ctas + report.stats.cancelled_clusters, std::max(1u, tiles));
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    for (std::uint32_t m = 0; m < kM; ++m) {
      for (std::uint32_t n = 0; n < kN; ++n) {
        int expected = 0;
        for (std::uint32_t i = 0; i < num_iters; ++i) {
          int partial = 0;
          for (std::uint32_t k = i * kK; k < (i + 1) * kK; ++k)
            partial += a_value(m, k) * b_value(tile * kN + n, k);
          expected += (form == Form::kPerK ? a_value(0, i * kK) : 1) * partial;
        }
        ASSERT_EQ(c[(tile * kM + m) * kN + n], static_cast<float>(expected))
            << "tile " << tile << ", row " << m << ", column " << n;
      }
    }
  }
  const float untouched = tiles == 0 ? c[0] : -77.0f;
  EXPECT_EQ(untouched, -77.0f);
}

TEST(SeedListings, MmaWarpWithLinearHandles) {
  for (const sim::Schedule& schedule : test::some_schedules(6)) run_listings<Form::kPerTile>(3, 4, schedule);
}

// With one SM, one CTA takes over the tiles of all others; with more, some of them start.
TEST(SeedListings, SchedulerHandsOutEveryTileToOneCtaOrToSeveral) {
  for (const sim::Schedule& schedule : test::some_schedules(4)) {
    run_listings<Form::kPerTile>(7, 2, schedule, 1);
    run_listings<Form::kPerTile>(7, 2, schedule, 3);
  }
}

TEST(SeedListings, NoTilesAndOneTileAreOrdinaryCases) {
  for (const sim::Schedule& schedule : test::some_schedules(3)) {
    run_listings<Form::kPerTile>(0, 4, schedule);
    run_listings<Form::kPerTile>(1, 1, schedule);
    run_listings<Form::kPerK>(0, 1, schedule);
  }
}

TEST(SeedListings, PerKEpilogue) {
  for (const sim::Schedule& schedule : test::some_schedules(6)) run_listings<Form::kPerK>(2, 5, schedule);
}

TEST(SeedListings, MyKernelSmem) {
  static MyKernelSmem smem;
  EXPECT_EQ(smem.a_tiles().num_tiles, kStages);
  EXPECT_EQ(smem.c_tiles().num_tiles, 1u);
  EXPECT_EQ(smem.output_pipeline.barriers.num_barriers, 2 * kOutput.num_stages);
  EXPECT_EQ(static_cast<void*>(smem.a_tiles()[0].data()), static_cast<void*>(&smem));
}

}  // namespace
}  // namespace heddle
