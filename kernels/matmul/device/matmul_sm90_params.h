// SPDX-License-Identifier: Apache-2.0
//
// What a Hopper matmul is given, and its launch: for the library's instances, and for kernels with an epilogue of
// one's own.
//
//   using Kernel = MatmulSm90<MatmulSm90Config{.tile_m = 128, .tile_n = 128}, bf16, MyEpilogue>;
//   auto params = matmul_sm90_params<Kernel>({.m = m, .n = n, .k = k, .a = a, .b = b, .a_pitch = k, .b_pitch = k,
//                                             .out = {MatmulElement::kBf16, c, m, n, n}});
//   params.epilogue = {...};
//   launch_matmul_sm90<Kernel>(device, params);
#pragma once

#include "matmul/host/matmul_on_device.h"
#include "matmul_sm90.h"

#include <heddle/host/tensor_map.h>
#include <heddle/isa/device.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// What the kernel stores to, in the memory of the device.
struct MatmulSm90Output {
  MatmulElement type;
  void* address;
  std::uint64_t rows;
  std::uint64_t cols;
  std::uint64_t pitch;  // elements

  std::uint32_t element_bytes() const {
    return type == MatmulElement::kFp32                                   ? 4
           : type == MatmulElement::kE4m3 || type == MatmulElement::kE5m2 ? 1
                                                                          : 2;
  }
  std::uint32_t panel_cols() const { return 128 / element_bytes(); }
  isa::TensorMap map(std::uint32_t box_rows, std::uint32_t box_cols) const {
    return tensor_map_2d({.type = type == MatmulElement::kFp32   ? TensorType::kF32
                                  : type == MatmulElement::kBf16 ? TensorType::kBF16
                                  : type == MatmulElement::kFp16 ? TensorType::kF16
                                                                 : TensorType::kU8,
                          .address = address,
                          .rows = rows,
                          .cols = cols,
                          .row_bytes = pitch * element_bytes(),
                          .box_rows = box_rows,
                          .box_cols = box_cols,
                          .swizzle = Swizzle::k128B});
  }
};

// Operands in the memory of the device; A is [m, k], B as the kernel's configuration says. `n` counts columns of
// the sums, of which an epilogue that folds makes fewer.
struct MatmulSm90Operands {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  std::uint64_t a_pitch = 0;  // elements
  std::uint64_t b_pitch = 0;
  MatmulSm90Output out;
  std::uint32_t splits = 1;      // parts of K, each with sums of its own
  bool is_joined = false;        // which the CTAs of a cluster add up: see MatmulSm90Config::joins
  std::uint32_t split_rows = 0;  // of the output for each of them
  std::uint32_t group = 8;       // clusters' tiles across a band
  bool bands_along_m = true;
};

// As a kernel with swapped operands has them. What it stores to is as before.
inline MatmulSm90Operands swapped(MatmulSm90Operands call) {
  std::swap(call.m, call.n);
  std::swap(call.a, call.b);
  std::swap(call.a_pitch, call.b_pitch);
  call.bands_along_m = !call.bands_along_m;
  return call;
}

template <class Kernel>
typename Kernel::Params matmul_sm90_params(const MatmulSm90Operands& call) {
  constexpr MatmulSm90Config config = Kernel::kConfig;
  using In = typename Kernel::Operand;
  const auto tiles_along = [](std::uint32_t elems, std::uint32_t tile) { return (elems + tile - 1) / tile; };
  const auto operand_map = [](const void* address, std::uint64_t rows, std::uint64_t cols, std::uint64_t pitch,
                              std::uint32_t box_rows) {
    return tensor_map_2d({.type = tensor_type<In>,
                          .address = address,
                          .rows = rows,
                          .cols = cols,
                          .row_bytes = pitch * sizeof(In),
                          .box_rows = box_rows,
                          .box_cols = 64,
                          .swizzle = Swizzle::k128B,
                          .l2_promotion = L2Promotion::k128B});
  };
  if constexpr (!Kernel::kStoresRagged) check_whole_rows(call.out.cols, call.out.element_bytes());
  typename Kernel::Params params{};
  const std::uint32_t m_tiles = tiles_along(call.m, config.tile_m);
  const std::uint32_t n_tiles = tiles_along(call.n, config.tile_n);
  const std::uint32_t a_left = Kernel::rows_inside((m_tiles - 1) * config.tile_m, call.m, config.tile_m);
  const std::uint32_t b_left = Kernel::b_inside((n_tiles - 1) * config.tile_n, call.n);
  // Where clusters reach beyond the last tile, some CTA copies nothing.
  params.a_kept = m_tiles % config.cluster_m != 0 ? 0 : a_left;
  params.b_kept = n_tiles % config.cluster_n != 0 ? 0 : b_left;
  const auto map_a = [&](std::uint32_t box_rows) {
    return operand_map(call.a, call.m, call.k, call.a_pitch, box_rows);
  };
  params.a = map_a(Kernel::kRowsOfA);
  params.a_edge = a_left % Kernel::kRowsOfA == 0 ? params.a : map_a(a_left % Kernel::kRowsOfA);
  if constexpr (config.b_major == Major::kK) {
    const auto map_b = [&](std::uint32_t box_rows) {
      return operand_map(call.b, call.n, call.k, call.b_pitch, box_rows);
    };
    params.b = map_b(Kernel::kRowsOfB);
    params.b_edge = b_left % Kernel::kRowsOfB == 0 ? params.b : map_b(b_left % Kernel::kRowsOfB);
  } else {
    params.b = operand_map(call.b, call.k, call.n, call.b_pitch, config.tile_k);
    params.b_edge = params.b;
  }
  // A box has 128 bytes of 16 rows; transposed, as many rows as it has columns there, of the 64 that a block has.
  const std::uint32_t tail = Kernel::kOutCols % call.out.panel_cols();
  const auto map_c = [&](std::uint32_t cols) {
    return config.is_swapped ? call.out.map(cols, call.out.panel_cols()) : call.out.map(Kernel::kStoreRows, cols);
  };
  params.c = map_c(call.out.panel_cols());
  params.c_tail = tail == 0 ? params.c : map_c(tail);
  params.scheduler = make_tile_scheduler_params<Kernel::kScheduler>(
      {.tiles_m = m_tiles,
       .tiles_n = n_tiles,
       .splits = call.is_joined ? 1 : call.splits,
       .group = call.group,
       .raster = call.bands_along_m ? Raster::kAlongM : Raster::kAlongN});
  // The parts of a split K are equal: the last one multiplies zeros behind the end of K.
  params.k_blocks = tiles_along(tiles_along(call.k, config.tile_k), call.splits);
  params.split_rows = call.split_rows;
  params.joined = call.is_joined ? call.splits : 1;
  params.m = call.m;
  params.n = call.n;
  params.output = call.out.type;
  return params;
}

template <class Kernel>
RunOutcome launch_matmul_sm90(Device& device, const typename Kernel::Params& params, bool is_dependent = false,
                              void* stream = nullptr) {
  constexpr std::uint32_t cluster = Kernel::kConfig.cluster();
  if (params.joined > 1) {
    // A cluster for each tile, which exits with it.
    return device.enqueue<Kernel>({.grid = {params.scheduler.cluster_tiles, 1, params.joined},
                                   .cluster = {1, 1, params.joined},
                                   .is_dependent = is_dependent},
                                  params, stream);
  }
  const std::uint32_t resident = resident_clusters<Kernel>(device, cluster);
  if (resident == 0) return cannot_run(cluster);
  LaunchShape shape = persistent_launch_shape<Kernel::kScheduler>(params.scheduler, resident * cluster);
  shape.is_dependent = is_dependent;
  return device.enqueue<Kernel>(shape, params, stream);
}

}  // namespace heddle::inline HEDDLE_TARGET
