// SPDX-License-Identifier: Apache-2.0
//
// A tile of keys or values of a cache into the next stage of a ring: where the cache lies in pages, page by page.
#pragma once

#include "attention_decode_params.h"

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/tile/load_tile.h>

namespace heddle::inline HEDDLE_TARGET {

// By one thread: waits until the stage is empty. A copy brings a `Page`.
template <class Page, class Ring, class Tiles>
HEDDLE_DEVICE void load_pages(const AttentionDecodeParams& params, const isa::TensorMap& map, Ring& ring,
                              Tiles& tiles, const AttentionPieces::Piece& piece, std::int32_t first_key) {
  constexpr Layout layout = Tiles::Tile::layout;
  constexpr std::uint32_t rows = Page::Tile::layout.shape[0];
  const auto stage = ring.produce();
  stage.expect_bytes(Tiles::Tile::tx_bytes());
  const auto tile = tiles[stage.index()];
  HEDDLE_UNROLL
  for (std::uint32_t part = 0; part < layout.shape[0] / rows; ++part) {
    const std::int32_t key = first_key + static_cast<std::int32_t>(part * rows);
    std::int32_t row = key;
    std::int32_t page = piece.batch;
    if (params.page_size != 0) {
      row = key % params.page_size;
      // What lies after the last key is read from no page: zeros.
      page =
          key < piece.length
              ? isa::ld_global(
                    &params.page_table[std::int64_t{piece.batch} * params.table_stride + key / params.page_size])
              : -1;
    }
    load_tile(tile.template slice<rows, layout.shape[1]>(part), &map, {0, row, piece.head, page}, stage.mbar());
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
