// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps from tiles: the box, the swizzle and the type of the elements are those of the tile that a kernel
// copies, so the two cannot differ.
//
//   template <class K>
//   typename K::Params params_of(...) {
//     return {.a = tensor_map_for<typename K::ATile>({.address = a, .rows = m, .cols = k}), ...};
//   }
//
// A file that nvcc compiles calls it in a template on the kernel, as here: outside one nvcc writes the tile's
// type out for the host's compiler, which cannot read it.
#pragma once

#include <heddle/host/tensor_map.h>
#include <heddle/isa/target.h>
#include <heddle/tile/edge_load.h>
#include <heddle/tile/layout.h>

namespace heddle::inline HEDDLE_TARGET {

// A row-major matrix, or several of the same size, in elements.
struct TiledMatrix {
  const void* address = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t pitch = 0;         // from one row to the next; 0: rows follow one another without a gap
  std::uint64_t batches = 0;       // 0: one matrix, and coordinates {column, row}; otherwise {column, row, batch}
  std::uint64_t batch_stride = 0;  // from one matrix to the next; 0: matrices follow one another without a gap
  L2Promotion l2_promotion = L2Promotion::k128B;
  OobFill fill = OobFill::kZeros;
};

// For copies of a Tile (a TileTensor of two dimensions) by load_tile and store_tile, or of so many of its rows by
// load_tile_part. Throws as make_tensor_map.
template <class Tile>
TensorMap tensor_map_for(const TiledMatrix& matrix, std::uint32_t box_rows = Tile::rows()) {
  constexpr Layout layout = Tile::layout;
  static_assert(layout.rank == 2, "a map for a tile of two dimensions: use make_tensor_map for others");
  using T = typename Tile::value_type;
  const std::uint64_t pitch = matrix.pitch != 0 ? matrix.pitch : matrix.cols;
  const std::uint64_t batch_stride = matrix.batch_stride != 0 ? matrix.batch_stride : pitch * matrix.rows;
  constexpr TmaBox box = layout.box();
  return make_tensor_map({.type = tensor_type<T>,
                          .rank = matrix.batches == 0 ? 2u : 3u,
                          .address = matrix.address,
                          .dims = {matrix.cols, matrix.rows, matrix.batches},
                          .strides = {pitch * sizeof(T), batch_stride * sizeof(T)},
                          .box = {box.dims[0], box_rows, 1},
                          .swizzle = layout.swizzle,
                          .l2_promotion = matrix.l2_promotion,
                          .fill = matrix.fill});
}

// For copies by a Load (an EdgeLoad). `cluster` CTAs along the extent that ends have a tile each: where they
// reach beyond the last one, some bring nothing.
template <class Load>
EdgeMaps edge_maps_for(const TiledMatrix& matrix, std::uint32_t cluster = 1) {
  using Tile = typename Load::Tile;
  constexpr bool is_k_major = Load::major == Major::kK;
  constexpr std::uint32_t part = is_k_major ? Load::kPart : Tile::rows();
  const auto extent = static_cast<std::uint32_t>(is_k_major ? matrix.rows : matrix.cols);
  const std::uint32_t tiles = (extent + Load::kExtent - 1) / Load::kExtent;
  const std::uint32_t left = Load::inside(tiles == 0 ? 0 : (tiles - 1) * Load::kExtent, extent);
  EdgeMaps maps;
  maps.whole = tensor_map_for<Tile>(matrix, part);
  maps.edge = is_k_major && left % part != 0 ? tensor_map_for<Tile>(matrix, left % part) : maps.whole;
  maps.extent = extent;
  maps.kept = Load::sharing.has_edge && tiles % cluster != 0 ? 0 : left;
  return maps;
}

}  // namespace heddle::inline HEDDLE_TARGET
