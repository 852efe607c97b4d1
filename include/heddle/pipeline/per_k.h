// SPDX-License-Identifier: Apache-2.0
//
// Views of an OutputTilePipeline for kernels that hand over an accumulator for every step of K, such as blockwise
// FP8: the epilogue scales each partial product and adds it up in registers.
//
//   // MMA warp                              // epilogue warps
//   auto output_k = output.per_k();          for (k ...) {
//   for (k ...) {                              auto stage = output.per_k_epilogue(scales_ring);
//     auto stage = output_k.produce();         const float scale = scales[stage.input_stage()];
//     mma(a, b, stage.tmem_offset());          add_scaled(stage.tmem(), scale, sums);
//   }                                        }
#pragma once

#include <heddle/isa/target.h>
#include <heddle/linear.h>
#include <heddle/pipeline/backend.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// Borrows an OutputTilePipeline. What it hands out is signalled once for every step of K.
template <class Pipeline>
class OutputKPipeline {
 public:
  HEDDLE_DEVICE explicit OutputKPipeline(Pipeline& pipeline) : pipeline_(&pipeline) {}

  // Scopes.
  HEDDLE_DEVICE typename Pipeline::Producer produce(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    return pipeline_->producer(hint, site);
  }
  HEDDLE_DEVICE typename Pipeline::Consumer consume(SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    return pipeline_->consumer(hint, site);
  }

  // Linear handles.
  [[nodiscard]] HEDDLE_DEVICE typename Pipeline::MmaHandle acquire_mma_linear(SuspendHint hint = {},
                                                                              CallSite site = HEDDLE_HERE) {
    return pipeline_->acquire_mma_linear(hint, site);
  }
  [[nodiscard]] HEDDLE_DEVICE typename Pipeline::EpilogueHandle acquire_epilogue_linear(
      SuspendHint hint = {}, CallSite site = HEDDLE_HERE) {
    return pipeline_->acquire_epilogue_linear(hint, site);
  }

 private:
  Pipeline* pipeline_;
};

// What an epilogue warp holds for one step of K: the accumulator, and the input stage whose scales belong to it.
// Linear. Both were waited for, each on its own barrier.
template <class OutputHandle, class InputHandle>
class HEDDLE_LINEAR EpilogueKStage {
 public:
  HEDDLE_DEVICE EpilogueKStage(OutputHandle&& output, InputHandle&& input)
      : output_(std::move(output)), input_(std::move(input)) {}
  EpilogueKStage(EpilogueKStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED EpilogueKStage& operator=(EpilogueKStage&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~EpilogueKStage() {}

  HEDDLE_USES HEDDLE_DEVICE std::uint32_t output_stage(CallSite site = HEDDLE_HERE) const& {
    return output_.index(site);
  }
  HEDDLE_USES HEDDLE_DEVICE std::uint32_t input_stage(CallSite site = HEDDLE_HERE) const& {
    return input_.index(site);
  }
  HEDDLE_USES HEDDLE_DEVICE auto accumulator(CallSite site = HEDDLE_HERE) const& {
    return output_.accumulator(site);
  }
  HEDDLE_USES HEDDLE_DEVICE auto tmem(CallSite site = HEDDLE_HERE) const& { return output_.tmem(site); }

  std::uint32_t output_stage() const&& = delete;
  std::uint32_t input_stage() const&& = delete;

  // By a whole warp: every thread signals the accumulator, and the warp once the input stage.
  HEDDLE_ENDS HEDDLE_DEVICE void release(CallSite site = HEDDLE_HERE) && {
    std::move(output_).release(site);
    std::move(input_).release_elected(site);
  }

  HEDDLE_ENDS HEDDLE_DEVICE void release_without_signal(CallSite site = HEDDLE_HERE) && {
    std::move(output_).release_without_signal(site);
    std::move(input_).release_without_signal(site);
  }

 private:
  OutputHandle output_;
  InputHandle input_;
};

// An EpilogueKStage that is held for the length of a block and released at its end.
template <class OutputHandle, class InputHandle>
class [[nodiscard]] EpilogueKContext {
 public:
  using Stage = EpilogueKStage<OutputHandle, InputHandle>;

  HEDDLE_DEVICE EpilogueKContext(OutputHandle&& output, InputHandle&& input, CallSite acquired)
      : stage_(std::move(output), std::move(input)), acquired_(acquired) {}
  EpilogueKContext(const EpilogueKContext&) = delete;
  EpilogueKContext& operator=(const EpilogueKContext&) = delete;
  HEDDLE_DEVICE ~EpilogueKContext() { std::move(stage_).release(acquired_); }

  HEDDLE_DEVICE std::uint32_t output_stage() const { return stage_.output_stage(); }
  HEDDLE_DEVICE std::uint32_t input_stage() const { return stage_.input_stage(); }
  HEDDLE_DEVICE auto accumulator() const { return stage_.accumulator(); }
  HEDDLE_DEVICE auto tmem() const { return stage_.tmem(); }

 private:
  Stage stage_;
  CallSite acquired_;
};

}  // namespace heddle::inline HEDDLE_TARGET
