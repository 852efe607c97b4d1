// SPDX-License-Identifier: Apache-2.0
//
// OutputTilePipeline and its per-K views in the simulated SM.
#include <heddle/isa/memory.h>
#include <heddle/pipeline/tile_pipeline.h>

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "../support/output_ring.h"

namespace heddle {
namespace {

using namespace test::output_ring;
using test::is_silent;
using test::some_schedules;

using One = Ring<2, 1>;

// The plain ways of either side, for tests about the other.
constexpr auto multiply_turns = [](auto& shared, auto& output) {
  for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
    auto stage = output.acquire_mma_linear();
    One::multiply(shared, turn, stage.tmem_offset());
    std::move(stage).release();
  }
};

template <class Stage>
std::uint32_t wrong_in(const Stage& stage, std::uint32_t turn) {
  std::uint32_t bits[One::columns];
  One::load(bits, stage.tmem().address());
  isa::tcgen05_wait_ld();
  return One::wrong_numbers(bits, turn);
}

constexpr auto read_turns = [](auto&, auto& output) {
  for (std::uint32_t turn = 0; turn < kTurns; ++turn) EXPECT_EQ(wrong_in(output.consumer(), turn), 0u);
};

TEST(OutputTilePipelineApi, IsNeitherCopiedNorMoved) {
  EXPECT_FALSE(std::is_copy_constructible_v<One::Output> || std::is_move_constructible_v<One::Output>);
  EXPECT_FALSE(std::is_copy_constructible_v<One::Output::MmaHandle>);
  EXPECT_TRUE(std::is_move_constructible_v<One::Output::MmaHandle>);
  EXPECT_FALSE(std::is_move_constructible_v<One::Output::Consumer>);
}

TEST(OutputTilePipelineApi, StageCountDeterminesBarrierCount) {
  EXPECT_EQ(sizeof(One::Output::BarrierArray), 2u * 2 * sizeof(SharedMemBarrier));
  EXPECT_EQ(One::Output::Pipeline::smem_bytes(), sizeof(One::Output::BarrierArray));
  EXPECT_EQ(One::Output::num_stages, 2u);
}

TEST(OutputPipelineConfig, AccumulatorTakesTheStrideUnlessItSaysLess) {
  EXPECT_EQ((TmemStage<OutputPipelineConfig{.stage_stride_cols = 64}>::num_cols), 64u);
  EXPECT_EQ((TmemStage<OutputPipelineConfig{.stage_stride_cols = 64, .stage_cols = 48}>::num_cols), 48u);
}

TEST(OutputTilePipelineApi, StagesLieAStrideApart) {
  std::uint32_t seen[2][2] = {};
  const auto report = One::run(
      {},
      [&](auto& shared, auto& output) {
        for (std::uint32_t turn = 0; turn < 2; ++turn) {
          auto stage = output.acquire_mma_linear();
          seen[0][turn] = stage.tmem_offset();
          EXPECT_EQ(stage.index(), turn);
          EXPECT_EQ(stage.accumulator().address(), stage.tmem().address());
          One::multiply(shared, turn, stage.tmem_offset());
          std::move(stage).release();
        }
        EXPECT_EQ(seen[0][0], output.home().tmem().address().bits());
      },
      [&](auto&, auto& output) {
        for (std::uint32_t turn = 0; turn < 2; ++turn) {
          const auto stage = output.consumer();
          seen[1][turn] = stage.tmem().address().bits();
          EXPECT_EQ(wrong_in(stage, turn), 0u);
        }
      });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(seen[0][1] - seen[0][0], One::Output::stage_stride_cols);
  EXPECT_EQ(seen[0][0], seen[1][0]);
  EXPECT_EQ(seen[0][1], seen[1][1]);
}

static_assert(std::is_same_v<One::Output::Stage, OutputStage<One::config>>);
static_assert(std::is_same_v<decltype(std::declval<One::Output&>().acquire_for_mma()), One::Output::Stage>);
static_assert(std::is_same_v<decltype(std::declval<One::Output&>().acquire_for_epilogue()),
                             OutputStage<One::config, PipelineSide::kConsumer>>);
static_assert(std::is_same_v<One::Output::Tmem, TmemAllocation<1>>);
static_assert(std::is_same_v<Ring<2, 2>::Output::Tmem, TmemAllocation<2>>);

TEST(OutputTilePipelineApi, KnowsItsTensorMemoryAndWhomItsCommitsTell) {
  using Two = Ring<2, 2>;
  std::uint32_t seen[2] = {};
  const auto report = Two::run(
      {},
      [&](auto& shared, auto& output) {
        EXPECT_EQ(output.cta_group, 2u);
        seen[0] = output.mma_complete_mask();
        auto stage = output.acquire_for_mma();
        EXPECT_EQ(output.tmem().address().bits(), stage.tmem_offset());
        EXPECT_EQ(output.tmem().cols(), Two::tmem_cols);
        Two::multiply(shared, 0, stage.tmem_offset());
        std::move(stage).release();
      },
      [&](auto&, auto& output) {
        seen[1] = output.mma_complete_mask();
        auto stage = output.acquire_for_epilogue();
        std::move(stage).release();
      });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(seen[0], 0b11u);
  EXPECT_EQ(seen[1], 0b11u);
}

// In a pair the leader's barrier counts the epilogue threads of both CTAs: mbar() is the one that release
// signals.
TEST(OutputTilePipelineApi, EpilogueOfAPairArrivesOnTheLeadersBarrierByHand) {
  using Two = Ring<2, 2>;
  for (const sim::Schedule& schedule : some_schedules()) {
    const auto report = Two::run(
        schedule,
        [](auto& shared, auto& output) {
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
            auto stage = output.acquire_mma_linear();
            Two::multiply(shared, turn, stage.tmem_offset());
            std::move(stage).release();
          }
        },
        [](auto&, auto& output) {
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
            auto stage = output.acquire_epilogue_linear();
            std::uint32_t bits[Two::columns];
            Two::load(bits, stage.tmem().address());
            isa::tcgen05_wait_ld();
            EXPECT_EQ(Two::wrong_numbers(bits, turn), 0u);
            isa::tcgen05_fence_before_thread_sync();
            isa::mbarrier_arrive_cluster(stage.mbar());
            std::move(stage).release_without_signal();
          }
        });
    EXPECT_TRUE(is_silent(report));
  }
}

TEST(OutputTilePipelineApi, AcquireAndReleaseByTheNamesOfTheSides) {
  for (const sim::Schedule& schedule : some_schedules()) {
    const auto report = One::run(
        schedule,
        [](auto& shared, auto& output) {
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
            auto stage = output.acquire_for_mma();
            One::multiply(shared, turn, stage.tmem_offset());
            output.release_from_mma(std::move(stage));
          }
        },
        [](auto&, auto& output) {
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
            auto stage = output.acquire_for_epilogue();
            EXPECT_EQ(wrong_in(stage, turn), 0u);
            output.release_from_epilogue(std::move(stage));
          }
        });
    EXPECT_TRUE(is_silent(report));
  }
}

TEST(OutputTilePipelineApi, ScopesReleaseAtTheEndOfTheirBlock) {
  for (const sim::Schedule& schedule : some_schedules()) {
    const auto report = One::run(
        schedule,
        [](auto& shared, auto& output) {
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
            const auto stage = output.producer();
            One::multiply(shared, turn, stage.tmem_offset());
          }
        },
        read_turns);
    EXPECT_TRUE(is_silent(report));
  }
}

TEST(OutputTilePipelineApi, ReleaseCommitsOnce) {
  for (const bool commits_by_hand : {false, true}) {
    const auto report = One::run(
        {},
        [&](auto& shared, auto& output) {
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
            auto stage = output.acquire_mma_linear();
            One::multiply(shared, turn, stage.tmem_offset());
            // As an example of the seeds does it: a second arrival on a barrier of count 1.
            if (commits_by_hand) isa::tcgen05_commit<1>(stage.mbar());
            std::move(stage).release();
          }
        },
        read_turns);
    EXPECT_EQ(report.ok(), !commits_by_hand) << report.text();
  }
}

TEST(OutputTilePipelineApi, EpilogueReleaseOrdersItsLoads) {
  for (const sim::Schedule& schedule : some_schedules()) {
    // The release waits for the load; without it, the next multiplication may come first.
    const auto run = [&](bool releases) {
      return One::run(schedule, multiply_turns, [&](auto&, auto& output) {
        for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
          std::uint32_t bits[One::columns];
          auto stage = output.acquire_epilogue_linear();
          One::load(bits, stage.tmem().address());
          if (releases) {
            std::move(stage).release();
          } else {
            isa::mbarrier_arrive(stage.mbar());
            std::move(stage).release_without_signal();
            isa::tcgen05_wait_ld();
          }
        }
      });
    };
    EXPECT_TRUE(is_silent(run(true)));
    const auto without = run(false);
    ASSERT_FALSE(without.ok());
    EXPECT_EQ(without.diagnoses[0].code, "missing_tmem_wait") << without.text();
  }
}

// Whole warps on both sides: the elected thread of the MMA warp multiplies and commits, and one thread of each
// epilogue warp says that all of them have read.
TEST(OutputTilePipelineApi, ReleaseElectedSignalsOnceForAWarp) {
  for (const sim::Schedule& schedule : some_schedules()) {
    const auto report = One::run_warps(
        schedule,
        [](auto& shared, auto& output) {
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
            auto stage = output.acquire_mma_linear();
            if (isa::elect_sync()) One::multiply(shared, turn, stage.tmem_offset());
            std::move(stage).release_elected();
          }
        },
        [](auto&, auto& output) {
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
            auto stage = output.acquire_epilogue_linear();
            std::uint32_t bits[One::columns];
            One::load(bits, stage.tmem().address());
            std::move(stage).release_elected();
            EXPECT_EQ(One::wrong_numbers(bits, turn), 0u);
          }
        },
        4);
    EXPECT_TRUE(is_silent(report));
  }
}

// A scope's barrier is the one that its end signals, and the pipeline behind it has the same.
TEST(OutputTilePipelineApi, ScopeKnowsItsBarrierAndThePipelineItsStages) {
  const auto report = One::run(
      {},
      [](auto& shared, auto& output) {
        for (std::uint32_t turn = 0; turn < 3; ++turn) {
          EXPECT_EQ(output.get_pipeline().producer_stage(), turn % 2);
          const auto stage = output.producer();
          EXPECT_EQ(stage.mbar(), shared.output.full(turn % 2));
          EXPECT_EQ(stage.mbar(), output.get_pipeline().producer_mbar(stage.index()));
          One::multiply(shared, turn, stage.tmem_offset());
        }
      },
      [](auto& shared, auto& output) {
        for (std::uint32_t turn = 0; turn < 3; ++turn) {
          EXPECT_EQ(output.get_pipeline().consumer_stage(), turn % 2);
          const auto stage = output.consumer();
          EXPECT_EQ(stage.mbar(), shared.output.empty(turn % 2));
          EXPECT_EQ(stage.mbar(), output.get_pipeline().consumer_mbar(stage.index()));
          EXPECT_EQ(wrong_in(stage, turn), 0u);
        }
      });
  EXPECT_TRUE(is_silent(report));
}

// Hopper's form: warps fill tiles of C in shared memory, a thread hands them to the copy engine.
TEST(OutputTilePipelineApi, AccumulatorsCanBeTilesInSharedMemory) {
  using CTiles = OutputTileStorage<float, row_major<float>(32, 32), 2>::CTileArray;
  using Home = SharedHome<CTiles>;
  constexpr OutputPipelineConfig config{.num_stages = 2};
  using Output = OutputTilePipeline<config, Home>;
  struct Shared {
    CTiles tiles;
    BarrierPair<2> barriers;
  };
  std::vector<float> c(kTurns * 32 * 32, -1.0f);
  sim::GlobalMemory memory;
  memory.add("c", c.data(), c.size() * sizeof(float));
  for (const sim::Schedule& schedule : some_schedules()) {
    const auto report =
        test::run_kernel<Shared>({.threads = 64, .memory = &memory, .schedule = schedule}, [&](Shared& shared) {
          Output output(Home::Backend(shared.barriers.ptr()), Home(shared.tiles));
          if (isa::tid_x() == 0) {
            Output::init_barriers(shared.barriers.ptr(), 32, 1);
            isa::fence_mbarrier_init();
          }
          isa::syncthreads();
          for (std::uint32_t turn = 0; turn < kTurns && isa::warp_idx() == 0; ++turn) {
            const auto stage = output.producer();
            for (std::uint32_t row = 0; row < 32; ++row) {
              stage.accumulator().store(static_cast<float>(turn * 1024 + row * 32 + isa::laneid()), row,
                                        isa::laneid());
            }
          }
          for (std::uint32_t turn = 0; turn < kTurns && isa::tid_x() == 32; ++turn) {
            auto stage = output.acquire_epilogue_linear();
            isa::cp_async_bulk_store(&c[turn * 1024], stage.accumulator().data(), 4096);
            isa::cp_async_bulk_commit_group();
            isa::cp_async_bulk_wait_group_read<0>();
            std::move(stage).release();
          }
          if (isa::tid_x() == 32) isa::cp_async_bulk_wait_group<0>();
        });
    EXPECT_TRUE(is_silent(report));
    for (std::uint32_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], static_cast<float>(i));
  }
}

TEST(PerK, ViewHandsOverEveryStepOfK) {
  for (const sim::Schedule& schedule : some_schedules()) {
    const auto report = One::run(
        schedule,
        [](auto& shared, auto& output) {
          auto per_k = output.per_k();
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
            if (turn % 2 == 0) {
              const auto stage = per_k.produce();
              One::multiply(shared, turn, stage.tmem_offset());
            } else {
              auto stage = per_k.acquire_mma_linear();
              One::multiply(shared, turn, stage.tmem_offset());
              std::move(stage).release();
            }
          }
        },
        [](auto&, auto& output) {
          auto per_k = output.per_k();
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
            if (turn % 2 == 0) {
              EXPECT_EQ(wrong_in(per_k.consume(), turn), 0u);
            } else {
              auto stage = per_k.acquire_epilogue_linear();
              EXPECT_EQ(wrong_in(stage, turn), 0u);
              std::move(stage).release();
            }
          }
        });
    EXPECT_TRUE(is_silent(report));
  }
}

// Beside the accumulators goes a ring of words, one for each step, which a second thread fills. The epilogue
// holds both, as a scope or as a handle.
TEST(PerK, EpilogueHoldsAccumulatorAndScales) {
  for (const sim::Schedule& schedule : some_schedules()) {
    struct Shared {
      One::Shared ring;
      BarrierPair<3> input;
      std::uint32_t scales[3];
    };
    const auto report = test::run_kernel<Shared>(
        {.threads = 192, .memory = &problem().memory, .schedule = schedule, .arch = Arch::kSm100},
        [&](Shared& shared) {
          One::Shared& ring = shared.ring;
          auto input = shared.input.pipeline("input");
          if (isa::tid_x() == 0) {
            One::Output::init_barriers(ring.output.ptr(), 1, 128);
            input.init_mbars(1, 4);
            isa::mbarrier_init(&ring.loaded, 1);
            isa::fence_mbarrier_init();
            isa::mbarrier_arrive_expect_tx(&ring.loaded, sizeof(Operands));
            isa::cp_async_bulk_load(&ring.operands, &problem().operands[0], sizeof(Operands), &ring.loaded);
            test::wait_parity(&ring.loaded, 0);
          }
          isa::syncthreads();
          if (isa::warp_idx() == 4) static_cast<void>(One::Tmem::allocate(&ring.address, One::tmem_cols));
          isa::syncthreads();
          const auto tmem = One::Tmem::from_shared(&ring.address, One::tmem_cols);
          One::Output output(ring.output.ptr(), tmem, 1);
          if (isa::tid_x() == 128) multiply_turns(ring, output);
          for (std::uint32_t turn = 0; turn < kTurns && isa::tid_x() == 160; ++turn) {
            auto stage = input.acquire_producer();
            isa::st_shared(&shared.scales[stage.index()], 100 + turn);
            std::move(stage).release();
          }
          for (std::uint32_t turn = 0; turn < kTurns && isa::warp_idx() < 4; ++turn) {
            if (turn % 3 == 2) {
              // By hand: every thread for the accumulator, one of each warp for the scales.
              auto stage = output.acquire_k_epilogue_linear(input);
              EXPECT_EQ(isa::ld_shared(&shared.scales[stage.input_stage()]), 100 + turn);
              EXPECT_EQ(wrong_in(stage, turn), 0u);
              isa::tcgen05_fence_before_thread_sync();
              isa::mbarrier_arrive(output.get_pipeline().consumer_mbar(stage.output_stage()));
              isa::syncwarp();
              if (isa::elect_sync()) isa::mbarrier_arrive(input.consumer_mbar(stage.input_stage()));
              std::move(stage).release_without_signal();
            } else if (turn % 3 == 0) {
              const auto stage = output.per_k_epilogue(input);
              EXPECT_EQ(isa::ld_shared(&shared.scales[stage.input_stage()]), 100 + turn);
              EXPECT_EQ(stage.output_stage(), turn % 2);
              EXPECT_EQ(wrong_in(stage, turn), 0u);
            } else {
              auto stage = output.acquire_k_epilogue_linear(input);
              EXPECT_EQ(isa::ld_shared(&shared.scales[stage.input_stage()]), 100 + turn);
              EXPECT_EQ(wrong_in(stage, turn), 0u);
              std::move(stage).release();
            }
          }
          isa::syncthreads();
          if (isa::warp_idx() == 4) tmem.deallocate();
        });
    EXPECT_TRUE(is_silent(report));
  }
}

// Each CTA of a pair has a ring of scales of its own, on which its own producer signals.
TEST(PerK, EpilogueOfAPairHoldsAccumulatorAndScales) {
  using Two = Ring<2, 2>;
  struct Shared {
    Two::Shared ring;
    BarrierPair<3> input;
    std::uint32_t scales[3];
  };
  for (const sim::Schedule& schedule : some_schedules()) {
    const auto report = test::run_kernel<Shared>(
        {.threads = 192,
         .grid = {2},
         .cluster = {2},
         .memory = &problem().memory,
         .schedule = schedule,
         .arch = Arch::kSm100},
        [&](Shared& shared) {
          Two::Shared& ring = shared.ring;
          const std::uint32_t rank = isa::cluster_ctarank();
          auto input = shared.input.pipeline("scales");
          if (isa::tid_x() == 0) {
            Two::Output::init_barriers(ring.output.ptr(), 1, 2 * 128);
            input.init_mbars(1, 4);
            isa::mbarrier_init(&ring.loaded, 1);
            isa::fence_mbarrier_init();
            isa::mbarrier_arrive_expect_tx(&ring.loaded, sizeof(Operands));
            isa::cp_async_bulk_load(&ring.operands, &problem().operands[rank], sizeof(Operands), &ring.loaded);
            test::wait_parity(&ring.loaded, 0);
          }
          isa::cluster_sync();
          if (isa::warp_idx() == 4) static_cast<void>(Two::Tmem::allocate(&ring.address, Two::tmem_cols));
          isa::cluster_sync();
          const auto tmem = Two::Tmem::from_shared(&ring.address, Two::tmem_cols);
          Two::Output output(ring.output.ptr(), tmem, Two::everyone);
          for (std::uint32_t turn = 0; turn < kTurns && isa::tid_x() == 128 && rank == 0; ++turn) {
            auto stage = output.acquire_mma_linear();
            Two::multiply(ring, turn, stage.tmem_offset());
            std::move(stage).release();
          }
          for (std::uint32_t turn = 0; turn < kTurns && isa::tid_x() == 160; ++turn) {
            auto stage = input.acquire_producer();
            isa::st_shared(&shared.scales[stage.index()], 100 * (rank + 1) + turn);
            std::move(stage).release();
          }
          for (std::uint32_t turn = 0; turn < kTurns && isa::warp_idx() < 4; ++turn) {
            const auto stage = output.per_k_epilogue(input);
            EXPECT_EQ(isa::ld_shared(&shared.scales[stage.input_stage()]), 100 * (rank + 1) + turn);
            std::uint32_t bits[Two::columns];
            Two::load(bits, stage.tmem().address());
            isa::tcgen05_wait_ld();
            EXPECT_EQ(Two::wrong_numbers(bits, turn), 0u);
          }
          isa::cluster_sync();
          if (isa::warp_idx() == 4) {
            Two::Tmem::relinquish();
            tmem.deallocate();
          }
          isa::cluster_sync();
        });
    EXPECT_TRUE(is_silent(report));
  }
}

}  // namespace
}  // namespace heddle
