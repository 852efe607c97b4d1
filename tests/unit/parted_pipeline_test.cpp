// SPDX-License-Identifier: Apache-2.0
//
// Stages that are filled at once and emptied part by part.
#include "../support/tiny_kernel.h"

#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/parted_pipeline.h>
#include <heddle/pipeline/tensor_core_backend.h>
#include <heddle/pipeline/wgmma_backend.h>

#include <gtest/gtest.h>

#include <utility>

namespace heddle {
namespace {

using test::is_silent;

constexpr std::uint32_t kStages = 2;
constexpr std::uint32_t kParts = 3;
constexpr std::uint32_t kTurns = 7;

struct Shared {
  SMemArray<SharedMemBarrier, (1 + kParts) * kStages> barriers;
  std::uint32_t numbers[kStages][kParts][32];
};

std::uint32_t number(std::uint32_t turn, std::uint32_t part) { return 1000 * turn + 100 * part + isa::laneid(); }

// What a reader of part 1 does wrong.
enum class Mistake { kNone, kReleasesBeforeReading, kForgetsOne };

// Warp 0 fills stages, warp 1 + i reads part i of them. A part's release is one arrival of a warp.
template <class Backend>
sim::Report pass(Mistake mistake, const sim::Schedule& schedule) {
  using Ring = PartedPipeline<kStages, kParts, Backend>;
  return test::run_kernel<Shared>({.threads = 32 * (1 + kParts), .schedule = schedule}, [&](Shared& shared) {
    if (isa::tid_x() == 0) {
      Ring::init_barriers(shared.barriers.ptr(), 32, {1, 1, 1}, "ring");
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    Ring ring(shared.barriers.ptr(), "ring");
    const auto read = [&]<std::uint32_t part>(std::integral_constant<std::uint32_t, part>) {
      for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
        auto stage = ring.template part<part>().acquire_consumer();
        const std::uint32_t index = stage.index();
        const auto look = [&] {
          EXPECT_EQ(isa::ld_shared(&shared.numbers[index][part][isa::laneid()]), number(turn, part));
        };
        if (part == 1 && mistake == Mistake::kForgetsOne && turn == 2) {
          look();
          std::move(stage).release_without_signal();
        } else if (part == 1 && mistake == Mistake::kReleasesBeforeReading) {
          if constexpr (requires { Backend::signals_by_warp; }) {
            std::move(stage).release();
          } else {
            std::move(stage).release_elected();
          }
          isa::ld_shared(&shared.numbers[index][part][isa::laneid()]);
        } else {
          look();
          if constexpr (requires { Backend::signals_by_warp; }) {
            std::move(stage).release();
          } else {
            std::move(stage).release_elected();
          }
        }
      }
    };
    switch (isa::warp_idx()) {
      case 0:
        for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
          auto stage = ring.acquire_producer();
          EXPECT_EQ(stage.mbar(), shared.barriers.ptr() + stage.index());
          for (std::uint32_t part = 0; part < kParts; ++part) {
            isa::st_shared(&shared.numbers[stage.index()][part][isa::laneid()], number(turn, part));
          }
          std::move(stage).release();
        }
        ring.drain_producer();
        // Every part was released: the memory is the producer's again.
        for (std::uint32_t i = 0; i < kStages * kParts; ++i) {
          isa::st_shared(&shared.numbers[i / kParts][i % kParts][isa::laneid()], 0u);
        }
        break;
      case 1: read(std::integral_constant<std::uint32_t, 0>()); break;
      case 2: read(std::integral_constant<std::uint32_t, 1>()); break;
      default: read(std::integral_constant<std::uint32_t, 2>()); break;
    }
  });
}

TEST(PartedPipeline, HandsEveryPartToItsReaders) {
  for (const sim::Schedule& schedule : test::some_schedules(20)) {
    EXPECT_TRUE(is_silent(pass<MbarrierBackend<kStages>>(Mistake::kNone, schedule)));
    EXPECT_TRUE(is_silent(pass<WgmmaInputBackend<kStages>>(Mistake::kNone, schedule)));
  }
}

TEST(PartedPipeline, ReusesAStageThatOneReaderOfManyStillReads) {
  const sim::Report report = pass<MbarrierBackend<kStages>>(Mistake::kReleasesBeforeReading, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnoses[0].code, "race") << report.text();
}

TEST(PartedPipeline, WaitsForThePartThatIsStillHeld) {
  for (const sim::Schedule& schedule : test::some_schedules()) {
    const sim::Report report = pass<MbarrierBackend<kStages>>(Mistake::kForgetsOne, schedule);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.diagnoses[0].code, "deadlock") << report.text();
    EXPECT_NE(report.text().find("empty of ring[0]"), std::string::npos) << report.text();
  }
}

// A reader of part 0 goes `ahead` stages further while part 1 is held; no more than the ring has.
TEST(PartedPipeline, LetsReadersOfOnePartGoAhead) {
  using Ring = PartedPipeline<kStages, 2>;
  struct Barriers {
    Ring::Storage ring;
  };
  const sim::Report report = test::run_kernel<Barriers>({.threads = 32}, [&](Barriers& shared) {
    if (isa::tid_x() != 0) return;
    Ring::init_barriers(shared.ring.ptr(), 1, {1, 1}, "ring");
    isa::fence_mbarrier_init();
    Ring ring(shared.ring.ptr(), "ring");
    for (std::uint32_t i = 0; i < kStages; ++i) {
      auto stage = ring.acquire_producer();
      EXPECT_EQ(stage.index(), i);
      std::move(stage).release();
    }
    auto held = ring.part<1>().acquire_consumer();
    for (std::uint32_t i = 0; i < kStages; ++i) {
      auto stage = ring.part<0>().acquire_consumer();
      EXPECT_EQ(stage.index(), i);
      std::move(stage).release();
    }
    EXPECT_EQ(held.index(), 0u);
    EXPECT_EQ(held.mbar(), shared.ring.ptr() + 2 * kStages);
    std::move(held).release();
    auto again = ring.acquire_producer();  // both parts of stage 0 are back
    EXPECT_EQ(again.index(), 0u);
    std::move(again).release();
  });
  EXPECT_TRUE(is_silent(report));
}

// Of three CTAs, each reader tells all: the mask reaches the backend of every part.
TEST(PartedPipeline, TellsEveryCtaOfTheMask) {
  using Backend = WgmmaInputBackend<kStages, true>;
  using Ring = PartedPipeline<kStages, 2, Backend>;
  struct Barriers {
    Ring::Storage ring;
  };
  for (const std::uint32_t arrivals : {3u, 2u}) {
    const sim::Report report =
        test::run_kernel<Barriers>({.threads = 64, .grid = {3}, .cluster = {3}}, [&](Barriers& shared) {
          Ring ring(shared.ring.ptr(), "ring", std::uint16_t{0b111});
          if (isa::tid_x() == 0) {
            Ring::init_barriers(shared.ring.ptr(), 1, {arrivals, arrivals}, "ring");
            isa::fence_mbarrier_init();
          }
          isa::cluster_sync();
          if (isa::warp_idx() == 0) {
            if (isa::tid_x() == 0) {
              for (std::uint32_t i = 0; i < kTurns; ++i) {
                auto stage = ring.acquire_producer();
                std::move(stage).release();
              }
              ring.drain_producer();
            }
          } else {
            for (std::uint32_t i = 0; i < kTurns; ++i) {
              auto first = ring.part<0>().acquire_consumer();
              auto second = ring.part<1>().acquire_consumer();
              std::move(second).release();
              std::move(first).release();
            }
          }
          isa::cluster_sync();
        });
    EXPECT_EQ(report.ok(), arrivals == 3) << report.text();
  }
}

// Commits empty the parts, too.
static_assert(CommittingBackend<PartBackend<MmaInputBackend<kStages>, 1>>);
static_assert(!ArrivingBackend<PartBackend<MmaInputBackend<kStages>, 1>>);
static_assert(PipelineBackend<PartBackend<WgmmaInputBackend<kStages>, 1>>);

}  // namespace
}  // namespace heddle
