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

#include <heddle/isa/mbarrier.h>
#include <heddle/isa/target.h>
#include <heddle/linear.h>
#include <heddle/pipeline/backend.h>
#include <heddle/pipeline/stage.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

enum class PipelineSide : std::uint8_t { kProducer, kConsumer };

// What a try found: whether `side` has done its part of the stage that the other side is to take next. It
// answers a condition, and only the waits for the same side accept it.
template <PipelineSide side>
class [[nodiscard]] Ready {
 public:
  // Spelt out because nvcc copies a bool better than a class with a bool in it.
  HEDDLE_DEVICE Ready(const Ready& other) : is_ready_(other.is_ready_) {}
  HEDDLE_DEVICE void operator=(const Ready& other) { is_ready_ = other.is_ready_; }

  HEDDLE_DEVICE explicit operator bool() const { return is_ready_; }

 private:
  template <std::uint32_t num_stages, PipelineBackend Backend>
  friend class ProducerConsumerPipeline;

  HEDDLE_DEVICE explicit Ready(bool is_ready) : is_ready_(is_ready) {}

  bool is_ready_;
};

using ProducerReady = Ready<PipelineSide::kProducer>;
using ConsumerReady = Ready<PipelineSide::kConsumer>;

// Not copyable: a copy would have cursors of its own. Every thread that takes part constructs one over the
// same barriers and uses one side of it; role views borrow it.
template <std::uint32_t num_stages, PipelineBackend Backend>
class ProducerConsumerPipeline {
  static_assert(num_stages > 0, "ProducerConsumerPipeline needs a stage to hand over: make num_stages 1 or more");
  static_assert(num_stages == Backend::num_stages,
                "the pipeline and its backend differ in the number of stages: give both the same num_stages");

 public:
  using ProducerHandle = ProducerStage<num_stages, Backend>;
  using ConsumerHandle = ConsumerStage<num_stages, Backend>;

  HEDDLE_DEVICE explicit ProducerConsumerPipeline(MbarPtr barriers, Name name = "pipeline")
      : ProducerConsumerPipeline(Backend(barriers), name) {}
  // With a backend that knows more than where its barriers are.
  HEDDLE_DEVICE explicit ProducerConsumerPipeline(Backend backend, Name name = "pipeline")
      : backend_(backend), name_(name) {}

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

  // The same with counts that follow from who signals: RingCounts of kernel/barriers.h.
  template <class Counts>
  HEDDLE_DEVICE void init_mbars(CallSite site = HEDDLE_HERE) const {
    detail::check_counts<Backend, Counts>();
    init_mbars(Counts::full, Counts::empty, site);
  }

  // Linear handles. Acquiring waits for the other side and moves this side's cursor on, so several stages can
  // be held at once and released in any order.
  [[nodiscard]] HEDDLE_DEVICE ProducerHandle acquire_producer(SuspendHint hint = {},
                                                              CallSite site = HEDDLE_HERE) {
    wait_consumer(hint, site);
    return take_producer(site);
  }
  [[nodiscard]] HEDDLE_DEVICE ProducerHandle acquire_producer(ConsumerReady ready, SuspendHint hint = {},
                                                              CallSite site = HEDDLE_HERE) {
    wait_consumer_if_needed(ready, hint, site);
    return take_producer(site);
  }
  [[nodiscard]] HEDDLE_DEVICE ConsumerHandle acquire_consumer(SuspendHint hint = {},
                                                              CallSite site = HEDDLE_HERE) {
    wait_producer(hint, site);
    return take_consumer(site);
  }
  [[nodiscard]] HEDDLE_DEVICE ConsumerHandle acquire_consumer(ProducerReady ready, SuspendHint hint = {},
                                                              CallSite site = HEDDLE_HERE) {
    wait_producer_if_needed(ready, hint, site);
    return take_consumer(site);
  }

  // Scopes: as acquiring, and released when the block ends. consume_explicit leaves the arrive to its caller.
  // The handle has a name in each, because clang takes a temporary that goes to a constructor for dropped.
  HEDDLE_DEVICE ProduceContext<num_stages, Backend> produce(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    auto stage = acquire_producer(hint, site);
    return {std::move(stage), site};
  }
  HEDDLE_DEVICE ProduceContext<num_stages, Backend> produce(ConsumerReady ready, SuspendHint hint = {},
                                                            CallSite site = HEDDLE_HERE) {
    auto stage = acquire_producer(ready, hint, site);
    return {std::move(stage), site};
  }
  HEDDLE_DEVICE ConsumeContext<num_stages, Backend> consume(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
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
  HEDDLE_DEVICE const Backend& backend() const { return backend_; }
  HEDDLE_DEVICE void producer_step() { producer_.step(); }
  HEDDLE_DEVICE void consumer_step() { consumer_.step(); }

  // As so many steps: for a consumer that leaves `count` stages to another one. Whoever waits next must know
  // that those stages have been full, since a wait tells one phase from the next only.
  HEDDLE_DEVICE void consumer_skip(std::uint32_t count) { consumer_.advance(count); }

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

  // The producer waits until the consumer has released every stage that was handed over: what a CTA does
  // before it exits while peers may still signal its barriers. The cursor stays, so producing can go on.
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

    HEDDLE_DEVICE void advance(std::uint32_t count) {
      const std::uint32_t position = stage + count;
      phase ^= position / num_stages & 1;
      stage = position % num_stages;
    }
  };

  HEDDLE_DEVICE ProducerHandle take_producer(CallSite site) {
    const Cursor taken = producer_;
    producer_.step();
    return {backend_, name_, taken.stage, taken.phase, site};
  }
  HEDDLE_DEVICE ConsumerHandle take_consumer(CallSite site) {
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
