// SPDX-License-Identifier: Apache-2.0
//
// What attention computes, whichever device runs it, for each query i of each head of each batch:
//
//   o[i]   = sum over keys j of softmax(q[i] . k[j] * scale) * v[j]
//   lse[i] = log(sum over j of exp(q[i] . k[j] * scale))
//
// over the keys that the query sees: all of them, or under a causal mask those up to i + keys - queries, so that
// the last query sees the last key. A query that sees none has an output of zeros and an lse of minus infinity.
// Heads of queries share heads of keys and values in groups of heads / key_heads.
//
//   AttentionProblem problem{.batches = 2, .heads = 32, .key_heads = 8, .queries = 4096, .keys = 4096,
//                            .is_causal = true};
//
// Weights are rounded to the type of V before they are multiplied; sums are floats.
#pragma once

#include <cstdint>
#include <string>

namespace heddle {

enum class AttentionElement : std::uint8_t { kBf16, kFp16 };

// From one row, head or batch to the next, in elements; 0: rows follow one another, then heads, then batches.
struct AttentionStrides {
  std::int64_t row = 0;
  std::int64_t head = 0;
  std::int64_t batch = 0;
};

struct AttentionProblem {
  std::int64_t batches = 1;
  std::int64_t heads = 1;
  std::int64_t key_heads = 0;  // of keys and values; 0: as many as heads
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_dim = 128;  // of Q and K; a multiple of 8 up to 256
  std::int64_t value_dim = 0;   // of V and O, likewise; 0: as head_dim
  AttentionElement type = AttentionElement::kBf16;
  bool is_causal = false;
  std::int64_t window = 0;  // under a causal mask: a query sees so many keys, its own included; 0: all
  float soft_cap = 0;       // of scores; 0: none
  float scale = 0;          // 0: 1 / sqrt(head_dim)
  AttentionStrides q_strides = {};
  AttentionStrides k_strides = {};
  AttentionStrides v_strides = {};
  AttentionStrides o_strides = {};
  // Where batches lie one after another in the rows of one tensor (AttentionTensors has their offsets): so many
  // rows there are, and `queries` and `keys` are those of the longest batches. 0: every batch has as many.
  std::int64_t query_rows = 0;
  std::int64_t key_rows = 0;
  bool is_dependent = true;  // on a GPU: may start while the kernel before it in the stream still runs
};

// All in the memory of the device, or all in the host's: see attention().
struct AttentionTensors {
  const void* q = nullptr;       // [batches, heads, queries, head_dim]
  const void* k = nullptr;       // [batches, key_heads, keys, head_dim]
  const void* v = nullptr;       // [batches, key_heads, keys, value_dim]
  void* o = nullptr;             // [batches, heads, queries, value_dim]
  float* lse = nullptr;          // [batches, heads, queries], without gaps; null: not wanted
  const float* sinks = nullptr;  // [heads]; null: none
  // Where batches lie one after another: batch i has the rows from offset i to offset i + 1, and there is one
  // offset more than batches. Q, K, V and O are [1, heads, query_rows or key_rows, dim], and lse is [heads,
  // query_rows].
  const std::int32_t* query_offsets = nullptr;
  const std::int32_t* key_offsets = nullptr;
};

}  // namespace heddle
