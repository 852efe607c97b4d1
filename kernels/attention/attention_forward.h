// SPDX-License-Identifier: Apache-2.0
//
// What forward attention is beside its products, for Hopper's kernel and for Blackwell's: which tiles a step of
// attention_steps.h has, which of its scores count, and where outputs and their logarithms go. Scores, softmax
// and sums are what the kernel gives it: those of a warpgroup in registers, or of a row for each thread.
#pragma once

#include "attention_load.h"
#include "attention_mask.h"
#include "attention_params.h"
#include "attention_row_store.h"
#include "attention_scores.h"
#include "attention_steps.h"
#include "attention_store.h"

namespace heddle::inline HEDDLE_TARGET {

// Of a kernel with tiles of so many queries.
template <class Config>
constexpr AttentionSteps::Options attention_steps(const Config& config, std::uint32_t queries,
                                                  std::uint32_t streams = 1) {
  return {.queries = queries,
          .keys = config.keys,
          .is_causal = config.is_causal,
          .has_window = config.has_window,
          .has_offsets = config.has_offsets,
          .streams = streams};
}

// The queries of a step are in parts of `rows`, of which each has a softmax of its own.
template <Element T, AttentionSteps::Options options, std::uint32_t rows, class Score>
struct AttentionForward {
  using Params = AttentionParams<T, Score>;
  using Steps = AttentionSteps::Of<options>;
  using Step = AttentionSteps::Step;
  // Where batches lie one after another, values after a batch's last are another's: whatever they are, and a
  // weight of zero does not make zero of it. The kernel does.
  static constexpr bool kClears = options.has_offsets;

  HEDDLE_DEVICE static Steps steps(const Params& params, std::uint32_t stream = 0) {
    return Steps(params.extents, stream);
  }

  // By one thread, into the next stage of a ring.
  template <class Ring, class Tiles>
  HEDDLE_DEVICE static void load_queries(const Params& params, const Steps& steps, const Step& step,
                                         std::uint32_t part, Ring& ring, Tiles& tiles) {
    load_stage(ring, tiles, params.q, {0, steps.query_row(step) + row(part), step.head, steps.tensor(step)});
  }
  template <class Ring, class Tiles>
  HEDDLE_DEVICE static void load(const Params& params, const isa::TensorMap& map, const Steps& steps,
                                 const Step& step, Ring& ring, Tiles& tiles) {
    const std::int32_t key_head = step.head / static_cast<std::int32_t>(params.heads_per_key_head);
    load_stage(ring, tiles, map, {0, steps.key_row(step), key_head, steps.tensor(step)});
  }
  // From the step's first on. Where batches have tensors of their own, zeros follow.
  HEDDLE_DEVICE static std::int32_t keys_left(const Params& params, const Steps& steps, const Step& step) {
    if (params.extents.key_offsets == nullptr) return static_cast<std::int32_t>(options.keys);
    return steps.sequence(step).keys - step.first_key;
  }

  // What the policy makes of the scores; those of keys that a query does not see, or that do not exist, become
  // minus infinity.
  template <class Scores>
  HEDDLE_DEVICE static void mask(Scores& s, const Params& params, const Steps& steps, const Step& step,
                                 std::uint32_t part) {
    const std::int32_t first_query = step.first_query + row(part);
    Score::apply(
        s, params.score,
        {.first_query = first_query, .first_key = step.first_key, .head = step.head, .batch = step.batch});
    const AttentionSteps::Sequence of_batch = steps.sequence(step);
    mask_scores<options.is_causal, options.has_window>(s, {.first_key = step.first_key,
                                                           .keys = of_batch.keys,
                                                           .seen = first_query + of_batch.offset + 1,
                                                           .window = params.extents.window});
  }

  // Stores the logarithms of the queries; what their sums are to be multiplied with.
  template <class Softmax>
  HEDDLE_DEVICE static auto end(const Params& params, const Steps& steps, const Step& step, std::uint32_t part,
                                const Softmax& softmax) {
    const auto end = softmax.end(params.factor, log2_sink(params.sinks, step.head));
    if (params.lse != nullptr) {
      store_lse(params.lse + steps.lse_row(step), step.first_query + row(part), steps.sequence(step).queries,
                end.log2_sum);
    }
    return end.inverse;
  }

  template <class Stores, class Sums, class Factor>
  HEDDLE_DEVICE static void store(const Params& params, const Steps& steps, const Step& step, std::uint32_t part,
                                  Stores& stores, const Sums& sums, const Factor& factor) {
    const std::int32_t first_row = steps.query_row(step) + row(part);
    const std::int32_t left = steps.sequence(step).queries - step.first_query - row(part);
    if (options.has_offsets && params.extents.query_offsets != nullptr &&
        left < static_cast<std::int32_t>(rows)) {
      // A tile would cover the next batch's rows.
      store_sums(params.o_data + first_row * params.o_row + step.head * params.o_head,
                 {.row_stride = params.o_row, .rows = left, .cols = params.o_dim}, sums, factor);
    } else {
      store_sums(stores, &params.o, {0, first_row, step.head, steps.tensor(step)}, sums, factor);
    }
  }

 private:
  HEDDLE_DEVICE static std::int32_t row(std::uint32_t part) { return static_cast<std::int32_t>(part * rows); }
};

}  // namespace heddle::inline HEDDLE_TARGET
