// SPDX-License-Identifier: Apache-2.0
//
// What a tensor core computes for numbers with scales, bit for bit, as far as it is known: see tensor_core.h for
// the kinds without.
//
// mxf8f6f4: as there, with the exponents of both scales added to each product's.
//
// mxf4 and mxf4nvf4, over 64 numbers (128 where A is sparse): each quarter of the products is summed exactly and
// multiplied by the significands of both scales; the exponent of such a term is the sum of the scales' exponents,
// and is not normalised. The four terms and D are aligned to the largest exponent, truncated toward zero 35 bits
// below it, added exactly, and the sum is truncated toward zero to f32. A scale that is NaN makes the result NaN.
//
// Unverified: published by one study of Blackwell parts (MMA-Sim).
#pragma once

#include "sim/machine/tensor_core.h"

#include <heddle/isa/instruction_descriptor.h>

#include <cstdint>
#include <vector>

namespace heddle::sim::machine {

// A scale as significand * 2^(exponent - 3).
struct Scale {
  std::int32_t significand;
  std::int32_t exponent;
  bool is_nan;
};

Scale scale_of(ScaleType type, std::uint8_t bits);

// One side of a product of fp4 numbers: rows x depth, as stored, two to a byte, and four scales for each row, one
// for each quarter of its numbers.
class Fp4Operand {
 public:
  static constexpr std::uint32_t kGroups = 4;

  Fp4Operand(std::uint32_t rows, std::uint32_t depth, bool negate, const std::byte* elements,
             std::vector<Scale> scales);

  std::uint32_t rows() const { return static_cast<std::uint32_t>(halves_.size()) / depth_; }
  std::uint32_t group() const { return depth_ / kGroups; }
  const std::int16_t* row(std::uint32_t row) const { return &halves_[std::size_t{row} * depth_]; }  // in halves
  const Scale& scale(std::uint32_t row, std::uint32_t group) const { return scales_[row * kGroups + group]; }

 private:
  std::uint32_t depth_;
  std::vector<std::int16_t> halves_;
  std::vector<Scale> scales_;
};

// Adds A * B to `d`: a.rows() x b.rows() floats, row by row.
void multiply_add(const Fp4Operand& a, const Fp4Operand& b, std::uint32_t* d);

// Numbers of 4 or 6 bits as kinds f8f6f4 and mxf8f6f4 store them: 16 of them, packed, in the first bytes of
// each 16. A byte for each in the result, which has as many bytes. Other types are left as they are.
void spread_packed(OperandType type, std::vector<std::byte>& elements);

}  // namespace heddle::sim::machine
