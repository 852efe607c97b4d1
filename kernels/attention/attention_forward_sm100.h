// SPDX-License-Identifier: Apache-2.0
//
// The work of forward attention on Blackwell, for every head of every batch, in the steps of attention_steps.h,
// which Hopper's kernel walks too.
#pragma once

#include "attention_load.h"
#include "attention_mask.h"
#include "attention_params.h"
#include "attention_row_store.h"
#include "attention_scores.h"
#include "attention_sm100.h"
#include "attention_steps.h"

namespace heddle::inline HEDDLE_TARGET {

template <Element T, AttentionSm100Config config, class Score>
struct AttentionForwardWork {
  using Params = AttentionParams<T, Score>;
  using Steps = AttentionSteps::Of<AttentionSteps::Options{.queries = config.tiles * config.kRows,
                                                           .keys = config.keys,
                                                           .is_causal = config.is_causal,
                                                           .has_window = config.has_window,
                                                           .has_offsets = config.has_offsets,
                                                           .streams = 1}>;
  using Step = AttentionSteps::Step;
  static constexpr bool kClears = config.has_offsets;

  HEDDLE_DEVICE static Steps steps(const Params& params) { return Steps(params.extents); }

  template <class Ring, class Tiles>
  HEDDLE_DEVICE static void load_queries(const Params& params, const Steps& steps, const Step& step,
                                         std::uint32_t t, Ring& ring, Tiles& tiles) {
    const std::int32_t row = steps.query_row(step) + first_row(t);
    load_stage(ring, tiles, params.q, {0, row, step.head, steps.tensor(step)});
  }
  template <class Ring, class Tiles>
  HEDDLE_DEVICE static void load(const Params& params, const isa::TensorMap& map, const Steps& steps,
                                 const Step& step, Ring& ring, Tiles& tiles) {
    const std::int32_t key_head = step.head / static_cast<std::int32_t>(params.heads_per_key_head);
    load_stage(ring, tiles, map, {0, steps.key_row(step), key_head, steps.tensor(step)});
  }
  // From the step's first on. Where batches have tensors of their own, zeros follow.
  HEDDLE_DEVICE static std::int32_t keys_left(const Params& params, const Steps& steps, const Step& step) {
    if (params.extents.key_offsets == nullptr) return static_cast<std::int32_t>(config.keys);
    return steps.sequence(step).keys - step.first_key;
  }

  // What the policy makes of the scores; those of keys that a query does not see, or that do not exist, become
  // minus infinity.
  template <class Row>
  HEDDLE_DEVICE static void mask(Row& s, const Params& params, const Steps& steps, const Step& step,
                                 std::uint32_t t) {
    const std::int32_t first_query = step.first_query + first_row(t);
    Score::apply(
        s, params.score,
        {.first_query = first_query, .first_key = step.first_key, .head = step.head, .batch = step.batch});
    const AttentionSteps::Sequence of_batch = steps.sequence(step);
    const std::int32_t query = first_query + static_cast<std::int32_t>(Row::row(0));
    mask_row<config.is_causal, config.has_window>(s, {.first_key = step.first_key,
                                                      .keys = of_batch.keys,
                                                      .seen = query + of_batch.offset + 1,
                                                      .window = params.extents.window});
  }

  // Stores the logarithm of a query; what its sums are to be multiplied with. A sink is a score without a value.
  template <class Softmax>
  HEDDLE_DEVICE static float end(const Params& params, const Steps& steps, const Step& step, std::uint32_t t,
                                 const Softmax& softmax) {
    const auto end = softmax.end(params.factor, log2_sink(params.sinks, step.head));
    const std::int32_t query = step.first_query + first_row(t) + own_row();
    if (params.lse != nullptr && query < steps.sequence(step).queries) {
      isa::st_global(&params.lse[steps.lse_row(step) + static_cast<std::uint64_t>(query)], end.log2_sum * kLn2);
    }
    return end.sum > 0.0f ? isa::rcp_approx_f32(end.sum) : 0.0f;
  }

  template <class Stores, class Sums>
  HEDDLE_DEVICE static void store(const Params& params, const Steps& steps, const Step& step, std::uint32_t t,
                                  Stores& stores, const Sums& sums, float factor) {
    const std::int32_t row = steps.query_row(step) + first_row(t);
    const std::int32_t rows = steps.sequence(step).queries - step.first_query - first_row(t);
    if (config.has_offsets && params.extents.query_offsets != nullptr && rows < kRows) {
      // A tile would cover the next batch's rows.
      T* const to = params.o_data + (row + own_row()) * params.o_row + step.head * params.o_head;
      store_row(own_row() < rows ? to : nullptr, params.o_dim, sums, factor);
    } else {
      store_rows(stores, &params.o, {0, row, step.head, steps.tensor(step)}, sums, factor);
    }
  }

 private:
  static constexpr auto kRows = static_cast<std::int32_t>(config.kRows);
  HEDDLE_DEVICE static std::int32_t first_row(std::uint32_t t) { return static_cast<std::int32_t>(t) * kRows; }
  HEDDLE_DEVICE static std::int32_t own_row() { return static_cast<std::int32_t>(isa::tid_x()) % kRows; }
};

template <Element T, AttentionSm100Config config, class Score = PlainScores,
          class KBackend = MmaInputBackend<config.stages>, class VBackend = MmaInputBackend<config.stages>>
using AttentionForwardSm100 =
    AttentionSm100<T, config, AttentionForwardWork<T, config, Score>, KBackend, VBackend>;

}  // namespace heddle::inline HEDDLE_TARGET
