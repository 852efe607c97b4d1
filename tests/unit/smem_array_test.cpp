// SPDX-License-Identifier: Apache-2.0
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/tile/smem_array.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

#include "../support/tiny_kernel.h"

namespace {

using namespace heddle;

template <Swizzle swizzle, std::uint32_t cols>
using Bf16Array = SMemTileArray2D<bf16, TileShape{64, cols}, 3, swizzle>;

// Shared memory is never initialised: its types must not want to be.
static_assert(std::is_trivially_default_constructible_v<Bf16Array<Swizzle::k128B, 64>>);
static_assert(std::is_aggregate_v<Bf16Array<Swizzle::k128B, 64>>);
static_assert(std::is_trivially_default_constructible_v<SMemArray<float, 3>>);

TEST(SMemTileArray2D, AlignmentIsTheRepeatOfTheSwizzleAndAtLeastTmas) {
  EXPECT_EQ((alignof(Bf16Array<Swizzle::k128B, 64>)), 1024U);
  EXPECT_EQ((alignof(Bf16Array<Swizzle::k64B, 32>)), 512U);
  EXPECT_EQ((alignof(Bf16Array<Swizzle::k32B, 16>)), 256U);
  EXPECT_EQ((alignof(Bf16Array<Swizzle::kNone, 16>)), 128U);
  EXPECT_EQ((alignof(SMemTileArray2D<float, TileShape{64, 32}, 3, Swizzle::k128BAtom32B>)), 512U);
}

// And an extent of zero is refused where a tile is made of it: compile_fail_storage.
TEST(TileShape, ExtentThatNobodyGaveIsZero) {
  EXPECT_EQ(TileShape{.rows = 4}.cols, 0u);
  EXPECT_EQ(TileShape{.cols = 4}.rows, 0u);
}

TEST(SMemTileArray2D, HoldsItsTilesAndNothingElse) {
  EXPECT_EQ((sizeof(Bf16Array<Swizzle::k128B, 64>)), 3U * 64 * 64 * 2);
  EXPECT_EQ((sizeof(Bf16Array<Swizzle::k128B, 128>)), 3U * 64 * 128 * 2);
  EXPECT_EQ((sizeof(Bf16Array<Swizzle::k32B, 16>)), 3U * 64 * 16 * 2);
  EXPECT_EQ((Bf16Array<Swizzle::k128B, 128>::num_tiles), 3U);
}

TEST(SMemTileArray2D, EveryStageStartsOnTheAlignment) {
  static Bf16Array<Swizzle::k128B, 128> array;
  for (std::uint32_t stage = 0; stage < 3; ++stage) {
    const auto tile = array[stage];
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tile.data()) % 1024, 0U);
    EXPECT_EQ(reinterpret_cast<unsigned char*>(tile.data()), array.storage + stage * 16384);
  }
  static_assert(
      std::is_same_v<decltype(array[0]), TileTensor<bf16, k_major_tile<bf16>(64, 128, Swizzle::k128B)>>);
}

TEST(SMemTileArray2DRowMajor, RowsFollowOneAnother) {
  static SMemTileArray2DRowMajor<float, TileShape{2, 48}, 2> array;
  EXPECT_EQ(alignof(decltype(array)), 128U);
  EXPECT_EQ(array[1].pointer(1, 5), array[0].data() + 96 + 48 + 5);
}

TEST(SMemTileArrayWithLayout, LeavesAGapWhereATileIsNotAMultipleOfItsAlignment) {
  constexpr Layout layout = k_major_tile<bf16>(3, 64, Swizzle::k128B);
  static SMemTileArrayWithLayout<bf16, layout, 2> array;
  EXPECT_EQ(layout.bytes(), 384U);
  EXPECT_EQ(array.tile_stride_bytes, 1024U);
  EXPECT_EQ(sizeof(array), 2048U);
  EXPECT_EQ(reinterpret_cast<unsigned char*>(array[1].data()), array.storage + 1024);
}

TEST(SMemTileArrayWithLayout, ViewGivesTheSameTiles) {
  static SMemTileArrayWithLayout<bf16, k_major_tile<bf16>(8, 64, Swizzle::k128B), 4> array;
  const auto view = array.view();
  for (std::uint32_t stage = 0; stage < 4; ++stage) EXPECT_EQ(view[stage].data(), array[stage].data());
}

TEST(SMemArray, IsPlainMemoryWithTheGivenAlignment) {
  static SMemArray<float, 5> plain;
  EXPECT_EQ(sizeof(plain), 20U);
  EXPECT_EQ(alignof(decltype(plain)), alignof(float));
  EXPECT_EQ(plain.ptr(3), plain.storage + 3);
  static SMemArray<float, 5, 128> aligned;
  EXPECT_EQ(alignof(decltype(aligned)), 128U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned.ptr()) % 128, 0U);
}

// The simulated SM sees both: without the barrier between them it is a race.
TEST(SMemArray, StoreIsSeenByALoadOfTheSameElement) {
  using Array = SMemArray<std::uint32_t, 64>;
  for (const bool synchronises : {true, false}) {
    std::uint32_t wrong = 0;
    const auto report = test::run_kernel<Array>({.threads = 64}, [&](Array& array) {
      const std::uint32_t thread = isa::tid_x();
      array.store(1000 + thread, thread);
      if (synchronises) isa::syncthreads();
      wrong += array.load(63 - thread) != 1063 - thread;
    });
    EXPECT_EQ(report.ok(), synchronises) << report.text();
    if (synchronises) {
      EXPECT_EQ(wrong, 0u);
    }
  }
}

TEST(SMemArray, BecomesATileWhereItIsAlignedAndLargeEnough) {
  constexpr Layout layout = k_major_tile<bf16>(8, 64, Swizzle::k128B);
  static SMemArray<bf16, 512, 1024> array;
  EXPECT_EQ(array.tile<layout>().data(), array.ptr());
}

}  // namespace
