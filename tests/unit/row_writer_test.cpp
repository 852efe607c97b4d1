// SPDX-License-Identifier: Apache-2.0
//
// Rows in registers to a matrix: where each number goes, and who stores it at an edge.
#include <heddle/host/tile_map.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/warp.h>
#include <heddle/sim/global_memory.h>
#include <heddle/tile/row_writer.h>
#include <heddle/tile/smem_array.h>

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;

constexpr std::uint32_t kBatches = 2;
constexpr std::uint32_t kTileN = 128;
constexpr float kUntouched = 3.0f;

// Small enough for every type of the output, and never kUntouched.
float number_at(std::uint32_t batch, std::uint32_t row, std::uint32_t col) {
  return -static_cast<float>((row * 5 + col * 3 + batch * 7) % 13) - 1;
}

template <class T>
float plain(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return value.to_float();
  }
}

template <class T>
struct Matrix {
  Matrix(std::uint32_t rows, std::uint32_t pitch)
      : numbers(std::size_t{kBatches} * rows * pitch, as_element<T>(kUntouched)) {}
  std::vector<T> numbers;
};

// All tiles of `m` rows and `n` columns. What the copy engine stores and what threads store goes to two matrices,
// so that it shows which of them it was; `is_ragged` false: there is one alone.
template <class T, std::uint32_t tile_m>
void expect_written(std::uint32_t m, std::uint32_t n, bool is_ragged) {
  constexpr std::uint32_t pitch = 320;
  using Tiles = SMemTileArray2D<float, TileShape{32, 32}, 2>;
  using Stores = StoreTilePipeline<Tiles, 1>;
  using Writer = RowWriter<T, kTileN, Stores, tile_m>;
  struct Shared {
    Tiles tiles[4];
  };
  Matrix<T> copied(m, pitch);
  Matrix<T> stored(m, pitch);
  const RowTarget target{
      .map = tensor_map_for<typename Writer::Tile>(
          {.address = copied.numbers.data(), .rows = m, .cols = n, .pitch = pitch, .batches = kBatches}),
      .m = m,
      .n = n,
      .ragged_out = is_ragged ? stored.numbers.data() : nullptr,
      .pitch = pitch,
      .batch_stride = std::uint64_t{m} * pitch};
  sim::GlobalMemory memory;
  memory.add("copied", copied.numbers.data(), copied.numbers.size() * sizeof(T));
  memory.add("stored", stored.numbers.data(), stored.numbers.size() * sizeof(T));
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Shared>({.threads = 128, .memory = &memory}, [&](Shared& shared) {
    Stores stores(shared.tiles[isa::warp_idx()]);
    Writer writer(stores, target);
    // With 16 rows of a warp, the upper half of its lanes has the second half of each chunk.
    const std::uint32_t lane = isa::laneid();
    const std::uint32_t half = lane / Writer::rows;
    for (std::uint32_t batch = 0; batch < kBatches; ++batch) {
      for (std::uint32_t row = 0; row < m; row += tile_m) {
        for (std::uint32_t col = 0; col < n; col += kTileN) {
          writer.start_tile(row, col, batch);
          wrong += writer.lane_row() != row + isa::warp_idx() * (tile_m / 4) + lane % (tile_m / 4);
          for (std::uint32_t chunk = 0; chunk < kTileN / Writer::chunk_cols; ++chunk) {
            const std::uint32_t first = col + chunk * Writer::chunk_cols + half * (Writer::chunk_cols / 2);
            wrong += writer.lane_column(chunk) != first;
            float values[Writer::lane_cols];
            for (std::uint32_t i = 0; i < Writer::lane_cols; ++i) {
              values[i] = number_at(batch, writer.lane_row(), first + i);
            }
            writer.store(chunk, values);
          }
        }
      }
    }
    stores.drain();
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(Writer::chunks, kTileN / Writer::chunk_cols);
  for (std::uint32_t i = 0; i < copied.numbers.size(); ++i) {
    const std::uint32_t batch = i / (m * pitch);
    const std::uint32_t row = i / pitch % m;
    const std::uint32_t col = i % pitch;
    // A chunk that ends behind the matrix is stored by threads, where its rows end inside of 16 bytes.
    const bool by_threads = is_ragged && (col / Writer::chunk_cols + 1) * Writer::chunk_cols > n;
    const float number = col < n ? number_at(batch, row, col) : kUntouched;
    ASSERT_EQ(plain(copied.numbers[i]), by_threads ? kUntouched : number) << row << ", " << col;
    ASSERT_EQ(plain(stored.numbers[i]), by_threads ? number : kUntouched) << row << ", " << col;
  }
}

TEST(RowWriter, StoresEveryRowAndColumnOnce) {
  expect_written<bf16, 128>(200, 192, false);
  expect_written<float, 128>(130, 160, false);
  expect_written<e4m3, 128>(100, 256, false);
  expect_written<bf16, 64>(100, 192, false);
  expect_written<float, 64>(17, 96, false);
}

// 128 columns: the last chunk ends where the matrix does, and is the copy engine's.
TEST(RowWriter, ThreadsStoreTheChunksThatEndBehindTheMatrix) {
  expect_written<bf16, 128>(150, 171, true);
  expect_written<bf16, 128>(50, 128, true);
  expect_written<float, 128>(129, 161, true);
  expect_written<bf16, 64>(70, 139, true);
}

TEST(RowWriter, ChunksAreAtMost128BytesAndDivideTheTile) {
  EXPECT_EQ((row_chunk_cols<bf16, 128>()), 64u);
  EXPECT_EQ((row_chunk_cols<bf16, 96>()), 32u);
  EXPECT_EQ((row_chunk_cols<bf16, 48>()), 16u);
  EXPECT_EQ((row_chunk_cols<float, 64>()), 32u);
  EXPECT_EQ((row_chunk_cols<e4m3, 192>()), 64u);
}

}  // namespace
}  // namespace heddle
