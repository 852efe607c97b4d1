// SPDX-License-Identifier: Apache-2.0
//
// TileOperand: a tile as an operand of the tensor cores. Which elements it has, along which of its sides K runs,
// and how many rows (M of A, N of B) and how much of K it has are part of the type, so operands that do not fit
// do not compile.
//
//   const auto a = a_tile.slice<64, 64>(warpgroup).operand();
//   const auto b = b_tile.operand<Major::kMN>();      // [K, N]
//   auto pending = sums.multiply(a, b);               // tile/wgmma_sums.h
#pragma once

#include <heddle/isa/descriptor.h>
#include <heddle/isa/instruction_descriptor.h>
#include <heddle/isa/target.h>
#include <heddle/tile/tile_tensor.h>

namespace heddle::inline HEDDLE_TARGET {

template <class Tile, Major operand_major>
class TileOperand {
 public:
  using value_type = typename Tile::value_type;
  static constexpr Major major = operand_major;
  static constexpr std::uint32_t rows = major == Major::kK ? Tile::rows() : Tile::cols();
  static constexpr std::uint32_t k = major == Major::kK ? Tile::cols() : Tile::rows();
  static constexpr OperandType type = operand_type<value_type>();

  HEDDLE_HOST_DEVICE explicit constexpr TileOperand(const Tile& tile) : tile_(tile) {}

  // From `first_k` on, as wgmma takes it.
  HEDDLE_DEVICE std::uint64_t wgmma_descriptor(std::uint32_t first_k = 0) const {
    return tile_.template wgmma_descriptor<major>(0, first_k);
  }
  HEDDLE_DEVICE std::uint64_t tcgen05_descriptor(std::uint32_t first_k = 0) const {
    return tile_.template tcgen05_descriptor<major>(0, first_k);
  }

 private:
  Tile tile_;
};

}  // namespace heddle::inline HEDDLE_TARGET
