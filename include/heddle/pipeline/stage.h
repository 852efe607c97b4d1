// SPDX-License-Identifier: Apache-2.0
//
// What one holds of a pipeline: ProducerStage and ConsumerStage, the linear handles, and StageContext, the scope
// that releases by itself. A handle knows its stage, so several can be held at once and released in any order.
// Releasing always signals; what does not signal says so in its name.
//
//   auto stage = pipeline.acquire_consumer();
//   use(tile[stage.index()]);
//   std::move(stage).release_elected();       // does not build without
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/linear.h>
#include <heddle/pipeline/backend.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

template <std::uint32_t num_stages, PipelineBackend Backend = MbarrierBackend<num_stages>>
class ProducerConsumerPipeline;

// An empty stage that this thread may fill. Linear: end it with one of the releases, exactly once, on every
// path. Lend it to other functions by const reference.
template <std::uint32_t num_stages, PipelineBackend Backend = MbarrierBackend<num_stages>>
class HEDDLE_LINEAR ProducerStage {
 public:
  ProducerStage(ProducerStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED ProducerStage& operator=(ProducerStage&&) noexcept = default;
  // Spelt out, because nvcc does not see a defaulted destructor of an array's elements.
  HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~ProducerStage() {}

  HEDDLE_USES HEDDLE_DEVICE std::uint32_t index(CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    return obligation_.stage();
  }

  // The parity that acquiring waited for.
  HEDDLE_USES HEDDLE_DEVICE std::uint32_t phase(CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    return phase_;
  }

  // The full barrier: where copies into the stage count their bytes.
  HEDDLE_USES HEDDLE_DEVICE MbarPtr mbar(CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    return backend_.full_mbar(obligation_.stage());
  }

  // So many bytes will be copied into the stage; calls add up. Nothing is sent until the stage is signalled:
  // bytes may land before they are expected, since the phase cannot end before the arrival.
  HEDDLE_USES HEDDLE_DEVICE void expect_bytes(std::uint32_t tx_bytes, CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    expects_bytes_ = true;
    tx_bytes_ += tx_bytes;
  }
  // The same where expect_bytes has not been called since the stage was acquired, or signalled.
  HEDDLE_USES HEDDLE_DEVICE void expect_bytes_unless_told(std::uint32_t tx_bytes,
                                                          CallSite site = HEDDLE_HERE) const& {
    if (!expects_bytes_) expect_bytes(tx_bytes, site);
  }

  // Signals now, as release would, and keeps the stage: to be followed by release_without_signal.
  HEDDLE_USES HEDDLE_DEVICE void arrive(CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    signal(site);
    expects_bytes_ = false;
    tx_bytes_ = 0;
  }

  // What is not kept cannot be released.
  std::uint32_t index() const&& = delete;
  std::uint32_t phase() const&& = delete;
  MbarPtr mbar() const&& = delete;
  void expect_bytes(std::uint32_t) const&& = delete;
  void expect_bytes_unless_told(std::uint32_t) const&& = delete;
  void arrive() const&& = delete;

  // Every calling thread arrives on the full barrier once, together with the bytes it expects.
  HEDDLE_ENDS HEDDLE_DEVICE void release(CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
    signal(site);
  }

  // For a whole warp: one arrival, by the elected thread and with the bytes that it expects.
  // Orders: what every thread of the warp did before, ahead of the arrival.
  HEDDLE_ENDS HEDDLE_DEVICE void release_elected(CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
    isa::syncwarp(isa::kFullMask, site);
    if (isa::elect_sync(isa::kFullMask, site)) signal(site);
  }

  // Signals nothing, and forgets the bytes that were expected since the last arrive.
  HEDDLE_ENDS HEDDLE_DEVICE void release_without_signal(CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
  }

 private:
  friend class ProducerConsumerPipeline<num_stages, Backend>;

  HEDDLE_DEVICE ProducerStage(Backend backend, Name name, std::uint32_t index, std::uint32_t phase, CallSite site)
      : obligation_(name, index, site), backend_(backend), phase_(phase) {}

  HEDDLE_DEVICE void signal(CallSite site) const {
    if (expects_bytes_) {
      backend_.arrive_full_expect_tx(obligation_.stage(), tx_bytes_, site);
    } else {
      backend_.arrive_full(obligation_.stage(), site);
    }
  }

  Obligation obligation_;
  Backend backend_;
  std::uint32_t phase_;
  // Mutable, so that a stage can be lent by const reference to the function that loads it.
  mutable std::uint32_t tx_bytes_ = 0;
  mutable bool expects_bytes_ = false;
};

// A full stage that this thread may read. Linear, as ProducerStage.
template <std::uint32_t num_stages, PipelineBackend Backend = MbarrierBackend<num_stages>>
class HEDDLE_LINEAR ConsumerStage {
 public:
  ConsumerStage(ConsumerStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED ConsumerStage& operator=(ConsumerStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~ConsumerStage() {}

  HEDDLE_USES HEDDLE_DEVICE std::uint32_t index(CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    return obligation_.stage();
  }

  // The parity that acquiring waited for.
  HEDDLE_USES HEDDLE_DEVICE std::uint32_t phase(CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    return phase_;
  }

  // The empty barrier: where an asynchronous reader of the stage arrives when it has finished.
  HEDDLE_USES HEDDLE_DEVICE MbarPtr mbar(CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    return backend_.empty_mbar(obligation_.stage());
  }

  // Signals now and keeps the stage: to be followed by release_without_signal.
  HEDDLE_USES HEDDLE_DEVICE void arrive(CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    backend_.arrive_empty(obligation_.stage(), site);
  }

  // What is not kept cannot be released.
  std::uint32_t index() const&& = delete;
  std::uint32_t phase() const&& = delete;
  MbarPtr mbar() const&& = delete;
  void arrive() const&& = delete;

  // Every calling thread arrives on the empty barrier once.
  HEDDLE_ENDS HEDDLE_DEVICE void release(CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
    backend_.arrive_empty(obligation_.stage(), site);
  }

  // For a whole warp: one arrival, by the elected thread.
  // Orders: what every thread of the warp did before, ahead of the arrival.
  HEDDLE_ENDS HEDDLE_DEVICE void release_elected(CallSite site = HEDDLE_HERE) && {
    static_assert(
        !requires { Backend::signals_by_warp; },
        "a release of this pipeline is one signal of a whole warp already: call release()");
    obligation_.fulfil(site);
    // What every reader must do itself before anyone signals.
    if constexpr (requires { backend_.finish_reading(site); }) {
      backend_.finish_reading(site);
      isa::syncwarp(isa::kFullMask, site);
      if (isa::elect_sync(isa::kFullMask, site)) backend_.signal_empty(obligation_.stage(), site);
    } else {
      isa::syncwarp(isa::kFullMask, site);
      if (isa::elect_sync(isa::kFullMask, site)) backend_.arrive_empty(obligation_.stage(), site);
    }
  }

  // One signal on the empty barrier of each CTA in the mask (bit i is CTA i of the cluster): for stages that a
  // multicast fills in several CTAs. By a whole warp, whose thread i arrives in CTA i; where the tensor cores of
  // sm_100a are the consumer, by the thread that issued the MMAs, whose commit goes to all of them.
  // Orders: as release_elected or as the commit, for threads of the whole cluster.
  HEDDLE_ENDS HEDDLE_DEVICE void release_to(std::uint16_t cta_mask, CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
    if constexpr (CommittingBackend<Backend>) {
      backend_.commit_empty_to(cta_mask, obligation_.stage(), site);
    } else {
      isa::syncwarp(isa::kFullMask, site);
      const std::uint32_t lane = isa::laneid();
      if (((std::uint32_t{cta_mask} >> lane) & 1u) != 0) {
        backend_.arrive_empty_of(lane, obligation_.stage(), site);
      }
    }
  }

  HEDDLE_ENDS HEDDLE_DEVICE void release_without_signal(CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
  }

 private:
  friend class ProducerConsumerPipeline<num_stages, Backend>;

  HEDDLE_DEVICE ConsumerStage(Backend backend, Name name, std::uint32_t index, std::uint32_t phase, CallSite site)
      : obligation_(name, index, site), backend_(backend), phase_(phase) {}

  Obligation obligation_;
  Backend backend_;
  std::uint32_t phase_;
};

// Whether the end of a scope signals the stage or leaves that to its owner.
enum class AtScopeEnd : std::uint8_t { kSignal, kNothing };

// A stage that copies fill.
template <class Stage>
concept TakesBytes = requires(const Stage& stage) {
  stage.expect_bytes(std::uint32_t{});
};

// A stage that is held for the length of a block and released at its end. It stays where it is: neither
// copied nor moved.
template <class Stage, AtScopeEnd at_end>
class [[nodiscard]] StageContext {
 public:
  StageContext(const StageContext&) = delete;
  StageContext& operator=(const StageContext&) = delete;

  HEDDLE_DEVICE ~StageContext() {
    if constexpr (at_end == AtScopeEnd::kSignal) {
      std::move(stage_).release(acquired_);
    } else {
      std::move(stage_).release_without_signal(acquired_);
    }
  }

  HEDDLE_DEVICE std::uint32_t index() const { return stage_.index(); }
  HEDDLE_DEVICE std::uint32_t phase() const { return stage_.phase(); }
  HEDDLE_DEVICE MbarPtr mbar() const { return stage_.mbar(); }
  HEDDLE_DEVICE void arrive(CallSite site = HEDDLE_HERE) const { stage_.arrive(site); }
  HEDDLE_DEVICE void expect_bytes(std::uint32_t tx_bytes) const requires TakesBytes<Stage> {
    stage_.expect_bytes(tx_bytes);
  }

 private:
  template <std::uint32_t num_stages, PipelineBackend Backend>
  friend class ProducerConsumerPipeline;

  HEDDLE_DEVICE StageContext(Stage&& stage, CallSite acquired) : stage_(std::move(stage)), acquired_(acquired) {}

  Stage stage_;
  CallSite acquired_;
};

template <std::uint32_t num_stages, PipelineBackend Backend = MbarrierBackend<num_stages>>
using ProduceContext = StageContext<ProducerStage<num_stages, Backend>, AtScopeEnd::kSignal>;

template <std::uint32_t num_stages, PipelineBackend Backend = MbarrierBackend<num_stages>>
using ConsumeContext = StageContext<ConsumerStage<num_stages, Backend>, AtScopeEnd::kSignal>;

template <std::uint32_t num_stages, PipelineBackend Backend = MbarrierBackend<num_stages>>
using ExplicitConsumeContext = StageContext<ConsumerStage<num_stages, Backend>, AtScopeEnd::kNothing>;

}  // namespace heddle::inline HEDDLE_TARGET
