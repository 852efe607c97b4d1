// SPDX-License-Identifier: Apache-2.0
//
// ProducerConsumerPipeline: a ring of stages that one side fills and the other side empties. Each stage has a
// full barrier, on which the producer arrives, and an empty barrier, on which the consumer arrives. Each side
// has a cursor (stage, phase) in registers of its own threads. A stage is held through a handle that must be
// released (acquire_*), or through a scope that releases it at the end of the block (produce, consume).
// Releasing always signals; what does not signal says so in its name.
//
//   ProducerConsumerPipeline<4> pipeline(shared.barriers, "input");
//   // one thread loads                                   // every consumer thread
//   auto stage = pipeline.acquire_producer();             auto stage = pipeline.acquire_consumer();
//   stage.expect_bytes(tile_bytes);                       use(tile[stage.index()]);
//   load(tile[stage.index()], stage.mbar());              std::move(stage).release();
//   std::move(stage).release();
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/watchdog.h>
#include <heddle/linear.h>

#include <concepts>
#include <type_traits>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// How long the hardware may keep a waiting thread suspended before it looks again. Zero leaves it to the
// hardware. The thread wakes at once when the phase is over, so a long time costs nothing.
struct SuspendHint {
  std::uint32_t ns = 0;
};

// Who arrives on a pipeline's barriers, and so whose writes a wait must make visible.
enum class PipelineScope : std::uint8_t { kCta, kCluster };

// What a pipeline needs of its barriers: a small copyable view of their storage. `stage` counts from zero,
// `phase` is the parity to wait for. A wait returns once that phase is over; a test asks whether it is.
template <class B>
concept PipelineBackend =
    std::is_trivially_copyable_v<B> && std::constructible_from<B, MbarPtr> &&
    requires(const B backend, std::uint32_t stage, std::uint32_t phase, std::uint32_t count, SuspendHint hint,
             Name name, CallSite site) {
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
      backend.arrive_empty_of(count, stage, site);
    };

// Barriers in shared memory, full[0..N) and then empty[0..N). With PipelineScope::kCluster, waits acquire at
// cluster scope: for pipelines on whose barriers other CTAs of the cluster arrive.
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
    wait(full_mbar(stage), phase, name, "full", stage, hint, site);
  }
  HEDDLE_DEVICE void wait_empty(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                                CallSite site) const {
    wait(empty_mbar(stage), phase, name, "empty", stage, hint, site);
  }

  // Orders: as the waits, when true.
  HEDDLE_DEVICE bool test_full(std::uint32_t stage, std::uint32_t phase, CallSite site) const {
    return test(full_mbar(stage), phase, site);
  }
  HEDDLE_DEVICE bool test_empty(std::uint32_t stage, std::uint32_t phase, CallSite site) const {
    return test(empty_mbar(stage), phase, site);
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
    isa::mbarrier_arrive_cluster(isa::mapa(empty_mbar(stage), cta_rank, site), 1, site);
  }

 private:
  HEDDLE_DEVICE static void wait(MbarPtr bar, std::uint32_t phase, Name name, const char* side,
                                 std::uint32_t stage, SuspendHint hint, CallSite site) {
    const isa::Watchdog watchdog;
    while (!try_wait(bar, phase, hint, site)) watchdog.check(name, side, stage, phase);
  }

  // There is no try_wait at cluster scope that takes a hint: there the hint has no effect.
  HEDDLE_DEVICE static bool try_wait(MbarPtr bar, std::uint32_t phase, SuspendHint hint, CallSite site) {
    if constexpr (scope == PipelineScope::kCluster) {
      return isa::mbarrier_try_wait_parity_cluster(bar, phase, site);
    } else {
      if (hint.ns != 0) return isa::mbarrier_try_wait_parity_hint(bar, phase, hint.ns, site);
      return isa::mbarrier_try_wait_parity(bar, phase, site);
    }
  }

  // test_wait acquires at CTA scope only. At cluster scope this is a single try_wait, which the hardware may
  // suspend for a short while.
  HEDDLE_DEVICE static bool test(MbarPtr bar, std::uint32_t phase, CallSite site) {
    if constexpr (scope == PipelineScope::kCluster) {
      return isa::mbarrier_try_wait_parity_cluster(bar, phase, site);
    } else {
      return isa::mbarrier_test_wait_parity(bar, phase, site);
    }
  }

  MbarPtr full_;
};

template <std::uint32_t num_stages, PipelineBackend Backend = MbarrierBackend<num_stages>>
class ProducerConsumerPipeline;

// What try_wait_producer found: whether the producer has filled the consumer's next stage. Accepted by the
// waits for the producer only.
class [[nodiscard]] ProducerReady {
 public:
  HEDDLE_DEVICE explicit operator bool() const { return is_ready_ != 0; }

 private:
  template <std::uint32_t num_stages, PipelineBackend Backend>
  friend class ProducerConsumerPipeline;

  HEDDLE_DEVICE explicit ProducerReady(bool is_ready) : is_ready_(is_ready ? 1 : 0) {}

  std::uint32_t is_ready_;
};

// What try_wait_consumer found: whether the consumer has emptied the producer's next stage. Accepted by the
// waits for the consumer only.
class [[nodiscard]] ConsumerReady {
 public:
  HEDDLE_DEVICE explicit operator bool() const { return is_ready_ != 0; }

 private:
  template <std::uint32_t num_stages, PipelineBackend Backend>
  friend class ProducerConsumerPipeline;

  HEDDLE_DEVICE explicit ConsumerReady(bool is_ready) : is_ready_(is_ready ? 1 : 0) {}

  std::uint32_t is_ready_;
};

// An empty stage that this thread may fill. Linear: end it with one of the releases, exactly once, on every
// path. Lend it to other functions by const reference.
template <std::uint32_t num_stages, PipelineBackend Backend = MbarrierBackend<num_stages>>
class HEDDLE_LINEAR ProducerStage {
 public:
  ProducerStage(ProducerStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED ProducerStage& operator=(ProducerStage&&) noexcept = default;
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
  HEDDLE_ENDS HEDDLE_DEVICE void release_without_signal(CallSite site = HEDDLE_HERE) && { obligation_.fulfil(site); }

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
    obligation_.fulfil(site);
    isa::syncwarp(isa::kFullMask, site);
    if (isa::elect_sync(isa::kFullMask, site)) backend_.arrive_empty(obligation_.stage(), site);
  }

  // For a whole warp: one arrival on the empty barrier of each CTA in the mask (bit i is CTA i of the
  // cluster), made by thread i. For stages that a multicast fills in several CTAs.
  // Orders: as release_elected, for threads of the whole cluster.
  HEDDLE_ENDS HEDDLE_DEVICE void release_to(std::uint16_t cta_mask, CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
    isa::syncwarp(isa::kFullMask, site);
    const std::uint32_t lane = isa::laneid();
    if (((std::uint32_t{cta_mask} >> lane) & 1u) != 0) backend_.arrive_empty_of(lane, obligation_.stage(), site);
  }

  HEDDLE_ENDS HEDDLE_DEVICE void release_without_signal(CallSite site = HEDDLE_HERE) && { obligation_.fulfil(site); }

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
  HEDDLE_DEVICE void expect_bytes(std::uint32_t tx_bytes) const
    requires requires(const Stage& stage) { stage.expect_bytes(tx_bytes); }
  {
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

// Not copyable: a copy would have cursors of its own. Every thread that takes part constructs one over the
// same barriers and uses one side of it; role views borrow it.
template <std::uint32_t num_stages, PipelineBackend Backend>
class ProducerConsumerPipeline {
  static_assert(num_stages > 0, "ProducerConsumerPipeline needs a stage to hand over: make num_stages 1 or more");
  static_assert(num_stages == Backend::num_stages,
                "the pipeline and its backend differ in the number of stages: give both the same num_stages");

 public:
  HEDDLE_DEVICE explicit ProducerConsumerPipeline(MbarPtr barriers, Name name = "pipeline")
      : backend_(barriers), name_(name) {}

  ProducerConsumerPipeline(const ProducerConsumerPipeline&) = delete;
  ProducerConsumerPipeline& operator=(const ProducerConsumerPipeline&) = delete;

  // Bytes of barriers that the constructor's pointer leads to.
  HEDDLE_HOST_DEVICE static constexpr std::size_t smem_bytes() { return Backend::smem_bytes(); }

  // Initialises all barriers: `producer_count` arrivals fill a stage, `consumer_count` empty it. One thread of
  // the CTA calls it, and fences (fence_mbarrier_init, then a barrier) before anyone uses the pipeline.
  HEDDLE_DEVICE void init_mbars(std::uint32_t producer_count, std::uint32_t consumer_count,
                                CallSite site = HEDDLE_HERE) const {
    backend_.init(producer_count, consumer_count, name_, site);
  }

  // Linear handles. Acquiring waits for the other side and moves this side's cursor on, so several stages can
  // be held at once and released in any order.
  [[nodiscard]] HEDDLE_DEVICE ProducerStage<num_stages, Backend> acquire_producer(SuspendHint hint = {},
                                                                    CallSite site = HEDDLE_HERE) {
    wait_consumer(hint, site);
    return take_producer(site);
  }
  [[nodiscard]] HEDDLE_DEVICE ProducerStage<num_stages, Backend> acquire_producer(ConsumerReady ready, SuspendHint hint = {},
                                                                    CallSite site = HEDDLE_HERE) {
    wait_consumer_if_needed(ready, hint, site);
    return take_producer(site);
  }
  [[nodiscard]] HEDDLE_DEVICE ConsumerStage<num_stages, Backend> acquire_consumer(SuspendHint hint = {},
                                                                    CallSite site = HEDDLE_HERE) {
    wait_producer(hint, site);
    return take_consumer(site);
  }
  [[nodiscard]] HEDDLE_DEVICE ConsumerStage<num_stages, Backend> acquire_consumer(ProducerReady ready, SuspendHint hint = {},
                                                                    CallSite site = HEDDLE_HERE) {
    wait_producer_if_needed(ready, hint, site);
    return take_consumer(site);
  }

  // Scopes: as acquiring, and released when the block ends. consume_explicit leaves the arrive to its caller.
  HEDDLE_DEVICE ProduceContext<num_stages, Backend> produce(SuspendHint hint = {},
                                                            CallSite site = HEDDLE_HERE) {
    auto stage = acquire_producer(hint, site);
    return {std::move(stage), site};
  }
  HEDDLE_DEVICE ProduceContext<num_stages, Backend> produce(ConsumerReady ready, SuspendHint hint = {},
                                                            CallSite site = HEDDLE_HERE) {
    auto stage = acquire_producer(ready, hint, site);
    return {std::move(stage), site};
  }
  HEDDLE_DEVICE ConsumeContext<num_stages, Backend> consume(SuspendHint hint = {},
                                                            CallSite site = HEDDLE_HERE) {
    auto stage = acquire_consumer(hint, site);
    return {std::move(stage), site};
  }
  HEDDLE_DEVICE ConsumeContext<num_stages, Backend> consume(ProducerReady ready, SuspendHint hint = {},
                                                            CallSite site = HEDDLE_HERE) {
    auto stage = acquire_consumer(ready, hint, site);
    return {std::move(stage), site};
  }
  HEDDLE_DEVICE ExplicitConsumeContext<num_stages, Backend> consume_explicit(SuspendHint hint = {},
                                                                             CallSite site = HEDDLE_HERE) {
    auto stage = acquire_consumer(hint, site);
    return {std::move(stage), site};
  }

  // Waiting does not move a cursor. wait_producer is for the consumer, who waits until the producer has filled
  // the next stage; wait_consumer is for the producer, who waits until the consumer has emptied it.
  // Orders: what the other side did before it signalled the stage becomes visible to this thread.
  HEDDLE_DEVICE void wait_producer(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) const {
    backend_.wait_full(consumer_.stage, consumer_.phase, name_, hint, site);
  }
  HEDDLE_DEVICE void wait_consumer(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) const {
    backend_.wait_empty(producer_.stage, producer_.phase, name_, hint, site);
  }

  // The same question without blocking. The answer belongs to the wait of the same name and to the stage at
  // which the cursor stands now.
  HEDDLE_DEVICE ProducerReady try_wait_producer(CallSite site = HEDDLE_HERE) const {
    return ProducerReady(backend_.test_full(consumer_.stage, consumer_.phase, site));
  }
  HEDDLE_DEVICE ConsumerReady try_wait_consumer(CallSite site = HEDDLE_HERE) const {
    return ConsumerReady(backend_.test_empty(producer_.stage, producer_.phase, site));
  }
  HEDDLE_DEVICE void wait_producer_if_needed(ProducerReady ready, SuspendHint hint = {},
                                             CallSite site = HEDDLE_HERE) const {
    if (!ready) wait_producer(hint, site);
  }
  HEDDLE_DEVICE void wait_consumer_if_needed(ConsumerReady ready, SuspendHint hint = {},
                                             CallSite site = HEDDLE_HERE) const {
    if (!ready) wait_consumer(hint, site);
  }

  // The direct interface. The producer signals producer_mbar (full), the consumer consumer_mbar (empty).
  HEDDLE_DEVICE std::uint32_t producer_stage() const { return producer_.stage; }
  HEDDLE_DEVICE std::uint32_t consumer_stage() const { return consumer_.stage; }
  HEDDLE_DEVICE MbarPtr producer_mbar(std::uint32_t stage) const { return backend_.full_mbar(stage); }
  HEDDLE_DEVICE MbarPtr consumer_mbar(std::uint32_t stage) const { return backend_.empty_mbar(stage); }
  HEDDLE_DEVICE void producer_step() { producer_.step(); }
  HEDDLE_DEVICE void consumer_step() { consumer_.step(); }

  // Wait, arrive, step: one side of a pipeline that carries no data, such as a throttle.
  HEDDLE_DEVICE void producer_signal_and_step(CallSite site = HEDDLE_HERE) {
    wait_consumer({}, site);
    backend_.arrive_full(producer_.stage, site);
    producer_step();
  }
  HEDDLE_DEVICE void consumer_signal_and_step(CallSite site = HEDDLE_HERE) {
    wait_producer({}, site);
    backend_.arrive_empty(consumer_.stage, site);
    consumer_step();
  }

  // The producer waits until the consumer has released every stage that was handed over. What a CTA does
  // before it exits while peers still signal its barriers. The cursor stays, so producing can go on.
  HEDDLE_DEVICE void drain_producer(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) const {
    Cursor cursor = producer_;
    for (std::uint32_t i = 0; i < num_stages; ++i) {
      backend_.wait_empty(cursor.stage, cursor.phase, name_, hint, site);
      cursor.step();
    }
  }

 private:
  struct Cursor {
    std::uint32_t stage;
    std::uint32_t phase;

    HEDDLE_DEVICE void step() {
      if (++stage == num_stages) {
        stage = 0;
        phase ^= 1;
      }
    }
  };

  HEDDLE_DEVICE ProducerStage<num_stages, Backend> take_producer(CallSite site) {
    const Cursor taken = producer_;
    producer_.step();
    return {backend_, name_, taken.stage, taken.phase, site};
  }
  HEDDLE_DEVICE ConsumerStage<num_stages, Backend> take_consumer(CallSite site) {
    const Cursor taken = consumer_;
    consumer_.step();
    return {backend_, name_, taken.stage, taken.phase, site};
  }

  Backend backend_;
  Name name_;
  // All stages are empty at first. The producer waits for the phase before the first, which counts as over.
  Cursor producer_{0, 1};
  Cursor consumer_{0, 0};
};

}  // namespace heddle::inline HEDDLE_TARGET
