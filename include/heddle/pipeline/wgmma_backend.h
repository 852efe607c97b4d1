// SPDX-License-Identifier: Apache-2.0
//
// The barriers of a pipeline from the copy engine to wgmma: a stage is empty when every warp that reads it has
// said so, in every CTA whose copies it has read. A release is one signal of a whole warp.
//
//   using Backend = WgmmaInputBackend<stages, (cluster.size() > 1)>;
//   using Input = InputTilePipeline<Payload, stages, 1, Backend>;
//   Input input(Backend(barriers, ctx.input_release_mask()), payload);
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/backend.h>

namespace heddle::inline HEDDLE_TARGET {

// `is_multicast`: copies go to several CTAs of the cluster, and so do the signals that they were read.
template <std::uint32_t stages, bool is_multicast = false>
class WgmmaInputBackend
    : public MbarrierBackend<stages, is_multicast ? PipelineScope::kClusterAsync : PipelineScope::kCta> {
  using Base = MbarrierBackend<stages, is_multicast ? PipelineScope::kClusterAsync : PipelineScope::kCta>;

 public:
  using Base::num_stages;
  static constexpr bool signals_by_warp = true;

  // `release_mask`: the CTAs whose copies this one reads, its own among them.
  HEDDLE_DEVICE explicit WgmmaInputBackend(MbarPtr storage, std::uint16_t release_mask = 1)
      : Base(storage), empty_(Base::empty_mbar(0)) {
    // Lane i tells CTA i. Found out once: what a release costs is on the way to the next multiplication.
    const std::uint32_t lane = isa::laneid();
    tells_ = (std::uint32_t{release_mask} >> lane & 1u) != 0;
    if (is_multicast && tells_) empty_ = isa::mapa(empty_, lane);
  }

  // By a whole warp, which has waited for its wgmmas.
  // Orders: what every thread of the warp did before, ahead of the arrival.
  HEDDLE_DEVICE void arrive_empty(std::uint32_t stage, CallSite site) const {
    isa::syncwarp(isa::kFullMask, site);
    if constexpr (is_multicast) {
      if (tells_) isa::mbarrier_arrive_cluster_relaxed(empty_ + stage, site);
    } else {
      if (isa::elect_sync(isa::kFullMask, site)) Base::arrive_empty(stage, site);
    }
  }

 private:
  bool tells_;
  MbarPtr empty_;
};

}  // namespace heddle::inline HEDDLE_TARGET
