// SPDX-License-Identifier: Apache-2.0
//
// Views of tensor memory: addresses, allocations, and accumulators of every layout.
#include "../support/tiny_kernel.h"
#include "tcgen05_tiles.h"

#include <heddle/tile/tmem_view.h>

#include <gtest/gtest.h>

#include <set>
#include <type_traits>
#include <vector>

namespace heddle {
namespace {

using test::is_silent;
using test::run_kernel;

static_assert(std::is_trivially_copyable_v<TmemAllocation<1>>);
static_assert(sizeof(TmemAllocation<2>) == 8);
static_assert(sizeof(TmemAddress) == 4);

TEST(TmemAddress, KeepsLaneAndColumnApart) {
  constexpr TmemAddress base(0x0000'0040);
  static_assert(base.plus_cols(3).plus_lanes(16).bits() == 0x0010'0043);
  static_assert(base.plus_lanes(96).lane() == 96 && base.plus_lanes(96).column() == 64);
  static_assert(base.of_warp(5) == base.plus_lanes(32));  // warp 5 has the second quarter
  static_assert(base.of_warp(3).lane() == 96);
  EXPECT_EQ(base.of_warp(4), base);
}

TEST(TmemAllocation, RoundsUpToWhatCanBeAllocated) {
  EXPECT_EQ(tmem_alloc_cols(1), 32u);
  EXPECT_EQ(tmem_alloc_cols(32), 32u);
  EXPECT_EQ(tmem_alloc_cols(33), 64u);
  EXPECT_EQ(tmem_alloc_cols(384), 512u);
}

struct Shared {
  std::uint32_t base[2];
};

TEST(TmemAllocation, IsSharedAndGivenBack) {
  for (const sim::Schedule& schedule : test::some_schedules()) {
    std::set<std::uint32_t> seen;
    const sim::Report report =
        run_kernel<Shared>({.threads = 64, .schedule = schedule, .arch = Arch::kSm100}, [&](Shared& shared) {
          TmemAllocation<1> mine;
          if (isa::warp_idx() == 0) {
            const auto first = TmemAllocation<1>::allocate(&shared.base[0], 64);
            mine = TmemAllocation<1>::allocate(&shared.base[1], 32);
            TmemAllocation<1>::relinquish();
            EXPECT_EQ(mine.address().column(), 64u);
            first.deallocate();
          }
          isa::syncthreads();
          const auto tmem = TmemAllocation<1>::from_shared(&shared.base[1], 32);
          seen.insert(tmem.address().bits());
          EXPECT_EQ(tmem.stage(1, 16).column(), 80u);
          isa::syncthreads();
          if (isa::warp_idx() == 0) mine.deallocate();
        });
    EXPECT_TRUE(is_silent(report));
    EXPECT_EQ(seen, std::set<std::uint32_t>{64u});
  }
}

// Where a test says element (m, n) of D lies, and what the view says of that place.
void expect_same_places(const AccumulatorShape& shape) {
  const tcgen05_test::Problem problem{.fields = {.m = shape.m, .n = shape.n}, .cta_group = shape.cta_group};
  ASSERT_TRUE(shape.exists());
  for (std::uint32_t m = 0; m < shape.m; ++m) {
    for (std::uint32_t n = 0; n < shape.n; ++n) {
      const tcgen05_test::Cell cell = tcgen05_test::cell_of(problem, m, n);
      ASSERT_EQ(cell.cta * shape.rows() + shape.row_of(cell.lane), m);
      ASSERT_EQ(shape.first_column_of(cell.lane) + cell.column, n);
      ASSERT_LT(cell.column, shape.cols());
    }
  }
}

TEST(AccumulatorShape, FindsRowsAndColumnsOfEveryLayout) {
  expect_same_places({.m = 128, .n = 256});
  expect_same_places({.m = 64, .n = 40});
  expect_same_places({.m = 256, .n = 48, .cta_group = 2});
  expect_same_places({.m = 128, .n = 64, .cta_group = 2});
}

TEST(AccumulatorShape, ExistsWhereTheInstructionDoes) {
  static_assert(!AccumulatorShape{.m = 256, .n = 64}.exists());
  static_assert(!AccumulatorShape{.m = 64, .n = 64, .cta_group = 2}.exists());
  static_assert(!AccumulatorShape{.m = 128, .n = 12}.exists());
  static_assert(!AccumulatorShape{.m = 128, .n = 0}.exists());
  static_assert(!AccumulatorShape{.m = 256, .n = 24, .cta_group = 2}.exists());
  static_assert(!AccumulatorShape{.m = 128, .n = 264}.exists());
  EXPECT_TRUE((AccumulatorShape{.m = 128, .n = 8}.exists()));
}

// Stores row and column numbers by one view, and reads them back through the cells.
template <AccumulatorShape shape, std::uint32_t first_lane = 0>
void expect_round_trip() {
  constexpr std::uint32_t kCols = 8;
  std::vector<float> seen(128 * kCols);
  std::vector<std::uint32_t> rows(128);
  std::vector<bool> has_row(128);
  const sim::Report report = run_kernel<Shared>({.threads = 128, .arch = Arch::kSm100}, [&](Shared& shared) {
    TmemAllocation<1> tmem;
    if (isa::warp_idx() == 0) tmem = TmemAllocation<1>::allocate(&shared.base[0], 512);
    isa::syncthreads();
    const auto all = TmemAllocation<1>::from_shared(&shared.base[0], 512);
    const TmemTensor<float, shape> d(all.stage(1, shape.cols()).plus_lanes(first_lane));
    TmemFragment<float, kCols> r;
    for (std::uint32_t i = 0; i < kCols; ++i) {
      r.words[i] = __builtin_bit_cast(std::uint32_t, static_cast<float>(1000 * d.row() + d.column(8) + i));
    }
    d.store(r, 8);
    isa::tcgen05_wait_st();
    TmemFragment<float, kCols> back;
    d.load(back, 8);
    isa::tcgen05_wait_ld();
    for (std::uint32_t i = 0; i < kCols; ++i) seen[isa::tid_x() * kCols + i] = back[i];
    rows[isa::tid_x()] = d.row();
    has_row[isa::tid_x()] = d.has_row();
    isa::syncthreads();
    if (isa::warp_idx() == 0) tmem.deallocate();
  });
  ASSERT_TRUE(is_silent(report));
  for (std::uint32_t lane = 0; lane < 128; ++lane) {
    EXPECT_EQ(rows[lane], shape.row_of(lane));
    EXPECT_EQ(has_row[lane], !shape.is_spread() || lane % 32 / 16 == first_lane / 16);
    for (std::uint32_t i = 0; i < kCols; ++i) {
      EXPECT_EQ(seen[lane * kCols + i],
                static_cast<float>(1000 * shape.row_of(lane) + shape.first_column_of(lane) + 8 + i));
    }
  }
}

TEST(TmemTensor, LoadsWhatItStored) {
  expect_round_trip<AccumulatorShape{.m = 128, .n = 64}>();
  expect_round_trip<AccumulatorShape{.m = 64, .n = 64}>();
  expect_round_trip<AccumulatorShape{.m = 64, .n = 64}, 16>();
}

TEST(TmemFragment, TakesHalvesFromTheLowerBits) {
  TmemFragment<fp16, 1> fragment{{0xABCD'3C00}};
  EXPECT_EQ(fragment[0].to_float(), 1.0f);
}

static_assert(check_tmem_stages<2, 256, 256>());
static_assert(check_tmem_stages<4, 128, 96>());

}  // namespace
}  // namespace heddle
