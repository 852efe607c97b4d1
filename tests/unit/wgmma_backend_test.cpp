// SPDX-License-Identifier: Apache-2.0
//
// Stages that warps empty, each with one signal: in its CTA, or in every CTA that has copied a part.
#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/wgmma_backend.h>

#include <gtest/gtest.h>

#include <utility>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;

constexpr std::uint32_t kStages = 2;
constexpr std::uint32_t kRounds = 7;

struct Shared {
  SharedMemBarrier barriers[2 * kStages];
};

// Warp 0 of each CTA fills its stages, two warps empty them, and the stages of all CTAs of the mask with them.
// `signals` is how many arrivals a stage waits for.
template <bool is_multicast>
sim::Report pass_stages(std::uint32_t ctas, std::uint32_t signals, const sim::Schedule& schedule) {
  using Backend = WgmmaInputBackend<kStages, is_multicast>;
  return test::run_kernel<Shared>(
      {.threads = 96, .grid = {ctas}, .cluster = {ctas}, .schedule = schedule}, [&](Shared& shared) {
        const auto mask = static_cast<std::uint16_t>((1u << ctas) - 1);
        ProducerConsumerPipeline<kStages, Backend> pipeline(Backend(shared.barriers, mask), "input");
        if (isa::tid_x() == 0) {
          pipeline.init_mbars(1, signals);
          isa::fence_mbarrier_init();
        }
        isa::cluster_sync();
        if (isa::warp_idx() == 0) {
          if (isa::tid_x() == 0) {
            for (std::uint32_t i = 0; i < kRounds; ++i) {
              auto stage = pipeline.acquire_producer();
              std::move(stage).release();
            }
            pipeline.drain_producer();
          }
        } else {
          for (std::uint32_t i = 0; i < kRounds; ++i) {
            auto stage = pipeline.acquire_consumer();
            std::move(stage).release();
          }
        }
        isa::cluster_sync();
      });
}

TEST(WgmmaInputBackend, EveryWarpSignalsOnce) {
  for (const sim::Schedule& schedule : test::some_schedules()) {
    EXPECT_TRUE(is_silent(pass_stages<false>(1, 2, schedule)));
  }
  EXPECT_TRUE(pass_stages<false>(1, 3, {}).has("deadlock")) << "two warps are two signals";
}

TEST(WgmmaInputBackend, EveryWarpSignalsInEveryCtaOfTheMask) {
  for (const sim::Schedule& schedule : test::some_schedules()) {
    EXPECT_TRUE(is_silent(pass_stages<true>(2, 4, schedule)));
  }
  EXPECT_TRUE(pass_stages<true>(2, 5, {}).has("deadlock")) << "two warps of two CTAs are four signals";
}

}  // namespace
}  // namespace heddle
