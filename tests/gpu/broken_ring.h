// SPDX-License-Identifier: Apache-2.0
//
// A ring of two stages whose second warp makes a mistake that the card notices: for builds that trap instead of
// hanging or going on.
#pragma once

#include <heddle/isa/fence.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/testing/mutant.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET::test {

struct RingParams {
  std::uint32_t turns;
  std::uint32_t dropped_turn;  // the consumer lets go of its handle in this one; at or past `turns`: in none
};

template <class Pipeline>
struct BrokenRing {
  using Params = RingParams;
  struct Shared {
    BarrierPair<2> barriers;
  };
  static constexpr std::uint32_t kThreads = 64;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Pipeline pipeline(shared.barriers.ptr(), "ring");
    if (isa::tid_x() == 0) {
      pipeline.init_mbars(1, 1);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (!isa::elect_sync()) return;
    for (std::uint32_t turn = 0; turn < params.turns; ++turn) {
      if (isa::warp_idx() == 0) {
        auto stage = pipeline.acquire_producer();
        std::move(stage).release();
      } else {
        consume(pipeline, turn == params.dropped_turn);
      }
    }
  }

 private:
  HEDDLE_DEVICE static void consume(Pipeline& pipeline, [[maybe_unused]] bool dropped) {
    auto stage = pipeline.acquire_consumer();
#if defined(__CUDACC_DEBUG__)  // in any other build this return does not compile
    if (dropped) return;
#endif
    std::move(stage).release();
  }
};

}  // namespace heddle::inline HEDDLE_TARGET::test
