// SPDX-License-Identifier: Apache-2.0
//
// InputTilePipeline in the simulated SM: one thread copies tiles, one warp reads them.
#include <heddle/host/tensor_map.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tma.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/sim/global_memory.h>

#include <gtest/gtest.h>

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
using Pipeline = ArrivingInputPipeline<Payload, stages, k_group_size>;
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
template <class Input, class Produce, class Consume>
sim::Report run_pair(const Source& source, const sim::Schedule& schedule, const Produce& produce,
                     const Consume& consume) {
  using Store = typename Input::Storage;
  return run_kernel<Store>({.threads = 64, .memory = &source.memory, .schedule = schedule}, [&](Store& shared) {
    Input pipeline(shared, "input");
    if (isa::tid_x() == 0) {
      Input::init_barriers(shared.barriers.ptr(), 1, 32);
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
  const auto report = run_pair<Pipeline<1, 2>>(
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

// A stage in a place where the compiler does not follow it.
template <class Stage>
struct Held {
  Stage stage;
};

// Each accessor of a stage, in a run of its own: `side` acquires, and uses what it has released.
template <PipelineSide side, class Use>
bool stops_after_release(const Use& use) {
  const auto hold = [&](auto& pipeline) {
    if constexpr (side == PipelineSide::kProducer) {
      Held<Pipeline<1>::Producer::Stage> held{pipeline.acquire_producer()};
      std::move(held.stage).release_without_signal();
      use(held);
    } else {
      Held<Pipeline<1>::Consumer::Stage> held{pipeline.acquire_consumer()};
      std::move(held.stage).release_without_signal();
      use(held);
    }
  };
  const Source source;
  const auto report = run_pair<Pipeline<1>>(
      source, {},
      [&](auto& pipeline) {
        if constexpr (side == PipelineSide::kProducer) return hold(pipeline);
        auto stage = pipeline.acquire_producer();
        load_tile(stage, source);
        std::move(stage).release();
      },
      [&](auto& pipeline) {
        if constexpr (side == PipelineSide::kConsumer) hold(pipeline);
      });
  return report.has("stage_used_after_release");
}

TEST(InputTilePipelineApi, NoUseAfterReleaseIsOverlooked) {
  const auto both = [](const auto& use) {
    return stops_after_release<PipelineSide::kProducer>(use) && stops_after_release<PipelineSide::kConsumer>(use);
  };
  EXPECT_TRUE(both([](auto& held) { static_cast<void>(held.stage.payload()); }));
  EXPECT_TRUE(both([](auto& held) { static_cast<void>(held.stage.stage()); }));
  EXPECT_TRUE(both([](auto& held) { static_cast<void>(held.stage.barrier()); }));
  EXPECT_TRUE(both([](auto& held) { static_cast<void>(held.stage.mbar()); }));
  EXPECT_TRUE(both([](auto& held) { static_cast<void>(held.stage.a_tile()); }));
  EXPECT_TRUE(both([](auto& held) { std::move(held.stage).release(); }));
  EXPECT_TRUE(stops_after_release<PipelineSide::kProducer>([](auto& held) { held.stage.expect_bytes(16); }));
  EXPECT_TRUE(stops_after_release<PipelineSide::kConsumer>([](auto& held) { held.stage.arrive(); }));
}

TEST(InputTilePipelineApi, ExpectBytesReplacesWhatThePayloadSays) {
  const Source source;
  const auto run = [&](const std::vector<std::uint32_t>& bytes) {
    return run_pair<Pipeline<2>>(
        source, {},
        [&](auto& pipeline) {
          auto stage = pipeline.acquire_producer();
          for (const std::uint32_t some : bytes) stage.expect_bytes(some);
          isa::cp_async_bulk_load(stage.a_tile().data(), &source.words[0], kABytes, stage.barrier());
          std::move(stage).release();
        },
        [&](auto& pipeline) {
          auto stage = pipeline.acquire_consumer();
          EXPECT_EQ(stage.a_tile().load(0, isa::laneid()), source.words[isa::laneid()]);
          std::move(stage).release();
        });
  };
  EXPECT_TRUE(is_silent(run({kABytes})));
  EXPECT_TRUE(is_silent(run({kABytes - 64, 0, 64}))) << "calls add up";
  const auto hangs = run({});
  ASSERT_FALSE(hangs.ok());
  EXPECT_NE(hangs.text().find("bytes 512 of 1536"), std::string::npos) << hangs.text();
}

TEST(InputTilePipelineApi, ScopeExpectsTheBytesThatItIsTold) {
  const Source source;
  for (const bool is_told : {true, false}) {
    const auto report = run_pair<Pipeline<2>>(
        source, {},
        [&](auto& pipeline) {
          auto producer = pipeline.producer();
          const auto tiles = producer.acquire();
          if (is_told) tiles.expect_bytes(kBBytes);
          isa::cp_async_bulk_load(tiles.b_tile().data(), &source.words[0], kBBytes, tiles.barrier());
        },
        [&](auto& pipeline) {
          const auto tiles = pipeline.consumer().acquire();
          EXPECT_EQ(tiles.b_tile().load(7, isa::laneid()), source.words[7 * 32 + isa::laneid()]);
        });
    EXPECT_EQ(report.ok(), is_told) << report.text();
    if (!is_told) {
      EXPECT_NE(report.text().find("bytes 1024 of 1536"), std::string::npos) << report.text();
    }
  }
}

// Where the tiles of a turn come from: each turn has its own.
std::uint32_t first_word(std::uint32_t turn) { return 512 * turn; }

void copy_turn(const Source& source, const Payload::Tiles& tiles, std::uint32_t turn, MbarPtr full) {
  isa::cp_async_bulk_load(tiles.a.data(), &source.words[first_word(turn)], kABytes, full);
  isa::cp_async_bulk_load(tiles.b.data(), &source.words[first_word(turn) + 128], kBBytes, full);
}

// How many of two words of this thread are not those of the turn.
std::uint32_t wrong_of_turn(const Source& source, const Payload::Tiles& tiles, std::uint32_t turn) {
  const std::uint32_t lane = isa::laneid();
  return (tiles.a.load(3, lane) != source.words[first_word(turn) + 96 + lane]) +
         (tiles.b.load(7, lane) != source.words[first_word(turn) + 128 + 7 * 32 + lane]);
}

// Barriers and tiles apart, and everything by hand: a try, the wait that it may save, and stages by their
// numbers.
TEST(InputTilePipelineApi, DirectInterfaceHandsOverEveryTile) {
  constexpr std::uint32_t turns = 7;
  struct Shared {
    std::uint32_t before[2];
    Pipeline<3>::BarrierArray barriers;
    Payload::Storage<3> tiles;
  };
  const Source source;
  for (const sim::Schedule& schedule : test::some_schedules()) {
    std::uint32_t wrong = 0;
    const auto report =
        run_kernel<Shared>({.threads = 64, .memory = &source.memory, .schedule = schedule}, [&](Shared& shared) {
          Pipeline<3> pipeline(shared.barriers, Payload(shared.tiles), "apart");
          if (isa::tid_x() == 0) {
            Pipeline<3>::init_barriers(shared.barriers.ptr(), 1, 32);
            isa::fence_mbarrier_init();
          }
          isa::syncthreads();
          for (std::uint32_t turn = 0; turn < turns && isa::tid_x() == 0; ++turn) {
            const ConsumerReady ready = pipeline.try_acquire_producer();
            pipeline.wait_consumer_if_needed(ready);
            const std::uint32_t stage = pipeline.producer_stage();
            EXPECT_EQ(stage, turn % 3);
            const MbarPtr full = pipeline.producer_mbar(stage);
            isa::mbarrier_arrive_expect_tx(full, Payload::tx_bytes);
            copy_turn(source, pipeline.payload().get_tile(stage), turn, full);
            pipeline.pipeline().producer_step();
          }
          for (std::uint32_t turn = 0; turn < turns && isa::tid_x() >= 32; ++turn) {
            const ProducerReady ready = pipeline.try_acquire_consumer();
            pipeline.wait_producer_if_needed(ready);
            const std::uint32_t stage = pipeline.consumer_stage();
            EXPECT_EQ(stage, turn % 3);
            wrong += wrong_of_turn(source, pipeline.payload().get_tile(stage), turn);
            isa::mbarrier_arrive(pipeline.consumer_mbar(stage));
            pipeline.pipeline().consumer_step();
          }
        });
    EXPECT_TRUE(is_silent(report));
    EXPECT_EQ(wrong, 0u);
  }
}

// Whole warps on both sides: one of 32 threads copies and signals, one of 32 signals what all have read.
TEST(InputTilePipelineApi, ReleaseElectedSignalsOnceForAWarp) {
  constexpr std::uint32_t turns = 5;
  const Source source;
  for (const sim::Schedule& schedule : test::some_schedules()) {
    std::uint32_t wrong = 0;
    const auto report = run_kernel<Storage<2>>(
        {.threads = 64, .memory = &source.memory, .schedule = schedule}, [&](Storage<2>& shared) {
          Pipeline<2> pipeline(shared);
          if (isa::tid_x() == 0) {
            Pipeline<2>::init_barriers(shared.barriers.ptr(), 1, 1);
            isa::fence_mbarrier_init();
          }
          isa::syncthreads();
          auto producer = pipeline.producer();
          for (std::uint32_t turn = 0; turn < turns && isa::warp_idx() == 0; ++turn) {
            auto stage = producer.acquire_stage();
            EXPECT_EQ(stage.stage(), turn % 2);
            if (isa::elect_sync()) copy_turn(source, stage.tiles(), turn, stage.barrier());
            std::move(stage).release_elected();
          }
          auto consumer = pipeline.consumer();
          for (std::uint32_t turn = 0; turn < turns && isa::warp_idx() == 1; ++turn) {
            auto stage = consumer.acquire_stage();
            EXPECT_EQ(stage.stage(), turn % 2);
            wrong += wrong_of_turn(source, stage.tiles(), turn);
            std::move(stage).release_elected();
          }
        });
    EXPECT_TRUE(is_silent(report));
    EXPECT_EQ(wrong, 0u);
  }
}

// CTA 0 copies A into both CTAs, so both must have read a stage before it is filled again.
TEST(InputTilePipelineApi, ReleaseToTellsEveryCtaOfTheMask) {
  constexpr std::uint32_t turns = 5;
  using Input = ArrivingInputPipeline<Payload, 2, 1, PipelineScope::kCluster>;
  const Source source;
  const TensorMap map = make_tensor_map({.type = TensorType::kU32,
                                         .rank = 2,
                                         .address = const_cast<std::uint32_t*>(source.words.data()),
                                         .dims = {32, 128},
                                         .strides = {128},
                                         .box = {32, 4}});
  const auto run = [&](std::uint16_t mask_of_1, const sim::Schedule& schedule, std::uint32_t& wrong) {
    return run_kernel<Storage<2>>(
        {.threads = 64, .grid = {2}, .cluster = {2}, .memory = &source.memory, .schedule = schedule},
        [&](Storage<2>& shared) {
          const std::uint32_t rank = isa::cluster_ctarank();
          Input pipeline(shared);
          if (isa::tid_x() == 0) {
            Input::init_barriers(shared.barriers.ptr(), 1, rank == 0 ? 2 : 1);
            isa::fence_mbarrier_init();
          }
          isa::cluster_sync();
          for (std::uint32_t turn = 0; turn < turns && isa::tid_x() == 0; ++turn) {
            const auto tiles = pipeline.producer().acquire();
            const auto row = static_cast<std::int32_t>(first_word(turn) / 32);
            if (rank == 0) {
              isa::cp_async_bulk_tensor_load_multicast(tiles.a_tile().data(), &map, {0, row}, tiles.barrier(),
                                                       0b11);
            }
            isa::cp_async_bulk_load(tiles.b_tile().data(), &source.words[first_word(turn) + 128], kBBytes,
                                    tiles.barrier());
          }
          for (std::uint32_t turn = 0; turn < turns && isa::warp_idx() == 1; ++turn) {
            auto stage = pipeline.acquire_consumer();
            wrong += wrong_of_turn(source, stage.tiles(), turn);
            std::move(stage).release_to(rank == 0 ? 0b01 : mask_of_1);
          }
          isa::cluster_sync();
        });
  };
  for (const sim::Schedule& schedule : test::some_schedules()) {
    std::uint32_t wrong = 0;
    EXPECT_TRUE(is_silent(run(0b11, schedule, wrong)));
    EXPECT_EQ(wrong, 0u);
    EXPECT_FALSE(run(0b10, schedule, wrong).ok());
  }
}

TEST(InputTilePipelineApi, TryAnswersForTheStageThatComesNext) {
  const Source source;
  bool producer_first = false;
  bool producer_second = true;
  bool consumer_first = true;
  const auto report = run_kernel<Storage<1>>({.threads = 1, .memory = &source.memory}, [&](Storage<1>& shared) {
    Pipeline<1> pipeline(shared);
    Pipeline<1>::init_barriers(shared.barriers.ptr(), 1, 1);
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
    const auto report = run_pair<Pipeline<3>>(
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
  const auto report = run_pair<Pipeline<1>>(
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
  const auto report = run_pair<Pipeline<2>>(
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
