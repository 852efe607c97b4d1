// SPDX-License-Identifier: Apache-2.0
//
// All pipelines of a matmul kernel as one member of its shared memory: input, accumulators, tensor memory, with
// or without cluster launch control and the epilogue's own loads. One call initialises every barrier of a bundle,
// with arrival counts that are derived and not typed in.
//
//   constexpr PipelineBundleConfig config{.input_stages = 4, .output_stages = 2, .clc_stages = 2};
//   struct Shared {
//     SmemPipelineBundle<config, Payload> pipelines;
//   };
//   const KernelScope<cluster> scope([&] { shared.pipelines.init_mbars<ArrivalCounts<cluster, Roles>>(); });
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/target.h>
#include <heddle/linear.h>
#include <heddle/pipeline/epilogue_load.h>
#include <heddle/pipeline/pipeline_storage.h>

#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

struct PipelineBundleConfig {
  std::uint32_t input_stages;
  std::uint32_t output_stages;
  std::uint32_t clc_stages = 0;
  std::uint32_t epi_load_stages = 0;  // 0: the epilogue loads nothing
  std::uint32_t k_group_size = 1;

  bool operator==(const PipelineBundleConfig&) const = default;
};

// Stands for what a configuration does not have.
struct NoEpiLoad {};

namespace detail {

// std::conditional_t would name a ring of no stages where there is none.
template <std::uint32_t stages>
struct EpiLoadOf {
  using Ring = EpiLoadPipelineStorage<stages>;
  using Order = LoadOrderBarrierStorage<>;
};

template <>
struct EpiLoadOf<0> {
  using Ring = NoEpiLoad;
  using Order = NoEpiLoad;
};

// `Counts` has the names of ArrivalCounts in heddle/kernel/barriers.h.
template <class Counts, class Bundle>
HEDDLE_DEVICE void init_common(Bundle& bundle, CallSite site) {
  bundle.input.pipeline("input").init_mbars(Counts::input_full, Counts::input_empty, site);
  bundle.output.pipeline("output").init_mbars(Counts::output_full, Counts::output_empty, site);
  bundle.tmem.init(Counts::tmem_dealloc, site);
  if constexpr (Bundle::has_epi_load) {
    bundle.epi_load.pipeline("epilogue load")
        .init_mbars(Counts::epilogue_load_full, Counts::epilogue_load_empty, site);
    LoadOrderBarrier<>(bundle.load_order).init_mbars(site);
  }
}

}  // namespace detail

template <PipelineBundleConfig config, class Payload = NoTiles>
struct SmemPipelineBundleNoClc {
  static_assert(config.clc_stages == 0,
                "a bundle without cluster launch control with CLC stages: set clc_stages to 0, or use "
                "SmemPipelineBundle");
  static constexpr bool has_clc = false;
  static constexpr bool has_epi_load = config.epi_load_stages > 0;

  // One thread of the CTA calls it, in the initialisation of a KernelScope.
  template <class Counts>
  HEDDLE_DEVICE void init_mbars(CallSite site = HEDDLE_HERE) {
    detail::init_common<Counts>(*this, site);
  }

  InputPipelineStorage<config.input_stages, Payload, config.k_group_size> input;
  OutputPipelineStorage<config.output_stages> output;
  TmemDeallocStorage tmem;
  typename detail::EpiLoadOf<config.epi_load_stages>::Ring epi_load;
  typename detail::EpiLoadOf<config.epi_load_stages>::Order load_order;
};

template <PipelineBundleConfig config, class Payload = NoTiles>
struct SmemPipelineBundle {
  static_assert(config.clc_stages > 0,
                "a bundle with cluster launch control and no CLC stage: set clc_stages to 1 or more, or use "
                "SmemPipelineBundleNoClc");
  static constexpr bool has_clc = true;
  static constexpr bool has_epi_load = config.epi_load_stages > 0;

  // One thread of the CTA calls it, in the initialisation of a KernelScope.
  template <class Counts>
  HEDDLE_DEVICE void init_mbars(CallSite site = HEDDLE_HERE) {
    detail::init_common<Counts>(*this, site);
    clc.pipeline("clc").init_mbars(Counts::clc_full, Counts::clc_empty, site);
    clc.throttle_pipeline("clc throttle").init_mbars(Counts::clc_throttle_full, Counts::clc_throttle_empty, site);
  }

  InputPipelineStorage<config.input_stages, Payload, config.k_group_size> input;
  OutputPipelineStorage<config.output_stages> output;
  ClcPipelineStorage<config.clc_stages> clc;
  TmemDeallocStorage tmem;
  typename detail::EpiLoadOf<config.epi_load_stages>::Ring epi_load;
  typename detail::EpiLoadOf<config.epi_load_stages>::Order load_order;
};

// The one for the configuration's CLC stages.
template <PipelineBundleConfig config, class Payload = NoTiles>
using PipelineBundle = std::conditional_t<(config.clc_stages > 0), SmemPipelineBundle<config, Payload>,
                                          SmemPipelineBundleNoClc<config, Payload>>;

// By which the main load of a tile goes ahead of the epilogue's; nothing where the epilogue loads nothing.
template <class Bundle>
class LoadOrder : public LoadOrderBarrier<> {
 public:
  HEDDLE_DEVICE explicit LoadOrder(Bundle& pipelines) : LoadOrderBarrier<>(pipelines.load_order) {}
};
template <class Bundle>
requires(!Bundle::has_epi_load) class LoadOrder<Bundle> {
 public:
  HEDDLE_DEVICE explicit LoadOrder(Bundle&) {}
  HEDDLE_DEVICE void arrive() const {}
};

// The epilogue's side of the ring of what it loads, if there is one.
template <class Bundle>
class SourceRing : public ProducerConsumerPipeline<decltype(Bundle::epi_load)::num_stages> {
 public:
  HEDDLE_DEVICE explicit SourceRing(Bundle& pipelines)
      : ProducerConsumerPipeline<decltype(Bundle::epi_load)::num_stages>(pipelines.epi_load.barriers.ptr(),
                                                                         "epilogue load") {}
};
template <class Bundle>
requires(!Bundle::has_epi_load) class SourceRing<Bundle> {
 public:
  HEDDLE_DEVICE explicit SourceRing(Bundle&) {}
};

}  // namespace heddle::inline HEDDLE_TARGET
