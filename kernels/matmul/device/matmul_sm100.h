// SPDX-License-Identifier: Apache-2.0
//
// C = A * B for Blackwell: A is [M, K] or [K, M], B is [N, K] or [K, N], row-major, bf16, fp16, tf32 or fp8; sums
// are float, C is bf16, fp16 or float. One matrix or a batch of them; K in one go or split over several work
// items. The roles and their loops are those of matmul_sm100_frame.h.
//
// Types that one kind of multiplication takes share a kernel: its instruction descriptor, a parameter, names
// them.
#pragma once

#include "matmul_sm100_frame.h"

#include <heddle/tile/tcgen05_mma.h>

namespace heddle::inline HEDDLE_TARGET {

// What operands of a kind are to shared memory: elements of so many bytes.
template <MmaKind kind>
using StoredElement =
    std::conditional_t<kind == MmaKind::kF16, bf16, std::conditional_t<kind == MmaKind::kTf32, tf32, e4m3>>;

template <MatmulSm100Config matmul_config, MmaKind kind, OperandMajors majors = OperandMajors{}>
struct StandardFamily {
  using In = StoredElement<kind>;
  static constexpr MatmulSm100Config config = matmul_config;
  static constexpr std::uint32_t kTileK = 128 / sizeof(In);  // K-major: one swizzle span

  // As the tile is stored: rows of contiguous elements.
  HEDDLE_HOST_DEVICE static constexpr TileShape tile_shape(Major major, std::uint32_t mn) {
    return major == Major::kK ? TileShape{mn, kTileK} : TileShape{kTileK, mn};
  }
  // MN-major tf32 takes atoms of 32 bytes; rows shorter than 128 bytes take the swizzle of 64.
  HEDDLE_HOST_DEVICE static constexpr Swizzle swizzle(Major major, std::uint32_t mn) {
    if (major == Major::kMN && kind == MmaKind::kTf32) return Swizzle::k128BAtom32B;
    return major == Major::kMN && mn * sizeof(In) < 128 ? Swizzle::k64B : Swizzle::k128B;
  }
  using Payload =
      StandardTilePayload<In, In,
                          StandardTileConfig{.a = tile_shape(majors.a, config.tile_m),
                                             .b = tile_shape(majors.b, config.tile_n / config.cta_group),
                                             .a_swizzle = swizzle(majors.a, config.tile_m),
                                             .b_swizzle = swizzle(majors.b, config.tile_n / config.cta_group)}>;
  using Loads = OperandLoads<config, Payload, majors>;
  using Accumulator = TmemTensor<float, config.accumulator()>;
  static constexpr std::uint32_t tmem_cols = 0;
  static constexpr bool has_sums_of_steps = false;
  using OwnShared = NothingShared;
  struct Operands {
    EdgeMaps a;  // {k, row, batch}, or {row, k, batch}
    EdgeMaps b;
    std::uint32_t instruction;
  };

  template <class Context, class Tiles>
  HEDDLE_DEVICE static void load(const Operands&, const Loads& loads, const Context& ctx, const Tiles& tiles,
                                 const TileWork&, std::uint32_t k_block) {
    loads.load(ctx, tiles, k_block * kTileK);
  }

  // `operands` names the instruction.
  template <class AnyOperands, class Tiles>
  HEDDLE_DEVICE static void multiply(const AnyOperands& operands, const Tiles& tiles, TmemAddress,
                                     std::uint32_t d, bool accumulate) {
    tcgen05_mma(Accumulator(TmemAddress(d)), tiles.a_tile().template operand<majors.a>(),
                tiles.b_tile().template operand<majors.b>(), accumulate, operands.instruction);
  }

  // The word that names these types.
  static constexpr std::uint32_t instruction(OperandType a_type, OperandType b_type) {
    return instruction_descriptor(InstructionDescriptor{.kind = kind,
                                                        .m = config.cta_group * config.tile_m,
                                                        .n = config.tile_n,
                                                        .a_type = a_type,
                                                        .b_type = b_type,
                                                        .a_major = majors.a,
                                                        .b_major = majors.b});
  }
};

template <MatmulSm100Config config, MmaKind kind, OperandMajors majors = OperandMajors{},
          class Epilogue = PlainEpilogue>
using MatmulSm100 = MatmulSm100Frame<StandardFamily<config, kind, majors>, Epilogue>;

}  // namespace heddle::inline HEDDLE_TARGET
