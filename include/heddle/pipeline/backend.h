// SPDX-License-Identifier: Apache-2.0
//
// The barriers of a pipeline: what it needs of them, as a concept, and the backend that both targets use. A
// backend knows barriers by stage and phase; who stands at which stage is the pipeline's business.
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/target.h>
#include <heddle/isa/trace.h>
#include <heddle/isa/watchdog.h>

#include <concepts>
#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

// How long the hardware may keep a waiting thread suspended before it looks again. Zero leaves it to the
// hardware. The thread wakes at once when the phase is over, so a long time costs nothing.
struct SuspendHint {
  std::uint32_t ns = 0;
};

// Who arrives on a pipeline's barriers, and so whose writes a wait must make visible. kClusterAsync is for stages
// that copies of the whole cluster fill and that tensor cores alone read: other CTAs arrive on the empty
// barriers, but nobody writes or reads a stage by ordinary accesses, so nothing but the copies' bytes must
// become visible, which the full barriers see to at any scope.
enum class PipelineScope : std::uint8_t { kCta, kCluster, kClusterAsync };

// A backend whose consumer is the tensor cores of sm_100a: a stage is empty when a commit says so, in every CTA
// of the mask.
template <class B>
concept CommittingBackend = requires(const B backend, std::uint16_t cta_mask, std::uint32_t stage,
                                     CallSite site) {
  backend.commit_empty_to(cta_mask, stage, site);
};

// A backend whose consumer is threads, which arrive in each CTA one by one.
template <class B>
concept ArrivingBackend = requires(const B backend, std::uint32_t cta_rank, std::uint32_t stage, CallSite site) {
  backend.arrive_empty_of(cta_rank, stage, site);
};

// Who signals a barrier of a pipeline: each thread of some warps, each of the warps, or one thread for all.
enum class Signaller : std::uint8_t { kEachThread, kEachWarp, kOneThread };

// What a pipeline needs of its barriers: a small copyable view of their storage. `stage` counts from zero,
// `phase` is the parity to wait for. A wait returns once that phase is over; a test asks whether it is.
template <class B>
concept PipelineBackend = std::is_trivially_copyable_v<B> && std::constructible_from<B, MbarPtr> &&
    (CommittingBackend<B> || ArrivingBackend<B>)&&requires(const B backend, std::uint32_t stage,
                                                           std::uint32_t phase, std::uint32_t count,
                                                           SuspendHint hint, Name name, CallSite site) {
  { B::num_stages } -> std::convertible_to<std::uint32_t>;
  { B::smem_bytes() } -> std::same_as<std::size_t>;
  { backend.full_mbar(stage) } -> std::same_as<MbarPtr>;
  { backend.empty_mbar(stage) } -> std::same_as<MbarPtr>;
  backend.init(count, count, name, site);
  backend.wait_full(stage, phase, name, hint, site);
  backend.wait_empty(stage, phase, name, hint, site);
  { backend.test_full(stage, phase, site) } -> std::same_as<bool>;
  { backend.test_empty(stage, phase, site) } -> std::same_as<bool>;
  backend.arrive_full(stage, site);
  backend.arrive_full_expect_tx(stage, count, site);
  backend.arrive_empty(stage, site);
};

// Barriers in shared memory, full[0..N) and then empty[0..N). With PipelineScope::kCluster, waits acquire at
// cluster scope: for pipelines on whose barriers other CTAs of the cluster arrive. With kClusterAsync, full
// barriers are waited for as with kCta, and empty barriers carry no order of ordinary accesses.
template <std::uint32_t stages, PipelineScope scope = PipelineScope::kCta>
class MbarrierBackend {
 public:
  static constexpr std::uint32_t num_stages = stages;

  HEDDLE_DEVICE explicit MbarrierBackend(MbarPtr storage) : full_(storage) {}

  HEDDLE_HOST_DEVICE static constexpr std::size_t smem_bytes() { return 2 * stages * sizeof(SharedMemBarrier); }

  HEDDLE_DEVICE MbarPtr full_mbar(std::uint32_t stage) const { return full_ + stage; }
  HEDDLE_DEVICE MbarPtr empty_mbar(std::uint32_t stage) const { return full_ + stages + stage; }

  HEDDLE_DEVICE void init(std::uint32_t full_count, std::uint32_t empty_count, Name name, CallSite site) const {
    isa::annotate_barriers(full_mbar(0), stages, name, isa::BarrierRole::kFull);
    isa::annotate_barriers(empty_mbar(0), stages, name, isa::BarrierRole::kEmpty);
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      isa::mbarrier_init(full_mbar(stage), full_count, site);
      isa::mbarrier_init(empty_mbar(stage), empty_count, site);
    }
  }

  // Orders: what the arrivers of the phase released becomes visible to this thread, and so do the bytes that
  // the barrier counted.
  HEDDLE_DEVICE void wait_full(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                               CallSite site) const {
    wait<full_scope>(full_mbar(stage), phase, name, "full", stage, hint, site);
  }
  HEDDLE_DEVICE void wait_empty(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                                CallSite site) const {
    wait<scope>(empty_mbar(stage), phase, name, "empty", stage, hint, site);
  }

  // Orders: as the waits, when true.
  HEDDLE_DEVICE bool test_full(std::uint32_t stage, std::uint32_t phase, CallSite site) const {
    return isa::trace_tested(test<full_scope>(full_mbar(stage), phase, site), full_mbar(stage), phase);
  }
  HEDDLE_DEVICE bool test_empty(std::uint32_t stage, std::uint32_t phase, CallSite site) const {
    return isa::trace_tested(test<scope>(empty_mbar(stage), phase, site), empty_mbar(stage), phase);
  }

  // Orders: what this thread did before becomes visible to those whose wait on this phase succeeds.
  HEDDLE_DEVICE void arrive_full(std::uint32_t stage, CallSite site) const {
    isa::mbarrier_arrive(full_mbar(stage), 1, site);
  }
  HEDDLE_DEVICE void arrive_full_expect_tx(std::uint32_t stage, std::uint32_t tx_bytes, CallSite site) const {
    isa::mbarrier_arrive_expect_tx(full_mbar(stage), tx_bytes, site);
  }
  HEDDLE_DEVICE void arrive_empty(std::uint32_t stage, CallSite site) const {
    isa::mbarrier_arrive(empty_mbar(stage), 1, site);
  }

  // On the barrier at the same place in CTA `cta_rank` of the cluster.
  // Orders: as arrive_empty, for threads of the whole cluster.
  HEDDLE_DEVICE void arrive_empty_of(std::uint32_t cta_rank, std::uint32_t stage, CallSite site) const {
    const MbarPtr bar = isa::mapa(empty_mbar(stage), cta_rank, site);
    if constexpr (scope == PipelineScope::kClusterAsync) {
      isa::mbarrier_arrive_cluster_relaxed(bar, site);
    } else {
      isa::mbarrier_arrive_cluster(bar, 1, site);
    }
  }

 private:
  static constexpr PipelineScope full_scope = scope == PipelineScope::kCluster ? scope : PipelineScope::kCta;

  template <PipelineScope wait_scope>
  HEDDLE_DEVICE static void wait(MbarPtr bar, std::uint32_t phase, Name name, const char* side,
                                 std::uint32_t stage, SuspendHint hint, CallSite site) {
    const isa::Watchdog watchdog;
    const isa::TracedWait traced(bar, phase);
    while (!try_wait<wait_scope>(bar, phase, hint, site)) watchdog.check(name, side, stage, phase);
  }

  // There is no try_wait at cluster scope that takes a hint: there the hint has no effect.
  template <PipelineScope wait_scope>
  HEDDLE_DEVICE static bool try_wait(MbarPtr bar, std::uint32_t phase, SuspendHint hint, CallSite site) {
    if constexpr (wait_scope == PipelineScope::kCluster) {
      return isa::mbarrier_try_wait_parity_cluster(bar, phase, site);
    } else if constexpr (wait_scope == PipelineScope::kClusterAsync) {
      return isa::mbarrier_try_wait_parity_cluster_relaxed(bar, phase, site);
    } else {
      if (hint.ns != 0) return isa::mbarrier_try_wait_parity_hint(bar, phase, hint.ns, site);
      return isa::mbarrier_try_wait_parity(bar, phase, site);
    }
  }

  // test_wait acquires at CTA scope only. At cluster scope this is a single try_wait, which the hardware may
  // suspend for a short while.
  template <PipelineScope wait_scope>
  HEDDLE_DEVICE static bool test(MbarPtr bar, std::uint32_t phase, CallSite site) {
    if constexpr (wait_scope == PipelineScope::kCluster) {
      return isa::mbarrier_try_wait_parity_cluster(bar, phase, site);
    } else if constexpr (wait_scope == PipelineScope::kClusterAsync) {
      return isa::mbarrier_try_wait_parity_cluster_relaxed(bar, phase, site);
    } else {
      return isa::mbarrier_test_wait_parity(bar, phase, site);
    }
  }

  MbarPtr full_;
};

namespace detail {

// Whether a release of the consumer is what `Counts` (RingCounts of kernel/barriers.h) has counted.
template <PipelineBackend Backend, class Counts>
HEDDLE_HOST_DEVICE constexpr void check_counts() {
  if constexpr (CommittingBackend<Backend>) {
    static_assert(Counts::empties == Signaller::kOneThread,
                  "a release of this pipeline is a commit of the thread that issued the MMAs: count OneThread");
  } else if constexpr (requires { Backend::signals_by_warp; }) {
    static_assert(Counts::empties == Signaller::kEachWarp,
                  "a release of this pipeline is one signal of a whole warp: count EachWarp");
  }
}

}  // namespace detail

}  // namespace heddle::inline HEDDLE_TARGET
