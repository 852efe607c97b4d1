// SPDX-License-Identifier: Apache-2.0
//
// OutputTilePipeline under many schedules, right and with one mistake in it: one thread multiplies into the ring
// of accumulators, four warps read every one of them; on one SM, and on two that pair up.
#include <gtest/gtest.h>

#include <utility>

#include "../support/output_ring.h"
#include "../support/planted_mistakes.h"
#include "../support/ring_schedules.h"

namespace heddle {
namespace {

using namespace test::output_ring;

template <class TestRing>
sim::Report run(std::uint32_t turns, const sim::Schedule& schedule, std::uint32_t& wrong) {
  return TestRing::run(
      schedule,
      [&](auto& shared, auto& output) {
        for (std::uint32_t turn = 0; turn < turns; ++turn) {
          auto stage = output.acquire_mma_linear();
          TestRing::multiply(shared, turn, stage.tmem_offset());
          std::move(stage).release();
        }
        output.drain_mma();
      },
      [&](auto&, auto& output) {
        for (std::uint32_t turn = 0; turn < turns; ++turn) {
          const auto stage = output.consumer();
          std::uint32_t bits[TestRing::columns];
          TestRing::load(bits, stage.tmem().address());
          isa::tcgen05_wait_ld();
          wrong += TestRing::wrong_numbers(bits, turn);
        }
      });
}

template <std::uint32_t cta_group>
void survives_every_schedule() {
  test::for_every_ring_and_schedule(
      [&]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
        std::uint32_t wrong = 0;
        EXPECT_TRUE(test::is_silent(run<Ring<stages, cta_group>>(turns, schedule, wrong)));
        EXPECT_EQ(wrong, 0u);
      });
}

TEST(OutputTilePipeline, HandsOverEveryAccumulatorUnderManySchedules) { survives_every_schedule<1>(); }
TEST(OutputTilePipeline, HandsOverEveryAccumulatorOfAPairUnderManySchedules) { survives_every_schedule<2>(); }

template <std::uint32_t cta_group>
void reports_every_mistake() {
  using Backend = typename TmemHome<kConfig<2, cta_group>>::Backend;
  test::expect_every_mistake_reported<Backend>(
      []<class Mutant>(const sim::Schedule& schedule) {
        std::uint32_t wrong = 0;
        return run<Ring<2, cta_group, Mutant>>(kTurns, schedule, wrong);
      },
      test::Filling::kMmas);
}

TEST(OutputTilePipeline, ReportsEveryPlantedMistake) { reports_every_mistake<1>(); }
TEST(OutputTilePipeline, ReportsEveryPlantedMistakeOfAPair) { reports_every_mistake<2>(); }

}  // namespace
}  // namespace heddle
