// SPDX-License-Identifier: Apache-2.0
//
// ProducerConsumerPipeline in the simulated SM: one thread produces, one warp (or more) consumes. Values go
// through shared memory; what a thread saw is kept in arrays of the test.
#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tma.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/sim/event.h>
#include <heddle/sim/global_memory.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;
using test::run_kernel;
using test::some_schedules;

constexpr std::uint32_t kLanes = isa::kWarpThreads;
constexpr std::uint32_t kMaxTurns = 6;
constexpr std::uint32_t kNever = 0xffffffffu;

template <std::uint32_t stages>
struct Ring {
  SharedMemBarrier barriers[2 * stages];
  std::uint32_t value[stages];
  std::uint32_t done[kMaxTurns + 1];
};

// What goes through the ring in a turn.
constexpr std::uint32_t token_of(std::uint32_t turn) { return 1000 + 7 * turn; }

// Values that the consumer's threads saw, by turn and thread.
class Seen {
 public:
  void put(std::uint32_t turn, std::uint32_t value) { at(turn, isa::tid_x() - kLanes) = value; }

  ::testing::AssertionResult holds_turns(std::uint32_t turns, std::uint32_t threads = kLanes) const {
    for (std::uint32_t turn = 0; turn <= kMaxTurns; ++turn) {
      for (std::uint32_t thread = 0; thread < threads; ++thread) {
        const std::uint32_t expected = turn < turns ? token_of(turn) : kNever;
        const std::uint32_t value = values_[turn * kMaxThreads + thread];
        if (value != expected) {
          return ::testing::AssertionFailure()
                 << "turn " << turn << ", consumer thread " << thread << " saw " << value << ", not " << expected;
        }
      }
    }
    return ::testing::AssertionSuccess();
  }

 private:
  static constexpr std::uint32_t kMaxThreads = 2 * kLanes;

  std::uint32_t& at(std::uint32_t turn, std::uint32_t thread) { return values_.at(turn * kMaxThreads + thread); }

  std::vector<std::uint32_t> values_ = std::vector<std::uint32_t>((kMaxTurns + 1) * kMaxThreads, kNever);
};

struct Counts {
  std::uint32_t producer = 1;
  std::uint32_t consumer = kLanes;
};

// Thread 0 runs produce(pipeline, ring), every thread of the other warps consume(pipeline, ring).
template <std::uint32_t stages, class Produce, class Consume>
sim::Report run_pair(const sim::Schedule& schedule, Counts counts, const Produce& produce, const Consume& consume,
                     std::uint32_t consumer_warps = 1) {
  return run_kernel<Ring<stages>>({.threads = (1 + consumer_warps) * kLanes, .schedule = schedule},
                                  [&](Ring<stages>& ring) {
                                    ProducerConsumerPipeline<stages> pipeline(ring.barriers, "input");
                                    if (isa::tid_x() == 0) {
                                      pipeline.init_mbars(counts.producer, counts.consumer);
                                      isa::fence_mbarrier_init();
                                    }
                                    isa::syncthreads();
                                    if (isa::tid_x() == 0) produce(pipeline, ring);
                                    if (isa::tid_x() >= kLanes) consume(pipeline, ring);
                                  });
}

// Calls test.operator()<stages>(turns, schedule) for 1 to 4 stages and 0 to 6 turns.
template <class Test>
void for_every_ring(const Test& test) {
  const auto with_stages = [&]<std::uint32_t stages>() {
    for (std::uint32_t turns = 0; turns <= kMaxTurns; ++turns) {
      for (const sim::Schedule& schedule : some_schedules(3)) {
        SCOPED_TRACE(std::to_string(stages) + " stages, " + std::to_string(turns) + " turns, schedule " +
                     schedule.name());
        test.template operator()<stages>(turns, schedule);
      }
    }
  };
  with_stages.template operator()<1>();
  with_stages.template operator()<2>();
  with_stages.template operator()<3>();
  with_stages.template operator()<4>();
}

// The plain ways of either side, for tests about the other.
template <std::uint32_t stages>
void produce_turns(ProducerConsumerPipeline<stages>& pipeline, Ring<stages>& ring, std::uint32_t turns) {
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    auto stage = pipeline.acquire_producer();
    isa::st_shared(&ring.value[stage.index()], token_of(turn));
    std::move(stage).release();
  }
}

template <std::uint32_t stages>
void consume_turns(ProducerConsumerPipeline<stages>& pipeline, Ring<stages>& ring, std::uint32_t turns,
                   Seen& seen) {
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    auto stage = pipeline.acquire_consumer();
    seen.put(turn, isa::ld_shared(&ring.value[stage.index()]));
    std::move(stage).release();
  }
}

TEST(ProducerConsumerPipeline, BarriersTakeTwoWordsOfEightBytesPerStage) {
  EXPECT_EQ(ProducerConsumerPipeline<1>::smem_bytes(), 16u);
  EXPECT_EQ(ProducerConsumerPipeline<7>::smem_bytes(), 112u);
}

TEST(ProducerConsumerPipeline, IsNeitherCopiedNorMoved) {
  using Pipeline = ProducerConsumerPipeline<2>;
  EXPECT_FALSE(std::is_copy_constructible_v<Pipeline> || std::is_move_constructible_v<Pipeline>);
  EXPECT_FALSE(std::is_copy_assignable_v<Pipeline> || std::is_move_assignable_v<Pipeline>);
}

TEST(ProducerConsumerPipeline, BackendOfEitherScopeSatisfiesTheConcept) {
  EXPECT_TRUE((PipelineBackend<MbarrierBackend<3>>));
  EXPECT_TRUE((PipelineBackend<MbarrierBackend<3, PipelineScope::kCluster>>));
  EXPECT_FALSE(PipelineBackend<SharedMemBarrier>);
}

TEST(ProducerConsumerPipeline, HandlesPassEveryValueInOrder) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    Seen seen;
    EXPECT_TRUE(is_silent(run_pair<stages>(
        schedule, {}, [&](auto& pipeline, auto& ring) { produce_turns<stages>(pipeline, ring, turns); },
        [&](auto& pipeline, auto& ring) { consume_turns<stages>(pipeline, ring, turns, seen); })));
    EXPECT_TRUE(seen.holds_turns(turns));
  });
}

TEST(ProducerConsumerPipeline, ScopesPassEveryValueInOrder) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    Seen seen;
    EXPECT_TRUE(is_silent(run_pair<stages>(
        schedule, {},
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            auto stage = pipeline.produce();
            isa::st_shared(&ring.value[stage.index()], token_of(turn));
          }
        },
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            auto stage = pipeline.consume();
            seen.put(turn, isa::ld_shared(&ring.value[stage.index()]));
          }
        })));
    EXPECT_TRUE(seen.holds_turns(turns));
  });
}

TEST(ProducerConsumerPipeline, DirectInterfacePassesEveryValueInOrder) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    Seen seen;
    EXPECT_TRUE(is_silent(run_pair<stages>(
        schedule, {},
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            pipeline.wait_consumer();
            pipeline.wait_consumer(SuspendHint{1000});  // waiting does not step
            isa::st_shared(&ring.value[pipeline.producer_stage()], token_of(turn));
            isa::mbarrier_arrive(pipeline.producer_mbar(pipeline.producer_stage()));
            pipeline.producer_step();
          }
        },
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            pipeline.wait_producer();
            pipeline.wait_producer(SuspendHint{1000});
            seen.put(turn, isa::ld_shared(&ring.value[pipeline.consumer_stage()]));
            isa::mbarrier_arrive(pipeline.consumer_mbar(pipeline.consumer_stage()));
            pipeline.consumer_step();
          }
        })));
    EXPECT_TRUE(seen.holds_turns(turns));
  });
}

TEST(ProducerConsumerPipeline, TokensSaveTheWaitAndNotTheOrder) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    Seen seen;
    EXPECT_TRUE(is_silent(run_pair<stages>(
        schedule, {},
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            const auto ready = pipeline.try_wait_consumer();
            if (turn % 2 == 0) {
              auto stage = pipeline.acquire_producer(ready);
              isa::st_shared(&ring.value[stage.index()], token_of(turn));
              std::move(stage).release();
            } else {
              pipeline.wait_consumer_if_needed(ready);
              isa::st_shared(&ring.value[pipeline.producer_stage()], token_of(turn));
              pipeline.producer_signal_and_step();
            }
          }
        },
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            const auto ready = pipeline.try_wait_producer();
            if (turn % 2 == 0) {
              auto stage = pipeline.consume(ready, SuspendHint{100});
              seen.put(turn, isa::ld_shared(&ring.value[stage.index()]));
            } else {
              pipeline.wait_producer_if_needed(ready);
              seen.put(turn, isa::ld_shared(&ring.value[pipeline.consumer_stage()]));
              pipeline.consumer_signal_and_step();
            }
          }
        })));
    EXPECT_TRUE(seen.holds_turns(turns));
  });
}

TEST(ProducerConsumerPipeline, ConsumeExplicitLeavesTheArriveToItsCaller) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    Seen seen;
    // Thread 0 of the warp arrives for all: a count of one.
    EXPECT_TRUE(is_silent(run_pair<stages>(
        schedule, {.consumer = 1},
        [&](auto& pipeline, auto& ring) { produce_turns<stages>(pipeline, ring, turns); },
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            auto stage = pipeline.consume_explicit();
            seen.put(turn, isa::ld_shared(&ring.value[stage.index()]));
            isa::syncwarp();
            if (isa::laneid() == 0) stage.arrive();
          }
        })));
    EXPECT_TRUE(seen.holds_turns(turns));
  });
}

TEST(ProducerConsumerPipeline, ConsumeExplicitWithoutAnArriveNeverFreesTheStage) {
  const sim::Report report = run_pair<2>(
      sim::Schedule::round_robin(), {}, [&](auto& pipeline, auto& ring) { produce_turns<2>(pipeline, ring, 3); },
      [&](auto& pipeline, auto&) {
        for (std::uint32_t turn = 0; turn < 3; ++turn) {
          auto stage = pipeline.consume_explicit();
          if (turn != 0) stage.arrive();
        }
      });
  EXPECT_TRUE(report.has("deadlock")) << report.text();
  EXPECT_NE(report.text().find("empty of input[0]"), std::string::npos) << report.text();
}

TEST(ProducerConsumerPipeline, ReleaseWithoutSignalLeavesTheArriveToItsCaller) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    Seen seen;
    EXPECT_TRUE(is_silent(run_pair<stages>(
        schedule, {},
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            auto stage = pipeline.acquire_producer();
            isa::st_shared(&ring.value[stage.index()], token_of(turn));
            stage.arrive();
            std::move(stage).release_without_signal();
          }
        },
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            auto stage = pipeline.acquire_consumer();
            seen.put(turn, isa::ld_shared(&ring.value[stage.index()]));
            if (turn % 2 == 0) {
              stage.arrive();
            } else {
              isa::mbarrier_arrive(stage.mbar());
            }
            std::move(stage).release_without_signal();
          }
        })));
    EXPECT_TRUE(seen.holds_turns(turns));
  });
}

TEST(ProducerConsumerPipeline, SignalAndStepKeepsTheProducerAtMostTheStagesAhead) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    std::uint32_t signalled = 0;
    std::uint32_t answered = 0;
    std::uint32_t furthest = 0;
    EXPECT_TRUE(is_silent(run_pair<stages>(
        schedule, {.consumer = 1},
        [&](auto& pipeline, auto&) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            EXPECT_EQ(pipeline.producer_stage(), turn % stages);
            pipeline.producer_signal_and_step();
            ++signalled;
            furthest = std::max(furthest, signalled - answered);
          }
        },
        [&](auto& pipeline, auto&) {
          if (isa::laneid() != 0) return;
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            EXPECT_EQ(pipeline.consumer_stage(), turn % stages);
            ++answered;
            pipeline.consumer_signal_and_step();
          }
        })));
    EXPECT_EQ(signalled, turns);
    EXPECT_EQ(answered, turns);
    EXPECT_LE(furthest, stages);
  });
}

TEST(ProducerConsumerPipeline, HandleKnowsItsStageAndTheParityThatItWaitedFor) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> produced;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> consumed;
  EXPECT_TRUE(is_silent(run_pair<3>(
      sim::Schedule::round_robin(), {.consumer = 1},
      [&](auto& pipeline, auto& ring) {
        for (std::uint32_t turn = 0; turn < 7; ++turn) {
          auto stage = pipeline.acquire_producer();
          produced.emplace_back(stage.index(), stage.phase());
          EXPECT_EQ(stage.mbar(), &ring.barriers[stage.index()]);
          EXPECT_EQ(pipeline.producer_stage(), (turn + 1) % 3) << "acquiring moves the cursor on";
          std::move(stage).release();
        }
      },
      [&](auto& pipeline, auto& ring) {
        if (isa::laneid() != 0) return;
        for (std::uint32_t turn = 0; turn < 7; ++turn) {
          auto stage = pipeline.acquire_consumer();
          consumed.emplace_back(stage.index(), stage.phase());
          EXPECT_EQ(stage.mbar(), &ring.barriers[3 + stage.index()]);
          EXPECT_EQ(pipeline.consumer_stage(), (turn + 1) % 3);
          std::move(stage).release();
        }
      })));
  using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(produced, (Pairs{{0, 1}, {1, 1}, {2, 1}, {0, 0}, {1, 0}, {2, 0}, {0, 1}}));
  EXPECT_EQ(consumed, (Pairs{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {0, 0}}));
}

TEST(ProducerConsumerPipeline, ProducerBlocksUntilTheOldestStageIsReleased) {
  bool before = true;
  bool after = false;
  EXPECT_TRUE(is_silent(run_kernel<Ring<2>>({.threads = 2 * kLanes}, [&](Ring<2>& ring) {
    ProducerConsumerPipeline<2> pipeline(ring.barriers, "input");
    if (isa::tid_x() == 0) {
      pipeline.init_mbars(1, kLanes);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::tid_x() == 0) {
      EXPECT_TRUE(pipeline.try_wait_consumer()) << "a fresh stage is empty";
      produce_turns<2>(pipeline, ring, 2);
      before = static_cast<bool>(pipeline.try_wait_consumer());
    }
    isa::syncthreads();
    if (isa::tid_x() >= kLanes) {
      auto stage = pipeline.acquire_consumer();
      std::move(stage).release();
    }
    isa::syncthreads();
    if (isa::tid_x() == 0) after = static_cast<bool>(pipeline.try_wait_consumer());
  })));
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
}

TEST(ProducerConsumerPipeline, ConsumerBlocksUntilItsStageIsFilled) {
  bool before = true;
  bool after = false;
  EXPECT_TRUE(is_silent(run_kernel<Ring<2>>({.threads = 2 * kLanes}, [&](Ring<2>& ring) {
    ProducerConsumerPipeline<2> pipeline(ring.barriers, "input");
    if (isa::tid_x() == 0) {
      pipeline.init_mbars(1, kLanes);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::tid_x() == kLanes) before = static_cast<bool>(pipeline.try_wait_producer());
    isa::syncthreads();
    if (isa::tid_x() == 0) produce_turns<2>(pipeline, ring, 1);
    isa::syncthreads();
    if (isa::tid_x() == kLanes) after = static_cast<bool>(pipeline.try_wait_producer());
  })));
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
}

TEST(ProducerConsumerPipeline, DrainReturnsAfterEveryReleaseOfTheConsumer) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    std::vector<std::uint32_t> done(turns, 0);
    EXPECT_TRUE(is_silent(run_pair<stages>(
        schedule, {.consumer = 1},
        [&](auto& pipeline, auto& ring) {
          produce_turns<stages>(pipeline, ring, turns);
          pipeline.drain_producer();
          for (std::uint32_t turn = 0; turn < turns; ++turn) done[turn] = isa::ld_shared(&ring.done[turn]);
        },
        [&](auto& pipeline, auto& ring) {
          if (isa::laneid() != 0) return;
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            auto stage = pipeline.acquire_consumer();
            isa::st_shared(&ring.done[turn], isa::ld_shared(&ring.value[stage.index()]));
            std::move(stage).release();
          }
        })));
    for (std::uint32_t turn = 0; turn < turns; ++turn) EXPECT_EQ(done[turn], token_of(turn));
  });
}

TEST(ProducerConsumerPipeline, ProducingGoesOnAfterADrain) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    Seen seen;
    EXPECT_TRUE(is_silent(run_pair<stages>(
        schedule, {},
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            auto stage = pipeline.acquire_producer();
            isa::st_shared(&ring.value[stage.index()], token_of(turn));
            std::move(stage).release();
            if (turn % 3 == 1) pipeline.drain_producer();
          }
        },
        [&](auto& pipeline, auto& ring) { consume_turns<stages>(pipeline, ring, turns, seen); })));
    EXPECT_TRUE(seen.holds_turns(turns));
  });
}

TEST(ProducerConsumerPipeline, ConsumerHoldsTwoStagesAndReleasesTheNewerFirst) {
  for (const sim::Schedule& schedule : some_schedules()) {
    Seen seen;
    EXPECT_TRUE(is_silent(run_pair<3>(
        schedule, {}, [&](auto& pipeline, auto& ring) { produce_turns<3>(pipeline, ring, 6); },
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < 6; turn += 2) {
            auto older = pipeline.acquire_consumer();
            auto newer = pipeline.acquire_consumer();
            seen.put(turn + 1, isa::ld_shared(&ring.value[newer.index()]));
            std::move(newer).release();
            seen.put(turn, isa::ld_shared(&ring.value[older.index()]));
            std::move(older).release();
          }
        })));
    EXPECT_TRUE(seen.holds_turns(6));
  }
}

TEST(ProducerConsumerPipeline, ConsumerCarriesAStageIntoTheNextTurn) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    if constexpr (stages > 1) {
      if (turns == 0) return;
      Seen seen;
      EXPECT_TRUE(is_silent(run_pair<stages>(
          schedule, {}, [&](auto& pipeline, auto& ring) { produce_turns<stages>(pipeline, ring, turns); },
          [&](auto& pipeline, auto& ring) {
            auto held = pipeline.acquire_consumer();
            for (std::uint32_t turn = 1; turn < turns; ++turn) {
              auto next = pipeline.acquire_consumer();
              seen.put(turn - 1, isa::ld_shared(&ring.value[held.index()]));
              std::move(held).release();
              held = std::move(next);
            }
            seen.put(turns - 1, isa::ld_shared(&ring.value[held.index()]));
            std::move(held).release();
          })));
      EXPECT_TRUE(seen.holds_turns(turns));
    }
  });
}

TEST(ProducerConsumerPipeline, ProducerHoldsTwoStagesAndReleasesTheNewerFirst) {
  for (const sim::Schedule& schedule : some_schedules()) {
    Seen seen;
    EXPECT_TRUE(is_silent(run_pair<4>(
        schedule, {},
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < 6; turn += 2) {
            auto older = pipeline.acquire_producer();
            auto newer = pipeline.acquire_producer();
            isa::st_shared(&ring.value[older.index()], token_of(turn));
            isa::st_shared(&ring.value[newer.index()], token_of(turn + 1));
            std::move(newer).release();
            std::move(older).release();
          }
        },
        [&](auto& pipeline, auto& ring) { consume_turns<4>(pipeline, ring, 6, seen); })));
    EXPECT_TRUE(seen.holds_turns(6));
  }
}

TEST(ProducerConsumerPipeline, ReleaseElectedIsOneArrivalPerWarp) {
  for_every_ring([]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    Seen seen;
    EXPECT_TRUE(is_silent(run_pair<stages>(
        schedule, {.consumer = 2},
        [&](auto& pipeline, auto& ring) { produce_turns<stages>(pipeline, ring, turns); },
        [&](auto& pipeline, auto& ring) {
          for (std::uint32_t turn = 0; turn < turns; ++turn) {
            auto stage = pipeline.acquire_consumer();
            seen.put(turn, isa::ld_shared(&ring.value[stage.index()]));
            std::move(stage).release_elected();
          }
        },
        /*consumer_warps=*/2)));
    EXPECT_TRUE(seen.holds_turns(turns, 2 * kLanes));
  });
}

// A warp that produces: each thread writes its own word, and the warp signals once.
TEST(ProducerConsumerPipeline, ProducerWarpSignalsOnceForAllItsThreads) {
  struct Words {
    SharedMemBarrier barriers[4];
    std::uint32_t word[2][kLanes];
  };
  for (const sim::Schedule& schedule : some_schedules()) {
    std::array<std::uint32_t, kLanes> sum{};
    EXPECT_TRUE(is_silent(run_kernel<Words>({.threads = 2 * kLanes, .schedule = schedule}, [&](Words& shared) {
      ProducerConsumerPipeline<2> pipeline(shared.barriers, "words");
      const std::uint32_t lane = isa::laneid();
      if (isa::tid_x() == 0) {
        pipeline.init_mbars(1, 1);
        isa::fence_mbarrier_init();
      }
      isa::syncthreads();
      for (std::uint32_t turn = 0; turn < 5; ++turn) {
        if (isa::tid_x() < kLanes) {
          auto stage = pipeline.acquire_producer();
          isa::st_shared(&shared.word[stage.index()][lane], 100 * turn + lane);
          std::move(stage).release_elected();
        } else {
          auto stage = pipeline.acquire_consumer();
          sum[lane] += isa::ld_shared(&shared.word[stage.index()][kLanes - 1 - lane]);
          std::move(stage).release_elected();
        }
      }
    })));
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) EXPECT_EQ(sum[lane], 1000 + 5 * (kLanes - 1 - lane));
  }
}

struct Tiles {
  alignas(128) std::uint32_t tile[2][2][32];
  SharedMemBarrier barriers[4];
};

// How the producer holds a stage.
enum class Hold { kHandle, kScope };

// Copies two tiles of 128 bytes into every stage and sums the words; `expected_bytes` is what the producer says.
sim::Report sum_copies(const sim::Schedule& schedule, std::vector<std::uint32_t> expected_bytes,
                       std::uint32_t& sum, Hold hold = Hold::kHandle) {
  std::vector<std::uint32_t> source(4 * 64);
  for (std::uint32_t i = 0; i < source.size(); ++i) source[i] = i;
  sim::GlobalMemory memory;
  memory.add("source", source.data(), source.size() * sizeof(std::uint32_t));
  return run_kernel<Tiles>({.threads = 2 * kLanes, .memory = &memory, .schedule = schedule}, [&](Tiles& shared) {
    ProducerConsumerPipeline<2> pipeline(shared.barriers, "tiles");
    if (isa::tid_x() == 0) {
      pipeline.init_mbars(1, 1);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::tid_x() == 0) {
      const auto fill = [&](const auto& stage, std::uint32_t turn) {
        for (std::uint32_t half = 0; half < 2; ++half) {
          isa::cp_async_bulk_load(shared.tile[stage.index()][half], &source[turn * 64 + half * 32], 128,
                                  stage.mbar());
        }
        for (const std::uint32_t bytes : expected_bytes) stage.expect_bytes(bytes);
      };
      for (std::uint32_t turn = 0; turn < 4; ++turn) {
        if (hold == Hold::kScope) {
          fill(pipeline.produce(), turn);
          continue;
        }
        auto stage = pipeline.acquire_producer();
        fill(stage, turn);
        std::move(stage).release();
      }
      pipeline.drain_producer();
    } else if (isa::tid_x() == kLanes) {
      for (std::uint32_t turn = 0; turn < 4; ++turn) {
        auto stage = pipeline.consume();
        for (std::uint32_t i = 0; i < 64; ++i) sum += isa::ld_shared(&shared.tile[stage.index()][i / 32][i % 32]);
      }
    }
  });
}

TEST(ProducerConsumerPipeline, ExpectedBytesAddUpAndTheReleaseAnnouncesThem) {
  for (const sim::Schedule& schedule : some_schedules()) {
    std::uint32_t sum = 0;
    EXPECT_TRUE(is_silent(sum_copies(schedule, {128, 128}, sum)));
    EXPECT_EQ(sum, 255u * 128u);
  }
}

TEST(ProducerConsumerPipeline, ScopeAnnouncesTheBytesThatItWasTold) {
  for (const sim::Schedule& schedule : some_schedules()) {
    std::uint32_t sum = 0;
    EXPECT_TRUE(is_silent(sum_copies(schedule, {128, 128}, sum, Hold::kScope)));
    EXPECT_EQ(sum, 255u * 128u);
    EXPECT_TRUE(sum_copies(schedule, {128, 144}, sum, Hold::kScope).has("deadlock"));
  }
}

TEST(ProducerConsumerPipeline, ByteThatNeverComesKeepsTheStageFromFilling) {
  std::uint32_t sum = 0;
  const sim::Report report = sum_copies(sim::Schedule::round_robin(), {128, 144}, sum);
  EXPECT_TRUE(report.has("deadlock")) << report.text();
  EXPECT_NE(report.text().find("full of tiles[0]"), std::string::npos) << report.text();
}

// Two CTAs, and each consumer warp gives its stage back to both producers.
TEST(ProducerConsumerPipeline, ReleaseToFreesTheStageInEveryCtaOfTheMask) {
  for (const sim::Schedule& schedule : some_schedules()) {
    std::array<Seen, 2> seen;
    EXPECT_TRUE(is_silent(run_kernel<Ring<2>>(
        {.threads = 2 * kLanes, .grid = {2}, .cluster = {2}, .schedule = schedule}, [&](Ring<2>& ring) {
          ProducerConsumerPipeline<2, MbarrierBackend<2, PipelineScope::kCluster>> pipeline(ring.barriers,
                                                                                            "shared");
          if (isa::tid_x() == 0) {
            pipeline.init_mbars(1, 2);
            isa::fence_mbarrier_init();
          }
          isa::cluster_sync();
          if (isa::tid_x() == 0) {
            for (std::uint32_t turn = 0; turn < 5; ++turn) {
              auto stage = pipeline.acquire_producer(pipeline.try_wait_consumer());
              isa::st_shared(&ring.value[stage.index()], token_of(turn));
              std::move(stage).release();
            }
            pipeline.drain_producer();
          } else if (isa::tid_x() >= kLanes) {
            for (std::uint32_t turn = 0; turn < 5; ++turn) {
              auto stage = pipeline.acquire_consumer();
              seen[isa::cluster_ctarank()].put(turn, isa::ld_shared(&ring.value[stage.index()]));
              std::move(stage).release_to(0b11);
            }
          }
          isa::cluster_sync();
        })));
    EXPECT_TRUE(seen[0].holds_turns(5));
    EXPECT_TRUE(seen[1].holds_turns(5));
  }
}

TEST(ProducerConsumerPipeline, ReleaseToOneCtaOnlyStarvesTheOther) {
  const sim::Report report =
      run_kernel<Ring<1>>({.threads = 2 * kLanes, .grid = {2}, .cluster = {2}}, [&](Ring<1>& ring) {
        ProducerConsumerPipeline<1, MbarrierBackend<1, PipelineScope::kCluster>> pipeline(ring.barriers,
                                                                                          "shared");
        if (isa::tid_x() == 0) {
          pipeline.init_mbars(1, 2);
          isa::fence_mbarrier_init();
        }
        isa::cluster_sync();
        if (isa::tid_x() == 0) {
          for (std::uint32_t turn = 0; turn < 2; ++turn) pipeline.acquire_producer().release();
        } else if (isa::tid_x() >= kLanes) {
          for (std::uint32_t turn = 0; turn < 2; ++turn) pipeline.acquire_consumer().release_to(0b01);
        }
        isa::cluster_sync();
      });
  EXPECT_TRUE(report.has("deadlock")) << report.text();
  EXPECT_NE(report.text().find("empty of shared[0]"), std::string::npos) << report.text();
}

// The scopes of all waits that succeeded.
class Scopes final : public sim::Watcher<Scopes> {
 public:
  void on(const sim::event::BarrierPass& event) { seen.insert(event.scope); }
  std::set<sim::EventScope> seen;
};

// Stages of a cluster are asked for as they are waited for: what peers have written must be visible.
template <PipelineScope scope>
std::set<sim::EventScope> scopes_of_tests() {
  Scopes scopes;
  EXPECT_TRUE(is_silent(run_kernel<Ring<1>>(
      {.threads = 2 * kLanes, .grid = {2}, .cluster = {2}, .observers = {&scopes}}, [&](Ring<1>& ring) {
        ProducerConsumerPipeline<1, MbarrierBackend<1, scope>> pipeline(ring.barriers, "asked for");
        if (isa::tid_x() == 0) {
          pipeline.init_mbars(1, 1);
          isa::fence_mbarrier_init();
        }
        isa::cluster_sync();
        for (std::uint32_t turn = 0; turn < 2; ++turn) {
          if (isa::tid_x() == 0) {
            ConsumerReady ready = pipeline.try_wait_consumer();
            while (!ready) ready = pipeline.try_wait_consumer();
            pipeline.acquire_producer(ready).release();
          } else if (isa::tid_x() == kLanes) {
            ProducerReady ready = pipeline.try_wait_producer();
            while (!ready) ready = pipeline.try_wait_producer();
            pipeline.acquire_consumer(ready).release();
          }
        }
        isa::cluster_sync();
      })));
  return scopes.seen;
}

TEST(ProducerConsumerPipeline, TriesAcquireAtTheScopeOfThePipeline) {
  EXPECT_EQ(scopes_of_tests<PipelineScope::kCluster>(), std::set{sim::EventScope::kCluster});
  EXPECT_EQ(scopes_of_tests<PipelineScope::kCta>(), std::set{sim::EventScope::kUnsaid});
}

// A handle as a member: the compiler's own analysis does not follow it there, so that the mistakes below build.
struct Held {
  ConsumerStage<2> stage;
};

// A consumer thread that treats the first stage as `use` does.
template <class Use>
sim::Report consume_one(const Use& use) {
  return run_pair<2>(
      sim::Schedule::round_robin(), {.consumer = 1},
      [&](auto& pipeline, auto& ring) { produce_turns<2>(pipeline, ring, 1); },
      [&](auto& pipeline, auto&) {
        if (isa::laneid() != 0) return;
        Held held{pipeline.acquire_consumer()};
        use(held);
      });
}

TEST(LinearHandle, ReleasedOnceIsSilentInTheSimulatedSm) {
  EXPECT_TRUE(is_silent(consume_one([](Held& held) { std::move(held.stage).release(); })));
}

TEST(LinearHandle, MovedAndReleasedOnceIsSilentInTheSimulatedSm) {
  EXPECT_TRUE(is_silent(consume_one([](Held& held) {
    Held other{std::move(held.stage)};
    std::move(other.stage).release();
  })));
}

TEST(LinearHandle, DroppedStopsTheRunWithTheNameOfItsStage) {
  const sim::Report report = consume_one([](Held&) {});
  EXPECT_TRUE(report.has("stage_dropped")) << report.text();
  EXPECT_NE(report.text().find("input[0]"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("pipeline_test.cpp"), std::string::npos) << report.text();
}

TEST(LinearHandle, OverwrittenWhileItHoldsStopsTheRun) {
  const sim::Report report = run_pair<2>(
      sim::Schedule::round_robin(), {.consumer = 1},
      [&](auto& pipeline, auto& ring) { produce_turns<2>(pipeline, ring, 2); },
      [&](auto& pipeline, auto&) {
        if (isa::laneid() != 0) return;
        Held held{pipeline.acquire_consumer()};
        held.stage = pipeline.acquire_consumer();
        std::move(held.stage).release();
      });
  EXPECT_TRUE(report.has("stage_dropped")) << report.text();
  EXPECT_NE(report.text().find("input[0]"), std::string::npos) << report.text();
}

TEST(LinearHandle, ReleasedTwiceStopsTheRun) {
  const sim::Report report = consume_one([](Held& held) {
    std::move(held.stage).release();
    std::move(held.stage).release();
  });
  EXPECT_TRUE(report.has("stage_used_after_release")) << report.text();
}

TEST(LinearHandle, UsedAfterItWasMovedStopsTheRun) {
  const sim::Report report = consume_one([](Held& held) {
    Held other{std::move(held.stage)};
    std::move(other.stage).release();
    EXPECT_EQ(held.stage.index(), kNever);
  });
  EXPECT_TRUE(report.has("stage_used_after_release")) << report.text();
}

// Each accessor of a consumer's stage, in a run of its own.
TEST(LinearHandle, NoUseAfterReleaseIsOverlooked) {
  const auto stops = [](const auto& use) {
    const sim::Report report = consume_one([&](Held& held) {
      std::move(held.stage).release();
      use(held);
    });
    return report.has("stage_used_after_release");
  };
  EXPECT_TRUE(stops([](Held& held) { static_cast<void>(held.stage.index()); }));
  EXPECT_TRUE(stops([](Held& held) { static_cast<void>(held.stage.phase()); }));
  EXPECT_TRUE(stops([](Held& held) { static_cast<void>(held.stage.mbar()); }));
  EXPECT_TRUE(stops([](Held& held) { held.stage.arrive(); }));
  EXPECT_TRUE(stops([](Held& held) { std::move(held.stage).release_without_signal(); }));
}

// And of a producer's.
TEST(LinearHandle, NoUseOfAProducersStageAfterReleaseIsOverlooked) {
  struct HeldByProducer {
    ProducerStage<2> stage;
  };
  const auto stops = [](const auto& use) {
    const sim::Report report = run_pair<2>(
        sim::Schedule::round_robin(), {},
        [&](auto& pipeline, auto&) {
          HeldByProducer held{pipeline.acquire_producer()};
          std::move(held.stage).release();
          use(held);
        },
        [](auto&, auto&) {});
    return report.has("stage_used_after_release");
  };
  EXPECT_TRUE(stops([](HeldByProducer& held) { static_cast<void>(held.stage.index()); }));
  EXPECT_TRUE(stops([](HeldByProducer& held) { static_cast<void>(held.stage.phase()); }));
  EXPECT_TRUE(stops([](HeldByProducer& held) { static_cast<void>(held.stage.mbar()); }));
  EXPECT_TRUE(stops([](HeldByProducer& held) { held.stage.expect_bytes(16); }));
  EXPECT_TRUE(stops([](HeldByProducer& held) { held.stage.arrive(); }));
  EXPECT_TRUE(stops([](HeldByProducer& held) { std::move(held.stage).release_without_signal(); }));
}

}  // namespace
}  // namespace heddle
