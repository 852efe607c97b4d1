// SPDX-License-Identifier: Apache-2.0
//
// From registers to tiles, and back.
#include <heddle/host/tile_map.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tma.h>
#include <heddle/sim/global_memory.h>
#include <heddle/tile/arbitrary_rows.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/fill_transposed.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/smem_array.h>
#include <heddle/tile/store_to.h>

#include <gtest/gtest.h>

#include <bit>
#include <type_traits>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;

// More digits than 16 bits hold, and more than 8 bits can.
float number_at(std::uint32_t row, std::uint32_t col) {
  return static_cast<float>(row * 200 + col) / 2 + 1.0f / 512;
}

template <class T>
float rounded(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return T::from_float(value).to_float();
  }
}

template <class T>
float plain(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return value.to_float();
  }
}

// Columns `first` and on of a warp's sums, which are 16 x 80, in a tile of so many.
template <class T, std::uint32_t first, std::uint32_t cols>
void expect_filled_from_wgmma() {
  using Tiles = SMemTileArrayWithLayout<T, k_major_tile<T>(16, cols, Swizzle::k128B), 1>;
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Tiles>({.threads = 32}, [&](Tiles& shared) {
    float sums[40];
    for (std::uint32_t i = 0; i < 40; ++i) {
      sums[i] = number_at(isa::laneid() / 4 + i / 2 % 2 * 8, i / 4 * 8 + isa::laneid() % 4 * 2 + i % 2);
    }
    fill_from_wgmma<first>(shared[0], sums);
    isa::syncthreads();
    for (std::uint32_t i = isa::tid_x(); i < 16 * cols; i += 32) {
      wrong += plain(shared[0].load(i / cols, i % cols)) != rounded<T>(number_at(i / cols, first + i % cols));
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

TEST(FillTile, WgmmaSumsLandAtTheirRowAndColumn) {
  expect_filled_from_wgmma<bf16, 0, 64>();
  expect_filled_from_wgmma<bf16, 64, 16>();
  expect_filled_from_wgmma<fp16, 8, 24>();
  expect_filled_from_wgmma<fp16, 72, 8>();
  expect_filled_from_wgmma<float, 0, 32>();
  expect_filled_from_wgmma<float, 40, 24>();
  expect_filled_from_wgmma<e4m3, 0, 64>();
  expect_filled_from_wgmma<e5m2, 56, 16>();
}

// Columns `first` and on of a warpgroup's sums, which are 64 x 80, are the rows of a tile.
template <class T, std::uint32_t first, std::uint32_t rows>
void expect_filled_transposed() {
  using Tiles = SMemTileArrayWithLayout<T, k_major_tile<T>(rows, 64, Swizzle::k128B), 1>;
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Tiles>({.threads = 128}, [&](Tiles& shared) {
    float sums[40];
    for (std::uint32_t i = 0; i < 40; ++i) {
      sums[i] = number_at(isa::warp_idx() * 16 + isa::laneid() / 4 + i / 2 % 2 * 8,
                          i / 4 * 8 + isa::laneid() % 4 * 2 + i % 2);
    }
    fill_transposed_from_wgmma<first>(shared[0], sums);
    isa::syncthreads();
    for (std::uint32_t i = isa::tid_x(); i < rows * 64; i += 128) {
      wrong += plain(shared[0].load(i / 64, i % 64)) != rounded<T>(number_at(i % 64, first + i / 64));
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

TEST(FillTile, TransposedSumsLandAtTheirRowAndColumn) {
  expect_filled_transposed<bf16, 0, 64>();
  expect_filled_transposed<bf16, 64, 16>();
  expect_filled_transposed<fp16, 8, 24>();
  expect_filled_transposed<fp16, 72, 8>();
  expect_filled_transposed<float, 0, 32>();
  expect_filled_transposed<float, 40, 24>();
}

// A row for each lane, and what is added to it.
template <class T>
void expect_rows() {
  using Tiles = SMemTileArrayWithLayout<T, k_major_tile<T>(32, 32, Swizzle::k128B), 1>;
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Tiles>({.threads = 32}, [&](Tiles& shared) {
    const std::uint32_t row = isa::laneid();
    float values[16];
    for (const std::uint32_t first : {16u, 0u}) {
      for (std::uint32_t i = 0; i < 16; ++i) values[i] = number_at(row, first + i);
      fill_row(shared[0], row, first, values);
    }
    for (std::uint32_t i = 0; i < 32; ++i)
      wrong += plain(shared[0].load(row, i)) != rounded<T>(number_at(row, i));
    add_row(shared[0], row, -2.0f, values);
    for (std::uint32_t i = 0; i < 16; ++i) {
      wrong += values[i] != number_at(row, i) - 2 * rounded<T>(number_at(row, i));
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

TEST(FillTile, RowsOfLanesGoInAndAreAdded) {
  expect_rows<bf16>();
  expect_rows<fp16>();
  expect_rows<float>();
  expect_rows<e4m3>();
}

TEST(FillTile, ClearsRowsFromOneOnAndPanelsFromOneOn) {
  using Tiles = SMemTileArray2D<bf16, TileShape{16, 128}, 1>;
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Tiles>({.threads = 64}, [&](Tiles& shared) {
    const auto count_ones = [&](std::uint32_t rows, std::uint32_t cols) {
      isa::syncthreads();
      for (std::uint32_t i = isa::tid_x(); i < 16 * 128; i += 64) {
        wrong += (shared[0].load(i / 128, i % 128).bits != 0) != (i / 128 < rows && i % 128 < cols);
      }
      isa::syncthreads();
    };
    for (std::uint32_t i = isa::tid_x(); i < 16 * 128; i += 64) shared[0].store(bf16{0x3f80}, i / 128, i % 128);
    isa::syncthreads();
    clear_rows<64>(shared[0], 16);
    count_ones(16, 128);
    clear_rows<64>(shared[0], 11);
    count_ones(11, 128);
    clear_panels<64>(shared[0], 1);
    count_ones(11, 64);
    // By threads that do not begin with number 0.
    if (isa::tid_x() >= 32) clear_rows_by<32>(isa::tid_x() - 32, shared[0], 3);
    count_ones(3, 64);
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

TEST(FillTile, WhatIsLeftAsItWasIsNoNumberInTheSimulatedSm) {
  using Tiles = SMemTileArray2D<bf16, TileShape{16, 128}, 1>;
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Tiles>({.threads = 64}, [&](Tiles& shared) {
    const auto count_numbers = [&](std::uint32_t rows, std::uint32_t cols) {
      isa::syncthreads();
      for (std::uint32_t i = isa::tid_x(); i < 16 * 128; i += 64) {
        const float value = shared[0].load(i / 128, i % 128).to_float();
        wrong += (value == 1) != (i / 128 < rows && i % 128 < cols) || (value != 1 && value == value);
      }
      isa::syncthreads();
    };
    for (std::uint32_t i = isa::tid_x(); i < 16 * 128; i += 64) shared[0].store(bf16{0x3f80}, i / 128, i % 128);
    isa::syncthreads();
    leave_rows<64>(shared[0], 16);
    count_numbers(16, 128);
    leave_rows<64>(shared[0], 11);
    count_numbers(11, 128);
    leave_panels<64>(shared[0], 1);
    count_numbers(11, 64);
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

// What is left as it was is read by the async proxy all the same.
template <class Leave>
sim::Report store_what_is_left(const Leave& leave) {
  using Tiles = SMemTileArray2D<bf16, TileShape{16, 128}, 1>;
  std::vector<bf16> out(16 * 128);
  sim::GlobalMemory memory;
  memory.add("out", out.data(), out.size() * sizeof(bf16));
  const TensorMap map = tensor_map_for<Tiles::Tile>({.address = out.data(), .rows = 16, .cols = 128});
  return test::run_kernel<Tiles>({.threads = 64, .memory = &memory}, [&](Tiles& shared) {
    leave(shared[0]);
    isa::syncthreads();
    if (isa::tid_x() != 0) return;
    store_tile(&map, {0, 0}, shared[0]);
    isa::cp_async_bulk_commit_group();
    isa::cp_async_bulk_wait_group<0>();
  });
}

TEST(FillTile, WhatIsLeftAsItWasIsThereForTheCopyEngine) {
  EXPECT_TRUE(is_silent(store_what_is_left([](const auto& tile) { leave_rows<64>(tile, 0); })));
  EXPECT_TRUE(is_silent(store_what_is_left([](const auto& tile) { leave_panels<64>(tile, 0); })));
  // Zeros are not: a fence is for who clears.
  const auto report = store_what_is_left([](const auto& tile) { clear_rows<64>(tile, 0); });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnoses[0].code, "missing_proxy_fence") << report.text();
}

// Sums of a warpgroup, in one block of 64 rows or in two, to a tile of as many rows.
template <class Tiles, std::uint32_t row_blocks>
void expect_sums_stored() {
  using Tile = typename Tiles::Tile;
  constexpr WgmmaShape shape{.n = Tile::cols()};
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Tiles>({.threads = 128}, [&](Tiles& shared) {
    WgmmaSums<shape, row_blocks> sums;
    auto& values = sums.fill(0.0f);
    for (std::uint32_t i = 0; i < values.count; ++i) values[i] = number_at(values.row(i), values.col(i));
    store_to(shared[0], values);
    isa::syncthreads();
    for (std::uint32_t i = isa::tid_x(); i < Tile::rows() * Tile::cols(); i += 128) {
      const std::uint32_t row = i / Tile::cols();
      const std::uint32_t col = i % Tile::cols();
      wrong += plain(shared[0].load(row, col)) != rounded<typename Tile::value_type>(number_at(row, col));
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

TEST(StoreTo, SumsOfAWarpgroupToATileOfAnyType) {
  expect_sums_stored<SMemTileArray2D<bf16, TileShape{64, 64}, 1>, 1>();
  expect_sums_stored<SMemTileArray2D<fp16, TileShape{128, 128}, 1>, 2>();
  expect_sums_stored<SMemTileArray2DRowMajor<float, TileShape{64, 24}, 1>, 1>();
  expect_sums_stored<SMemTileArray2D<float, TileShape{128, 32}, 1>, 2>();
}

}  // namespace
}  // namespace heddle
