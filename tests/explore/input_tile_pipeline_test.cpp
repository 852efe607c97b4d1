// SPDX-License-Identifier: Apache-2.0
//
// InputTilePipeline under many schedules, right and with one mistake in it: a thread copies the tiles of A and B
// into the ring, a warp reads every one of them.
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tma.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/sim/global_memory.h>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "../support/planted_mistakes.h"
#include "../support/ring_schedules.h"
#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using Payload = StandardTilePayload<
    std::uint32_t, std::uint32_t,
    StandardTileConfig{.a = {4, 32}, .b = {8, 32}, .a_swizzle = Swizzle::kNone, .b_swizzle = Swizzle::kNone}>;
constexpr std::uint32_t kAWords = 4 * 32;
constexpr std::uint32_t kBWords = 8 * 32;
constexpr std::uint32_t kMaxTiles = 6 * 4;

// What goes through the ring, and what the consumer's threads make of it.
struct Tiles {
  Tiles() {
    for (std::uint32_t i = 0; i < source.size(); ++i) source[i] = 0x9E3779B9u * (i + 1);
    memory.add("source", source.data(), source.size() * sizeof(std::uint32_t));
  }
  const std::uint32_t* a(std::uint32_t tile) const { return source.data() + tile * (kAWords + kBWords); }
  const std::uint32_t* b(std::uint32_t tile) const { return a(tile) + kAWords; }

  std::vector<std::uint32_t> source = std::vector<std::uint32_t>(kMaxTiles * (kAWords + kBWords));
  sim::GlobalMemory memory;
};

template <std::uint32_t stages, std::uint32_t k_group_size, PipelineBackend Backend = MbarrierBackend<stages>>
struct Ring {
  using Storage = InputPipelineStorage<stages, Payload, k_group_size>;
  using Pipeline = InputTilePipeline<Payload, stages, k_group_size, Backend>;

  static void load(const Tiles& tiles, Pipeline& pipeline, std::uint32_t turns) {
    auto producer = pipeline.producer();
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      auto stage = producer.acquire_stage();
      for (std::uint32_t k = 0; k < k_group_size; ++k) {
        const std::uint32_t tile = turn * k_group_size + k;
        isa::cp_async_bulk_load(stage.a_tile(k).data(), tiles.a(tile), kAWords * 4, stage.barrier());
        isa::cp_async_bulk_load(stage.b_tile(k).data(), tiles.b(tile), kBWords * 4, stage.barrier());
      }
      std::move(stage).release();
    }
    producer.drain();
  }

  // Each thread reads its column of every tile and counts the words that are not what was copied.
  static std::uint32_t wrong_words(const Tiles& tiles, Pipeline& pipeline, std::uint32_t turns) {
    std::uint32_t wrong = 0;
    auto consumer = pipeline.consumer();
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      const auto stage = consumer.acquire();
      for (std::uint32_t k = 0; k < k_group_size; ++k) {
        const std::uint32_t tile = turn * k_group_size + k;
        const auto [a, b] = stage.tiles(k);
        for (std::uint32_t row = 0; row < 8; ++row) {
          const std::uint32_t at = row * 32 + isa::laneid();
          if (row < 4) wrong += a.load(row, isa::laneid()) != tiles.a(tile)[at];
          wrong += b.load(row, isa::laneid()) != tiles.b(tile)[at];
        }
      }
    }
    return wrong;
  }

  static sim::Report run(const Tiles& tiles, std::uint32_t turns, const sim::Schedule& schedule,
                         std::uint32_t& wrong) {
    return test::run_kernel<Storage>({.threads = 64, .memory = &tiles.memory, .schedule = schedule},
                                     [&](Storage& shared) {
                                       Pipeline pipeline(shared, "input");
                                       if (isa::tid_x() == 0) {
                                         Pipeline::init_barriers(shared.barriers.ptr(), 1, 32);
                                         isa::fence_mbarrier_init();
                                       }
                                       isa::syncthreads();
                                       if (isa::tid_x() == 0) load(tiles, pipeline, turns);
                                       if (isa::tid_x() >= 32) wrong += wrong_words(tiles, pipeline, turns);
                                     });
  }
};

template <std::uint32_t k_group_size>
void survives_every_schedule() {
  const Tiles tiles;
  test::for_every_ring_and_schedule(
      [&]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
        std::uint32_t wrong = 0;
        const sim::Report report = Ring<stages, k_group_size>::run(tiles, turns, schedule, wrong);
        EXPECT_TRUE(test::is_silent(report));
        EXPECT_EQ(wrong, 0u);
      });
}

TEST(InputTilePipeline, HandsOverEveryTileUnderManySchedulesKGroup1) { survives_every_schedule<1>(); }
TEST(InputTilePipeline, HandsOverEveryTileUnderManySchedulesKGroup2) { survives_every_schedule<2>(); }
TEST(InputTilePipeline, HandsOverEveryTileUnderManySchedulesKGroup4) { survives_every_schedule<4>(); }

template <std::uint32_t k_group_size>
void reports_every_mistake() {
  const Tiles tiles;
  test::expect_every_mistake_reported<MbarrierBackend<2>>([&]<class Backend>(const sim::Schedule& schedule) {
    std::uint32_t wrong = 0;
    return Ring<2, k_group_size, Backend>::run(tiles, 6, schedule, wrong);
  });
}

TEST(InputTilePipeline, ReportsEveryPlantedMistakeKGroup1) { reports_every_mistake<1>(); }
TEST(InputTilePipeline, ReportsEveryPlantedMistakeKGroup2) { reports_every_mistake<2>(); }
TEST(InputTilePipeline, ReportsEveryPlantedMistakeKGroup4) { reports_every_mistake<4>(); }

}  // namespace
}  // namespace heddle
