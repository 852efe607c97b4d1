// SPDX-License-Identifier: Apache-2.0
//
// The barriers of pipelines whose stages the tensor cores of sm_100a read or write. What they do is complete when
// a commit says so, so there a signal is a commit; what threads do in tensor memory is ordered by fences, which
// belong to the waits and arrivals. Handles on such a pipeline are used and released as on any other.
//
// Where two SMs pair up (cta_group 2), the even CTA leads: it issues the MMAs, and the barriers that count for
// both are in its shared memory.
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tmem.h>
#include <heddle/pipeline/backend.h>

namespace heddle::inline HEDDLE_TARGET {

// How the commits of a pipeline go out.
struct CommitConfig {
  std::uint32_t cta_group = 1;
  bool is_multicast = false;  // to barriers of several CTAs; a pair always does

  HEDDLE_HOST_DEVICE constexpr PipelineScope scope() const {
    return is_multicast ? PipelineScope::kCluster : PipelineScope::kCta;
  }
  bool operator==(const CommitConfig&) const = default;
};

namespace detail {

template <CommitConfig config>
struct CheckedCommit {
  static_assert(config.cta_group == 1 || config.cta_group == 2, "a CTA group is 1 or 2 CTAs");
  static_assert(config.cta_group == 1 || config.is_multicast,
                "a pair's commits go to both of its CTAs: set is_multicast");
};

template <CommitConfig config>
HEDDLE_DEVICE void commit(MbarPtr bar, std::uint16_t cta_mask, CallSite site) {
  if constexpr (config.is_multicast) {
    isa::tcgen05_commit_multicast<static_cast<int>(config.cta_group)>(bar, cta_mask, site);
  } else {
    isa::tcgen05_commit<static_cast<int>(config.cta_group)>(bar, site);
  }
}

// The barriers of the CTA that leads this one's group.
template <CommitConfig config>
HEDDLE_DEVICE MbarPtr leaders(MbarPtr own, CallSite site = CallSite::here()) {
  if constexpr (config.cta_group == 1) return own;
  return isa::mapa(own, isa::cluster_ctarank() & ~1u, site);
}

template <CommitConfig config>
HEDDLE_DEVICE bool is_leader() {
  return config.cta_group == 1 || isa::cluster_ctarank() % 2 == 0;
}

}  // namespace detail

// From the copy engine to the tensor cores. The empty barrier of a stage is signalled by a commit, in all CTAs of
// the mask: those whose copies the MMA has read. In a pair both CTAs' copies count on the leader's full barrier,
// and the leader alone arms it, for the bytes of both.
template <std::uint32_t stages, CommitConfig config = CommitConfig{}>
class MmaInputBackend : public MbarrierBackend<stages, config.scope()> {
  using Base = MbarrierBackend<stages, config.scope()>;

 public:
  using Base::num_stages;
  static constexpr detail::CheckedCommit<config> is_checked{};

  HEDDLE_DEVICE explicit MmaInputBackend(MbarPtr storage, std::uint16_t release_mask = 1)
      : Base(storage), leaders_full_(detail::leaders<config>(storage)), release_mask_(release_mask) {}

  // Where copies count their bytes.
  HEDDLE_DEVICE MbarPtr full_mbar(std::uint32_t stage) const { return leaders_full_ + stage; }

  HEDDLE_DEVICE void arrive_full(std::uint32_t stage, CallSite site) const {
    if (detail::is_leader<config>()) Base::arrive_full(stage, site);
  }
  // `tx_bytes` is what the copies of one CTA bring.
  HEDDLE_DEVICE void arrive_full_expect_tx(std::uint32_t stage, std::uint32_t tx_bytes, CallSite site) const {
    if (detail::is_leader<config>()) Base::arrive_full_expect_tx(stage, config.cta_group * tx_bytes, site);
  }

  // By the thread that issued the MMAs.
  // Orders: what it issued before, ahead of the copies of those whose wait succeeds.
  HEDDLE_DEVICE void arrive_empty(std::uint32_t stage, CallSite site) const {
    detail::commit<config>(Base::empty_mbar(stage), release_mask_, site);
  }

  // The same to the CTAs of another mask.
  HEDDLE_DEVICE void commit_empty_to(std::uint16_t cta_mask, std::uint32_t stage, CallSite site) const {
    static_assert(
        config.is_multicast,
        "release_to tells other CTAs, whose waits must acquire at cluster scope: set is_multicast in the "
        "backend's CommitConfig");
    detail::commit<config>(Base::empty_mbar(stage), cta_mask, site);
  }

  // An arrival would not wait for the tensor cores. A thread that reads a stage on its own arrives through an
  // MbarrierBackend on the same barriers.
  void arrive_empty_of(std::uint32_t, std::uint32_t, CallSite) const = delete;

 private:
  MbarPtr leaders_full_;
  std::uint16_t release_mask_;
};

// From the tensor cores to the epilogue, through tensor memory. The full barrier is signalled by a commit, in
// both CTAs of a pair; the empty barrier, the leader's in a pair, by every thread of the epilogue.
template <std::uint32_t stages, CommitConfig config = CommitConfig{}>
class MmaOutputBackend : public MbarrierBackend<stages, config.scope()> {
  using Base = MbarrierBackend<stages, config.scope()>;

 public:
  using Base::num_stages;
  static constexpr detail::CheckedCommit<config> is_checked{};

  HEDDLE_DEVICE explicit MmaOutputBackend(MbarPtr storage, std::uint16_t mma_complete_mask = 1)
      : Base(storage), leaders_full_(detail::leaders<config>(storage)), mma_complete_mask_(mma_complete_mask) {}

  // The CTAs that a commit tells.
  HEDDLE_DEVICE std::uint16_t mma_complete_mask() const { return mma_complete_mask_; }

  // Where the epilogue arrives. In a pair that takes an instruction for clusters: mbarrier_arrive_cluster.
  HEDDLE_DEVICE MbarPtr empty_mbar(std::uint32_t stage) const { return leaders_full_ + stages + stage; }

  // Orders: the tensor cores' writes, ahead of this thread's loads from tensor memory.
  HEDDLE_DEVICE void wait_full(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                               CallSite site) const {
    Base::wait_full(stage, phase, name, hint, site);
    isa::tcgen05_fence_after_thread_sync(site);
  }
  // Orders: the epilogue's loads from tensor memory, ahead of this thread's MMAs.
  HEDDLE_DEVICE void wait_empty(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                                CallSite site) const {
    Base::wait_empty(stage, phase, name, hint, site);
    isa::tcgen05_fence_after_thread_sync(site);
  }
  HEDDLE_DEVICE bool test_full(std::uint32_t stage, std::uint32_t phase, CallSite site) const {
    return fenced(Base::test_full(stage, phase, site), site);
  }
  HEDDLE_DEVICE bool test_empty(std::uint32_t stage, std::uint32_t phase, CallSite site) const {
    return fenced(Base::test_empty(stage, phase, site), site);
  }

  // By the thread that issued the MMAs.
  HEDDLE_DEVICE void arrive_full(std::uint32_t stage, CallSite site) const {
    detail::commit<config>(Base::full_mbar(stage), mma_complete_mask_, site);
  }

  // By every thread of the epilogue, a whole warp at a time.
  // Orders: the warp's loads from tensor memory so far, which are complete then, ahead of the next MMAs.
  HEDDLE_DEVICE void arrive_empty(std::uint32_t stage, CallSite site) const {
    finish_reading(site);
    signal_empty(stage, site);
  }

  // The two parts of it, for a warp that signals once: the first by all its threads, the second by one of them.
  HEDDLE_DEVICE void finish_reading(CallSite site) const {
    isa::tcgen05_wait_ld(site);
    isa::tcgen05_fence_before_thread_sync(site);
  }
  HEDDLE_DEVICE void signal_empty(std::uint32_t stage, CallSite site) const {
    if constexpr (config.cta_group == 1) {
      Base::arrive_empty(stage, site);
    } else {
      isa::mbarrier_arrive_cluster(empty_mbar(stage), 1, site);
    }
  }

 private:
  HEDDLE_DEVICE static bool fenced(bool is_over, CallSite site) {
    if (is_over) isa::tcgen05_fence_after_thread_sync(site);
    return is_over;
  }

  MbarPtr leaders_full_;
  std::uint16_t mma_complete_mask_;
};

}  // namespace heddle::inline HEDDLE_TARGET
