// SPDX-License-Identifier: Apache-2.0
//
// Tiles copied in one call, with maps that are made from their types.
#include <heddle/host/tile_map.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/warp.h>
#include <heddle/sim/global_memory.h>
#include <heddle/tile/edge_load.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/smem_array.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;

// Two panels of 64 columns.
using Tiles = SMemTileArray2D<bf16, TileShape{16, 128}, 1, Swizzle::k128B>;
using Tile = Tiles::Tile;

struct Shared {
  Tiles tiles;
  SharedMemBarrier full;
};

struct Matrix {
  static constexpr std::uint32_t rows = 40;
  static constexpr std::uint32_t cols = 200;
  static constexpr std::uint32_t batches = 2;
  Matrix() {
    for (std::uint32_t i = 0; i < numbers.size(); ++i)
      numbers[i].bits = static_cast<std::uint16_t>(i * 2654435761u >> 16);
    memory.add("numbers", numbers.data(), numbers.size() * sizeof(bf16));
    memory.add("copy", copy.data(), copy.size() * sizeof(bf16));
  }
  // Zero outside.
  std::uint16_t at(std::uint32_t batch, std::uint32_t row, std::uint32_t col) const {
    return row < rows && col < cols ? numbers[(batch * rows + row) * cols + col].bits : 0;
  }
  TiledMatrix whole() const {
    return {.address = numbers.data(), .rows = rows, .cols = cols, .batches = batches};
  }
  std::vector<bf16> numbers = std::vector<bf16>(batches * rows * cols);
  std::vector<bf16> copy = std::vector<bf16>(batches * rows * cols);
  sim::GlobalMemory memory;
};

sim::Report load_and_look(const Matrix& matrix, const TensorMap& map, const sim::Schedule& schedule,
                          std::uint32_t ctas, std::uint32_t& wrong) {
  return test::run_kernel<Shared>(
      {.threads = 32, .grid = {ctas}, .cluster = {ctas}, .memory = &matrix.memory, .schedule = schedule},
      [&](Shared& shared) {
        const Tile tile = shared.tiles[0];
        if (isa::tid_x() == 0) test::init_barrier(&shared.full, 1);
        isa::cluster_sync();
        if (isa::tid_x() == 0) {
          isa::mbarrier_arrive_expect_tx(&shared.full, tile.tx_bytes());
          if (ctas == 1) {
            load_tile(tile, &map, {96, 32, 1}, &shared.full);
          } else if (isa::cluster_ctarank() == 0) {
            load_tile_multicast(tile, &map, {96, 32, 1}, &shared.full,
                                static_cast<std::uint16_t>((1u << ctas) - 1));
          }
        }
        test::wait_parity(&shared.full, 0);
        for (std::uint32_t i = isa::tid_x(); i < 16 * 128; i += 32) {
          wrong += tile.load(i / 128, i % 128).bits != matrix.at(1, 32 + i / 128, 96 + i % 128);
        }
        isa::cluster_sync();
      });
}

TEST(LoadTile, CopiesEveryPanelAndZerosOutside) {
  const Matrix matrix;
  const TensorMap map = tensor_map_for<Tile>(matrix.whole());
  for (const sim::Schedule& schedule : test::some_schedules()) {
    for (const std::uint32_t ctas : {1u, 2u}) {
      std::uint32_t wrong = 0;
      EXPECT_TRUE(is_silent(load_and_look(matrix, map, schedule, ctas, wrong)));
      EXPECT_EQ(wrong, 0u) << ctas << " CTAs";
    }
  }
}

TEST(StoreTile, CopiesEveryPanelAndNothingOutside) {
  const Matrix matrix;
  Matrix stored;
  TiledMatrix whole = stored.whole();
  whole.address = stored.copy.data();
  const TensorMap map = tensor_map_for<Tile>(matrix.whole());
  const TensorMap to = tensor_map_for<Tile>(whole);
  sim::GlobalMemory memory;
  memory.add("numbers", const_cast<bf16*>(matrix.numbers.data()), matrix.numbers.size() * sizeof(bf16));
  memory.add("copy", stored.copy.data(), stored.copy.size() * sizeof(bf16));
  const auto report = test::run_kernel<Shared>({.threads = 1, .memory = &memory}, [&](Shared& shared) {
    const Tile tile = shared.tiles[0];
    test::init_barrier(&shared.full, 1);
    isa::mbarrier_arrive_expect_tx(&shared.full, tile.tx_bytes());
    load_tile(tile, &map, {96, 32, 1}, &shared.full);
    test::wait_parity(&shared.full, 0);
    store_tile(&to, {96, 32, 1}, tile);
    isa::cp_async_bulk_commit_group();
    isa::cp_async_bulk_wait_group<0>();
  });
  EXPECT_TRUE(is_silent(report));
  for (std::uint32_t i = 0; i < stored.copy.size(); ++i) {
    const std::uint32_t batch = i / (Matrix::rows * Matrix::cols);
    const std::uint32_t row = i / Matrix::cols % Matrix::rows;
    const std::uint32_t col = i % Matrix::cols;
    const bool is_inside = batch == 1 && row >= 32 && col >= 96;
    ASSERT_EQ(stored.copy[i].bits, is_inside ? matrix.at(batch, row, col) : 0)
        << batch << ", " << row << ", " << col;
  }
}

// Two CTAs that hold the same tile load half of it each, for both: rows, or panels of which the second is left
// out. At an edge a map has fewer rows, and the others stay as they were.
template <TileSharing sharing>
sim::Report load_halves(const Matrix& matrix, const TensorMap& first, const TensorMap& second,
                        std::uint32_t bytes, std::uint32_t rows, std::uint32_t cols, std::uint32_t& wrong) {
  return test::run_kernel<
      Shared>({.threads = 32, .grid = {2}, .cluster = {2}, .memory = &matrix.memory}, [&](Shared& shared) {
    const Tile tile = shared.tiles[0];
    const std::uint32_t part = isa::cluster_ctarank();
    clear_rows<32>(tile, 0);
    isa::fence_proxy_async_shared_cta();
    if (isa::tid_x() == 0) test::init_barrier(&shared.full, 1);
    isa::cluster_sync();
    if (isa::tid_x() == 0) {
      isa::mbarrier_arrive_expect_tx(&shared.full, bytes);
      load_tile_part<sharing>(tile, part == 0 ? &first : &second, {64, 8, 1}, &shared.full, part, 3, cols / 64);
    }
    test::wait_parity(&shared.full, 0);
    for (std::uint32_t i = isa::tid_x(); i < 16 * 128; i += 32) {
      const bool is_loaded = i / 128 < rows && i % 128 < cols;
      wrong += tile.load(i / 128, i % 128).bits != (is_loaded ? matrix.at(1, 8 + i / 128, 64 + i % 128) : 0);
    }
    isa::cluster_sync();
  });
}

TEST(LoadTilePart, CtasThatShareATileLoadItsRowsOrPanels) {
  const Matrix matrix;
  const TensorMap half = tensor_map_for<SMemTileArray2D<bf16, TileShape{8, 128}, 1>::Tile>(matrix.whole());
  const TensorMap whole = tensor_map_for<Tile>(matrix.whole());
  std::uint32_t wrong = 0;
  EXPECT_TRUE(is_silent(load_halves<TileSharing{.sharers = 2}>(matrix, half, half, 4096, 16, 128, wrong)));
  constexpr TileSharing by_panels{.sharers = 2, .by_panels = true};
  EXPECT_TRUE(is_silent(load_halves<by_panels>(matrix, whole, whole, 4096, 16, 128, wrong)));
  EXPECT_TRUE(is_silent(load_halves<by_panels>(matrix, whole, whole, 2048, 16, 64, wrong)));
  EXPECT_EQ(wrong, 0u);
}

TEST(LoadTilePart, EdgeHasFewerRowsOnlyWhereTheCallSaysSo) {
  const Matrix matrix;
  const TensorMap half = tensor_map_for<SMemTileArray2D<bf16, TileShape{8, 128}, 1>::Tile>(matrix.whole());
  const TensorMap edge =
      tensor_map_for<TileTensor<bf16, k_major_tile<bf16>(4, 128, Swizzle::k128B)>>(matrix.whole());
  std::uint32_t wrong = 0;
  constexpr TileSharing with_edge{.sharers = 2, .has_edge = true};
  EXPECT_TRUE(is_silent(load_halves<with_edge>(matrix, half, edge, 12 * 256, 12, 128, wrong)));
  EXPECT_EQ(wrong, 0u);
  const auto report = load_halves<TileSharing{.sharers = 2}>(matrix, half, edge, 12 * 256, 12, 128, wrong);
  EXPECT_TRUE(report.has("bad_tensor_map")) << report.text();
  // More rows than the tile has are never right.
  const TensorMap whole = tensor_map_for<Tile>(matrix.whole());
  EXPECT_TRUE(load_halves<with_edge>(matrix, half, whole, 24 * 256, 16, 128, wrong).has("bad_tensor_map"));
}

// A map for another tile gives wrong numbers without a word on a GPU.
TEST(LoadTile, MapForAnotherTileIsReported) {
  const Matrix matrix;
  const auto report_with = [&](const TensorMap& map) {
    std::uint32_t wrong = 0;
    return load_and_look(matrix, map, {}, 1, wrong);
  };
  using Unswizzled = SMemTileArray2DRowMajor<bf16, TileShape{16, 64}, 1>::Tile;
  using Lower = SMemTileArray2D<bf16, TileShape{8, 128}, 1, Swizzle::k128B>::Tile;
  const struct {
    TensorMap map;
    const char* line;
  } cases[] = {
      {tensor_map_for<Unswizzled>(matrix.whole()),
       "[bad_tensor_map] a tile with swizzle k128B, and a tensor map with swizzle kNone; make it with "
       "tensor_map_for<Tile>"},
      {tensor_map_for<Lower>(matrix.whole()),
       "[bad_tensor_map] a tile whose copies are boxes of 64 x 16, and a tensor map with boxes of 64 x 8 x 1; "
       "make it "
       "with tensor_map_for<Tile>"},
      {make_tensor_map({.type = TensorType::kU8,
                        .rank = 3,
                        .address = matrix.numbers.data(),
                        .dims = {400, 40, 2},
                        .strides = {400, 16000},
                        .box = {64, 16, 1},
                        .swizzle = Swizzle::k128B}),
       "[bad_tensor_map] a tile with elements of 16 bits, and a tensor map with elements of 8; make it with "
       "tensor_map_for<Tile>"},
  };
  for (const auto& wrong : cases) {
    EXPECT_TRUE(test::faults_with(report_with(wrong.map), "bad_tensor_map", wrong.line));
  }
  EXPECT_TRUE(is_silent(report_with(tensor_map_for<Tile>(matrix.whole()))));
}

TEST(TensorMapFor, TakesPitchesAndRefusesWhatTheCopyEngineDoes) {
  const Matrix matrix;
  TiledMatrix every_other = matrix.whole();
  every_other.rows = 20;
  every_other.pitch = 400;
  every_other.batches = 0;
  const TensorMapSpec spec = isa::tensor_map_decode(tensor_map_for<Tile>(every_other)).spec;
  EXPECT_EQ(spec.rank, 2u);
  EXPECT_EQ(spec.strides[0], 800u);
  EXPECT_EQ(spec.box[0], 64u);
  EXPECT_EQ(spec.box[1], 16u);
  EXPECT_EQ(spec.swizzle, Swizzle::k128B);
  EXPECT_EQ(spec.type, TensorType::kBF16);
  every_other.pitch = 201;
  EXPECT_THROW((void)tensor_map_for<Tile>(every_other), InputError);
}

using LoadRows = EdgeLoad<Tile, Major::kK, TileSharing{.sharers = 2, .has_edge = true}>;
using LoadPanels = EdgeLoad<Tile, Major::kMN, TileSharing{.has_edge = true}>;

TEST(EdgeLoad, CopiesWhatIsInsideInEightsOrPanels) {
  EXPECT_EQ(LoadRows::inside(0, 40), 16u);
  EXPECT_EQ(LoadRows::inside(32, 40), 8u);
  EXPECT_EQ(LoadRows::inside(32, 33), 8u);
  EXPECT_EQ(LoadRows::inside(32, 41), 16u);
  EXPECT_EQ(LoadRows::inside(48, 40), 0u);
  EXPECT_EQ(LoadRows::inside(40, 40), 0u);
  EXPECT_EQ((EdgeLoad<Tile, Major::kK, TileSharing{.cta_group = 2}>::inside(32, 40)), 16u);  // a pair copies all
  EXPECT_EQ(LoadPanels::inside(0, 64), 64u);
  EXPECT_EQ(LoadPanels::inside(0, 65), 128u);
  EXPECT_EQ(LoadPanels::inside(128, 200), 128u);
  EXPECT_EQ(LoadPanels::inside(128, 130), 64u);
}

TEST(EdgeLoad, KeepsWhatEveryTileBrings) {
  const Matrix matrix;
  EXPECT_EQ(edge_maps_for<LoadRows>(matrix.whole()).kept, 8u);     // of 16, 16 and 8 rows
  EXPECT_EQ(edge_maps_for<LoadRows>(matrix.whole(), 2).kept, 0u);  // the fourth of two pairs brings nothing
  EXPECT_EQ(edge_maps_for<LoadRows>(matrix.whole()).extent, 40u);
  EXPECT_EQ(edge_maps_for<LoadPanels>(matrix.whole()).kept, 128u);  // of 200 columns: two panels and two
  EXPECT_EQ(edge_maps_for<LoadPanels>(matrix.whole()).extent, 200u);
}

// What some tile does not bring gets zeros, or what is there; what every tile brings is left alone.
template <class Load, bool clears>
void expect_gap_prepared(std::uint32_t kept) {
  for (const bool reads_kept : {false, true}) {
    EdgeMaps maps{};
    maps.kept = kept;
    std::uint32_t wrong = 0;
    const auto report = test::run_kernel<Shared>({.threads = 32}, [&](Shared& shared) {
      const Tile tile = shared.tiles[0];
      Load::template prepare_gap<32, clears>(maps, tile);
      isa::syncwarp();
      const std::uint32_t row = Load::major == Major::kK ? kept : 0;
      const std::uint32_t first = Load::major == Major::kK ? 0 : kept;
      for (std::uint32_t i = isa::laneid(); i < (Tile::rows() - row) * (Tile::cols() - first); i += 32) {
        const std::uint32_t at = row + i / (Tile::cols() - first);
        wrong += tile.load(at, first + i % (Tile::cols() - first)).bits != (clears ? 0 : 0x7fff);
      }
      if (reads_kept) {
        wrong += Load::major == Major::kK ? tile.load(kept - 1, isa::laneid()).bits
                                          : tile.load(isa::laneid() % Tile::rows(), kept - 1).bits;
      }
    });
    EXPECT_EQ(report.has("uninitialised_read"), reads_kept) << report.text();
    EXPECT_TRUE(reads_kept || wrong == 0);
  }
}

TEST(EdgeLoad, PreparesWhatSomeTileDoesNotBring) {
  expect_gap_prepared<LoadRows, true>(8);
  expect_gap_prepared<LoadRows, false>(8);
  expect_gap_prepared<LoadPanels, true>(64);
  expect_gap_prepared<LoadPanels, false>(64);
}

// Two CTAs share the tile at the end, whose 8 rows are those of one of them. What no copy brings is prepared.
template <bool clears>
sim::Report load_edge(const Matrix& matrix, const EdgeMaps& maps, std::uint32_t more_bytes, bool prepares,
                      std::uint32_t& wrong) {
  return test::run_kernel<Shared>(
      {.threads = 32, .grid = {2}, .cluster = {2}, .memory = &matrix.memory}, [&](Shared& shared) {
        const Tile tile = shared.tiles[0];
        const std::uint32_t number = isa::cluster_ctarank();
        if (prepares) LoadRows::prepare_gap<32, clears>(maps, tile);
        isa::fence_proxy_async_shared_cta();
        if (isa::tid_x() == 0) test::init_barrier(&shared.full, 1);
        isa::cluster_sync();
        const LoadRows::Part part = LoadRows::part(maps, 32, number);
        EXPECT_EQ(part.map == nullptr, number == 1);
        if (isa::tid_x() == 0) {
          isa::mbarrier_arrive_expect_tx(&shared.full, LoadRows::tx_bytes(maps, 32) + more_bytes);
          LoadRows::load(part, tile, {64, 32, 1}, &shared.full, number, 3);
        }
        test::wait_parity(&shared.full, 0);
        for (std::uint32_t i = isa::tid_x(); i < 16 * 128; i += 32) {
          const std::uint32_t row = i / 128;
          const std::uint16_t expected = row < 8 ? matrix.at(1, 32 + row, 64 + i % 128) : clears ? 0 : 0x7fff;
          wrong += tile.load(row, i % 128).bits != expected;
        }
        isa::cluster_sync();
      });
}

TEST(EdgeLoad, BringsTheRowsThatThereAre) {
  const Matrix matrix;
  const EdgeMaps maps = edge_maps_for<LoadRows>(matrix.whole());
  std::uint32_t wrong = 0;
  EXPECT_TRUE(is_silent(load_edge<true>(matrix, maps, 0, true, wrong)));
  EXPECT_TRUE(is_silent(load_edge<false>(matrix, maps, 0, true, wrong)));
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(load_edge<true>(matrix, maps, 128, true, wrong).has("deadlock"));  // a row more is expected
  EXPECT_TRUE(load_edge<true>(matrix, maps, 0, false, wrong).has("uninitialised_read"));
}

}  // namespace
}  // namespace heddle
