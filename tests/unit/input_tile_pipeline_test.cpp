// SPDX-License-Identifier: Apache-2.0
//
// InputTilePipeline in the simulated SM: one thread copies tiles, one warp reads them.
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tma.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/sim/global_memory.h>

#include <gtest/gtest.h>

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;
using test::run_kernel;

using Payload = StandardTilePayload<
    std::uint32_t, std::uint32_t,
    StandardTileConfig{.a = {4, 32}, .b = {8, 32}, .a_swizzle = Swizzle::kNone, .b_swizzle = Swizzle::kNone}>;
constexpr std::uint32_t kABytes = 4 * 32 * 4;
constexpr std::uint32_t kBBytes = 8 * 32 * 4;

template <std::uint32_t stages, std::uint32_t k_group_size = 1>
using Pipeline = InputTilePipeline<Payload, stages, k_group_size>;
template <std::uint32_t stages, std::uint32_t k_group_size = 1>
using Storage = InputPipelineStorage<stages, Payload, k_group_size>;

struct Source {
  Source() {
    for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = 7 * i + 3;
    memory.add("source", words.data(), words.size() * sizeof(std::uint32_t));
  }
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(4096);
  sim::GlobalMemory memory;
};

template <class Stage>
void load_tile(const Stage& stage, const Source& source, std::uint32_t k = 0) {
  isa::cp_async_bulk_load(stage.a_tile(k).data(), &source.words[0], kABytes, stage.barrier());
  isa::cp_async_bulk_load(stage.b_tile(k).data(), &source.words[1024], kBBytes, stage.barrier());
}

// Thread 0 runs produce(pipeline), the second warp consume(pipeline).
template <class Store, class Produce, class Consume>
sim::Report run_pair(const Source& source, const sim::Schedule& schedule, const Produce& produce,
                     const Consume& consume) {
  return run_kernel<Store>({.threads = 64, .memory = &source.memory, .schedule = schedule}, [&](Store& shared) {
    InputTilePipeline pipeline(shared, "input");
    if (isa::tid_x() == 0) {
      decltype(pipeline)::init_barriers(shared.barriers.ptr(), 1, 32);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::tid_x() == 0) produce(pipeline);
    if (isa::tid_x() >= 32) consume(pipeline);
  });
}

TEST(InputTilePipelineApi, IsNeitherCopiedNorMoved) {
  EXPECT_FALSE(std::is_copy_constructible_v<Pipeline<2>> || std::is_move_constructible_v<Pipeline<2>>);
  EXPECT_FALSE(std::is_copy_assignable_v<Pipeline<2>> || std::is_move_assignable_v<Pipeline<2>>);
  EXPECT_FALSE(std::is_move_constructible_v<Pipeline<2>::Producer::Tiles>);
  EXPECT_FALSE(std::is_copy_constructible_v<Pipeline<2>::Producer::Stage>);
  EXPECT_TRUE(std::is_move_constructible_v<Pipeline<2>::Producer::Stage>);
}

TEST(InputTilePipelineApi, StageCountDeterminesBarrierCount) {
  EXPECT_EQ(sizeof(Pipeline<3>::BarrierArray), 3u * 2 * sizeof(SharedMemBarrier));
  EXPECT_EQ(Pipeline<3>::Pipeline::smem_bytes(), sizeof(Pipeline<3>::BarrierArray));
}

TEST(InputTilePipelineApi, TransactionBytesAreThoseOfAllTilesOfTheGroup) {
  EXPECT_EQ((Pipeline<2, 1>::Producer::Stage::tx_bytes), kABytes + kBBytes);
  EXPECT_EQ((Pipeline<2, 4>::Producer::Stage::tx_bytes), 4 * (kABytes + kBBytes));
}

TEST(InputTilePipelineApi, HandleAndScopeSeeTheSameTiles) {
  const Source source;
  const void* by_handle[2] = {};
  const void* by_scope[2] = {};
  const auto report = run_pair<Storage<1, 2>>(
      source, {},
      [&](auto& pipeline) {
        {
          auto stage = pipeline.acquire_producer();
          for (const std::uint32_t k : {0u, 1u}) {
            by_handle[k] = stage.a_tile(k).data();
            EXPECT_EQ(stage.tiles(k).b.data(), stage.b_tile(k).data());
            EXPECT_EQ(stage.payload().template get_a_tile<2>(stage.stage(), k).data(), by_handle[k]);
            load_tile(stage, source, k);
          }
          EXPECT_EQ(stage.mbar(), stage.barrier());
          EXPECT_EQ(stage.mbar(), pipeline.producer_mbar(0));
          std::move(stage).release();
        }
        auto producer = pipeline.producer();
        const auto tiles = producer.acquire();
        for (const std::uint32_t k : {0u, 1u}) {
          by_scope[k] = tiles.a_tile(k).data();
          load_tile(tiles, source, k);
        }
        EXPECT_EQ(tiles.stage(), 0u);
      },
      [&](auto& pipeline) {
        for (int i = 0; i < 2; ++i) {
          const auto tiles = pipeline.consumer().acquire();
          EXPECT_EQ(tiles.mbar(), pipeline.consumer_mbar(0));
          EXPECT_EQ(tiles.b_tile(1).load(2, isa::laneid()), source.words[1024 + 64 + isa::laneid()]);
        }
      });
  EXPECT_TRUE(is_silent(report));
  EXPECT_NE(by_handle[0], by_handle[1]);
  EXPECT_EQ(by_handle[0], by_scope[0]);
  EXPECT_EQ(by_handle[1], by_scope[1]);
}

TEST(InputTilePipelineApi, ExpectBytesReplacesWhatThePayloadSays) {
  const Source source;
  const auto run = [&](std::optional<std::uint32_t> bytes) {
    return run_pair<Storage<2>>(
        source, {},
        [&](auto& pipeline) {
          auto stage = pipeline.acquire_producer();
          if (bytes) stage.expect_bytes(*bytes);
          isa::cp_async_bulk_load(stage.a_tile().data(), &source.words[0], kABytes, stage.barrier());
          std::move(stage).release();
        },
        [&](auto& pipeline) {
          auto stage = pipeline.acquire_consumer();
          EXPECT_EQ(stage.a_tile().load(0, isa::laneid()), source.words[isa::laneid()]);
          std::move(stage).release();
        });
  };
  EXPECT_TRUE(is_silent(run(kABytes)));
  const auto hangs = run({});
  ASSERT_FALSE(hangs.ok());
  EXPECT_NE(hangs.text().find("bytes 512 of 1536"), std::string::npos) << hangs.text();
}

TEST(InputTilePipelineApi, TryAnswersForTheStageThatComesNext) {
  const Source source;
  bool producer_first = false;
  bool producer_second = true;
  bool consumer_first = true;
  const auto report = run_kernel<Storage<1>>({.threads = 1, .memory = &source.memory}, [&](Storage<1>& shared) {
    InputTilePipeline pipeline(shared);
    decltype(pipeline)::init_barriers(shared.barriers.ptr(), 1, 1);
    isa::fence_mbarrier_init();
    auto producer = pipeline.producer();
    auto consumer = pipeline.consumer();
    consumer_first = static_cast<bool>(consumer.try_acquire());
    const ConsumerReady ready = producer.try_acquire();
    producer_first = static_cast<bool>(ready);
    load_tile(producer.acquire_if_needed(ready), source);
    producer_second = static_cast<bool>(pipeline.try_acquire_producer());
    static_cast<void>(consumer.acquire_if_needed(consumer.try_acquire()));
    pipeline.wait_consumer_if_needed(pipeline.try_acquire_producer());
    producer.drain();
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_TRUE(producer_first);
  EXPECT_FALSE(producer_second);
  EXPECT_FALSE(consumer_first);
}

// The pairing of the seeds' example, which waits on the wrong barrier, does not compile.
template <class P>
concept TakesProducersTryForProducersWait = requires(P& p) {
  p.wait_producer_if_needed(p.try_acquire_producer());
};
template <class P>
concept TakesProducersTryForConsumersWait = requires(P& p) {
  p.wait_consumer_if_needed(p.try_acquire_producer());
};
static_assert(!TakesProducersTryForProducersWait<Pipeline<2>>);
static_assert(TakesProducersTryForConsumersWait<Pipeline<2>>);

TEST(InputTilePipelineApi, WaitDoesNotTakeTheOtherSidesAnswer) {
  EXPECT_FALSE((std::is_convertible_v<ConsumerReady, ProducerReady>));
  EXPECT_FALSE((std::is_convertible_v<bool, ProducerReady>));
}

TEST(InputTilePipelineApi, SeveralStagesCanBeHeldAndReleasedInAnyOrder) {
  const Source source;
  for (const sim::Schedule& schedule : test::some_schedules()) {
    const auto report = run_pair<Storage<3>>(
        source, schedule,
        [&](auto& pipeline) {
          for (int i = 0; i < 6; ++i) load_tile(pipeline.producer().acquire(), source);
          pipeline.drain_producer();
        },
        [&](auto& pipeline) {
          for (int i = 0; i < 3; ++i) {
            auto first = pipeline.acquire_consumer();
            auto second = pipeline.acquire_consumer();
            EXPECT_EQ((first.stage() + 1) % 3, second.stage());
            std::move(second).release();
            std::move(first).release();
          }
        });
    EXPECT_TRUE(is_silent(report));
  }
}

TEST(InputTilePipelineApi, ExplicitArriveIsFollowedByReleaseWithoutSignal) {
  const Source source;
  const auto report = run_pair<Storage<1>>(
      source, {},
      [&](auto& pipeline) {
        for (int i = 0; i < 4; ++i) load_tile(pipeline.producer().acquire(), source);
        pipeline.drain_producer();
      },
      [&](auto& pipeline) {
        for (int i = 0; i < 4; ++i) {
          auto stage = pipeline.acquire_consumer();
          stage.arrive();
          std::move(stage).release_without_signal();
        }
      });
  EXPECT_TRUE(is_silent(report));
}

// The compiler's own analysis does not follow members, so this builds and the simulated SM has the word.
struct Forgetful {
  Pipeline<2>::Consumer::Stage stage;
};

TEST(InputTilePipelineApi, DroppedStageIsReportedWithThePlaceWhereItWasAcquired) {
  const Source source;
  std::uint32_t line = 0;
  const auto report = run_pair<Storage<2>>(
      source, {}, [&](auto& pipeline) { load_tile(pipeline.producer().acquire(), source); },
      [&](auto& pipeline) {
        line = __LINE__ + 1;
        Forgetful keeps{pipeline.acquire_consumer()};
        static_cast<void>(keeps);
      });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnoses[0].code, "stage_dropped") << report.text();
  EXPECT_NE(report.text().find("input_tile_pipeline_test.cpp:" + std::to_string(line)), std::string::npos)
      << report.text();
}

}  // namespace
}  // namespace heddle
