// SPDX-License-Identifier: Apache-2.0
//
// What forward attention is given, on Hopper and on Blackwell.
#pragma once

#include "attention_steps.h"

#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/tile/element.h>

namespace heddle::inline HEDDLE_TARGET {

template <Element T, class Score>
struct AttentionParams {
  isa::TensorMap q;  // {dim, query, head, batch}
  isa::TensorMap k;  // {dim, key, key head, batch}
  isa::TensorMap v;
  isa::TensorMap o;  // as q
  AttentionSteps::Extents extents;
  std::uint32_t heads_per_key_head;
  T* o_data;  // where batches lie one after another: strides in elements
  std::int64_t o_row;
  std::int64_t o_head;
  std::int32_t o_dim;
  float* lse;          // [batches, heads, queries], or null; [heads, query rows] where batches do
  const float* sinks;  // [heads], or null
  float factor;        // of scores, for powers of two
  typename Score::Params score;
};

}  // namespace heddle::inline HEDDLE_TARGET
