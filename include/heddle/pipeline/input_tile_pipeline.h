// SPDX-License-Identifier: Apache-2.0
//
// InputTilePipeline: tiles on their way from the copy engine to the tensor cores. It joins a pipeline, which
// knows stages and barriers, with a payload, which knows tiles. A stage carries `k_group_size` tiles of each
// operand behind one pair of barriers; how many bytes their copies signal is derived from the two.
//
//   InputTilePipeline input(shared.input, "input");             // InputPipelineStorage<4, Payload>
//
//   // one thread loads, in scopes                              // the MMA thread, with linear handles
//   auto producer = input.producer();                           for (...) {
//   for (...) {                                                   auto tiles = input.acquire_consumer();
//     auto tiles = producer.acquire();                            mma(tiles.a_tile(), tiles.b_tile());
//     load(tiles.a_tile(), tiles.b_tile(), tiles.barrier());      std::move(tiles).release();   // commits
//   }                                                           }
//   producer.drain();
//
// A release of the consumer is a commit of what tcgen05 has been given to do. Where threads or wgmma read the
// tiles, which have finished when they say so, it is an arrival: that is an ArrivingInputPipeline, and its tiles
// have no descriptor for tcgen05.
#pragma once

#include <heddle/isa/mbarrier.h>
#include <heddle/isa/target.h>
#include <heddle/linear.h>
#include <heddle/pipeline/payload.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/pipeline/tensor_core_backend.h>
#include <heddle/tile/smem_array.h>

#include <type_traits>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

template <TilePayload Payload, std::uint32_t num_group_stages, std::uint32_t k_group_size = 1,
          PipelineBackend Backend = MmaInputBackend<num_group_stages>>
class InputTilePipeline;

// A tile of a stage whose release arrives: for threads, and for wgmma, which is over when the warpgroup has
// waited. tcgen05 would still be reading.
template <class Tile>
class ArrivingTile : public Tile {
 public:
  HEDDLE_HOST_DEVICE explicit constexpr ArrivingTile(const Tile& tile) : Tile(tile) {}

  template <std::uint32_t slice_rows, std::uint32_t slice_cols>
  HEDDLE_HOST_DEVICE auto slice(std::uint32_t row_slice = 0, std::uint32_t col_slice = 0) const {
    const auto part = Tile::template slice<slice_rows, slice_cols>(row_slice, col_slice);
    return ArrivingTile<std::remove_const_t<decltype(part)>>(part);
  }

  template <Major major = Major::kK>
  HEDDLE_HOST_DEVICE constexpr auto operand() const {
    return TileOperand<ArrivingTile, major>(*this);
  }

  template <Major major = Major::kK>
  std::uint64_t tcgen05_descriptor(std::uint32_t = 0, std::uint32_t = 0) const {
    static_assert(!sizeof(Tile*),
                  "a release of this pipeline arrives, which does not wait for tcgen05: let its backend be "
                  "MmaInputBackend, as InputTilePipeline's is by default, whose release commits");
    return 0;
  }
};

// Who takes the tiles of a stage: whoever fills it and the tensor cores of sm_100a, or readers that arrive.
enum class TileReaders : std::uint8_t { kAny, kArriving };

// The tiles of whatever has a payload() and a stage(): handles and scopes alike. `k` counts within the group.
// `tiles` gives them as the payload has them.
template <class Self, TilePayload Payload, std::uint32_t k_group_size, TileReaders readers>
class TileAccess {
 public:
  static constexpr std::uint32_t num_tiles = k_group_size;

  HEDDLE_DEVICE typename Payload::Tiles tiles(std::uint32_t k = 0) const {
    return self().payload().template get_tile<k_group_size>(self().stage(), k);
  }
  HEDDLE_DEVICE auto a_tile(std::uint32_t k = 0) const {
    return given(self().payload().template get_a_tile<k_group_size>(self().stage(), k));
  }
  HEDDLE_DEVICE auto b_tile(std::uint32_t k = 0) const {
    return given(self().payload().template get_b_tile<k_group_size>(self().stage(), k));
  }
  HEDDLE_DEVICE auto sfa_tile(std::uint32_t k = 0) const {
    return given(self().payload().template get_sfa_tile<k_group_size>(self().stage(), k));
  }
  HEDDLE_DEVICE auto sfb_tile(std::uint32_t k = 0) const {
    return given(self().payload().template get_sfb_tile<k_group_size>(self().stage(), k));
  }
  HEDDLE_DEVICE auto a_scales_tile(std::uint32_t k = 0) const {
    return given(self().payload().template get_a_scales_tile<k_group_size>(self().stage(), k));
  }

 private:
  HEDDLE_DEVICE const Self& self() const { return static_cast<const Self&>(*this); }

  template <class Tile>
  HEDDLE_DEVICE static auto given(const Tile& tile) {
    if constexpr (readers == TileReaders::kArriving) {
      return ArrivingTile<Tile>(tile);
    } else {
      return tile;
    }
  }
};

// An empty stage that this thread may fill with tiles. Linear.
template <TilePayload Payload, std::uint32_t num_group_stages, std::uint32_t k_group_size = 1,
          PipelineBackend Backend = MmaInputBackend<num_group_stages>>
class HEDDLE_LINEAR InputProducerStage
    : public TileAccess<InputProducerStage<Payload, num_group_stages, k_group_size, Backend>, Payload,
                        k_group_size, TileReaders::kAny> {
 public:
  static constexpr TileReaders readers = TileReaders::kAny;
  // What the copies into the stage signal, unless expect_bytes says otherwise.
  static constexpr std::uint32_t tx_bytes = k_group_size * Payload::tx_bytes;

  InputProducerStage(InputProducerStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED InputProducerStage& operator=(InputProducerStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~InputProducerStage() {}

  HEDDLE_USES HEDDLE_DEVICE const Payload& payload(CallSite site = HEDDLE_HERE) const& {
    static_cast<void>(stage_.index(site));
    return payload_;
  }
  HEDDLE_USES HEDDLE_DEVICE std::uint32_t stage(CallSite site = HEDDLE_HERE) const& { return stage_.index(site); }

  // The full barrier: where the copies count their bytes.
  HEDDLE_USES HEDDLE_DEVICE MbarPtr barrier(CallSite site = HEDDLE_HERE) const& { return stage_.mbar(site); }
  HEDDLE_USES HEDDLE_DEVICE MbarPtr mbar(CallSite site = HEDDLE_HERE) const& { return stage_.mbar(site); }

  // The stage gets so many bytes instead of tx_bytes: for copies that bring less, or more, than its tiles. Calls
  // add up.
  HEDDLE_USES HEDDLE_DEVICE void expect_bytes(std::uint32_t bytes, CallSite site = HEDDLE_HERE) const& {
    stage_.expect_bytes(bytes, site);
  }

  const Payload& payload() const&& = delete;
  std::uint32_t stage() const&& = delete;
  MbarPtr barrier() const&& = delete;
  MbarPtr mbar() const&& = delete;
  void expect_bytes(std::uint32_t) const&& = delete;

  // Every calling thread arrives on the full barrier once, and expects the bytes.
  HEDDLE_ENDS HEDDLE_DEVICE void release(CallSite site = HEDDLE_HERE) && {
    stage_.expect_bytes_unless_told(tx_bytes, site);
    std::move(stage_).release(site);
  }

  // For a whole warp: one arrival, by the elected thread.
  HEDDLE_ENDS HEDDLE_DEVICE void release_elected(CallSite site = HEDDLE_HERE) && {
    stage_.expect_bytes_unless_told(tx_bytes, site);
    std::move(stage_).release_elected(site);
  }

  HEDDLE_ENDS HEDDLE_DEVICE void release_without_signal(CallSite site = HEDDLE_HERE) && {
    std::move(stage_).release_without_signal(site);
  }

 private:
  friend class InputTilePipeline<Payload, num_group_stages, k_group_size, Backend>;
  using Core = ProducerStage<num_group_stages, Backend>;

  HEDDLE_DEVICE InputProducerStage(Core&& stage, const Payload& payload)
      : stage_(std::move(stage)), payload_(payload) {}

  Core stage_;
  Payload payload_;
};

// A full stage whose tiles this thread may read. Linear.
template <TilePayload Payload, std::uint32_t num_group_stages, std::uint32_t k_group_size = 1,
          PipelineBackend Backend = MmaInputBackend<num_group_stages>>
class HEDDLE_LINEAR InputConsumerStage
    : public TileAccess<InputConsumerStage<Payload, num_group_stages, k_group_size, Backend>, Payload,
                        k_group_size, CommittingBackend<Backend> ? TileReaders::kAny : TileReaders::kArriving> {
 public:
  static constexpr TileReaders readers = CommittingBackend<Backend> ? TileReaders::kAny : TileReaders::kArriving;
  InputConsumerStage(InputConsumerStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED InputConsumerStage& operator=(InputConsumerStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~InputConsumerStage() {}

  HEDDLE_USES HEDDLE_DEVICE const Payload& payload(CallSite site = HEDDLE_HERE) const& {
    static_cast<void>(stage_.index(site));
    return payload_;
  }
  HEDDLE_USES HEDDLE_DEVICE std::uint32_t stage(CallSite site = HEDDLE_HERE) const& { return stage_.index(site); }

  // The empty barrier.
  HEDDLE_USES HEDDLE_DEVICE MbarPtr barrier(CallSite site = HEDDLE_HERE) const& { return stage_.mbar(site); }
  HEDDLE_USES HEDDLE_DEVICE MbarPtr mbar(CallSite site = HEDDLE_HERE) const& { return stage_.mbar(site); }

  // Signals now, as release would, and keeps the stage: to be followed by release_without_signal.
  HEDDLE_USES HEDDLE_DEVICE void arrive(CallSite site = HEDDLE_HERE) const& { stage_.arrive(site); }

  const Payload& payload() const&& = delete;
  std::uint32_t stage() const&& = delete;
  MbarPtr barrier() const&& = delete;
  MbarPtr mbar() const&& = delete;
  void arrive() const&& = delete;

  // Every calling thread signals the empty barrier once, as the pipeline's backend does that: an arrival, or a
  // commit of the tensor cores' work.
  HEDDLE_ENDS HEDDLE_DEVICE void release(CallSite site = HEDDLE_HERE) && { std::move(stage_).release(site); }

  // For a whole warp: one signal, by the elected thread.
  HEDDLE_ENDS HEDDLE_DEVICE void release_elected(CallSite site = HEDDLE_HERE) && {
    std::move(stage_).release_elected(site);
  }

  // One signal in each CTA of the mask, as ConsumerStage::release_to.
  HEDDLE_ENDS HEDDLE_DEVICE void release_to(std::uint16_t cta_mask, CallSite site = HEDDLE_HERE) && {
    std::move(stage_).release_to(cta_mask, site);
  }

  HEDDLE_ENDS HEDDLE_DEVICE void release_without_signal(CallSite site = HEDDLE_HERE) && {
    std::move(stage_).release_without_signal(site);
  }

 private:
  friend class InputTilePipeline<Payload, num_group_stages, k_group_size, Backend>;
  using Core = ConsumerStage<num_group_stages, Backend>;

  HEDDLE_DEVICE InputConsumerStage(Core&& stage, const Payload& payload)
      : stage_(std::move(stage)), payload_(payload) {}

  Core stage_;
  Payload payload_;
};

// A stage of tiles that is held for the length of a block and released at its end, as release() does. It stays
// where it is: neither copied nor moved.
template <class Stage, TilePayload Payload, std::uint32_t k_group_size>
class [[nodiscard]] TilesContext
    : public TileAccess<TilesContext<Stage, Payload, k_group_size>, Payload, k_group_size, Stage::readers> {
 public:
  TilesContext(const TilesContext&) = delete;
  TilesContext& operator=(const TilesContext&) = delete;
  HEDDLE_DEVICE ~TilesContext() { std::move(stage_).release(acquired_); }

  HEDDLE_DEVICE const Payload& payload() const { return stage_.payload(); }
  HEDDLE_DEVICE std::uint32_t stage() const { return stage_.stage(); }
  HEDDLE_DEVICE MbarPtr barrier() const { return stage_.barrier(); }
  HEDDLE_DEVICE MbarPtr mbar() const { return stage_.mbar(); }
  HEDDLE_DEVICE void expect_bytes(std::uint32_t bytes,
                                  CallSite site = HEDDLE_HERE) const requires TakesBytes<Stage> {
    stage_.expect_bytes(bytes, site);
  }

 private:
  template <TilePayload, std::uint32_t, std::uint32_t, PipelineBackend>
  friend class InputTilePipeline;

  HEDDLE_DEVICE TilesContext(Stage&& stage, CallSite acquired) : stage_(std::move(stage)), acquired_(acquired) {}

  Stage stage_;
  CallSite acquired_;
};

template <TilePayload Payload, std::uint32_t num_group_stages, std::uint32_t k_group_size = 1,
          PipelineBackend Backend = MmaInputBackend<num_group_stages>>
using ProducerTiles =
    TilesContext<InputProducerStage<Payload, num_group_stages, k_group_size, Backend>, Payload, k_group_size>;

template <TilePayload Payload, std::uint32_t num_group_stages, std::uint32_t k_group_size = 1,
          PipelineBackend Backend = MmaInputBackend<num_group_stages>>
using ConsumerTiles =
    TilesContext<InputConsumerStage<Payload, num_group_stages, k_group_size, Backend>, Payload, k_group_size>;

// The load warp's view of the pipeline, which it borrows.
template <TilePayload Payload, std::uint32_t num_group_stages, std::uint32_t k_group_size = 1,
          PipelineBackend Backend = MmaInputBackend<num_group_stages>>
class InputProducer {
 public:
  using Pipeline = InputTilePipeline<Payload, num_group_stages, k_group_size, Backend>;
  using Stage = InputProducerStage<Payload, num_group_stages, k_group_size, Backend>;
  using Tiles = ProducerTiles<Payload, num_group_stages, k_group_size, Backend>;

  // Waits until the consumer has emptied the stage; released at the end of the block.
  HEDDLE_DEVICE Tiles acquire(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    return pipeline_->produce(hint, site);
  }
  // The same as a linear handle.
  [[nodiscard]] HEDDLE_DEVICE Stage acquire_stage(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    return pipeline_->acquire_producer(hint, site);
  }
  // Asks whether acquire would wait, without blocking; acquire_if_needed takes the answer.
  HEDDLE_DEVICE ConsumerReady try_acquire(CallSite site = HEDDLE_HERE) const {
    return pipeline_->try_acquire_producer(site);
  }
  HEDDLE_DEVICE Tiles acquire_if_needed(ConsumerReady ready, SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    return pipeline_->produce(ready, hint, site);
  }
  // Waits until every stage that was handed over has been released: before the CTA exits.
  HEDDLE_DEVICE void drain(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) const {
    pipeline_->drain_producer(hint, site);
  }

 private:
  friend Pipeline;
  HEDDLE_DEVICE explicit InputProducer(Pipeline& pipeline) : pipeline_(&pipeline) {}

  Pipeline* pipeline_;
};

// The MMA warp's view of the pipeline, which it borrows.
template <TilePayload Payload, std::uint32_t num_group_stages, std::uint32_t k_group_size = 1,
          PipelineBackend Backend = MmaInputBackend<num_group_stages>>
class InputConsumer {
 public:
  using Pipeline = InputTilePipeline<Payload, num_group_stages, k_group_size, Backend>;
  using Stage = InputConsumerStage<Payload, num_group_stages, k_group_size, Backend>;
  using Tiles = ConsumerTiles<Payload, num_group_stages, k_group_size, Backend>;

  // Waits until the producer has filled the stage; released at the end of the block.
  HEDDLE_DEVICE Tiles acquire(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    return pipeline_->consume(hint, site);
  }
  // The same as a linear handle.
  [[nodiscard]] HEDDLE_DEVICE Stage acquire_stage(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    return pipeline_->acquire_consumer(hint, site);
  }
  // Asks whether acquire would wait, without blocking; acquire_if_needed takes the answer.
  HEDDLE_DEVICE ProducerReady try_acquire(CallSite site = HEDDLE_HERE) const {
    return pipeline_->try_acquire_consumer(site);
  }
  HEDDLE_DEVICE Tiles acquire_if_needed(ProducerReady ready, SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    return pipeline_->consume(ready, hint, site);
  }

 private:
  friend Pipeline;
  HEDDLE_DEVICE explicit InputConsumer(Pipeline& pipeline) : pipeline_(&pipeline) {}

  Pipeline* pipeline_;
};

// Every thread that takes part constructs one over the same storage and uses one side of it. Not copyable:
// a copy would have cursors of its own.
template <TilePayload Payload, std::uint32_t num_group_stages, std::uint32_t k_group_size,
          PipelineBackend Backend>
class InputTilePipeline {
  static_assert(k_group_size > 0, "a stage needs a tile: make k_group_size 1 or more");

 public:
  using BarrierArray = SMemArray<SharedMemBarrier, 2 * num_group_stages>;
  using Pipeline = ProducerConsumerPipeline<num_group_stages, Backend>;
  using Storage = InputPipelineStorage<num_group_stages, Payload, k_group_size>;
  using Producer = InputProducer<Payload, num_group_stages, k_group_size, Backend>;
  using Consumer = InputConsumer<Payload, num_group_stages, k_group_size, Backend>;

  // Storage that owns its tiles; what pipeline and storage must agree on is taken from its type.
  HEDDLE_DEVICE explicit InputTilePipeline(Storage& storage, Name name = "input")
      : InputTilePipeline(Backend(storage.barriers.ptr()), storage.payload(), name) {}
  // Barriers and tiles apart.
  HEDDLE_DEVICE InputTilePipeline(BarrierArray& barriers, const Payload& payload, Name name = "input")
      : InputTilePipeline(Backend(barriers.ptr()), payload, name) {}
  // With a backend that knows more than where its barriers are.
  HEDDLE_DEVICE InputTilePipeline(Backend backend, const Payload& payload, Name name = "input")
      : pipeline_(backend, name), payload_(payload) {}

  InputTilePipeline(const InputTilePipeline&) = delete;
  InputTilePipeline& operator=(const InputTilePipeline&) = delete;

  // Initialises all barriers, by one thread: as ProducerConsumerPipeline::init_mbars.
  HEDDLE_DEVICE static void init_barriers(MbarPtr storage, std::uint32_t producer_arv_count,
                                          std::uint32_t consumer_arv_count, Name name = "input",
                                          CallSite site = HEDDLE_HERE) {
    Backend(storage).init(producer_arv_count, consumer_arv_count, name, site);
  }
  // The same with counts that follow from who signals: RingCounts of kernel/barriers.h.
  template <class Counts>
  HEDDLE_DEVICE static void init_barriers(MbarPtr storage, Name name = "input", CallSite site = HEDDLE_HERE) {
    detail::check_counts<Backend, Counts>();
    init_barriers(storage, Counts::full, Counts::empty, name, site);
  }

  // Role views, and what they are made of.
  HEDDLE_DEVICE Producer producer() { return Producer(*this); }
  HEDDLE_DEVICE Consumer consumer() { return Consumer(*this); }

  [[nodiscard]] HEDDLE_DEVICE typename Producer::Stage acquire_producer(SuspendHint hint = {},
                                                                        CallSite site = HEDDLE_HERE) {
    auto stage = pipeline_.acquire_producer(hint, site);
    return {std::move(stage), payload_};
  }
  [[nodiscard]] HEDDLE_DEVICE typename Producer::Stage acquire_producer(ConsumerReady ready,
                                                                        SuspendHint hint = {},
                                                                        CallSite site = HEDDLE_HERE) {
    auto stage = pipeline_.acquire_producer(ready, hint, site);
    return {std::move(stage), payload_};
  }
  [[nodiscard]] HEDDLE_DEVICE typename Consumer::Stage acquire_consumer(SuspendHint hint = {},
                                                                        CallSite site = HEDDLE_HERE) {
    auto stage = pipeline_.acquire_consumer(hint, site);
    return {std::move(stage), payload_};
  }
  [[nodiscard]] HEDDLE_DEVICE typename Consumer::Stage acquire_consumer(ProducerReady ready,
                                                                        SuspendHint hint = {},
                                                                        CallSite site = HEDDLE_HERE) {
    auto stage = pipeline_.acquire_consumer(ready, hint, site);
    return {std::move(stage), payload_};
  }

  HEDDLE_DEVICE typename Producer::Tiles produce(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    auto stage = acquire_producer(hint, site);
    return {std::move(stage), site};
  }
  HEDDLE_DEVICE typename Producer::Tiles produce(ConsumerReady ready, SuspendHint hint = {},
                                                 CallSite site = HEDDLE_HERE) {
    auto stage = acquire_producer(ready, hint, site);
    return {std::move(stage), site};
  }
  HEDDLE_DEVICE typename Consumer::Tiles consume(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    auto stage = acquire_consumer(hint, site);
    return {std::move(stage), site};
  }
  HEDDLE_DEVICE typename Consumer::Tiles consume(ProducerReady ready, SuspendHint hint = {},
                                                 CallSite site = HEDDLE_HERE) {
    auto stage = acquire_consumer(ready, hint, site);
    return {std::move(stage), site};
  }

  HEDDLE_DEVICE void drain_producer(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) const {
    pipeline_.drain_producer(hint, site);
  }

  // The direct interface. Whoever is about to produce asks whether the consumer is ready, and the other way
  // round; the answer fits the wait for the same side only.
  HEDDLE_DEVICE ConsumerReady try_acquire_producer(CallSite site = HEDDLE_HERE) const {
    return pipeline_.try_wait_consumer(site);
  }
  HEDDLE_DEVICE ProducerReady try_acquire_consumer(CallSite site = HEDDLE_HERE) const {
    return pipeline_.try_wait_producer(site);
  }
  HEDDLE_DEVICE void wait_producer_if_needed(ProducerReady ready, SuspendHint hint = {},
                                             CallSite site = HEDDLE_HERE) const {
    pipeline_.wait_producer_if_needed(ready, hint, site);
  }
  HEDDLE_DEVICE void wait_consumer_if_needed(ConsumerReady ready, SuspendHint hint = {},
                                             CallSite site = HEDDLE_HERE) const {
    pipeline_.wait_consumer_if_needed(ready, hint, site);
  }
  HEDDLE_DEVICE std::uint32_t producer_stage() const { return pipeline_.producer_stage(); }
  HEDDLE_DEVICE std::uint32_t consumer_stage() const { return pipeline_.consumer_stage(); }
  HEDDLE_DEVICE MbarPtr producer_mbar(std::uint32_t stage) const { return pipeline_.producer_mbar(stage); }
  HEDDLE_DEVICE MbarPtr consumer_mbar(std::uint32_t stage) const { return pipeline_.consumer_mbar(stage); }

  HEDDLE_DEVICE Pipeline& pipeline() { return pipeline_; }
  HEDDLE_DEVICE const Payload& payload() const { return payload_; }

 private:
  Pipeline pipeline_;
  Payload payload_;
};

// The pipeline for tiles that threads or wgmma read: a release arrives. Scope kCluster is for rings on which
// other CTAs arrive.
template <TilePayload Payload, std::uint32_t num_group_stages, std::uint32_t k_group_size = 1,
          PipelineScope scope = PipelineScope::kCta>
using ArrivingInputPipeline =
    InputTilePipeline<Payload, num_group_stages, k_group_size, MbarrierBackend<num_group_stages, scope>>;

template <std::uint32_t num_group_stages, TilePayload Payload, std::uint32_t k_group_size>
InputTilePipeline(InputPipelineStorage<num_group_stages, Payload, k_group_size>&, Name)
    -> InputTilePipeline<Payload, num_group_stages, k_group_size>;
template <std::uint32_t num_group_stages, TilePayload Payload, std::uint32_t k_group_size>
InputTilePipeline(InputPipelineStorage<num_group_stages, Payload, k_group_size>&)
    -> InputTilePipeline<Payload, num_group_stages, k_group_size>;

}  // namespace heddle::inline HEDDLE_TARGET
