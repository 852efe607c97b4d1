// SPDX-License-Identifier: Apache-2.0
//
// Tensor memory in the simulated SM: allocation, who reaches which cells, loads and stores, and the mistakes that
// are reported. Every fault has a twin that differs in one line and must stay silent.
#include "../support/tiny_kernel.h"

#include <heddle/isa/cluster.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/warp.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {
namespace {

using test::faults_with;
using test::first_line;
using test::is_silent;
using test::NoShared;
using test::run_kernel;
using test::some_schedules;
using test::TinyLaunch;

struct Shared {
  std::uint32_t base[4];
};

TinyLaunch on_sm100(std::uint32_t threads = 128, sim::Schedule schedule = {}) {
  return {.threads = threads, .schedule = schedule, .arch = Arch::kSm100};
}

TinyLaunch on_pair(sim::Schedule schedule = {}) {
  return {.threads = 32, .grid = {2}, .cluster = {2}, .schedule = schedule, .arch = Arch::kSm100};
}

// Allocates for all threads, runs the body with the address, and frees.
template <class Body>
void with_tmem(Shared& shared, std::uint32_t cols, const Body& body) {
  if (isa::warp_idx() == 0) isa::tcgen05_alloc<1>(&shared.base[0], cols);
  isa::syncthreads();
  const std::uint32_t base = isa::ld_shared(&shared.base[0]);
  body(base);
  isa::syncthreads();
  if (isa::warp_idx() == 0) isa::tcgen05_dealloc<1>(base, cols);
}

std::uint32_t quarter() { return 32 * (isa::warp_idx() % 4) << 16; }

// Cell values that say where they are.
std::uint32_t value_at(std::uint32_t lane, std::uint32_t column) { return lane << 16 | column; }

// The table of the manual, a second time: where register r of thread t is, in rows of 32 bits.
struct Place {
  std::uint32_t lane;
  std::uint32_t column;
};

Place place_of(TmemShape shape, std::uint32_t t, std::uint32_t r, std::uint32_t offset) {
  switch (shape) {
    case TmemShape::k32x32b: return {t, r};
    case TmemShape::k16x64b: return {(t >> 2) + 8 * (t & 1), 2 * r + ((t >> 1) & 1)};
    case TmemShape::k16x128b: return {(t >> 2) + 8 * (r & 1), 4 * (r >> 1) + (t & 3)};
    case TmemShape::k16x256b: return {(t >> 2) + 8 * ((r >> 1) & 1), 8 * (r >> 2) + 2 * (t & 3) + (r & 1)};
    case TmemShape::k16x32bx2: return {t & 15, r + (t >> 4) * offset};
  }
  return {};
}

constexpr std::uint32_t kOffset = 40;

template <TmemShape shape, std::size_t count>
void load(std::uint32_t (&r)[count], std::uint32_t taddr) {
  if constexpr (shape == TmemShape::k32x32b) isa::tcgen05_ld_32x32b(r, taddr);
  if constexpr (shape == TmemShape::k16x64b) isa::tcgen05_ld_16x64b(r, taddr);
  if constexpr (shape == TmemShape::k16x128b) isa::tcgen05_ld_16x128b(r, taddr);
  if constexpr (shape == TmemShape::k16x256b) isa::tcgen05_ld_16x256b(r, taddr);
  if constexpr (shape == TmemShape::k16x32bx2) isa::tcgen05_ld_16x32bx2<kOffset>(r, taddr);
}

template <TmemShape shape, std::size_t count>
void store(std::uint32_t taddr, const std::uint32_t (&r)[count]) {
  if constexpr (shape == TmemShape::k32x32b) isa::tcgen05_st_32x32b(taddr, r);
  if constexpr (shape == TmemShape::k16x64b) isa::tcgen05_st_16x64b(taddr, r);
  if constexpr (shape == TmemShape::k16x128b) isa::tcgen05_st_16x128b(taddr, r);
  if constexpr (shape == TmemShape::k16x256b) isa::tcgen05_st_16x256b(taddr, r);
  if constexpr (shape == TmemShape::k16x32bx2) isa::tcgen05_st_16x32bx2<kOffset>(taddr, r);
}

// Writes cells that say where they are with 32x32b, and reads them back in another shape.
template <TmemShape shape, std::uint32_t count>
void expect_load(std::uint32_t half, std::uint32_t column, sim::Schedule schedule) {
  std::vector<std::array<std::uint32_t, count>> seen(128);
  const sim::Report report = run_kernel<Shared>(on_sm100(128, schedule), [&](Shared& shared) {
    with_tmem(shared, 512, [&](std::uint32_t base) {
      std::uint32_t cells[128];
      for (std::uint32_t part = 0; part < 512; part += 128) {
        const std::uint32_t lane = 32 * isa::warp_idx() + isa::laneid();
        for (std::uint32_t c = 0; c < 128; ++c) cells[c] = value_at(lane, part + c);
        isa::tcgen05_st_32x32b(base + part + quarter(), cells);
      }
      isa::tcgen05_wait_st();
      std::uint32_t r[count];
      load<shape>(r, base + quarter() + (half << 16) + column);
      isa::tcgen05_wait_ld();
      std::copy_n(r, count, seen[isa::tid_x()].begin());
    });
  });
  ASSERT_TRUE(is_silent(report));
  for (std::uint32_t thread = 0; thread < 128; ++thread) {
    for (std::uint32_t r = 0; r < count; ++r) {
      const Place at = place_of(shape, thread % 32, r, kOffset);
      ASSERT_EQ(seen[thread][r], value_at(thread / 32 * 32 + half + at.lane, column + at.column))
          << "thread " << thread << ", register " << r;
    }
  }
}

template <TmemShape shape, std::uint32_t... counts>
void expect_loads() {
  for (const std::uint32_t half : {0u, shape == TmemShape::k32x32b ? 0u : 16u}) {
    (expect_load<shape, counts>(half, 3, sim::Schedule::random(counts)), ...);
  }
}

TEST(Tmem, LoadsOfEveryShapeReadTheCellsOfTheTable) {
  expect_loads<TmemShape::k32x32b, 1, 2, 4, 8, 16, 32, 64, 128>();
  expect_loads<TmemShape::k16x64b, 1, 2, 4, 8, 16, 32, 64, 128>();
  expect_loads<TmemShape::k16x128b, 2, 4, 8, 16, 32, 64, 128>();
  expect_loads<TmemShape::k16x256b, 4, 8, 16, 32, 64, 128>();
  expect_loads<TmemShape::k16x32bx2, 1, 2, 4, 8, 16, 32, 64, 128>();
}

// Writes in a shape what says where it is, and reads the lanes back with 32x32b.
template <TmemShape shape, std::uint32_t count>
void expect_store(std::uint32_t half, std::uint32_t column, sim::Schedule schedule) {
  constexpr std::uint32_t kNothing = 0xFFFF'FFFF;
  std::vector<std::array<std::uint32_t, 128>> seen(128);
  const sim::Report report = run_kernel<Shared>(on_sm100(128, schedule), [&](Shared& shared) {
    with_tmem(shared, 256, [&](std::uint32_t base) {
      std::uint32_t cells[128];
      std::fill_n(cells, 128, kNothing);
      isa::tcgen05_st_32x32b(base + quarter(), cells);
      isa::tcgen05_st_32x32b(base + 128 + quarter(), cells);
      isa::tcgen05_wait_st();
      std::uint32_t r[count];
      for (std::uint32_t i = 0; i < count; ++i) {
        const Place at = place_of(shape, isa::laneid(), i, kOffset);
        r[i] = value_at(32 * isa::warp_idx() + half + at.lane, column + at.column);
      }
      store<shape>(base + quarter() + (half << 16) + column, r);
      std::fill_n(r, count, 0);  // a store has its values when it is issued
      isa::tcgen05_wait_st();
      isa::tcgen05_ld_32x32b(cells, base + quarter());
      isa::tcgen05_wait_ld();
      std::copy_n(cells, 128, seen[isa::tid_x()].begin());
    });
  });
  ASSERT_TRUE(is_silent(report));
  std::vector<std::array<std::uint32_t, 128>> expected(128);
  for (auto& lane : expected) lane.fill(kNothing);
  for (std::uint32_t thread = 0; thread < 128; ++thread) {
    for (std::uint32_t r = 0; r < count; ++r) {
      const Place at = place_of(shape, thread % 32, r, kOffset);
      const std::uint32_t lane = thread / 32 * 32 + half + at.lane;
      if (column + at.column < 128) expected[lane][column + at.column] = value_at(lane, column + at.column);
    }
  }
  ASSERT_EQ(seen, expected);
}

TEST(Tmem, StoresOfEveryShapeAreTheInverse) {
  for (const std::uint32_t half : {0u, 16u}) {
    expect_store<TmemShape::k16x64b, 32>(half, 5, sim::Schedule::random(half));
    expect_store<TmemShape::k16x128b, 16>(half, 5, sim::Schedule::random(half));
    expect_store<TmemShape::k16x256b, 8>(half, 5, sim::Schedule::random(half));
    expect_store<TmemShape::k16x32bx2, 8>(half, 5, sim::Schedule::random(half));
  }
  expect_store<TmemShape::k32x32b, 16>(0, 5, {});
}

TEST(Tmem, RegistersOfALoadHoldAPatternUntilTheWait) {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  const sim::Report report = run_kernel<Shared>(on_sm100(32), [&](Shared& shared) {
    with_tmem(shared, 32, [&](std::uint32_t base) {
      const std::uint32_t one[1] = {77};
      isa::tcgen05_st_32x32b(base, one);
      isa::tcgen05_wait_st();
      std::uint32_t r[1] = {1};
      isa::tcgen05_ld_32x32b(r, base);
      before = r[0];
      isa::tcgen05_wait_ld();
      after = r[0];
    });
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(before, 0x7FFA'5AFEu);
  EXPECT_EQ(after, 77u);
}

// Allocation.

TEST(TmemAlloc, GivesDisjointColumnsAndTakesThemBack) {
  for (const sim::Schedule& schedule : some_schedules()) {
    const sim::Report report = run_kernel<Shared>(on_sm100(32, schedule), [&](Shared& shared) {
      isa::tcgen05_alloc<1>(&shared.base[0], 256);
      isa::tcgen05_alloc<1>(&shared.base[1], 128);
      isa::tcgen05_alloc<1>(&shared.base[2], 128);
      isa::tcgen05_relinquish_alloc_permit<1>();
      isa::syncwarp();
      EXPECT_EQ(isa::ld_shared(&shared.base[0]), 0u);
      EXPECT_EQ(isa::ld_shared(&shared.base[1]), 256u);
      EXPECT_EQ(isa::ld_shared(&shared.base[2]), 384u);
      isa::tcgen05_dealloc<1>(256, 128);
      isa::tcgen05_dealloc<1>(0, 256);
      isa::tcgen05_dealloc<1>(384, 128);
    });
    EXPECT_TRUE(is_silent(report));
  }
}

TEST(TmemAlloc, ReportsColumnsThatAreNotFreedBeforeTheEnd) {
  const auto kernel = [](bool frees) {
    return [frees](Shared& shared) {
      isa::tcgen05_alloc<1>(&shared.base[0], 64);
      if (frees) isa::tcgen05_dealloc<1>(0, 64);
    };
  };
  EXPECT_TRUE(faults_with(run_kernel<Shared>(on_sm100(32), kernel(false)), "tmem_leak",
                          "[tmem_leak] the CTA exits with 64 columns of tensor memory at 0x00000000 allocated"));
  EXPECT_TRUE(is_silent(run_kernel<Shared>(on_sm100(32), kernel(true))));
}

TEST(TmemAlloc, FreesOnlyWhatOneAllocationGave) {
  const auto kernel = [](std::uint32_t taddr, std::uint32_t cols) {
    return [taddr, cols](Shared& shared) {
      isa::tcgen05_alloc<1>(&shared.base[0], 64);
      isa::tcgen05_dealloc<1>(taddr, cols);
    };
  };
  EXPECT_TRUE(is_silent(run_kernel<Shared>(on_sm100(32), kernel(0, 64))));
  EXPECT_TRUE(
      faults_with(run_kernel<Shared>(on_sm100(32), kernel(0, 32)), "tmem_dealloc",
                  "[tmem_dealloc] tcgen05.dealloc of 32 columns at 0x00000000, which is not an allocation; it "
                  "frees exactly what one tcgen05.alloc has given"));
  EXPECT_EQ(run_kernel<Shared>(on_sm100(32), kernel(32, 64)).diagnoses.at(0).code, "tmem_dealloc");
}

TEST(TmemAlloc, TakesPowersOfTwoFrom32To512) {
  for (const std::uint32_t cols : {32u, 64u, 128u, 256u, 512u}) {
    EXPECT_TRUE(is_silent(run_kernel<Shared>(on_sm100(32), [&](Shared& shared) {
      isa::tcgen05_alloc<1>(&shared.base[0], cols);
      isa::tcgen05_dealloc<1>(0, cols);
    })));
  }
  const auto line = [](std::uint32_t cols) {
    return first_line(
        run_kernel<Shared>(on_sm100(32), [&](Shared& shared) { isa::tcgen05_alloc<1>(&shared.base[0], cols); }));
  };
  const std::string rule = "; a power of two from 32 to 512 is allocated, and ";
  EXPECT_EQ(line(0), "[tmem_alloc] tcgen05.alloc of 0 columns" + rule + "32 would pass");
  EXPECT_EQ(line(16), "[tmem_alloc] tcgen05.alloc of 16 columns" + rule + "32 would pass");
  EXPECT_EQ(line(96), "[tmem_alloc] tcgen05.alloc of 96 columns" + rule + "128 would pass");
  EXPECT_EQ(line(1024), "[tmem_alloc] tcgen05.alloc of 1024 columns" + rule + "512 would pass");
}

TEST(TmemAlloc, RefusesToAllocateAfterThePermitWasGivenUp) {
  const sim::Report report = run_kernel<Shared>(on_sm100(32), [](Shared& shared) {
    isa::tcgen05_relinquish_alloc_permit<1>();
    isa::tcgen05_alloc<1>(&shared.base[0], 64);
  });
  EXPECT_TRUE(faults_with(report, "tmem_alloc",
                          "[tmem_alloc] tcgen05.alloc after the CTA has given up its permit to allocate"));
}

TEST(TmemAlloc, RefusesSizesThatGrow) {
  const auto kernel = [](std::uint32_t first, std::uint32_t second) {
    return [first, second](Shared& shared) {
      isa::tcgen05_alloc<1>(&shared.base[0], first);
      isa::tcgen05_alloc<1>(&shared.base[1], second);
      isa::tcgen05_dealloc<1>(0, first);
      isa::tcgen05_dealloc<1>(first, second);
    };
  };
  EXPECT_TRUE(is_silent(run_kernel<Shared>(on_sm100(32), kernel(64, 32))));
  EXPECT_TRUE(
      faults_with(run_kernel<Shared>(on_sm100(32), kernel(32, 64)), "tmem_alloc",
                  "[tmem_alloc] tcgen05.alloc of 64 columns after one of 32; the sizes of a CTA's allocations "
                  "must not grow"));
}

TEST(TmemAlloc, WaitsUntilColumnsAreFreed) {
  for (const sim::Schedule& schedule : some_schedules()) {
    const sim::Report report = run_kernel<Shared>(on_sm100(64, schedule), [](Shared& shared) {
      if (isa::warp_idx() == 0) {
        isa::tcgen05_alloc<1>(&shared.base[0], 512);
        isa::bar_sync(1, 64);
        isa::tcgen05_dealloc<1>(0, 512);
      } else {
        isa::bar_sync(1, 64);
        isa::tcgen05_alloc<1>(&shared.base[1], 256);
        isa::tcgen05_dealloc<1>(0, 256);
      }
    });
    EXPECT_TRUE(is_silent(report));
  }
}

TEST(TmemAlloc, OfMoreThanIsLeftIsADeadlockThatSaysSo) {
  const sim::Report report = run_kernel<Shared>(on_sm100(32), [](Shared& shared) {
    isa::tcgen05_alloc<1>(&shared.base[0], 256);
    isa::tcgen05_alloc<1>(&shared.base[1], 256);
    isa::tcgen05_alloc<1>(&shared.base[2], 32);
  });
  EXPECT_TRUE(
      faults_with(report, "deadlock", "[deadlock] 32 threads are blocked and nothing in flight can wake them"));
  const std::string text = report.text();
  EXPECT_NE(text.find("waits for 32 columns of tensor memory"), std::string::npos) << text;
  EXPECT_NE(text.find("0 of 512 are free; 0 to 255 are allocated at tmem_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("  tcgen05_alloc of 32 columns, which nobody frees; a CTA has 512 in all"),
            std::string::npos)
      << text;
}

TEST(TmemAlloc, IsForOneWarpAtATime) {
  const sim::Report report = run_kernel<Shared>(on_sm100(96), [](Shared& shared) {
    if (isa::warp_idx() == 0) isa::tcgen05_alloc<1>(&shared.base[0], 512);
    isa::syncthreads();
    if (isa::warp_idx() != 0) isa::tcgen05_alloc<1>(&shared.base[1], 32);
  });
  EXPECT_EQ(report.diagnoses.at(0).code, "tmem_alloc");
  EXPECT_NE(first_line(report).find("; one warp at a time allocates"), std::string::npos) << report.text();
}

TEST(TmemAlloc, GivesBothCtasOfAPairTheSameColumns) {
  for (const sim::Schedule& schedule : some_schedules()) {
    const sim::Report report = run_kernel<Shared>(on_pair(schedule), [](Shared& shared) {
      isa::cluster_sync();
      isa::tcgen05_alloc<2>(&shared.base[0], 128);
      isa::tcgen05_alloc<2>(&shared.base[1], 128);
      isa::syncwarp();
      EXPECT_EQ(isa::ld_shared(&shared.base[0]), 0u);
      EXPECT_EQ(isa::ld_shared(&shared.base[1]), 128u);
      isa::tcgen05_relinquish_alloc_permit<2>();
      isa::tcgen05_dealloc<2>(128, 128);
      isa::tcgen05_dealloc<2>(0, 128);
      isa::cluster_sync();
    });
    EXPECT_TRUE(is_silent(report));
  }
}

TEST(TmemAlloc, OfAPairNeedsBothCtas) {
  const sim::Report alone = run_kernel<Shared>(on_pair(), [](Shared& shared) {
    if (isa::cluster_ctarank() == 0) isa::tcgen05_alloc<2>(&shared.base[0], 128);
    isa::cluster_sync();
  });
  EXPECT_EQ(alone.diagnoses.at(0).code, "deadlock");
  EXPECT_NE(alone.text().find("block 1, the other CTA of the pair, has not asked for any"), std::string::npos)
      << alone.text();
  const sim::Report unequal = run_kernel<Shared>(on_pair(), [](Shared& shared) {
    isa::tcgen05_alloc<2>(&shared.base[0], isa::cluster_ctarank() == 0 ? 128 : 256);
  });
  EXPECT_EQ(unequal.diagnoses.at(0).code, "tmem_alloc");
  const sim::Report no_pair =
      run_kernel<Shared>(on_sm100(32), [](Shared& shared) { isa::tcgen05_alloc<2>(&shared.base[0], 128); });
  EXPECT_TRUE(
      faults_with(no_pair, "bad_cta_group",
                  "[bad_cta_group] tcgen05.alloc.cta_group::2 in a cluster of 1; the CTAs of a pair differ in "
                  "the lowest bit of their rank, so that a cluster of 2 would pass"));
}

TEST(TmemAlloc, DoesNotMixCtaGroups) {
  const sim::Report report = run_kernel<Shared>(on_pair(), [](Shared& shared) {
    isa::tcgen05_alloc<1>(&shared.base[0], 128);
    isa::tcgen05_relinquish_alloc_permit<2>();
  });
  EXPECT_TRUE(faults_with(report, "bad_cta_group",
                          "[bad_cta_group] tcgen05.relinquish_alloc_permit.cta_group::2 in a kernel that uses "
                          "cta_group::1; all of its tcgen05 instructions have the same"));
}

TEST(TmemAlloc, WritesToItsOwnSharedMemory) {
  const sim::Report report = run_kernel<Shared>(
      on_pair(), [](Shared& shared) { isa::tcgen05_alloc<1>(isa::mapa(&shared.base[0], 1), 128); });
  EXPECT_EQ(report.diagnoses.at(0).code, "bad_rank");
}

TEST(TmemAlloc, HandsTheAddressOverByABarrier) {
  const auto kernel = [](bool synchronises) {
    return [synchronises](Shared& shared) {
      if (isa::warp_idx() == 0) isa::tcgen05_alloc<1>(&shared.base[0], 32);
      if (synchronises) isa::syncthreads();
      (void)isa::ld_shared(&shared.base[0]);
      isa::syncthreads();
      if (isa::warp_idx() == 0) isa::tcgen05_dealloc<1>(0, 32);
    };
  };
  EXPECT_TRUE(is_silent(run_kernel<Shared>(on_sm100(64), kernel(true))));
  EXPECT_EQ(run_kernel<Shared>(on_sm100(64), kernel(false)).diagnoses.at(0).code, "race");
}

// What a load or store may touch.

// Loads 8 columns in one warp, at an address that is given as distance from the base.
sim::Report load_at(std::uint32_t warp, std::uint32_t distance, bool is_16_lanes = false) {
  return run_kernel<Shared>(on_sm100(128), [&](Shared& shared) {
    with_tmem(shared, 32, [&](std::uint32_t base) {
      if (isa::warp_idx() != warp) return;
      const std::uint32_t all[32] = {};
      isa::tcgen05_st_32x32b(base + quarter(), all);
      isa::tcgen05_wait_st();
      std::uint32_t r[8];
      if (is_16_lanes) {
        isa::tcgen05_ld_16x256b(r, base + distance);
      } else {
        isa::tcgen05_ld_32x32b(r, base + distance);
      }
      isa::tcgen05_wait_ld();
    });
  });
}

TEST(TmemAccess, ReachesTheLanesOfItsQuarter) {
  EXPECT_TRUE(is_silent(load_at(2, 64 << 16)));
  EXPECT_TRUE(is_silent(load_at(2, 0)));  // the hardware puts in the quarter of the warp
  EXPECT_TRUE(
      faults_with(load_at(2, 32 << 16), "tmem_lane",
                  "[tmem_lane] tcgen05.ld.32x32b at 0x00200000: lane 32 in warp 2, which reaches lanes 64 to "
                  "95; 0x00400000 would pass"));
  EXPECT_TRUE(is_silent(load_at(1, 48 << 16, true)));
  EXPECT_EQ(load_at(1, 80 << 16, true).diagnoses.at(0).code, "tmem_lane");
  EXPECT_TRUE(
      faults_with(load_at(1, 40 << 16, true), "tmem_lane",
                  "[tmem_lane] tcgen05.ld.16x256b at 0x00280000: lane 40 is not a multiple of 16; 0x00200000 "
                  "would pass"));
  EXPECT_EQ(load_at(1, 48 << 16).diagnoses.at(0).code, "tmem_lane");  // 32 lanes start at a multiple of 32
  EXPECT_EQ(load_at(0, 128 << 16).diagnoses.at(0).code, "tmem_lane");
}

TEST(TmemAccess, StaysWithinAnAllocation) {
  EXPECT_TRUE(is_silent(load_at(0, 24)));
  EXPECT_TRUE(
      faults_with(load_at(0, 25), "tmem_out_of_bounds",
                  "[tmem_out_of_bounds] tcgen05.ld.32x32b touches columns 25 to 32, which are not within an "
                  "allocation"));
  EXPECT_EQ(load_at(0, 17, true).diagnoses.at(0).code, "tmem_out_of_bounds");
  const sim::Report none = run_kernel<NoShared>(on_sm100(32), [](NoShared&) {
    std::uint32_t r[1];
    isa::tcgen05_ld_32x32b(r, 0);
  });
  EXPECT_EQ(none.diagnoses.at(0).code, "tmem_out_of_bounds");
}

TEST(TmemAccess, IsMadeByAWholeWarpWithOneAddress) {
  const sim::Report differs = run_kernel<Shared>(on_sm100(32), [](Shared& shared) {
    with_tmem(shared, 32, [](std::uint32_t base) {
      std::uint32_t r[1];
      isa::tcgen05_ld_32x32b(r, base + isa::laneid());
    });
  });
  EXPECT_EQ(differs.diagnoses.at(0).code, "divergence");
  const sim::Report partial = run_kernel<Shared>(on_sm100(32), [](Shared& shared) {
    with_tmem(shared, 32, [](std::uint32_t base) {
      std::uint32_t r[1];
      if (isa::laneid() < 16) isa::tcgen05_ld_32x32b(r, base);
    });
  });
  EXPECT_FALSE(partial.ok());
}

// Waits.

enum class Flaw : std::uint8_t { kNone, kExit, kStoreToShared, kStoreToTmem, kReuse };

sim::Report run_without_wait(Flaw flaw, sim::Schedule schedule = {}) {
  return run_kernel<Shared>(on_sm100(32, schedule), [&](Shared& shared) {
    with_tmem(shared, 32, [&](std::uint32_t base) {
      std::uint32_t r[1] = {5};
      isa::tcgen05_st_32x32b(base, r);
      isa::tcgen05_wait_st();
      isa::tcgen05_ld_32x32b(r, base);
      if (flaw == Flaw::kReuse) r[0] = isa::laneid();
      if (flaw != Flaw::kExit && flaw != Flaw::kStoreToShared && flaw != Flaw::kStoreToTmem)
        isa::tcgen05_wait_ld();
      if (isa::laneid() == 0) isa::st_shared(&shared.base[2], flaw == Flaw::kExit ? 0 : r[0]);
      if (flaw == Flaw::kStoreToTmem) isa::tcgen05_st_32x32b(base + 1, r);
    });
  });
}

TEST(TmemWait, ReportsRegistersThatAreUsedBeforeIt) {
  for (const sim::Schedule& schedule : some_schedules()) {
    EXPECT_TRUE(is_silent(run_without_wait(Flaw::kNone, schedule)));
    EXPECT_EQ(run_without_wait(Flaw::kExit, schedule).diagnoses.at(0).code, "missing_tmem_wait");
    EXPECT_TRUE(faults_with(
        run_without_wait(Flaw::kStoreToShared, schedule), "missing_tmem_wait",
        "[missing_tmem_wait] a register that a tcgen05.ld is to fill is stored before tcgen05.wait::ld"));
    EXPECT_TRUE(
        faults_with(run_without_wait(Flaw::kReuse, schedule), "missing_tmem_wait",
                    "[missing_tmem_wait] registers that a tcgen05.ld was to fill were used for something else "
                    "before tcgen05.wait::ld"));
  }
}

TEST(TmemWait, MustComeBeforeTheEndOfTheThread) {
  const auto kernel = [](bool waits) {
    return [waits](Shared& shared) {
      isa::tcgen05_alloc<1>(&shared.base[0], 32);
      std::uint32_t r[1] = {};
      isa::tcgen05_st_32x32b(0, r);
      isa::tcgen05_wait_st();
      isa::tcgen05_ld_32x32b(r, 0);
      if (waits) isa::tcgen05_wait_ld();
      if (waits) isa::tcgen05_dealloc<1>(0, 32);
    };
  };
  EXPECT_TRUE(is_silent(run_kernel<Shared>(on_sm100(32), kernel(true))));
  EXPECT_TRUE(
      faults_with(run_kernel<Shared>(on_sm100(32), kernel(false)), "missing_tmem_wait",
                  "[missing_tmem_wait] a thread exits while a tcgen05.ld of its warp has not been waited for"));
}

TEST(TmemWait, OrdersLoadsAndStoresOfOneWarp) {
  const auto kernel = [](bool waits) {
    return [waits](Shared& shared) {
      with_tmem(shared, 32, [&](std::uint32_t base) {
        std::uint32_t r[1] = {5};
        isa::tcgen05_st_32x32b(base, r);
        if (waits) isa::tcgen05_wait_st();
        isa::tcgen05_ld_32x32b(r, base);
        isa::tcgen05_wait_st();
        isa::tcgen05_wait_ld();
      });
    };
  };
  for (const sim::Schedule& schedule : some_schedules()) {
    EXPECT_TRUE(is_silent(run_kernel<Shared>(on_sm100(32, schedule), kernel(true))));
    const sim::Report report = run_kernel<Shared>(on_sm100(32, schedule), kernel(false));
    EXPECT_EQ(report.diagnoses.at(0).code, "missing_tmem_wait") << report.text();
  }
}

// Architectures.

TEST(Tmem, ExistsOnSm100Only) {
  const TinyLaunch sm90{.threads = 32, .arch = Arch::kSm90};
  const std::string rest = " on sm_90; the instruction exists on sm_100a only, and wgmma takes its place";
  const auto line = [&](auto&& body) { return first_line(run_kernel<Shared>(sm90, body)); };
  EXPECT_EQ(line([](Shared& s) { isa::tcgen05_alloc<1>(&s.base[0], 32); }), "[unsupported] tcgen05.alloc" + rest);
  EXPECT_EQ(line([](Shared&) { isa::tcgen05_dealloc<1>(0, 32); }), "[unsupported] tcgen05.dealloc" + rest);
  EXPECT_EQ(line([](Shared&) { isa::tcgen05_wait_ld(); }), "[unsupported] tcgen05.wait::ld" + rest);
  EXPECT_EQ(line([](Shared&) { isa::tcgen05_wait_st(); }), "[unsupported] tcgen05.wait::st" + rest);
  EXPECT_EQ(line([](Shared&) {
              std::uint32_t r[1] = {};
              isa::tcgen05_st_32x32b(0, r);
            }),
            "[unsupported] tcgen05.st" + rest);
  EXPECT_EQ(line([](Shared&) { isa::tcgen05_fence_after_thread_sync(); }),
            "[unsupported] tcgen05.fence::after_thread_sync" + rest);
}

}  // namespace
}  // namespace heddle
