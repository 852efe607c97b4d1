// SPDX-License-Identifier: Apache-2.0
#include <heddle/host/tensor_map.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/payload.h>
#include <heddle/sim/launch.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace heddle;

using Standard = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {128, 64}, .b = {64, 64}}>;
using BlockScaled = BlockScaledTilePayload<e4m3, e5m2, BlockScaledTileConfig{.a = {128, 128}, .b = {64, 128}}>;
using BlockwiseFP8 = BlockwiseFP8TilePayload<e4m3, e4m3, BlockwiseFP8TileConfig{.a = {128, 128}, .b = {64, 128}}>;

static_assert(TilePayload<Standard> && TilePayload<BlockScaled> && TilePayload<BlockwiseFP8>);
static_assert(!TilePayload<int>);

// A payload that leaves one requirement out is none.
struct WithoutTxBytes {
  template <std::uint32_t num_stages>
  using Storage = Standard::Storage<num_stages>;
  using Tiles = Standard::Tiles;
  static constexpr std::uint32_t tiles_per_stage = 2;
  static constexpr std::uint32_t stage_bytes = Standard::stage_bytes;
  template <std::uint32_t num_stages>
  explicit WithoutTxBytes(
      StandardTileStorage<bf16, bf16, StandardTileConfig{.a = {128, 64}, .b = {64, 64}}, num_stages>&);
  template <std::uint32_t k_group_size = 1>
  Tiles get_tile(std::uint32_t stage, std::uint32_t k) const;
};
static_assert(!TilePayload<WithoutTxBytes>);
struct WithTxBytes : WithoutTxBytes {
  using WithoutTxBytes::WithoutTxBytes;
  static constexpr std::uint32_t tx_bytes = Standard::tx_bytes;
};
static_assert(TilePayload<WithTxBytes>);

TEST(StandardTilePayload, CountsTheBytesOfAAndB) {
  EXPECT_EQ(Standard::tiles_per_stage, 2U);
  EXPECT_EQ(Standard::tx_bytes, 128U * 64 * 2 + 64 * 64 * 2);
  EXPECT_EQ(Standard::stage_bytes * 3, sizeof(Standard::Storage<3>));
}

TEST(StandardTilePayload, GivesTheTilesOfAStage) {
  static Standard::Storage<4> storage;
  const Standard payload(storage);
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const auto [a, b] = payload.get_tile(stage);
    EXPECT_EQ(a.data(), storage.a_tiles()[stage].data());
    EXPECT_EQ(b.data(), storage.b_tiles()[stage].data());
    EXPECT_EQ(payload.get_a_tile(stage).data(), a.data());
    EXPECT_EQ(payload.get_b_tile(stage).data(), b.data());
  }
}

TEST(StandardTilePayload, TilesOfAGroupLieOneAfterTheOther) {
  static Standard::Storage<6> storage;
  const Standard payload(storage);
  for (std::uint32_t stage = 0; stage < 2; ++stage) {
    for (std::uint32_t k = 0; k < 3; ++k) {
      const auto [a, b] = payload.get_tile<3>(stage, k);
      EXPECT_EQ(a.data(), storage.a_tiles()[3 * stage + k].data());
      EXPECT_EQ(b.data(), storage.b_tiles()[3 * stage + k].data());
    }
  }
}

TEST(BlockScaledTilePayload, CountsTheBytesOfTilesAndScales) {
  EXPECT_EQ(BlockScaled::tiles_per_stage, 4U);
  EXPECT_EQ(BlockScaled::tx_bytes, 128U * 128 + 64 * 128 + 512 + 512);
}

TEST(BlockScaledTilePayload, GivesTheTilesOfAStage) {
  static BlockScaled::Storage<4> storage;
  const BlockScaled payload(storage);
  const auto [a, b, sfa, sfb] = payload.get_tile<2>(1, 1);
  EXPECT_EQ(a.data(), storage.a_tiles()[3].data());
  EXPECT_EQ(b.data(), storage.b_tiles()[3].data());
  EXPECT_EQ(sfa.data(), storage.sfa_tiles()[3].data());
  EXPECT_EQ(sfb.data(), storage.sfb_tiles()[3].data());
  EXPECT_EQ(payload.get_sfa_tile(2).data(), storage.sfa_tiles()[2].data());
  EXPECT_EQ(payload.get_sfb_tile(2).data(), storage.sfb_tiles()[2].data());
}

TEST(BlockwiseFP8TilePayload, CountsTheBytesOfTilesAndScales) {
  EXPECT_EQ(BlockwiseFP8::tiles_per_stage, 3U);
  EXPECT_EQ(BlockwiseFP8::tx_bytes, 128U * 128 + 64 * 128 + 128 * 4);
}

TEST(BlockwiseFP8TilePayload, GivesTheTilesOfAStage) {
  static BlockwiseFP8::Storage<4> storage;
  const BlockwiseFP8 payload(storage);
  for (std::uint32_t k = 0; k < 2; ++k) {
    const auto [a, b, a_scales] = payload.get_tile<2>(1, k);
    EXPECT_EQ(a.data(), storage.a_tiles()[2 + k].data());
    EXPECT_EQ(b.data(), storage.b_tiles()[2 + k].data());
    EXPECT_EQ(a_scales.data(), storage.a_scales_tiles()[2 + k].data());
  }
  EXPECT_EQ(payload.get_a_scales_tile(3).data(), storage.a_scales_tiles()[3].data());
}

TEST(TilePayload, IsMadeByTheStorageThatOwnsTheTiles) {
  static InputPipelineStorage<2, BlockwiseFP8> storage;
  EXPECT_EQ(storage.payload().get_a_scales_tile(1).data(), storage.tiles.a_scales_tiles()[1].data());
}

// One warp loads A and B with TMA, group by group, the other reads them by index and writes them out: what TMA
// leaves in shared memory is what the tiles' layouts say.
template <Swizzle swizzle, std::uint32_t num_stages, std::uint32_t k_group_size>
struct CopyThroughPayload {
  static constexpr std::uint32_t kRowsA = 16;
  static constexpr std::uint32_t kRowsB = 8;
  static constexpr std::uint32_t kCols = 128;
  static constexpr std::uint32_t kTurns = 5;
  static constexpr std::uint32_t kTiles = kTurns * k_group_size;
  static constexpr std::uint32_t kThreads = 64;

  using Payload = StandardTilePayload<
      std::uint16_t, std::uint16_t,
      StandardTileConfig{.a = {kRowsA, kCols}, .b = {kRowsB, kCols}, .a_swizzle = swizzle, .b_swizzle = swizzle}>;
  static_assert(TilePayload<Payload>);

  struct Params {
    TensorMap a;
    TensorMap b;
    std::uint16_t* out_a;
    std::uint16_t* out_b;
  };
  struct Shared {
    InputPipelineStorage<num_stages, Payload, k_group_size> input;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());

  // One copy per panel of the tile.
  template <class Tile>
  static void load(const Tile& tile, const TensorMap* map, std::uint32_t tile_idx, MbarPtr bar) {
    for (std::uint32_t panel = 0; panel < Tile::panels(); ++panel) {
      isa::cp_async_bulk_tensor_load(tile.panel_data(panel), map,
                                     {static_cast<std::int32_t>(panel * Tile::box().dims[0]),
                                      static_cast<std::int32_t>(tile_idx * Tile::rows())},
                                     bar);
    }
  }

  template <class Tile>
  static void write_out(const Tile& tile, std::uint16_t* out) {
    for (std::uint32_t i = 0; i < Tile::rows(); ++i) {
      for (std::uint32_t j = isa::laneid(); j < Tile::cols(); j += 32) {
        isa::st_global(out + i * Tile::cols() + j, tile.load(i, j));
      }
    }
  }

  static void run(const Params& params, Shared& shared) {
    auto pipeline = shared.input.pipeline("input");
    const Payload payload = shared.input.payload();
    if (isa::tid_x() == 0) {
      pipeline.init_mbars(1, 1);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::warp_idx() == 0) {
      if (!isa::elect_sync()) return;
      for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
        auto stage = pipeline.acquire_producer();
        stage.expect_bytes(decltype(shared.input)::tx_bytes);
        for (std::uint32_t k = 0; k < k_group_size; ++k) {
          const auto [a, b] = payload.template get_tile<k_group_size>(stage.index(), k);
          load(a, &params.a, turn * k_group_size + k, stage.mbar());
          load(b, &params.b, turn * k_group_size + k, stage.mbar());
        }
        std::move(stage).release();
      }
    } else {
      for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
        auto stage = pipeline.acquire_consumer();
        for (std::uint32_t k = 0; k < k_group_size; ++k) {
          const std::uint32_t tile_idx = turn * k_group_size + k;
          write_out(payload.template get_a_tile<k_group_size>(stage.index(), k),
                    params.out_a + tile_idx * kRowsA * kCols);
          write_out(payload.template get_b_tile<k_group_size>(stage.index(), k),
                    params.out_b + tile_idx * kRowsB * kCols);
        }
        std::move(stage).release_elected();
      }
    }
  }
};

template <Swizzle swizzle, std::uint32_t num_stages, std::uint32_t k_group_size>
void expect_copy_through_payload() {
  using Kernel = CopyThroughPayload<swizzle, num_stages, k_group_size>;
  using Payload = typename Kernel::Payload;
  std::vector<std::uint16_t> a(Kernel::kTiles * Kernel::kRowsA * Kernel::kCols);
  std::vector<std::uint16_t> b(Kernel::kTiles * Kernel::kRowsB * Kernel::kCols);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint16_t>(i * 7 + 1);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::uint16_t>(i * 11 + 3);
  std::vector<std::uint16_t> out_a(a.size());
  std::vector<std::uint16_t> out_b(b.size());
  sim::GlobalMemory memory;
  memory.add("a", a.data(), a.size() * 2);
  memory.add("b", b.data(), b.size() * 2);
  memory.add("out_a", out_a.data(), out_a.size() * 2);
  memory.add("out_b", out_b.data(), out_b.size() * 2);
  const auto map = [](const std::vector<std::uint16_t>& matrix, TmaBox box) {
    return tensor_map_2d({.type = tensor_type<std::uint16_t>,
                          .address = matrix.data(),
                          .rows = matrix.size() / Kernel::kCols,
                          .cols = Kernel::kCols,
                          .box_rows = box.dims[1],
                          .box_cols = box.dims[0],
                          .swizzle = swizzle});
  };
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    out_a.assign(out_a.size(), 0);
    out_b.assign(out_b.size(), 0);
    const sim::Report report =
        sim::launch<Kernel>({.memory = &memory, .schedule = sim::Schedule::random(seed)}, {},
                            {.a = map(a, Payload::ATile::box()),
                             .b = map(b, Payload::BTile::box()),
                             .out_a = out_a.data(),
                             .out_b = out_b.data()});
    ASSERT_TRUE(report.ok()) << report.text();
    EXPECT_EQ(out_a, a);
    EXPECT_EQ(out_b, b);
  }
}

TEST(StandardTilePayload, TilesLoadedByTmaReadBackByIndexForEverySwizzle) {
  expect_copy_through_payload<Swizzle::kNone, 3, 1>();
  expect_copy_through_payload<Swizzle::k32B, 3, 1>();
  expect_copy_through_payload<Swizzle::k64B, 3, 1>();
  expect_copy_through_payload<Swizzle::k128B, 3, 1>();
}

TEST(StandardTilePayload, GroupsOfTilesShareOneBarrierPair) {
  expect_copy_through_payload<Swizzle::k128B, 1, 2>();
  expect_copy_through_payload<Swizzle::k128B, 2, 3>();
}

}  // namespace
