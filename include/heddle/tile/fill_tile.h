// SPDX-License-Identifier: Apache-2.0
//
// From the registers of a warp to a tile in shared memory, converted to the tile's type. Which thread has which
// numbers is the policy: as wgmma leaves its sums, or a row for each lane, as tcgen05.ld does.
//
//   auto c = stores.acquire();                     // StoreTilePipeline<CTiles, 1>, tiles of 16 rows
//   fill_from_wgmma<first_col>(c.tile(), sums);    // its columns are first_col and on of the sums
//   std::move(c).release(&params.c, {col, row});
#pragma once

#include <heddle/isa/matrix.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/tile_tensor.h>

namespace heddle::inline HEDDLE_TARGET {

namespace detail {

struct alignas(8) FloatPair {
  float first;
  float second;
};

// Both multiples of 16. A swizzle moves bytes inside a line, so whole rows stay whole.
template <std::uint32_t threads>
HEDDLE_DEVICE void clear_bytes(void* from, std::uint32_t begin, std::uint32_t end, std::uint32_t thread,
                               CallSite site) {
  auto* const bytes = static_cast<unsigned char*>(from);
  for (std::uint32_t at = begin + thread * 16; at < end; at += threads * 16) {
    isa::st_shared(reinterpret_cast<isa::Bytes16*>(bytes + at), isa::Bytes16{}, site);
  }
}

}  // namespace detail

// By a whole warp: its 16 rows of wgmma's sums, which are the accumulators of each thread, or WgmmaValues.
// Columns from `first_col` on fill the tile. PTX: Register Fragments for wgmma.mma_async; stmatrix.
//
// Floats are stored two at a time, unless `in_pairs` is false. Pairs bind ptxas: it keeps such sums in an even
// and an odd register, as wgmma's are, and where others are multiplied and added to them all three operands of
// half of the instructions are in one bank (3 % of a blockwise matmul on an H200).
template <std::uint32_t first_col = 0, bool in_pairs = true, OutputElement T, Layout layout, class Sums>
HEDDLE_DEVICE void fill_from_wgmma(const TileTensor<T, layout>& tile, const Sums& sums,
                                   CallSite site = CallSite::here()) {
  constexpr std::uint32_t cols = layout.shape[1];
  static_assert(layout.rank == 2 && layout.shape[0] == 16,
                "a warp has 16 rows of the sums: make the tile's rows 16");
  static_assert(cols % 8 == 0 && first_col % 8 == 0, "wgmma's columns come in eights: take so many, from there");
  const std::uint32_t lane = isa::laneid() % 32;  // said for the compiler, which knows no bound
  HEDDLE_UNROLL
  for (std::uint32_t col = 0; col < cols; col += 8) {
    const std::uint32_t from =
        (first_col + col) / 2;  // registers 0 and 1 of row lane / 4, 2 and 3 of the 8th below
    if constexpr (sizeof(T) == 2) {
      if (col % 16 != 0) continue;
      if (col + 16 <= cols) {
        isa::stmatrix_x4(
            tile.pointer(lane % 16, col + lane / 16 * 8),
            {pack_pair<T>(sums[from], sums[from + 1]), pack_pair<T>(sums[from + 2], sums[from + 3]),
             pack_pair<T>(sums[from + 4], sums[from + 5]), pack_pair<T>(sums[from + 6], sums[from + 7])},
            site);
      } else {
        isa::stmatrix_x2(tile.pointer(lane % 16, col),
                         {pack_pair<T>(sums[from], sums[from + 1]), pack_pair<T>(sums[from + 2], sums[from + 3])},
                         site);
      }
    } else if constexpr (sizeof(T) == 1) {
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < 2; ++i) {
        isa::st_shared(reinterpret_cast<std::uint16_t*>(tile.pointer(lane / 4 + i * 8, col + lane % 4 * 2)),
                       static_cast<std::uint16_t>(pack_pair<T>(sums[from + 2 * i], sums[from + 2 * i + 1])),
                       site);
      }
    } else if constexpr (!in_pairs) {
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < 4; ++i) {
        tile.store(sums[from + i], lane / 4 + i / 2 * 8, col + lane % 4 * 2 + i % 2, site);
      }
    } else {
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < 2; ++i) {
        isa::st_shared(reinterpret_cast<detail::FloatPair*>(tile.pointer(lane / 4 + i * 8, col + lane % 4 * 2)),
                       {sums[from + 2 * i], sums[from + 2 * i + 1]}, site);
      }
    }
  }
}

// By any thread: `count` neighbours of a row, from a column on that is a multiple of 16 bytes.
template <OutputElement T, Layout layout, std::uint32_t count>
HEDDLE_DEVICE void fill_row(const TileTensor<T, layout>& tile, std::uint32_t row, std::uint32_t col,
                            const float (&values)[count], CallSite site = CallSite::here()) {
  constexpr std::uint32_t per_16_bytes = 16 / sizeof(T);
  static_assert(count % per_16_bytes == 0, "rows are filled 16 bytes at a time: give as many numbers");
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < count; i += per_16_bytes) {
    isa::Bytes16 bytes;
    HEDDLE_UNROLL
    for (std::uint32_t w = 0; w < 4; ++w) {
      if constexpr (sizeof(T) == 2) {
        bytes.word[w] = pack_pair<T>(values[i + 2 * w], values[i + 2 * w + 1]);
      } else if constexpr (sizeof(T) == 1) {
        bytes.word[w] = pack_pair<T>(values[i + 4 * w], values[i + 4 * w + 1]) |
                        pack_pair<T>(values[i + 4 * w + 2], values[i + 4 * w + 3]) << 16;
      } else {
        bytes.word[w] = __builtin_bit_cast(std::uint32_t, values[i + w]);
      }
    }
    tile.store_bytes16(bytes, row, col + i, site);
  }
}

// The other way: adds a row of a tile, times a factor, to numbers in registers.
template <OutputElement T, Layout layout, std::uint32_t count>
HEDDLE_DEVICE void add_row(const TileTensor<T, layout>& tile, std::uint32_t row, float factor,
                           float (&values)[count], CallSite site = CallSite::here()) {
  constexpr std::uint32_t per_word = 4 / sizeof(T);
  static_assert(count % (4 * per_word) == 0, "rows are read 16 bytes at a time: give as many numbers");
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < count; i += 4 * per_word) {
    const isa::Bytes16 bytes = tile.load_bytes16(row, i, site);
    HEDDLE_UNROLL
    for (std::uint32_t e = 0; e < 4 * per_word; ++e) {
      values[i + e] += factor * element_of<T>(bytes.word[e / per_word], e % per_word);
    }
  }
}

// By `threads` threads: zeros in the rows from `first` on, and in the panels. Each says which of them it is, or
// the first of them has number 0 in the CTA.
template <std::uint32_t threads, Element T, Layout layout>
HEDDLE_DEVICE void clear_rows_by(std::uint32_t thread, const TileTensor<T, layout>& tile, std::uint32_t first,
                                 CallSite site = CallSite::here()) {
  HEDDLE_UNROLL
  for (std::uint32_t panel = 0; panel < layout.panels(); ++panel) {
    detail::clear_bytes<threads>(tile.panel_data(panel), first * layout.stride_bytes[0],
                                 layout.shape[0] * layout.stride_bytes[0], thread, site);
  }
}
template <std::uint32_t threads, Element T, Layout layout>
HEDDLE_DEVICE void clear_rows(const TileTensor<T, layout>& tile, std::uint32_t first,
                              CallSite site = CallSite::here()) {
  clear_rows_by<threads>(isa::tid_x(), tile, first, site);
}
template <std::uint32_t threads, Element T, Layout layout>
HEDDLE_DEVICE void clear_panels(const TileTensor<T, layout>& tile, std::uint32_t first,
                                CallSite site = CallSite::here()) {
  detail::clear_bytes<threads>(tile.data(), first * layout.panel_stride_bytes, layout.bytes(), isa::tid_x(),
                               site);
}

}  // namespace heddle::inline HEDDLE_TARGET
