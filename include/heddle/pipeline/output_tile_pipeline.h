// SPDX-License-Identifier: Apache-2.0
//
// OutputTilePipeline: results on their way from the tensor cores to the epilogue. A stage is an accumulator;
// where accumulators live is a parameter. On Blackwell they are ranges of tensor-memory columns, which the MMA
// warp hands over with a commit. On Hopper, whose accumulators are registers, they can be tiles of C in shared
// memory, which the MMA warpgroups fill and a store warp drains; the library's kernels store from registers.
//
//   OutputTilePipeline<opc> output(shared.output.barriers.ptr(), tmem, ctx.mma_complete_mask());
//
//   // MMA warp, with a linear handle                      // epilogue warps, in scopes
//   auto stage = output.acquire_mma_linear();              for (...) {
//   mma(a, b, stage.tmem_offset());                          auto stage = output.consumer();
//   std::move(stage).release();   // commits                 write_output(stage.tmem());
//                                                          }
#pragma once

#include <heddle/isa/fence.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/target.h>
#include <heddle/linear.h>
#include <heddle/pipeline/backend.h>
#include <heddle/pipeline/per_k.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/pipeline/tensor_core_backend.h>
#include <heddle/tile/smem_array.h>
#include <heddle/tile/tmem_view.h>

#include <concepts>
#include <type_traits>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// Accumulators in tensor memory: `num_stages` of them, `stage_stride_cols` columns apart.
struct OutputPipelineConfig {
  std::uint32_t num_stages = 2;
  std::uint32_t stage_stride_cols = 256;
  std::uint32_t cta_group = 1;
  std::uint32_t stage_cols = 0;  // that an accumulator takes; 0: all of the stride

  bool operator==(const OutputPipelineConfig&) const = default;
};

// One accumulator in tensor memory.
template <OutputPipelineConfig opc>
class TmemStage {
 public:
  static constexpr std::uint32_t num_cols = opc.stage_cols == 0 ? opc.stage_stride_cols : opc.stage_cols;

  HEDDLE_DEVICE TmemStage(TmemAddress base, std::uint32_t index)
      : address_(base.plus_cols(index * opc.stage_stride_cols)) {}

  HEDDLE_DEVICE TmemAddress address() const { return address_; }

 private:
  TmemAddress address_;
};

// Accumulators in tensor memory.
template <OutputPipelineConfig opc>
class TmemHome {
  static_assert(check_tmem_stages<opc.num_stages, opc.stage_stride_cols, TmemStage<opc>::num_cols>());

 public:
  using Tmem = TmemAllocation<static_cast<int>(opc.cta_group)>;
  using Stage = TmemStage<opc>;
  using Backend = MmaOutputBackend<opc.num_stages,
                                   CommitConfig{.cta_group = opc.cta_group, .is_multicast = opc.cta_group == 2}>;

  HEDDLE_DEVICE explicit TmemHome(Tmem tmem) : tmem_(tmem) {}
  HEDDLE_DEVICE Tmem tmem() const { return tmem_; }
  HEDDLE_DEVICE Stage stage(std::uint32_t index) const { return Stage(tmem_.address(), index); }

 private:
  Tmem tmem_;
};

// Barriers between threads that write tiles with ordinary stores and a thread that hands them to the copy engine.
template <std::uint32_t stages>
class StoredTileBackend : public MbarrierBackend<stages> {
 public:
  using MbarrierBackend<stages>::MbarrierBackend;
  using MbarrierBackend<stages>::num_stages;

  // Orders: this thread's stores, ahead of copies that are issued after the wait.
  HEDDLE_DEVICE void arrive_full(std::uint32_t stage, CallSite site) const {
    isa::fence_proxy_async_shared_cta(site);
    MbarrierBackend<stages>::arrive_full(stage, site);
  }
};

// Accumulators as tiles of C in shared memory: CTiles is an OutputTileStorage's CTileArray.
template <class CTiles>
class SharedHome {
 public:
  using Stage = typename CTiles::Tile;
  using Backend = StoredTileBackend<CTiles::num_tiles>;

  HEDDLE_DEVICE explicit SharedHome(CTiles& tiles) : tiles_(tiles.view()) {}
  HEDDLE_DEVICE Stage stage(std::uint32_t index) const { return tiles_[index]; }

 private:
  typename CTiles::View tiles_;
};

// An accumulator that this thread holds. Linear. The MMA side writes it and the epilogue reads it; which of the
// two holds it, and so how it is signalled, is part of the type.
template <OutputPipelineConfig opc, PipelineSide side = PipelineSide::kProducer, class Home = TmemHome<opc>,
          PipelineBackend Backend = typename Home::Backend>
class HEDDLE_LINEAR OutputStage {
  using CoreStage = std::conditional_t<side == PipelineSide::kProducer, ProducerStage<opc.num_stages, Backend>,
                                       ConsumerStage<opc.num_stages, Backend>>;

 public:
  OutputStage(OutputStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED OutputStage& operator=(OutputStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~OutputStage() {}

  HEDDLE_USES HEDDLE_DEVICE std::uint32_t index(CallSite site = HEDDLE_HERE) const& { return stage_.index(site); }

  // The accumulator itself: a TmemStage, or a tile of C in shared memory.
  HEDDLE_USES HEDDLE_DEVICE typename Home::Stage accumulator(CallSite site = HEDDLE_HERE) const& {
    return home_.stage(stage_.index(site));
  }
  HEDDLE_USES HEDDLE_DEVICE typename Home::Stage tmem(CallSite site = HEDDLE_HERE) const& {
    return home_.stage(stage_.index(site));
  }
  // Its tensor-memory address, as an MMA takes it.
  HEDDLE_USES HEDDLE_DEVICE std::uint32_t tmem_offset(CallSite site = HEDDLE_HERE) const& {
    return home_.stage(stage_.index(site)).address().bits();
  }

  // The barrier that release signals. In a pair the epilogue's is the leader's, for both CTAs.
  HEDDLE_USES HEDDLE_DEVICE MbarPtr mbar(CallSite site = HEDDLE_HERE) const& { return stage_.mbar(site); }

  std::uint32_t index() const&& = delete;
  typename Home::Stage accumulator() const&& = delete;
  typename Home::Stage tmem() const&& = delete;
  std::uint32_t tmem_offset() const&& = delete;
  MbarPtr mbar() const&& = delete;

  // Hands the accumulator over. In tensor memory: from the MMA side a commit, by the thread that issued the MMAs;
  // from the epilogue an arrival of every thread, whole warps at a time, after its loads are complete. In shared
  // memory: an arrival of every calling thread.
  HEDDLE_ENDS HEDDLE_DEVICE void release(CallSite site = HEDDLE_HERE) && { std::move(stage_).release(site); }

  // For a whole warp: one signal, by the elected thread.
  HEDDLE_ENDS HEDDLE_DEVICE void release_elected(CallSite site = HEDDLE_HERE) && {
    std::move(stage_).release_elected(site);
  }

  HEDDLE_ENDS HEDDLE_DEVICE void release_without_signal(CallSite site = HEDDLE_HERE) && {
    std::move(stage_).release_without_signal(site);
  }

 private:
  template <OutputPipelineConfig, class, PipelineBackend>
  friend class OutputTilePipeline;

  HEDDLE_DEVICE OutputStage(CoreStage&& stage, const Home& home) : stage_(std::move(stage)), home_(home) {}

  CoreStage stage_;
  Home home_;
};

template <OutputPipelineConfig opc, class Home = TmemHome<opc>, PipelineBackend Backend = typename Home::Backend>
using MmaStage = OutputStage<opc, PipelineSide::kProducer, Home, Backend>;

template <OutputPipelineConfig opc, class Home = TmemHome<opc>, PipelineBackend Backend = typename Home::Backend>
using EpilogueStage = OutputStage<opc, PipelineSide::kConsumer, Home, Backend>;

// An accumulator that is held for the length of a block and released at its end. It stays where it is: neither
// copied nor moved.
template <class Stage>
class [[nodiscard]] OutputContext {
 public:
  OutputContext(const OutputContext&) = delete;
  OutputContext& operator=(const OutputContext&) = delete;
  HEDDLE_DEVICE ~OutputContext() { std::move(stage_).release(acquired_); }

  HEDDLE_DEVICE std::uint32_t index() const { return stage_.index(); }
  HEDDLE_DEVICE auto accumulator() const { return stage_.accumulator(); }
  HEDDLE_DEVICE auto tmem() const { return stage_.tmem(); }
  HEDDLE_DEVICE std::uint32_t tmem_offset() const { return stage_.tmem_offset(); }
  HEDDLE_DEVICE MbarPtr mbar() const { return stage_.mbar(); }

 private:
  template <OutputPipelineConfig, class, PipelineBackend>
  friend class OutputTilePipeline;

  HEDDLE_DEVICE OutputContext(Stage&& stage, CallSite acquired) : stage_(std::move(stage)), acquired_(acquired) {}

  Stage stage_;
  CallSite acquired_;
};

template <OutputPipelineConfig opc, class Home = TmemHome<opc>, PipelineBackend Backend = typename Home::Backend>
using OutputProducer = OutputContext<MmaStage<opc, Home, Backend>>;

template <OutputPipelineConfig opc, class Home = TmemHome<opc>, PipelineBackend Backend = typename Home::Backend>
using OutputConsumer = OutputContext<EpilogueStage<opc, Home, Backend>>;

// Both for one step of K: what OutputKPipeline hands out.
template <OutputPipelineConfig opc, class Home = TmemHome<opc>, PipelineBackend Backend = typename Home::Backend>
using MmaKStage = OutputProducer<opc, Home, Backend>;

template <OutputPipelineConfig opc, class Home = TmemHome<opc>, PipelineBackend Backend = typename Home::Backend>
using PerKConsumerStage = OutputConsumer<opc, Home, Backend>;

// Every thread that takes part constructs one over the same barriers and uses one side of it. Not copyable: a
// copy would have cursors of its own.
template <OutputPipelineConfig opc, class Home = TmemHome<opc>, PipelineBackend Backend = typename Home::Backend>
class OutputTilePipeline {
 public:
  static constexpr std::uint32_t num_stages = opc.num_stages;
  static constexpr std::uint32_t stage_stride_cols = opc.stage_stride_cols;
  static constexpr std::uint32_t cta_group = opc.cta_group;
  using BarrierArray = SMemArray<SharedMemBarrier, 2 * num_stages>;
  using Pipeline = ProducerConsumerPipeline<num_stages, Backend>;
  using Tmem = TmemAllocation<static_cast<int>(cta_group)>;
  using Stage = OutputStage<opc, PipelineSide::kProducer, Home, Backend>;
  using MmaHandle = MmaStage<opc, Home, Backend>;
  using EpilogueHandle = EpilogueStage<opc, Home, Backend>;
  using Producer = OutputProducer<opc, Home, Backend>;
  using Consumer = OutputConsumer<opc, Home, Backend>;

  // Accumulators in tensor memory. The mask names the CTAs that a commit tells: KernelContext::mma_complete_mask.
  HEDDLE_DEVICE OutputTilePipeline(MbarPtr barriers, Tmem tmem, std::uint16_t mma_complete_mask,
                                   Name name = "output") requires std::constructible_from<Home, Tmem>
      : OutputTilePipeline(Backend(barriers, mma_complete_mask), Home(tmem), name) {}
  // Accumulators anywhere.
  HEDDLE_DEVICE OutputTilePipeline(Backend backend, Home home, Name name = "output")
      : pipeline_(backend, name), home_(home) {}

  OutputTilePipeline(const OutputTilePipeline&) = delete;
  OutputTilePipeline& operator=(const OutputTilePipeline&) = delete;

  // Initialises all barriers, by one thread: as ProducerConsumerPipeline::init_mbars.
  HEDDLE_DEVICE static void init_barriers(MbarPtr storage, std::uint32_t producer_arv_count,
                                          std::uint32_t consumer_arv_count, Name name = "output",
                                          CallSite site = HEDDLE_HERE) {
    Backend(storage).init(producer_arv_count, consumer_arv_count, name, site);
  }

  // Linear handles: wait for the other side, and must be released.
  [[nodiscard]] HEDDLE_DEVICE MmaHandle acquire_mma_linear(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    auto stage = pipeline_.acquire_producer(hint, site);
    return {std::move(stage), home_};
  }
  [[nodiscard]] HEDDLE_DEVICE EpilogueHandle acquire_epilogue_linear(SuspendHint hint = {},
                                                                     CallSite site = HEDDLE_HERE) {
    auto stage = pipeline_.acquire_consumer(hint, site);
    return {std::move(stage), home_};
  }

  // The same handles, by the names of the sides that hand over.
  [[nodiscard]] HEDDLE_DEVICE MmaHandle acquire_for_mma(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    return acquire_mma_linear(hint, site);
  }
  [[nodiscard]] HEDDLE_DEVICE EpilogueHandle acquire_for_epilogue(SuspendHint hint = {},
                                                                  CallSite site = HEDDLE_HERE) {
    return acquire_epilogue_linear(hint, site);
  }
  HEDDLE_DEVICE void release_from_mma(MmaHandle&& stage, CallSite site = HEDDLE_HERE) {
    std::move(stage).release(site);
  }
  HEDDLE_DEVICE void release_from_epilogue(EpilogueHandle&& stage, CallSite site = HEDDLE_HERE) {
    std::move(stage).release(site);
  }

  // Scopes: as acquiring, and released when the block ends.
  HEDDLE_DEVICE Producer producer(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    auto stage = acquire_mma_linear(hint, site);
    return {std::move(stage), site};
  }
  HEDDLE_DEVICE Consumer consumer(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    auto stage = acquire_epilogue_linear(hint, site);
    return {std::move(stage), site};
  }

  // The MMA side waits until the epilogue has released every stage that was handed over.
  HEDDLE_DEVICE void drain_mma(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) const {
    pipeline_.drain_producer(hint, site);
  }

  // For kernels that hand over an accumulator for every step of K instead of one for every tile.
  HEDDLE_DEVICE OutputKPipeline<OutputTilePipeline> per_k() { return OutputKPipeline<OutputTilePipeline>(*this); }

  // The epilogue's part of such a step, with the input stage that holds its scales: waits for both, and releases
  // both at the end of the block. By whole warps. `input_pipeline` is a ring on whose full barriers this CTA's
  // own copies count: the epilogue's view of the input ring, on which it arrives beside the MMA warp's commits.
  // In a pair both CTAs' copies into the input ring count on the leader's barriers, where the peer cannot wait;
  // there the scales have a ring of their own in each CTA.
  template <std::uint32_t num_input_stages, PipelineBackend InputBackend>
  HEDDLE_DEVICE auto per_k_epilogue(ProducerConsumerPipeline<num_input_stages, InputBackend>& input_pipeline,
                                    SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    check_per_k_input<InputBackend>();
    auto output = acquire_epilogue_linear(hint, site);
    auto input = input_pipeline.acquire_consumer(hint, site);
    return EpilogueKContext<EpilogueHandle, ConsumerStage<num_input_stages, InputBackend>>(
        std::move(output), std::move(input), site);
  }
  // The same as a linear handle.
  template <std::uint32_t num_input_stages, PipelineBackend InputBackend>
  [[nodiscard]] HEDDLE_DEVICE EpilogueKStage<EpilogueHandle, ConsumerStage<num_input_stages, InputBackend>>
  acquire_k_epilogue_linear(ProducerConsumerPipeline<num_input_stages, InputBackend>& input_pipeline,
                            SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    check_per_k_input<InputBackend>();
    auto output = acquire_epilogue_linear(hint, site);
    auto input = input_pipeline.acquire_consumer(hint, site);
    return {std::move(output), std::move(input)};
  }

  HEDDLE_DEVICE Pipeline& get_pipeline() { return pipeline_; }
  HEDDLE_DEVICE const Home& home() const { return home_; }
  // Where accumulators are in tensor memory: the allocation, and the CTAs that a commit tells.
  HEDDLE_DEVICE Tmem tmem() const requires std::constructible_from<Home, Tmem> { return home_.tmem(); }
  HEDDLE_DEVICE std::uint16_t mma_complete_mask() const requires std::constructible_from<Home, Tmem> {
    return pipeline_.backend().mma_complete_mask();
  }

 private:
  template <class InputBackend>
  HEDDLE_DEVICE static constexpr void check_per_k_input() {
    static_assert(!CommittingBackend<InputBackend>,
                  "the epilogue reads scales with its own threads: give it a pipeline with an MbarrierBackend on "
                  "the input ring, whose release arrives; a commit of work that it did not issue says nothing");
  }

  Pipeline pipeline_;
  Home home_;
};

}  // namespace heddle::inline HEDDLE_TARGET
