// SPDX-License-Identifier: Apache-2.0
//
// How a tile of up to five dimensions lies in shared memory: shape, strides and swizzle, known at compile
// time and usable as a template argument. The last dimension may be cut into panels that follow one another,
// which is what several TMA boxes side by side leave behind.
//
//   constexpr Layout a = k_major_tile<bf16>(128, 128, Swizzle::k128B);
//   static_assert(a.panels() == 2 && a.bytes() == 32768 && a.alignment() == 1024);
//   static_assert(a.offset_bytes(1, 64) == 16384 + 128 + 16);  // second panel, line 1
#pragma once

#include <cstdint>

#include <heddle/isa/target.h>
#include <heddle/tile/element.h>
#include <heddle/tile/swizzle.h>

namespace heddle::inline HEDDLE_TARGET {

inline constexpr std::uint32_t max_tile_rank = 5;

// Limits of the copy engine, for every mode. PTX: Tensors; driver API: cuTensorMapEncodeTiled.
inline constexpr std::uint32_t max_box_elems = 256;
inline constexpr std::uint32_t box_alignment_bytes = 16;
inline constexpr std::uint32_t tma_alignment_bytes = 128;

// The box of a TMA copy, in elements, innermost dimension first as tensor maps have it.
struct TmaBox {
  std::uint32_t rank = 0;
  std::uint32_t dims[max_tile_rank] = {};

  bool operator==(const TmaBox&) const = default;
};

struct Layout {
  std::uint32_t rank = 0;
  std::uint32_t element_bytes = 0;
  std::uint32_t shape[max_tile_rank] = {};         // elements, outermost dimension first
  std::uint32_t stride_bytes[max_tile_rank] = {};  // from one index to the next, within a panel
  std::uint32_t panel_elems = 0;                   // the part of the last dimension that one panel holds
  std::uint32_t panel_stride_bytes = 0;            // from one panel to the next
  Swizzle swizzle = Swizzle::kNone;

  bool operator==(const Layout&) const = default;

  // Where element (i, j, ...) lies, for a tile that starts on a multiple of alignment().
  template <class... Index>
  HEDDLE_HOST_DEVICE constexpr std::uint32_t offset_bytes(Index... index) const {
    return swizzled(swizzle, linear_bytes(index...));
  }

  // The same before the swizzle. Tiles that start elsewhere add their address first and swizzle the sum.
  template <class... Index>
  HEDDLE_HOST_DEVICE constexpr std::uint32_t linear_bytes(Index... index) const {
    static_assert(sizeof...(Index) >= 1 && sizeof...(Index) <= max_tile_rank, "a tile has 1 to 5 indices");
    if (sizeof...(Index) != rank) {
      a_tile_takes_as_many_indices_as_it_has_dimensions();
    }
    const std::uint32_t indices[] = {static_cast<std::uint32_t>(index)...};
    constexpr std::uint32_t last = sizeof...(Index) - 1;
    // Where one panel holds all, the compiler must not look for the panel: it would divide.
    std::uint32_t sum = panels() == 1 ? indices[last] * stride_bytes[last]
                                      : indices[last] / panel_elems * panel_stride_bytes +
                                            indices[last] % panel_elems * stride_bytes[last];
    for (std::uint32_t d = 0; d < last; ++d) {
      sum += indices[d] * stride_bytes[d];
    }
    return sum;
  }

  // Elements in the tile.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t size() const {
    std::uint32_t product = 1;
    for (std::uint32_t d = 0; d < rank; ++d) {
      product *= shape[d];
    }
    return product;
  }

  // Bytes to set aside for it, the gaps between short rows included.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t bytes() const {
    std::uint32_t most = panels() * panel_stride_bytes;
    for (std::uint32_t d = 0; d + 1 < rank; ++d) {
      most = most > shape[d] * stride_bytes[d] ? most : shape[d] * stride_bytes[d];
    }
    return most;
  }

  // Bytes that copying the whole tile signals to a barrier: elements only, no gaps.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t tx_bytes() const { return size() * element_bytes; }

  // Tiles start on multiples of this, so that the swizzle pattern starts with them and TMA can reach them.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t alignment() const {
    const std::uint32_t repeat = repeat_bytes(swizzle);
    return repeat > tma_alignment_bytes ? repeat : tma_alignment_bytes;
  }

  // The tile takes one copy of box() per panel; copy p goes to p * panel_stride_bytes.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t panels() const {
    return (shape[rank - 1] + panel_elems - 1) / panel_elems;
  }
  HEDDLE_HOST_DEVICE constexpr TmaBox box() const {
    TmaBox result{.rank = rank};
    for (std::uint32_t d = 0; d < rank; ++d) {
      result.dims[d] = shape[rank - 1 - d];
    }
    result.dims[0] = panel_elems;
    return result;
  }

 private:
  // Reached while a constant is computed, this stops the compiler with its name.
  HEDDLE_HOST_DEVICE static void a_tile_takes_as_many_indices_as_it_has_dimensions() {}
};

// What the helpers below refuse (no elements, or boxes that TMA cannot copy) does not compile; asked for at run
// time it is a layout of rank 0.

// Dense, the last dimension contiguous: row_major<float>(rows, cols), up to five dimensions.
template <Element T, class... Extent>
HEDDLE_HOST_DEVICE constexpr Layout row_major(Extent... extent);

// What TMA boxes {cols, rows} with this swizzle leave in shared memory. Rows wider than the span become
// panels, one box each; rows narrower than the span still take a span each. This is a K-major MMA operand of
// `rows` along M or N; an MN-major one is the same with K as its rows. Without a swizzle rows follow one
// another with no gap, which no MMA can read: that is core_matrix_tile.
template <Element T>
HEDDLE_HOST_DEVICE constexpr Layout k_major_tile(std::uint32_t rows, std::uint32_t cols, Swizzle swizzle);

// The K-major MMA operand without a swizzle: columns of 16-byte rows, one box {16 bytes, rows} each.
template <Element T>
HEDDLE_HOST_DEVICE constexpr Layout core_matrix_tile(std::uint32_t rows, std::uint32_t cols);

namespace detail {

// Reached while a constant is computed, each of these stops the compiler with its name.
HEDDLE_HOST_DEVICE Layout every_extent_of_a_tile_must_be_at_least_1() { return {}; }
HEDDLE_HOST_DEVICE Layout tile_rows_must_be_1_to_256() { return {}; }
HEDDLE_HOST_DEVICE Layout tile_row_must_be_a_multiple_of_16_bytes() { return {}; }
HEDDLE_HOST_DEVICE Layout unswizzled_tile_row_must_be_at_most_256_elements() { return {}; }
HEDDLE_HOST_DEVICE Layout tile_row_must_be_a_whole_number_of_swizzle_spans() { return {}; }
HEDDLE_HOST_DEVICE Layout panel_of_a_tile_must_be_a_multiple_of_128_bytes() { return {}; }

template <Element T>
HEDDLE_HOST_DEVICE constexpr Layout panelled_tile(std::uint32_t rows, std::uint32_t cols,
                                                  std::uint32_t panel_elems, std::uint32_t pitch_bytes,
                                                  Swizzle swizzle) {
  if (rows < 1 || rows > max_box_elems) {
    return tile_rows_must_be_1_to_256();
  }
  if (cols < 1 || cols * element_bytes<T> % box_alignment_bytes != 0) {
    return tile_row_must_be_a_multiple_of_16_bytes();
  }
  if (panel_elems > max_box_elems) {
    return unswizzled_tile_row_must_be_at_most_256_elements();
  }
  if (cols % panel_elems != 0) {
    return tile_row_must_be_a_whole_number_of_swizzle_spans();
  }
  if (cols > panel_elems && rows * pitch_bytes % tma_alignment_bytes != 0) {
    return panel_of_a_tile_must_be_a_multiple_of_128_bytes();
  }
  return {.rank = 2,
          .element_bytes = element_bytes<T>,
          .shape = {rows, cols},
          .stride_bytes = {pitch_bytes, element_bytes<T>},
          .panel_elems = panel_elems,
          .panel_stride_bytes = rows * pitch_bytes,
          .swizzle = swizzle};
}

}  // namespace detail

template <Element T, class... Extent>
HEDDLE_HOST_DEVICE constexpr Layout row_major(Extent... extent) {
  static_assert(sizeof...(Extent) >= 1 && sizeof...(Extent) <= max_tile_rank, "a tile has 1 to 5 extents");
  Layout layout{.rank = sizeof...(Extent),
                .element_bytes = element_bytes<T>,
                .shape = {static_cast<std::uint32_t>(extent)...}};
  std::uint32_t stride = element_bytes<T>;
  for (std::uint32_t d = layout.rank; d-- > 0;) {
    if (layout.shape[d] < 1) {
      return detail::every_extent_of_a_tile_must_be_at_least_1();
    }
    layout.stride_bytes[d] = stride;
    stride *= layout.shape[d];
  }
  layout.panel_elems = layout.shape[layout.rank - 1];
  layout.panel_stride_bytes = layout.panel_elems * element_bytes<T>;
  return layout;
}

template <Element T>
HEDDLE_HOST_DEVICE constexpr Layout k_major_tile(std::uint32_t rows, std::uint32_t cols, Swizzle swizzle) {
  const std::uint32_t row_bytes = cols * element_bytes<T>;
  if (swizzle == Swizzle::kNone) {
    return detail::panelled_tile<T>(rows, cols, cols, row_bytes, swizzle);
  }
  const std::uint32_t span = span_bytes(swizzle);
  const std::uint32_t panel_elems = row_bytes < span ? cols : span / element_bytes<T>;
  return detail::panelled_tile<T>(rows, cols, panel_elems, span, swizzle);
}

template <Element T>
HEDDLE_HOST_DEVICE constexpr Layout core_matrix_tile(std::uint32_t rows, std::uint32_t cols) {
  constexpr std::uint32_t span = span_bytes(Swizzle::kNone);
  return detail::panelled_tile<T>(rows, cols, span / element_bytes<T>, span, Swizzle::kNone);
}

}  // namespace heddle::inline HEDDLE_TARGET
