// SPDX-License-Identifier: Apache-2.0
//
// PartedPipeline: a ring whose stages are filled at once and emptied part by part. A stage has one full barrier,
// and an empty barrier for each of its parts: the producer waits until every part was released, and whoever has
// read one part gives it back without waiting for the readers of the others.
//
//   using Ring = PartedPipeline<4, 2>;                                // a tile of K and one of V
//   struct Shared { Ring::Storage ring; ... };
//   Ring::init_barriers(shared.ring.ptr(), 1, {warps, warps}, "kv");  // one thread; arrivals of each part
//
//   Ring ring(shared.ring.ptr(), "kv");
//   // one thread loads                                 // readers
//   auto stage = ring.acquire_producer();               auto k = ring.part<0>().acquire_consumer();
//   stage.expect_bytes(k_bytes + v_bytes);              ...
//   load(..., stage.mbar());                            std::move(k).release_elected();
//   std::move(stage).release();                         auto v = ring.part<1>().acquire_consumer();
//
// part<i>() is the consumer's side of an ordinary pipeline, with a cursor of its own: its handles are those of
// pipeline/stage.h. Which backend the parts have says how they are released: by arrivals (MbarrierBackend), by a
// warp at a time (WgmmaInputBackend), by commits (MmaInputBackend).
#pragma once

#include <heddle/isa/mbarrier.h>
#include <heddle/isa/target.h>
#include <heddle/pipeline/backend.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/tile/smem_array.h>

#include <type_traits>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

namespace detail {

// Says that a release of this pipeline is one signal of a whole warp, where that of its backend is.
struct SignalsByWarp {
  static constexpr bool signals_by_warp = true;
};
struct SignalsByThread {};
template <class Backend>
using SignalsOf = std::conditional_t < requires {
  Backend::signals_by_warp;
}
, SignalsByWarp, SignalsByThread > ;

}  // namespace detail

// The barriers of one part: full[0..N) is everybody's, empty[0..N) its own, N * part after those of the first.
template <PipelineBackend Backend, std::uint32_t part>
class PartBackend : public detail::SignalsOf<Backend> {
 public:
  static constexpr std::uint32_t num_stages = Backend::num_stages;

  HEDDLE_DEVICE explicit PartBackend(MbarPtr storage)
      : fills_(Backend(storage)), frees_(Backend(storage + part * num_stages)) {}
  // `more` is what the backend takes after its storage, such as a mask.
  template <class More>
  HEDDLE_DEVICE PartBackend(MbarPtr storage, const More& more)
      : fills_(storage, more), frees_(storage + part * num_stages, more) {}

  HEDDLE_HOST_DEVICE static constexpr std::size_t smem_bytes() { return Backend::smem_bytes(); }
  HEDDLE_DEVICE MbarPtr full_mbar(std::uint32_t stage) const { return fills_.full_mbar(stage); }
  HEDDLE_DEVICE MbarPtr empty_mbar(std::uint32_t stage) const { return frees_.empty_mbar(stage); }

  HEDDLE_DEVICE void init(std::uint32_t full_count, std::uint32_t empty_count, Name name, CallSite site) const {
    isa::annotate_barriers(empty_mbar(0), num_stages, name, isa::BarrierRole::kEmpty);
    for (std::uint32_t stage = 0; stage < num_stages; ++stage) {
      isa::mbarrier_init(empty_mbar(stage), empty_count, site);
    }
    if constexpr (part == 0) {
      isa::annotate_barriers(full_mbar(0), num_stages, name, isa::BarrierRole::kFull);
      for (std::uint32_t stage = 0; stage < num_stages; ++stage) {
        isa::mbarrier_init(full_mbar(stage), full_count, site);
      }
    }
  }

  // Orders: as the backend's own, all of these.
  HEDDLE_DEVICE void wait_full(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                               CallSite site) const {
    fills_.wait_full(stage, phase, name, hint, site);
  }
  HEDDLE_DEVICE void wait_empty(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                                CallSite site) const {
    frees_.wait_empty(stage, phase, name, hint, site);
  }
  HEDDLE_DEVICE bool test_full(std::uint32_t stage, std::uint32_t phase, CallSite site) const {
    return fills_.test_full(stage, phase, site);
  }
  HEDDLE_DEVICE bool test_empty(std::uint32_t stage, std::uint32_t phase, CallSite site) const {
    return frees_.test_empty(stage, phase, site);
  }
  HEDDLE_DEVICE void arrive_full(std::uint32_t stage, CallSite site) const { fills_.arrive_full(stage, site); }
  HEDDLE_DEVICE void arrive_full_expect_tx(std::uint32_t stage, std::uint32_t tx_bytes, CallSite site) const {
    fills_.arrive_full_expect_tx(stage, tx_bytes, site);
  }
  HEDDLE_DEVICE void arrive_empty(std::uint32_t stage, CallSite site) const { frees_.arrive_empty(stage, site); }
  HEDDLE_DEVICE void arrive_empty_of(std::uint32_t cta_rank, std::uint32_t stage,
                                     CallSite site) const requires ArrivingBackend<Backend> {
    frees_.arrive_empty_of(cta_rank, stage, site);
  }
  HEDDLE_DEVICE void commit_empty_to(std::uint16_t cta_mask, std::uint32_t stage,
                                     CallSite site) const requires CommittingBackend<Backend> {
    frees_.commit_empty_to(cta_mask, stage, site);
  }

 private:
  Backend fills_;
  Backend frees_;
};

namespace detail {

// What the producer sees of all parts: a stage is empty when each of them is.
template <PipelineBackend Backend, std::uint32_t parts>
class PartsBackend : public PartBackend<Backend, 0> {
  using Base = PartBackend<Backend, 0>;

 public:
  using Base::Base;
  using Base::num_stages;

  HEDDLE_DEVICE void wait_empty(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                                CallSite site) const {
    each_part([&](const auto& part) {
      part.wait_empty(stage, phase, name, hint, site);
      return true;
    });
  }
  HEDDLE_DEVICE bool test_empty(std::uint32_t stage, std::uint32_t phase, CallSite site) const {
    return each_part([&](const auto& part) { return part.test_empty(stage, phase, site); });
  }

 private:
  // True if `ask` says so of every part, in turn.
  template <class Ask>
  HEDDLE_DEVICE bool each_part(const Ask& ask) const {
    const MbarPtr storage = Base::empty_mbar(0) - num_stages;
    return [&]<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
      return (ask(PartBackend<Backend, i>(storage)) && ...);
    }
    (std::make_integer_sequence<std::uint32_t, parts>());
  }
};

// A pipeline for each part, so that each has its cursor.
template <PipelineBackend Backend, std::uint32_t part>
struct PartRing {
  template <class... More>
  HEDDLE_DEVICE explicit PartRing(MbarPtr storage, Name name, const More&... more)
      : ring(PartBackend<Backend, part>(storage, more...), name) {}
  ProducerConsumerPipeline<Backend::num_stages, PartBackend<Backend, part>> ring;
};

template <PipelineBackend Backend, class Parts>
class PartRings;
template <PipelineBackend Backend, std::uint32_t... part>
class PartRings<Backend, std::integer_sequence<std::uint32_t, part...>> : public PartRing<Backend, part>... {
 public:
  template <class... More>
  HEDDLE_DEVICE explicit PartRings(MbarPtr storage, Name name, const More&... more)
      : PartRing<Backend, part>(storage, name, more...)... {}
};

}  // namespace detail

// Not copyable, as any pipeline: every thread that takes part constructs one over the same barriers.
template <std::uint32_t stages, std::uint32_t parts, PipelineBackend Backend = MbarrierBackend<stages>>
class PartedPipeline {
  static_assert(parts > 1, "a stage of one part is a ProducerConsumerPipeline's: make parts 2 or more");
  static_assert(Backend::num_stages == stages,
                "the pipeline and its backend differ in the number of stages: give both the same");
  using Producer = ProducerConsumerPipeline<stages, detail::PartsBackend<Backend, parts>>;

 public:
  static constexpr std::uint32_t num_stages = stages;
  using ProducerHandle = typename Producer::ProducerHandle;
  using Storage = SMemArray<SharedMemBarrier, (1 + parts) * stages>;

  // `more` is what the backend takes after its storage, such as the mask of the CTAs that a release tells.
  template <class... More>
  HEDDLE_DEVICE explicit PartedPipeline(MbarPtr barriers, Name name = "pipeline", const More&... more)
      : producer_(detail::PartsBackend<Backend, parts>(barriers, more...), name),
        parts_(barriers, name, more...) {}
  PartedPipeline(const PartedPipeline&) = delete;
  PartedPipeline& operator=(const PartedPipeline&) = delete;

  // `producer_count` arrivals fill a stage, consumer_counts[i] empty part i of it. One thread of the CTA calls
  // it, and fences before anyone uses the pipeline.
  HEDDLE_DEVICE static void init_barriers(MbarPtr barriers, std::uint32_t producer_count,
                                          const std::uint32_t (&consumer_counts)[parts], Name name = "pipeline",
                                          CallSite site = HEDDLE_HERE) {
    [&]<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
      (PartBackend<Backend, i>(barriers).init(producer_count, consumer_counts[i], name, site), ...);
    }
    (std::make_integer_sequence<std::uint32_t, parts>());
  }

  // An empty stage: waits until every part of it was released.
  [[nodiscard]] HEDDLE_DEVICE ProducerHandle acquire_producer(SuspendHint hint = {},
                                                              CallSite site = HEDDLE_HERE) {
    return producer_.acquire_producer(hint, site);
  }
  // Waits until every part of every stage that was handed over was released.
  HEDDLE_DEVICE void drain_producer(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) const {
    producer_.drain_producer(hint, site);
  }

  // The readers' side of a part: acquire_consumer() and all that goes with it. Only its readers call it.
  template <std::uint32_t i>
  HEDDLE_DEVICE auto& part() {
    static_assert(i < parts, "the stages of this pipeline have fewer parts: they count from 0");
    return static_cast < detail::PartRing<Backend, i<parts ? i : 0>&>(parts_).ring;
  }

 private:
  Producer producer_;
  detail::PartRings<Backend, std::make_integer_sequence<std::uint32_t, parts>> parts_;
};

}  // namespace heddle::inline HEDDLE_TARGET
