// SPDX-License-Identifier: Apache-2.0
//
// The work of decoding attention on Blackwell: few queries and many keys. The queries of all heads that share a
// head of keys are the rows of one tile, and a CTA has an equal part of all keys (attention_pieces.h). Where a
// head's keys are in several pieces, each CTA writes what it found, and a second kernel joins these
// (attention_join.h).
//
// K and V may lie in pages: a table gives the page of each so many keys. Pages that the table has no right to
// name are read as zeros, never outside of the tensors: the copy engine knows how many there are.
#pragma once

#include "attention_decode_params.h"
#include "attention_load.h"
#include "attention_mask.h"
#include "attention_pages.h"
#include "attention_row_store.h"
#include "attention_sm100.h"

#include <heddle/isa/sreg.h>

namespace heddle::inline HEDDLE_TARGET {

// `page_rows` are those of a copy: pages have a multiple of them.
template <Element T, AttentionSm100Config config, std::uint32_t page_rows>
struct AttentionDecodeWork {
  static_assert(config.tiles == 1, "heads that share keys are the rows of one tile");
  using Params = AttentionDecodeParams;
  using Pieces = AttentionPieces::Of<config.keys>;
  static constexpr bool kClears = true;

  // A tile of keys of a piece.
  struct Step {
    AttentionPieces::Piece piece;
    Pieces later;  // those after this one
    std::int32_t first_key;
    std::int32_t tile;
    std::int32_t tiles;
  };
  class Steps {
   public:
    HEDDLE_DEVICE explicit Steps(const Params& params)
        : pieces_(params.extents, isa::ctaid().x, isa::nctaid().x), has_any_(pieces_.next(piece_)) {}

    HEDDLE_DEVICE bool is_empty() const { return !has_any_; }
    HEDDLE_DEVICE Step first() const { return begin(piece_, pieces_); }
    HEDDLE_DEVICE bool next(Step& step) const {
      step.first_key += static_cast<std::int32_t>(config.keys);
      if (++step.tile < step.tiles) return true;
      AttentionPieces::Piece piece;
      if (!step.later.next(piece)) return false;
      step.piece = piece;
      step.first_key = piece.first_key;
      step.tile = 0;
      step.tiles = piece.tiles;
      return true;
    }

   private:
    HEDDLE_DEVICE static Step begin(const AttentionPieces::Piece& piece, const Pieces& later) {
      return {.piece = piece, .later = later, .first_key = piece.first_key, .tile = 0, .tiles = piece.tiles};
    }

    AttentionPieces::Piece piece_;
    Pieces pieces_;
    bool has_any_;
  };

  HEDDLE_DEVICE static Steps steps(const Params& params) { return Steps(params); }

  template <class Ring, class Tiles>
  HEDDLE_DEVICE static void load_queries(const Params& params, const Steps&, const Step& step, std::uint32_t,
                                         Ring& ring, Tiles& tiles) {
    load_stage(ring, tiles, params.q, {0, 0, step.piece.head, step.piece.batch});
  }
  template <class Ring, class Tiles>
  HEDDLE_DEVICE static void load(const Params& params, const isa::TensorMap& map, const Steps&, const Step& step,
                                 Ring& ring, Tiles& tiles) {
    load_pages<Page<Tiles>>(params, map, ring, tiles, step.piece, step.first_key);
  }
  HEDDLE_DEVICE static std::int32_t keys_left(const Params&, const Steps&, const Step& step) {
    return step.piece.length - step.first_key;
  }

  template <class Row>
  HEDDLE_DEVICE static void mask(Row& s, const Params& params, const Steps&, const Step& step, std::uint32_t) {
    const AttentionPieces::Extents& extents = params.extents;
    CappedScores::apply(s, params.score,
                        {.first_query = 0, .first_key = step.first_key, .head = step.piece.head, .batch = 0});
    const std::int32_t later = extents.queries - 1 - own_row() % extents.queries;
    mask_row<true, true>(s, {.first_key = step.first_key,
                             .keys = step.piece.length,
                             .seen = step.piece.length - (params.is_causal ? later : 0),
                             .window = extents.window});
  }

  // The logarithm of a row, or of this CTA's part of it; what its sums are to be multiplied with.
  template <class Softmax>
  HEDDLE_DEVICE static float end(const Params& params, const Steps&, const Step& step, std::uint32_t,
                                 const Softmax& softmax) {
    const AttentionPieces::Piece& piece = step.piece;
    const std::int32_t row = own_row();
    const bool has_sink = piece.is_whole() && row < params.rows;
    const auto end = softmax.end(params.factor, has_sink ? params.sink_of(piece, row) : -__builtin_huge_valf());
    if (row < params.rows && !piece.is_whole()) {
      isa::st_global(&params.part_sums[slot_row(params, piece)], end.log2_sum);
    } else if (row < params.rows && params.lse != nullptr) {
      isa::st_global(params.lse_at(piece, row), end.log2_sum * kLn2);
    }
    return end.inverse;
  }

  template <class Stores, class Sums>
  HEDDLE_DEVICE static void store(const Params& params, const Steps&, const Step& step, std::uint32_t, Stores&,
                                  const Sums& sums, float factor) {
    const AttentionPieces::Piece& piece = step.piece;
    const bool has_row = own_row() < params.rows;
    if (piece.is_whole()) {
      store_row(has_row ? params.template output_at<T>(piece, own_row()) : nullptr, params.value_dim, sums,
                factor);
    } else {
      float* const part = &params.parts[slot_row(params, piece) * params.value_dim];
      store_row(has_row ? part : nullptr, params.value_dim, sums, factor);
    }
  }

 private:
  template <class Tiles>
  using Page = SMemTileArray2D<T, TileShape{page_rows, Tiles::Tile::layout.shape[1]}, 1>;

  HEDDLE_DEVICE static std::int32_t own_row() { return static_cast<std::int32_t>(isa::tid_x() % config.kRows); }
  HEDDLE_DEVICE static std::int64_t slot_row(const Params& params, const AttentionPieces::Piece& piece) {
    const auto cta = static_cast<std::int32_t>(isa::ctaid().x);
    return std::int64_t{piece.slot(cta)} * params.rows + own_row();
  }
};

template <Element T, AttentionSm100Config config, std::uint32_t page_rows,
          class KBackend = MmaInputBackend<config.stages>, class VBackend = MmaInputBackend<config.stages>>
struct AttentionDecodeSm100
    : AttentionSm100<T, config, AttentionDecodeWork<T, config, page_rows>, KBackend, VBackend> {
  // What a copy brings.
  using KPage = SMemTileArray2D<T, TileShape{page_rows, config.head_dim}, 1>;
  using VPage = SMemTileArray2D<T, TileShape{page_rows, config.value_dim}, 1>;
};

}  // namespace heddle::inline HEDDLE_TARGET
