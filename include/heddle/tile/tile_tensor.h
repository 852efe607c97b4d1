// SPDX-License-Identifier: Apache-2.0
//
// TileTensor: a tile in shared memory. A pointer at run time; shape, strides and swizzle at compile time. A
// kernel indexes it, cuts it into smaller tiles, and hands it to TMA (`data`, `box`, `panel_data`) and to the
// tensor cores (`wgmma_descriptor`, `tcgen05_descriptor`). It does not own the memory and is copied freely.
//
// A swizzle permutes by bits of the absolute shared-memory address. Tiles start on a multiple of
// Layout::alignment(), where the pattern starts anew, so the offset inside the tile decides alone where an
// element lies, and indexing needs the pointer only. Arrays of tiles keep that alignment in their type (see
// smem_array.h) and slices keep it by their rules.
//
//   TileTensor<bf16, k_major_tile<bf16>(128, 64, Swizzle::k128B)> a = storage.a_tiles()[stage];
//   const bf16 value = a.load(row, k);
//   a(row, k) = value;
//   auto upper = a.slice<64, 64>();          // rows 0 to 63
//   auto lower = a.slice<64, 64>(1);         // rows 64 to 127
//   const std::uint64_t descriptor = lower.wgmma_descriptor(0, 16);   // from k = 16 on
#pragma once

#include <heddle/isa/address.h>
#include <heddle/isa/descriptor.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/tile/element.h>
#include <heddle/tile/layout.h>
#include <heddle/tile/swizzle.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// An element of a tile in shared memory, as operator() gives it: reads and writes go through isa/, so that
// the simulated SM sees them.
template <Element T>
class TileElement {
 public:
  HEDDLE_HOST_DEVICE constexpr TileElement(T* shared, CallSite site) : shared_(shared), site_(site) {}

  TileElement(const TileElement&) = default;

  HEDDLE_DEVICE operator T() const { return isa::ld_shared(shared_, site_); }
  HEDDLE_DEVICE const TileElement& operator=(T value) const {
    isa::st_shared(shared_, value, site_);
    return *this;
  }
  // Copies the element, not the reference to it.
  HEDDLE_DEVICE const TileElement& operator=(const TileElement& other) const {
    return *this = static_cast<T>(other);
  }

 private:
  T* shared_;
  [[no_unique_address]] CallSite site_;
};

// A tile as an operand of the tensor cores: tile/operand.h.
template <class Tile, Major operand_major>
class TileOperand;

template <Element T, Layout tile_layout>
class TileTensor {
  static_assert(tile_layout.rank >= 1 && tile_layout.rank <= max_tile_rank, "a tile has 1 to 5 dimensions");
  static_assert(tile_layout.element_bytes == element_bytes<T>,
                "the layout was made for elements of another size: make it with the tile's element type");

 public:
  using value_type = T;
  static constexpr Layout layout = tile_layout;
  static constexpr Swizzle swizzle = tile_layout.swizzle;

  HEDDLE_HOST_DEVICE explicit constexpr TileTensor(T* data) : data_(data) {}

  // The tile's first byte: where TMA writes its first box to, or reads it from.
  HEDDLE_HOST_DEVICE constexpr T* data() const { return data_; }

  HEDDLE_HOST_DEVICE static constexpr std::uint32_t rows() requires(tile_layout.rank == 2) {
    return tile_layout.shape[0];
  }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t cols() requires(tile_layout.rank == 2) {
    return tile_layout.shape[1];
  }

  // Bytes from the first to the end of the last, gaps included; and bytes that copying the tile signals.
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t bytes() { return tile_layout.bytes(); }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t tx_bytes() { return tile_layout.tx_bytes(); }

  // What TMA needs: one copy of box() per panel.
  HEDDLE_HOST_DEVICE static constexpr TmaBox box() { return tile_layout.box(); }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t panels() { return tile_layout.panels(); }
  HEDDLE_HOST_DEVICE T* panel_data(std::uint32_t panel_idx) const {
    return at_byte(panel_idx * panel_stride_bytes);
  }

  HEDDLE_DEVICE T load(std::uint32_t i, CallSite site = CallSite::here()) const requires(tile_layout.rank == 1) {
    return isa::ld_shared(pointer(i), site);
  }
  HEDDLE_DEVICE T load(std::uint32_t i, std::uint32_t j, CallSite site = CallSite::here()) const
      requires(tile_layout.rank == 2) {
    return isa::ld_shared(pointer(i, j), site);
  }
  // Any number of dimensions: load({i, j, k}).
  HEDDLE_DEVICE T load(const std::uint32_t (&index)[tile_layout.rank], CallSite site = CallSite::here()) const {
    return isa::ld_shared(pointer_of(index), site);
  }

  HEDDLE_DEVICE void store(T value, std::uint32_t i, CallSite site = CallSite::here()) const
      requires(tile_layout.rank == 1) {
    isa::st_shared(pointer(i), value, site);
  }
  HEDDLE_DEVICE void store(T value, std::uint32_t i, std::uint32_t j, CallSite site = CallSite::here()) const
      requires(tile_layout.rank == 2) {
    isa::st_shared(pointer(i, j), value, site);
  }
  HEDDLE_DEVICE void store(T value, const std::uint32_t (&index)[tile_layout.rank],
                           CallSite site = CallSite::here()) const {
    isa::st_shared(pointer_of(index), value, site);
  }

  HEDDLE_DEVICE TileElement<T> operator()(std::uint32_t i, std::uint32_t j,
                                          CallSite site = CallSite::here()) const
      requires(tile_layout.rank == 2) {
    return {pointer(i, j), site};
  }

  // Sixteen bytes of a row at once, from column j on, a multiple of 16 bytes: a swizzle keeps them together.
  HEDDLE_DEVICE isa::Bytes16 load_bytes16(std::uint32_t i, std::uint32_t j,
                                          CallSite site = CallSite::here()) const
      requires(tile_layout.rank == 2) {
    static_assert(rows_allow_bytes16, "rows of this tile do not start on multiples of 16 bytes: use load()");
    return isa::ld_shared(reinterpret_cast<const isa::Bytes16*>(pointer(i, j)), site);
  }
  HEDDLE_DEVICE void store_bytes16(isa::Bytes16 value, std::uint32_t i, std::uint32_t j,
                                   CallSite site = CallSite::here()) const requires(tile_layout.rank == 2) {
    static_assert(rows_allow_bytes16, "rows of this tile do not start on multiples of 16 bytes: use store()");
    isa::st_shared(reinterpret_cast<isa::Bytes16*>(pointer(i, j)), value, site);
  }

  // Where an element lies. What is read or written through the pointer itself, the simulated SM does not see.
  template <class... Index>
  HEDDLE_HOST_DEVICE T* pointer(Index... index) const {
    static_assert(sizeof...(Index) == tile_layout.rank, "give one index per dimension");
    constexpr Layout l = tile_layout;
    return at_byte(l.offset_bytes(index...));
  }

  // One of the equal tiles of slice_rows x slice_cols that this one divides into. A slice is a tile of the
  // same kind: it starts where the swizzle pattern starts, so rows are cut between repeats of the pattern and
  // columns between panels. For a step in K inside a row, move the descriptor instead.
  template <std::uint32_t slice_rows, std::uint32_t slice_cols>
  HEDDLE_HOST_DEVICE auto slice(std::uint32_t row_slice = 0, std::uint32_t col_slice = 0) const {
    static_assert(tile_layout.rank == 2, "only tiles of two dimensions can be sliced");
    static_assert(slice_rows > 0 && tile_layout.shape[0] % slice_rows == 0,
                  "the slice's rows must divide the tile's rows");
    static_assert(slice_cols > 0 && tile_layout.shape[1] % slice_cols == 0,
                  "the slice's columns must divide the tile's columns");
    static_assert(slice_cols == tile_layout.shape[1] || slice_cols % tile_layout.panel_elems == 0,
                  "a slice takes whole panels: make its columns a multiple of the layout's panel_elems");
    constexpr std::uint32_t row_step = slice_rows * tile_layout.stride_bytes[0];
    constexpr std::uint32_t col_step = slice_cols / tile_layout.panel_elems * panel_stride_bytes;
    static_assert(
        slice_rows == tile_layout.shape[0] || row_step % tile_layout.alignment() == 0,
        "the slice would start inside a repeat of the swizzle pattern, or off TMA's alignment: its rows "
        "times the row pitch must be a multiple of the layout's alignment()");
    static_assert(slice_cols == tile_layout.shape[1] || col_step % tile_layout.alignment() == 0,
                  "the slice would start inside a repeat of the swizzle pattern, or off TMA's alignment: the "
                  "layout's panel_stride_bytes must be a multiple of its alignment()");
    return TileTensor<T, slice_layout(slice_rows, slice_cols)>(
        at_byte(row_slice * row_step + col_slice * col_step));
  }

  // The tile as an operand whose type says which sides are K and M or N: tile/operand.h.
  template <Major major = Major::kK>
  HEDDLE_HOST_DEVICE constexpr auto operand() const {
    return TileOperand<TileTensor, major>(*this);
  }

  // What the tensor cores need, from row `first_row` (along M of A, along N of B; a multiple of 8) and
  // `first_k` (a multiple of 16 bytes if K is contiguous, else of 8) on. K-major tiles have K as their columns,
  // MN-major tiles have K as their rows.
  template <Major major = Major::kK>
  HEDDLE_DEVICE std::uint64_t wgmma_descriptor(std::uint32_t first_row = 0, std::uint32_t first_k = 0) const {
    return heddle::wgmma_descriptor(smem_descriptor<major>(isa::shared_address(data_), first_row, first_k));
  }
  template <Major major = Major::kK>
  HEDDLE_DEVICE std::uint64_t tcgen05_descriptor(std::uint32_t first_row = 0, std::uint32_t first_k = 0) const {
    return heddle::tcgen05_descriptor(smem_descriptor<major>(isa::shared_address(data_), first_row, first_k));
  }

  // The fields of both, for a tile at this shared-memory address.
  template <Major major = Major::kK>
  HEDDLE_HOST_DEVICE static constexpr SmemDescriptor smem_descriptor(std::uint32_t address,
                                                                     std::uint32_t first_row = 0,
                                                                     std::uint32_t first_k = 0) {
    static_assert(tile_layout.rank == 2, "an MMA operand has two dimensions");
    static_assert(tile_layout.stride_bytes[0] == span_bytes(swizzle),
                  "the tensor cores cannot read these rows: they must follow one another at the swizzle span (16 "
                  "bytes without a swizzle). Use k_major_tile with a swizzle, or core_matrix_tile");
    static_assert(has_operand_layout(major, swizzle),
                  "swizzles with atoms of 32 bytes are for MN-major operands");
    constexpr Layout l = tile_layout;
    constexpr std::uint32_t block_bytes = (swizzle == Swizzle::k128BAtom32B ? 4 : 8) * span_bytes(swizzle);
    const std::uint32_t start =
        address + (major == Major::kK ? l.linear_bytes(first_row, first_k) : l.linear_bytes(first_k, first_row));
    if constexpr (swizzle != Swizzle::kNone && major == Major::kK) {
      // The hardware ignores the leading offset here; 16 is what other libraries write.
      return {.start_address = start, .leading_bytes = 16, .stride_bytes = block_bytes, .swizzle = swizzle};
    } else if constexpr (swizzle == Swizzle::kNone && major == Major::kMN) {
      return {.start_address = start, .leading_bytes = block_bytes, .stride_bytes = panel_stride_bytes};
    } else {
      return {.start_address = start,
              .leading_bytes = panel_stride_bytes,
              .stride_bytes = block_bytes,
              .swizzle = swizzle};
    }
  }

 private:
  static constexpr std::uint32_t panel_stride_bytes = tile_layout.panel_stride_bytes;
  static constexpr bool rows_allow_bytes16 = tile_layout.stride_bytes[0] % 16 == 0 &&
                                             panel_stride_bytes % 16 == 0 &&
                                             tile_layout.panel_elems * tile_layout.element_bytes % 16 == 0;

  HEDDLE_HOST_DEVICE static constexpr Layout slice_layout(std::uint32_t slice_rows, std::uint32_t slice_cols) {
    Layout l = tile_layout;
    l.shape[0] = slice_rows;
    l.shape[1] = slice_cols;
    // Where no second panel follows, the slice ends with its rows.
    if (slice_cols == l.panel_elems) l.panel_stride_bytes = slice_rows * l.stride_bytes[0];
    return l;
  }

  HEDDLE_HOST_DEVICE T* at_byte(std::uint32_t offset) const {
    return reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(data_) + offset);
  }

  HEDDLE_HOST_DEVICE T* pointer_of(const std::uint32_t (&index)[tile_layout.rank]) const {
    return [&]<std::size_t... d>(std::index_sequence<d...>) { return pointer(index[d]...); }
    (std::make_index_sequence<tile_layout.rank>{});
  }

  T* data_;
};

}  // namespace heddle::inline HEDDLE_TARGET
