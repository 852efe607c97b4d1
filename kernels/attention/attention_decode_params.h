// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of decoding attention have in common: the one that reads K and V, and the one that joins what
// its workers found of heads that several of them had.
#pragma once

#include "attention_pieces.h"
#include "attention_scores.h"

#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map.h>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionDecodeParams {
  isa::TensorMap q;  // {dim, head of the group and query, key head, batch}
  isa::TensorMap k;  // {dim, key, key head, batch}, or {dim, key of the page, key head, page}
  isa::TensorMap v;
  AttentionPieces::Extents extents;
  std::int32_t rows;  // of a tile of queries: heads that share keys, times queries
  std::int32_t heads_per_key_head;
  std::int32_t value_dim;
  bool is_causal;
  std::int32_t page_size;     // 0: no pages
  std::int32_t table_stride;  // pages of a batch
  const std::int32_t* page_table;
  void* o;
  std::int64_t o_row;  // strides of o, in elements
  std::int64_t o_head;
  std::int64_t o_batch;
  float* lse;          // [batches, heads, queries], or null
  const float* sinks;  // [heads], or null
  float factor;
  CappedScores::Params score;
  float* parts;      // [slots, rows, value_dim], of heads in several pieces
  float* part_sums;  // [slots, rows], logarithms to base two

  HEDDLE_DEVICE std::int32_t head_of(const AttentionPieces::Piece& piece, std::int32_t row) const {
    return piece.head * heads_per_key_head + row / extents.queries;
  }
  // To base two.
  HEDDLE_DEVICE float sink_of(const AttentionPieces::Piece& piece, std::int32_t row) const {
    return log2_sink(sinks, head_of(piece, row));
  }
  template <class T>
  HEDDLE_DEVICE T* output_at(const AttentionPieces::Piece& piece, std::int32_t row) const {
    return static_cast<T*>(o) + piece.batch * o_batch + head_of(piece, row) * o_head +
           row % extents.queries * o_row;
  }
  HEDDLE_DEVICE float* lse_at(const AttentionPieces::Piece& piece, std::int32_t row) const {
    const std::int64_t heads = std::int64_t{extents.key_heads} * heads_per_key_head;
    const std::int64_t head = piece.batch * heads + head_of(piece, row);
    return &lse[head * extents.queries + row % extents.queries];
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
