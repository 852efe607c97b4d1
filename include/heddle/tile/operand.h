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

  // The same part of a tile that begins so many bytes further on, as in a later stage of a ring. Descriptors are
  // made from the first tile's, by an addition.
  HEDDLE_HOST_DEVICE constexpr TileOperand later(std::uint32_t bytes) const {
    TileOperand operand = *this;
    operand.later_bytes_ += bytes;
    return operand;
  }

  // From `first_k` and `first_row` on, as wgmma takes it. Steps inside a tile are constants.
  HEDDLE_DEVICE std::uint64_t wgmma_descriptor(std::uint32_t first_k = 0, std::uint32_t first_row = 0) const {
    return advanced_descriptor(advanced_descriptor(tile_.template wgmma_descriptor<major>(), later_bytes_),
                               offset_bytes(first_row, first_k));
  }
  HEDDLE_DEVICE std::uint64_t tcgen05_descriptor(std::uint32_t first_k = 0) const {
    return advanced_descriptor(advanced_descriptor(tile_.template tcgen05_descriptor<major>(), later_bytes_),
                               offset_bytes(0, first_k));
  }

 private:
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t offset_bytes(std::uint32_t row, std::uint32_t first_k) {
    return Tile::template smem_descriptor<major>(0, row, first_k).start_address;
  }

  Tile tile_;
  std::uint32_t later_bytes_ = 0;
};

}  // namespace heddle::inline HEDDLE_TARGET
