// SPDX-License-Identifier: Apache-2.0
//
// Tiles that a warpgroup, or a warp, writes and the copy engine stores.
#include <heddle/host/tile_map.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/sim/global_memory.h>
#include <heddle/tile/smem_array.h>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;

constexpr std::uint32_t kRows = 16;
constexpr std::uint32_t kTurns = 7;

template <std::uint32_t tiles>
using Ring = SMemTileArray2D<float, TileShape{kRows, 32}, tiles, Swizzle::k128B>;

// What goes out, a tile below the other; turn 3 is left out.
struct Output {
  Output() { memory.add("out", numbers.data(), numbers.size() * sizeof(float)); }
  std::vector<float> numbers = std::vector<float>(kTurns * kRows * 32, -1.0f);
  sim::GlobalMemory memory;
};

float number_at(std::uint32_t turn, std::uint32_t row, std::uint32_t col) {
  return static_cast<float>((turn * kRows + row) * 32 + col);
}

// `waits` false: the tile is written without asking whether the copy engine has read it.
template <std::uint32_t tiles, std::uint32_t warps>
sim::Report store_turns(Output& output, const sim::Schedule& schedule, bool waits) {
  using Tiles = Ring<tiles>;
  const TensorMap map = tensor_map_for<typename Tiles::Tile>(
      {.address = output.numbers.data(), .rows = kTurns * kRows, .cols = 32});
  return test::run_kernel<Tiles>(
      {.threads = warps * 32, .memory = &output.memory, .schedule = schedule}, [&](Tiles& shared) {
        StoreTilePipeline<Tiles, warps> stores(shared, 3);
        for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
          const auto write = [&](const typename Tiles::Tile& tile) {
            for (std::uint32_t i = isa::tid_x(); i < kRows * 32; i += warps * 32) {
              tile.store(number_at(turn, i / 32, i % 32), i / 32, i % 32);
            }
          };
          if (!waits) write(shared[turn % tiles]);
          auto stage = stores.acquire();
          if (waits) write(stage.tile());
          if (turn == 3) {
            std::move(stage).release_without_store();
          } else {
            std::move(stage).release(&map, {0, static_cast<std::int32_t>(turn * kRows)});
          }
        }
        stores.drain();
        isa::syncthreads();
        // What was stored can be read by now.
        const std::uint32_t last = kTurns * kRows * 32 - 1;
        EXPECT_EQ(isa::ld_global(&output.numbers[last]), static_cast<float>(last));
      });
}

template <std::uint32_t tiles, std::uint32_t warps>
void expect_stored() {
  for (const sim::Schedule& schedule : test::some_schedules()) {
    Output output;
    EXPECT_TRUE(is_silent(store_turns<tiles, warps>(output, schedule, true)));
    for (std::uint32_t i = 0; i < output.numbers.size(); ++i) {
      const std::uint32_t turn = i / (kRows * 32);
      ASSERT_EQ(output.numbers[i], turn == 3 ? -1.0f : static_cast<float>(i)) << "number " << i;
    }
    const auto without = store_turns<tiles, warps>(output, schedule, false);
    ASSERT_FALSE(without.ok());
    // With one tile nothing comes between the start of its copy and the next writes, but for the thread that has
    // started it; with more, a barrier does, and only the end of the copy is not waited for.
    const std::string_view code = name_of(without.diagnoses[0].code);
    EXPECT_TRUE(code == "write_while_read" || (tiles == 1 && code == "race")) << without.text();
  }
}

TEST(StoreTilePipeline, WarpgroupStoresEveryTileThroughARing) {
  expect_stored<1, 4>();
  expect_stored<2, 4>();
  expect_stored<3, 4>();
}

TEST(StoreTilePipeline, WarpNeedsNoBarrier) { expect_stored<2, 1>(); }

// One ring, tiles of two types in turn: what each of 16 bits and of 32 holds, and nothing where it is left out.
TEST(StoreTilePipeline, MemoryOfATileCanBeATileOfAnotherKind) {
  using Narrow = TileTensor<bf16, k_major_tile<bf16>(kRows, 24, Swizzle::k128B)>;
  std::vector<bf16> narrow(2 * kRows * 24);
  Output output;
  output.memory.add("narrow", narrow.data(), narrow.size() * sizeof(bf16));
  const TensorMap wide_map =
      tensor_map_for<Ring<2>::Tile>({.address = output.numbers.data(), .rows = kTurns * kRows, .cols = 32});
  const TensorMap narrow_map = tensor_map_for<Narrow>({.address = narrow.data(), .rows = 2 * kRows, .cols = 24});
  const auto report = test::run_kernel<Ring<2>>({.threads = 32, .memory = &output.memory}, [&](Ring<2>& shared) {
    StoreTilePipeline<Ring<2>, 1> stores(shared);
    for (std::uint32_t turn = 0; turn < 4; ++turn) {
      const auto row = static_cast<std::int32_t>(turn / 2 * kRows);
      if (turn % 2 == 0) {
        auto wide = stores.acquire();
        for (std::uint32_t i = 0; i < kRows; ++i)
          wide.tile().store(static_cast<float>(1 + turn), i, isa::tid_x());
        std::move(wide).release_if(turn == 2, &wide_map, {0, row});
      } else {
        auto tile = stores.acquire_as<Narrow>();
        for (std::uint32_t i = 0; i < kRows && isa::tid_x() < 24; ++i)
          tile.tile().store(bf16{0x3f80}, i, isa::tid_x());
        std::move(tile).release_if(turn == 3, &narrow_map, {0, row});
      }
    }
    stores.drain();
  });
  EXPECT_TRUE(is_silent(report));
  for (std::uint32_t i = 0; i < 2 * kRows * 32; ++i) {
    ASSERT_EQ(output.numbers[i], i < kRows * 32 ? -1.0f : 3.0f) << i;
  }
  for (std::uint32_t i = 0; i < narrow.size(); ++i) ASSERT_EQ(narrow[i].bits, i < kRows * 24 ? 0 : 0x3f80) << i;
}

TEST(StoreTilePipeline, WarpsThatWaitForAnotherSayForWhat) {
  const auto report = test::run_kernel<Ring<2>>({.threads = 64}, [&](Ring<2>& shared) {
    StoreTilePipeline<Ring<2>, 2> stores(shared, 3);
    if (isa::tid_x() < 32) return;
    auto tile = stores.acquire();
    std::move(tile).release_without_store();
  });
  EXPECT_NE(report.text().find("warp 1: waits on named barrier 3 (store)"), std::string::npos) << report.text();
}

TEST(StoreTilePipeline, IsNeitherCopiedNorMoved) {
  using Stores = StoreTilePipeline<Ring<2>>;
  EXPECT_FALSE(std::is_copy_constructible_v<Stores> || std::is_move_constructible_v<Stores>);
  EXPECT_EQ(Stores::num_stages, 2u);
}

// The compiler's own analysis does not follow members, so this builds and the simulated SM has the word.
TEST(StoreTilePipeline, DroppedTileIsReported) {
  const auto report = test::run_kernel<Ring<2>>({.threads = 32}, [&](Ring<2>& shared) {
    StoreTilePipeline<Ring<2>, 1> stores(shared);
    struct Forgetful {
      StoreTilePipeline<Ring<2>, 1>::Stage stage;
    };
    Forgetful keeps{stores.acquire()};
    static_cast<void>(keeps);
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnoses[0].code, "stage_dropped") << report.text();
}

}  // namespace
}  // namespace heddle
