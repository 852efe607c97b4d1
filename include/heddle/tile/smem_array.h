// SPDX-License-Identifier: Apache-2.0
//
// Arrays of tiles in shared memory: storage, to be a member of a kernel's shared-memory struct. The alignment
// that TMA and the swizzle need is part of each type: 128 bytes, or the repeat of the swizzle where that is
// more. Each tile of an array starts on it, and operator[] gives it as a TileTensor.
//
//   SMemTileArray2D<bf16, TileShape{128, 64}, 4, Swizzle::k128B> a_tiles;   // four stages, 1024-byte aligned
//   const auto a = a_tiles[stage];
//   isa::cp_async_bulk_tensor_load(a.data(), &a_map, {k, row}, full);
//
// SMemTileArray2D and SMemTileArray2DRowMajor hold tiles that TMA can copy, and refuse to compile others.
// SMemTileArrayWithLayout takes any layout; SMemArray is plain memory, for what is no tile.
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/tile/element.h>
#include <heddle/tile/layout.h>
#include <heddle/tile/swizzle.h>
#include <heddle/tile/tile_tensor.h>

namespace heddle::inline HEDDLE_TARGET {

// Rows and columns of a tile as it is stored, in elements; the columns are contiguous.
struct TileShape {
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;

  bool operator==(const TileShape&) const = default;
};

// The tiles of an array without their number: a pointer to the first. Copied freely.
template <Element T, Layout tile_layout>
class SMemTileView {
 public:
  using Tile = TileTensor<T, tile_layout>;
  static constexpr Layout layout = tile_layout;
  static constexpr std::uint32_t alignment = tile_layout.alignment();

  // From one tile to the next: what the tile takes, and a gap where that is not a multiple of the alignment.
  static constexpr std::uint32_t tile_stride_bytes =
      (tile_layout.bytes() + alignment - 1) / alignment * alignment;

  HEDDLE_HOST_DEVICE explicit constexpr SMemTileView(unsigned char* first) : first_(first) {}

  HEDDLE_HOST_DEVICE Tile operator[](std::uint32_t tile_idx) const {
    return Tile(reinterpret_cast<T*>(first_ + tile_idx * tile_stride_bytes));
  }

 private:
  unsigned char* first_;
};

// Tiles of any layout. A tile that is not a multiple of its alignment is followed by a gap.
template <Element T, Layout tile_layout, std::uint32_t tile_count>
struct SMemTileArrayWithLayout {
  static_assert(tile_count > 0, "an array of tiles needs a tile: make its number of tiles (stages) 1 or more");
  static_assert(tile_layout.element_bytes == element_bytes<T>,
                "the layout was made for elements of another size: make it with the array's element type");

  using View = SMemTileView<T, tile_layout>;
  using Tile = typename View::Tile;
  static constexpr Layout layout = tile_layout;
  static constexpr std::uint32_t num_tiles = tile_count;
  static constexpr std::uint32_t alignment = View::alignment;
  static constexpr std::uint32_t tile_stride_bytes = View::tile_stride_bytes;

  HEDDLE_HOST_DEVICE View view() { return View(storage); }
  HEDDLE_HOST_DEVICE Tile operator[](std::uint32_t tile_idx) { return view()[tile_idx]; }

  alignas(alignment) unsigned char storage[std::size_t{tile_count} * tile_stride_bytes];
};

// Tiles that one TMA box per swizzle span of columns fills: see k_major_tile in layout.h.
template <Element T, TileShape shape, std::uint32_t tile_count, Swizzle swizzle = Swizzle::k128B>
struct SMemTileArray2D;

// The same without a swizzle: rows follow one another with no gap.
template <Element T, TileShape shape, std::uint32_t tile_count>
struct SMemTileArray2DRowMajor;

// Plain memory for `array_count` objects. `load` and `store` are seen by the simulated SM; what goes through
// `ptr` to instructions (barriers, copies) is too.
template <class T, std::uint32_t array_count, std::uint32_t array_alignment = alignof(T)>
struct SMemArray {
  static_assert(array_count > 0, "an array in shared memory needs an element: make its count 1 or more");
  static_assert(array_alignment >= alignof(T) && (array_alignment & (array_alignment - 1)) == 0,
                "the alignment must be a power of two and no less than that of the elements");

  static constexpr std::uint32_t count = array_count;
  static constexpr std::uint32_t alignment = array_alignment;

  HEDDLE_HOST_DEVICE constexpr T* ptr(std::uint32_t idx = 0) { return storage + idx; }

  HEDDLE_DEVICE T load(std::uint32_t idx, CallSite site = CallSite::here()) const {
    return isa::ld_shared(storage + idx, site);
  }
  HEDDLE_DEVICE void store(T value, std::uint32_t idx, CallSite site = CallSite::here()) {
    isa::st_shared(storage + idx, value, site);
  }

  // The whole array as one tile.
  template <Layout tile_layout>
  HEDDLE_HOST_DEVICE constexpr TileTensor<T, tile_layout> tile() {
    static_assert(array_alignment % tile_layout.alignment() == 0,
                  "the array is not aligned as the tile needs: make SMemArray's third argument the layout's "
                  "alignment()");
    static_assert(std::size_t{array_count} * sizeof(T) >= tile_layout.bytes(),
                  "the tile is larger than the array: make its count at least the layout's bytes() / sizeof(T)");
    return TileTensor<T, tile_layout>(storage);
  }

  alignas(array_alignment) T storage[array_count];
};

namespace detail {

// The rules for a tile that TMA copies, one message each; the numbers are in the template arguments. The
// layout exists only where they hold, so that a broken rule is not followed by the layout's own errors.
template <std::uint32_t rows, std::uint32_t row_bytes, std::uint32_t element_bytes, Swizzle swizzle>
struct TmaTileRules {
  static constexpr std::uint32_t span = swizzle == Swizzle::kNone ? row_bytes : span_bytes(swizzle);
  static constexpr std::uint32_t alignment = repeat_bytes(swizzle) > tma_alignment_bytes ? repeat_bytes(swizzle)
                                                                                         : tma_alignment_bytes;

  static constexpr bool rows_fit = rows >= 1 && rows <= max_box_elems;
  static_assert(rows_fit, "a TMA box has 1 to 256 rows: make the tile's rows at most 256");

  static constexpr bool row_is_whole = row_bytes > 0 && row_bytes % box_alignment_bytes == 0;
  static_assert(row_is_whole, "a row of a TMA tile is a multiple of 16 bytes: change the tile's columns");

  static constexpr bool swizzle_fits = row_bytes >= span;
  static_assert(
      swizzle_fits,
      "the swizzle is wider than a row of the tile: widen the rows to its span, or choose a swizzle that "
      "spans no more bytes than a row has");

  static constexpr bool spans_are_whole = !swizzle_fits || !row_is_whole || row_bytes % span == 0;
  static_assert(
      spans_are_whole,
      "a swizzled row is a whole number of swizzle spans: make the tile's columns a multiple of the span");

  static constexpr bool box_fits = swizzle != Swizzle::kNone || row_bytes / element_bytes <= max_box_elems;
  static_assert(box_fits,
                "a TMA box has at most 256 columns: make an unswizzled tile's columns at most 256, or use a "
                "swizzle, which cuts rows into spans");

  static constexpr bool is_tma_tile = rows_fit && row_is_whole && swizzle_fits && spans_are_whole && box_fits;
  static constexpr bool is_aligned = !is_tma_tile || rows * row_bytes % alignment == 0;
  static_assert(
      is_aligned,
      "the next stage's tile would be misaligned: rows times row bytes must be a multiple of the "
      "alignment, which is the repeat of the swizzle (256 bytes for k32B, 512 for k64B, 1024 for k128B) and "
      "at least 128 bytes. Change the tile's rows");

  static constexpr bool hold = is_tma_tile && is_aligned;
};

template <Element T, TileShape shape, Swizzle swizzle>
HEDDLE_HOST_DEVICE constexpr Layout tma_tile_layout() {
  if constexpr (TmaTileRules<shape.rows, shape.cols * element_bytes<T>, element_bytes<T>, swizzle>::hold) {
    return k_major_tile<T>(shape.rows, shape.cols, swizzle);
  } else {
    return row_major<T>(1, 1);
  }
}

}  // namespace detail

template <Element T, TileShape shape, std::uint32_t tile_count, Swizzle swizzle>
struct SMemTileArray2D : SMemTileArrayWithLayout<T, detail::tma_tile_layout<T, shape, swizzle>(), tile_count> {};

template <Element T, TileShape shape, std::uint32_t tile_count>
struct SMemTileArray2DRowMajor
    : SMemTileArrayWithLayout<T, detail::tma_tile_layout<T, shape, Swizzle::kNone>(), tile_count> {};

}  // namespace heddle::inline HEDDLE_TARGET
