// SPDX-License-Identifier: Apache-2.0
//
// Where a CTA stands in its cluster, and what follows from it: who leads, who elects, and which CTAs a multicast
// or a commit goes to. Everything is derived from the rank and the configuration.
//
//   const KernelContext<ClusterConfig{.cluster = {2, 1}, .cta_group = 2}> ctx;
//   if (ctx.is_leader_cta() && ctx.elect_one_thread()) arm(...);
//   load_multicast(tile, ..., ctx.a_multicast_mask());
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/cluster_shape.h>

namespace heddle::inline HEDDLE_TARGET {

template <ClusterConfig config>
class KernelContext {
  static_assert(check_cluster<config>());

 public:
  HEDDLE_DEVICE KernelContext() : KernelContext(config.size() == 1 ? 0 : isa::cluster_ctarank()) {}

  // As CTA `cta_rank` of a cluster.
  HEDDLE_HOST_DEVICE constexpr explicit KernelContext(std::uint32_t cta_rank) : cta_rank_(cta_rank) {}

  HEDDLE_HOST_DEVICE constexpr std::uint32_t cta_rank() const { return cta_rank_; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t cluster_m() const {
    return coordinates_of<config.cluster>(cta_rank_).m;
  }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t cluster_n() const {
    return coordinates_of<config.cluster>(cta_rank_).n;
  }

  HEDDLE_HOST_DEVICE constexpr bool is_first_cta_in_cluster() const { return cta_rank_ == 0; }

  // The CTA that issues MMAs: every one with cta_group 1, the even one of a pair with cta_group 2.
  HEDDLE_HOST_DEVICE constexpr bool is_leader_cta() const { return cta_rank_ % config.cta_group == 0; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t leader_rank() const {
    return cta_rank_ / config.cta_group * config.cta_group;
  }
  // The other CTA of a pair; itself with cta_group 1.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t peer_rank() const { return cta_rank_ ^ (config.cta_group - 1); }

  HEDDLE_HOST_DEVICE constexpr std::uint16_t a_multicast_mask() const {
    return heddle::a_multicast_mask<config>(cta_rank_);
  }
  HEDDLE_HOST_DEVICE constexpr std::uint16_t b_multicast_mask() const {
    return heddle::b_multicast_mask<config>(cta_rank_);
  }
  HEDDLE_HOST_DEVICE constexpr std::uint16_t mma_complete_mask() const {
    return heddle::mma_complete_mask<config>(cta_rank_);
  }
  HEDDLE_HOST_DEVICE constexpr std::uint16_t input_release_mask() const {
    return heddle::input_release_mask<config>(cta_rank_);
  }

  // True in one thread of the warp, the same each time; all its threads call.
  HEDDLE_DEVICE bool elect_one_thread(CallSite site = CallSite::here()) const {
    return isa::elect_sync(isa::kFullMask, site);
  }
  // True in the CTA's first warp.
  HEDDLE_DEVICE bool elect_one_warp() const { return isa::warp_idx() == 0; }

 private:
  std::uint32_t cta_rank_;
};

}  // namespace heddle::inline HEDDLE_TARGET
