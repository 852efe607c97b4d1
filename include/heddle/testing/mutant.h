// SPDX-License-Identifier: Apache-2.0
//
// A pipeline backend with one mistake in it. Give it to a kernel in place of its own backend, and see that the
// simulated SM explains what happens:
//
//   using Broken = MutantBackend<MbarrierBackend<4>, Mutation{Mistake::kDropRelease}>;
//   sim::launch<Copy<config, Broken>>(...)
//
// A GPU hangs on most of them; build with HEDDLE_WATCHDOG there.
#pragma once

#include <heddle/isa/warp.h>
#include <heddle/pipeline/pipeline.h>

#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

enum class Mistake : std::uint8_t {
  kNone,
  kDropRelease,     // a consumer does not arrive on the empty barrier
  kDropArrive,      // the producer expects its bytes and does not arrive
  kShortExpect,     // fewer bytes are expected than are copied
  kLongExpect,      // more bytes are expected than are copied
  kWrongPhase,      // the producer's first wait is for phase 0
  kLargeCount,      // the empty barrier waits for one arrival too many
  kSmallCount,      // the empty barrier waits for the arrivals of one warp too few
  kSwapConsumer,    // the consumer waits for the empty barrier
  kSwapProducer,    // the producer waits for the full barrier
  kDoubleRelease,   // a consumer arrives twice on the empty barrier
  kNoConsumerWait,  // the consumer does not wait
  kNoProducerWait   // the producer does not wait
};

inline constexpr struct MistakeName {
  Mistake mistake;
  std::string_view name;
  std::string_view meaning;
} kMistakes[] = {
    {Mistake::kDropRelease, "drop_release", "one consumer warp does not release one stage"},
    {Mistake::kDropArrive, "drop_arrive", "the producer does not arrive for one stage"},
    {Mistake::kShortExpect, "short_expect", "fewer bytes are expected than are copied"},
    {Mistake::kLongExpect, "long_expect", "more bytes are expected than are copied"},
    {Mistake::kWrongPhase, "wrong_phase", "the producer's first wait is for phase 0"},
    {Mistake::kLargeCount, "large_count", "the empty barrier waits for one arrival too many"},
    {Mistake::kSmallCount, "small_count", "the empty barrier waits for one warp too few"},
    {Mistake::kSwapConsumer, "swap_consumer", "the consumer waits for the empty barrier"},
    {Mistake::kSwapProducer, "swap_producer", "the producer waits for the full barrier"},
    {Mistake::kDoubleRelease, "double_release", "one consumer warp releases one stage twice"},
    {Mistake::kNoConsumerWait, "no_consumer_wait", "the consumer does not wait for the full barrier"},
    {Mistake::kNoProducerWait, "no_producer_wait", "the producer does not wait for the empty barrier"},
};

struct Mutation {
  Mistake mistake = Mistake::kNone;
  std::uint32_t stage = 0;  // where a mistake concerns one stage only
  std::uint32_t warp = 1;   // where it concerns one warp only
};

template <PipelineBackend Backend, Mutation mutation>
class MutantBackend : public Backend {
 public:
  using Backend::Backend;
  using Backend::num_stages;

  HEDDLE_DEVICE void init(std::uint32_t full_count, std::uint32_t empty_count, Name name, CallSite site) const {
    if constexpr (mutation.mistake == Mistake::kLargeCount) ++empty_count;
    // Where all threads of several warps arrive, one that is missing shows only after many turns.
    const std::uint32_t of_a_warp = empty_count > 32 && empty_count % 32 == 0 ? 32 : 1;
    if constexpr (mutation.mistake == Mistake::kSmallCount) empty_count -= of_a_warp;
    Backend::init(full_count, empty_count, name, site);
  }

  HEDDLE_DEVICE void wait_full(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                               CallSite site) const {
    if constexpr (mutation.mistake == Mistake::kNoConsumerWait) return;
    if constexpr (mutation.mistake == Mistake::kSwapConsumer) {
      Backend::wait_empty(stage, phase, name, hint, site);
    } else {
      Backend::wait_full(stage, phase, name, hint, site);
    }
  }

  HEDDLE_DEVICE void wait_empty(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                                CallSite site) const {
    if constexpr (mutation.mistake == Mistake::kNoProducerWait) return;
    if constexpr (mutation.mistake == Mistake::kSwapProducer) {
      Backend::wait_full(stage, phase, name, hint, site);
    } else {
      Backend::wait_empty(stage, mutation.mistake == Mistake::kWrongPhase ? phase ^ 1 : phase, name, hint, site);
    }
  }

  HEDDLE_DEVICE void arrive_full(std::uint32_t stage, CallSite site) const {
    if (mutation.mistake == Mistake::kDropArrive && stage == mutation.stage) return;
    Backend::arrive_full(stage, site);
  }

  HEDDLE_DEVICE void arrive_full_expect_tx(std::uint32_t stage, std::uint32_t tx_bytes, CallSite site) const {
    if constexpr (mutation.mistake == Mistake::kShortExpect) tx_bytes -= 16;
    if constexpr (mutation.mistake == Mistake::kLongExpect) tx_bytes += 16;
    if (mutation.mistake == Mistake::kDropArrive && stage == mutation.stage) {
      return isa::mbarrier_expect_tx(Backend::full_mbar(stage), tx_bytes, site);
    }
    Backend::arrive_full_expect_tx(stage, tx_bytes, site);
  }

  HEDDLE_DEVICE void arrive_empty(std::uint32_t stage, CallSite site) const {
    for (std::uint32_t i = 0; i < arrivals(stage); ++i) Backend::arrive_empty(stage, site);
  }

  HEDDLE_DEVICE void arrive_empty_of(std::uint32_t cta_rank, std::uint32_t stage, CallSite site) const {
    for (std::uint32_t i = 0; i < arrivals(stage); ++i) Backend::arrive_empty_of(cta_rank, stage, site);
  }

 private:
  // Where one should be.
  HEDDLE_DEVICE static std::uint32_t arrivals(std::uint32_t stage) {
    // Often in one lane, which cannot take the warp's index by warp_idx().
    if (stage != mutation.stage || isa::tid_x() / isa::kWarpThreads != mutation.warp) return 1;
    if (mutation.mistake == Mistake::kDropRelease) return 0;
    return mutation.mistake == Mistake::kDoubleRelease ? 2 : 1;
  }
};

// Calls run.template operator()<B>() with the mutant of `Backend` that makes the named mistake. False if no
// mistake has that name.
template <PipelineBackend Backend, class Run>
bool with_mistake(std::string_view name, Run run) {
  const auto try_one = [&]<Mistake mistake>() {
    for (const MistakeName& known : kMistakes) {
      if (known.mistake == mistake && known.name == name) {
        run.template operator()<MutantBackend<Backend, Mutation{mistake}>>();
        return true;
      }
    }
    return false;
  };
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return (try_one.template operator()<kMistakes[i].mistake>() || ...);
  }
  (std::make_index_sequence<std::size(kMistakes)>());
}

}  // namespace heddle::inline HEDDLE_TARGET
