// SPDX-License-Identifier: Apache-2.0
//
// Scale factors from shared to tensor memory, compared with where the manual wants them.
#include "../support/tiny_kernel.h"

#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/scale_factors.h>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace heddle {
namespace {

static_assert(scale_block_descriptor(0) == 0x0000'4008'0000'0000);

TEST(ScaleFactorShape, CountsWholeBlocks) {
  static_assert(ScaleFactorShape{.rows = 128, .scales_per_row = 4}.bytes() == 512);
  static_assert(ScaleFactorShape{.rows = 192, .scales_per_row = 5}.bytes() == 4 * 512);
  static_assert(ScaleFactorShape{.rows = 256, .scales_per_row = 16}.cols() == 32);
  static_assert(TmemScales<ScaleFactorShape{.rows = 200, .scales_per_row = 6}>::cols() == 16);
}

// The worked example of MXFP8: row 77, block 2 of K.
TEST(ScaleFactorShape, FindsAScaleInItsBlock) {
  constexpr ScaleFactorShape shape{.rows = 128, .scales_per_row = 4};
  EXPECT_EQ(shape.offset_of(77, 2), 218u);
  EXPECT_EQ(shape.col_of(2, 1), 0u);
  EXPECT_EQ(ScaleFactorShape::id_of(2, 1), 2u);
  EXPECT_EQ(ScaleFactorShape::id_of(3, 2), 2u);
}

constexpr ScaleFactorShape kShape{.rows = 256, .scales_per_row = 12};  // 2 x 3 blocks

struct Shared {
  alignas(128) std::uint8_t scales[kShape.bytes()];
  SharedMemBarrier done;
  std::uint32_t base;
};

std::uint8_t value_of(std::uint32_t row, std::uint32_t scale) {
  return static_cast<std::uint8_t>(row * 13 + scale * 57 + row / 16);
}

TEST(CopyScaleFactors, PutsThemWhereEachStepReadsThem) {
  std::vector<std::array<std::uint32_t, 32>> cells(128);
  const sim::Report report = test::run_kernel<Shared>(
      {.threads = 128, .schedule = sim::Schedule::random(5), .arch = Arch::kSm100}, [&](Shared& shared) {
        for (std::uint32_t row = isa::tid_x(); row < 256; row += 128) {
          for (std::uint32_t s = 0; s < 12; ++s)
            isa::st_shared(&shared.scales[kShape.offset_of(row, s)], value_of(row, s));
        }
        isa::fence_proxy_async_shared_cta();
        if (isa::tid_x() == 0) test::init_barrier(&shared.done, 1);
        TmemAllocation<1> tmem;
        if (isa::warp_idx() == 0) tmem = TmemAllocation<1>::allocate(&shared.base, 32);
        isa::syncthreads();
        const auto all = TmemAllocation<1>::from_shared(&shared.base, 32);
        if (isa::tid_x() == 0) {
          copy_scale_factors<1, kShape>(all.address().plus_cols(8), shared.scales);
          isa::tcgen05_commit<1>(&shared.done);
        }
        test::wait_parity(&shared.done, 0);
        isa::tcgen05_fence_after_thread_sync();
        const TmemAddress own = all.address().of_warp(isa::warp_idx());
        std::uint32_t first[8];
        std::uint32_t others[16];
        isa::tcgen05_ld_32x32b(first, own.plus_cols(8).bits());
        isa::tcgen05_ld_32x32b(others, own.plus_cols(16).bits());
        isa::tcgen05_wait_ld();
        std::copy_n(first, 8, cells[isa::tid_x()].begin() + 8);
        std::copy_n(others, 16, cells[isa::tid_x()].begin() + 16);
        isa::syncthreads();
        if (isa::warp_idx() == 0) tmem.deallocate();
      });
  ASSERT_TRUE(test::is_silent(report));
  for (const std::uint32_t scale_vec : {1u, 2u, 4u}) {
    for (std::uint32_t step = 0; step < 12 / scale_vec; ++step) {
      for (std::uint32_t row = 0; row < 256; ++row) {
        for (std::uint32_t s = 0; s < scale_vec; ++s) {
          for (std::uint32_t quarter = 0; quarter < 4; ++quarter) {
            const std::uint32_t word =
                cells[32 * quarter + row % 32][8 + kShape.col_of(step, scale_vec) + row / 32];
            const std::uint32_t byte = ScaleFactorShape::id_of(step, scale_vec) + s;
            ASSERT_EQ(word >> 8 * byte & 0xFF, value_of(row, step * scale_vec + s))
                << "row " << row << ", step " << step << ", scale " << s;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace heddle
