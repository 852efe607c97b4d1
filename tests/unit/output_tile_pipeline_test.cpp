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
            if (turn % 2 == 0) {
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

}  // namespace
}  // namespace heddle
