// SPDX-License-Identifier: Apache-2.0
//
// What a tensor core computes, bit for bit: D = A * B + D over the whole K of one instruction, in one step.
// NVIDIA does not specify it; this is the model that measurements of Hopper and Blackwell parts agree on:
//
//   1. Products are exact. Their exponent is the sum of the factors' exponents and is not normalised;
//      subnormal factors are kept with the smallest exponent of their format. D is one more term.
//   2. Every term is aligned to the largest exponent among them and truncated toward zero, `fraction_bits`
//      below it. A term that is zero has exponent kZeroExponent.
//   3. The sum is exact. An f32 result is truncated toward zero, an f16 result rounded to nearest even; both
//      overflow to infinity.
//
// Nothing here knows of instructions, shared memory or registers.
#pragma once

#include <heddle/isa/instruction_descriptor.h>
#include <heddle/sim/launch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim::machine {

struct MmaArithmetic {
  int fraction_bits;         // what a term keeps below the largest exponent
  int result_fraction_bits;  // what an f32 result keeps
};

// fp8 keeps 13 bits on Hopper; everything else, and fp8 on Blackwell, keeps 25.
MmaArithmetic mma_arithmetic(Arch arch, OperandType type);

// Terms that are all this small lose bits as if something of this exponent were among them.
// Unverified: published for Hopper and Blackwell, where other models have -126.
inline constexpr int kZeroExponent = -133;

inline constexpr std::uint32_t kNanF32 = 0x7FFF'FFFF;
inline constexpr std::uint32_t kNanF16 = 0x7FFF;

// How many bytes one element takes where it lies alone.
std::uint32_t stored_bytes(OperandType type);

// One side of the product, taken apart into signed significands and exponents.
class MmaOperand {
 public:
  enum class Side : std::uint8_t { kA, kB };

  // B is stored in blocks of so many columns, so that a vector holds neighbours.
  static constexpr std::uint32_t kLanes = 16;

  // `elements` are rows x depth, row by row, in stored_bytes each. Rows are those of A, or the columns of B.
  MmaOperand(Side side, OperandType type, bool negate, std::uint32_t rows, std::uint32_t depth,
             const std::byte* elements);

  std::uint32_t rows() const { return rows_; }
  std::uint32_t depth() const { return depth_; }
  int mantissa_bits() const { return mantissa_bits_; }

  // Where the element's parts lie in the two arrays. The k of one row are kLanes apart in B, and 1 in A.
  std::size_t index(std::uint32_t row, std::uint32_t k) const {
    return (std::size_t{row / lanes_} * depth_ + k) * lanes_ + row % lanes_;
  }
  const std::vector<std::int32_t>& significand() const { return significand_; }
  const std::vector<std::int32_t>& exponent() const { return exponent_; }
  // Whether some element of the row is an infinity or a NaN.
  bool is_special(std::uint32_t row) const { return row_is_special_[row] != 0; }

  // Multiplies a row by 2^exponent, or by NaN.
  void scale_row(std::uint32_t row, std::int32_t exponent, bool is_nan);

 private:
  std::uint32_t lanes_;
  std::uint32_t rows_;
  std::uint32_t depth_;
  int mantissa_bits_;
  std::vector<std::int32_t> significand_;
  std::vector<std::int32_t> exponent_;
  std::vector<std::uint8_t> row_is_special_;
};

// magnitude * 2^scale, truncated toward zero to an f32 with so many fraction bits.
std::uint32_t truncated_f32(std::uint64_t magnitude, int scale, int fraction_bits = 23);

// Which inner loop multiplies: the one for this processor, or the one that every processor has.
enum class MmaLoop : std::uint8_t { kFastest, kPlain };

// Adds A * B to `d`, for `row_count` rows of A from `first_row` on: row_count x b.rows() results, row by row, as
// f32 bits, or as f16 bits in the lower half of each word.
void multiply_add(const MmaArithmetic& arithmetic, const MmaOperand& a, std::uint32_t first_row,
                  std::uint32_t row_count, const MmaOperand& b, AccumulatorType type, std::uint32_t* d,
                  MmaLoop loop = MmaLoop::kFastest);

// Adds A * B to `d` for integers of 8 bits, exactly; a sum beyond 32 bits wraps, or stays at the end of the range
// if it saturates. Operands as MmaOperand takes them, results as above.
struct IntegerOperand {
  OperandType type;  // kU8 or kS8
  std::uint32_t rows;
  const std::byte* elements;
};
void multiply_add(const IntegerOperand& a, const IntegerOperand& b, std::uint32_t depth, bool saturates,
                  std::uint32_t* d);

}  // namespace heddle::sim::machine
