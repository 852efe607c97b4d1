// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/tensor_reduce.h"

#include <heddle/isa/tensor_map.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "sim/machine/tensor_copy.h"
#include "tensor_copy_reference.h"

namespace heddle::sim::machine {
namespace {

using isa::ReduceOp;

// 16-bit floats by their definition: sign, exponent, mantissa.
struct SmallFormat {
  int exponent_bits;
  int mantissa_bits;
};
constexpr SmallFormat kHalf{5, 10};
constexpr SmallFormat kBrain{8, 7};

double decoded(SmallFormat format, std::uint16_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = (bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << format.exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int implicit = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  return sign * std::ldexp(implicit + mantissa, std::max(exponent, 1) - bias - format.mantissa_bits);
}

std::uint16_t encoded(SmallFormat format, double value) {
  if (std::isnan(value)) return 0x7FFF;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int largest = (1 << format.exponent_bits) - 1;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = std::isinf(magnitude) ? largest : std::max(std::ilogb(magnitude) + bias, 1);
  auto steps =
      exponent >= largest
          ? 0
          : static_cast<int>(std::nearbyint(std::ldexp(magnitude, format.mantissa_bits + bias - exponent)));
  if (steps == 2 << format.mantissa_bits) {
    steps /= 2;
    ++exponent;
  }
  if (exponent >= largest) return static_cast<std::uint16_t>(sign | largest << format.mantissa_bits);
  // The implicit bit adds one to the exponent field, which is 0 for subnormal numbers.
  return static_cast<std::uint16_t>(sign | (((exponent - 1) << format.mantissa_bits) + steps));
}

std::uint16_t small_float_by_hand(SmallFormat format, ReduceOp op, std::uint16_t old, std::uint16_t given) {
  const double a = decoded(format, old);
  const double b = decoded(format, given);
  if (op == ReduceOp::kAdd) return encoded(format, a + b);
  if (std::isnan(a) && std::isnan(b)) return 0x7FFF;
  if (std::isnan(a)) return given;
  if (std::isnan(b)) return old;
  const bool old_is_less = a < b || (a == b && std::signbit(a));
  return old_is_less == (op == ReduceOp::kMin) ? old : given;
}

// 64-bit integers hold everything; the result is cut to the width at the end.
template <class Wide>
std::uint64_t integer_by_hand(ReduceOp op, Wide old, Wide given) {
  switch (op) {
    case ReduceOp::kAdd: return static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(given);
    case ReduceOp::kMin: return static_cast<std::uint64_t>(std::min(old, given));
    case ReduceOp::kMax: return static_cast<std::uint64_t>(std::max(old, given));
    case ReduceOp::kInc: return old >= given ? 0 : static_cast<std::uint64_t>(old + 1);
    case ReduceOp::kDec: return static_cast<std::uint64_t>(old == 0 || old > given ? given : old - 1);
    case ReduceOp::kAnd: return static_cast<std::uint64_t>(old) & static_cast<std::uint64_t>(given);
    case ReduceOp::kOr: return static_cast<std::uint64_t>(old) | static_cast<std::uint64_t>(given);
    case ReduceOp::kXor: return static_cast<std::uint64_t>(old) ^ static_cast<std::uint64_t>(given);
  }
  return 0;
}

template <class T>
T at(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

std::uint64_t combined_by_hand(ReduceOp op, TensorType type, const std::byte* old, const std::byte* given) {
  switch (type) {
    case TensorType::kU32:
      return integer_by_hand<std::uint64_t>(op, at<std::uint32_t>(old), at<std::uint32_t>(given));
    case TensorType::kI32:
      return integer_by_hand<std::int64_t>(op, at<std::int32_t>(old), at<std::int32_t>(given));
    case TensorType::kU64:
      return integer_by_hand<std::uint64_t>(op, at<std::uint64_t>(old), at<std::uint64_t>(given));
    case TensorType::kI64:
      return integer_by_hand<std::int64_t>(op, at<std::int64_t>(old), at<std::int64_t>(given));
    case TensorType::kF32: {
      const auto sum =
          static_cast<float>(static_cast<double>(at<float>(old)) + static_cast<double>(at<float>(given)));
      return std::isnan(sum) ? 0x7FFF'FFFF : std::bit_cast<std::uint32_t>(sum);
    }
    case TensorType::kF16:
      return small_float_by_hand(kHalf, op, at<std::uint16_t>(old), at<std::uint16_t>(given));
    default: return small_float_by_hand(kBrain, op, at<std::uint16_t>(old), at<std::uint16_t>(given));
  }
}

constexpr ReduceOp kOps[] = {ReduceOp::kAdd, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kInc,
                             ReduceOp::kDec, ReduceOp::kAnd, ReduceOp::kOr,  ReduceOp::kXor};

bool is_a_reduction(ReduceOp op, TensorType type) {
  using T = TensorType;
  const std::set<T> add = {T::kU32, T::kI32, T::kU64, T::kF32, T::kF16, T::kBF16};
  const std::set<T> extreme = {T::kU32, T::kI32, T::kU64, T::kI64, T::kF16, T::kBF16};
  const std::set<T> bits = {T::kU32, T::kI32, T::kU64, T::kI64};
  switch (op) {
    case ReduceOp::kAdd: return add.contains(type);
    case ReduceOp::kMin:
    case ReduceOp::kMax: return extreme.contains(type);
    case ReduceOp::kInc:
    case ReduceOp::kDec: return type == T::kU32;
    default: return bits.contains(type);
  }
}

TEST(BoxCopy, ReducesAsTheReferenceDoesOnEveryTypeThatExists) {
  Random random(20261118);
  std::set<std::pair<ReduceOp, TensorType>> seen;
  for (int i = 0; i < 104 * 30; ++i) {
    const ReduceOp op = kOps[i % 8];
    const TensorType type = kByteTypes[i / 8 % 13];
    if (!is_a_reduction(op, type)) continue;
    seen.emplace(op, type);
    const Case test = random_case(random, type, Reach::kNotNegative);
    Memory memory(random.bytes(test.memory_bytes));
    const Bytes shared = random.bytes(test.shared_size);
    Bytes expected = memory.content;
    const std::uint32_t size = size_of(type);
    for_each_element(test, [&](const ElementOfBox& element) {
      if (!is_stored(test, element)) return;
      std::byte given[8];
      for (std::uint32_t byte = 0; byte < size; ++byte) {
        given[byte] = shared[swizzled_by_hand(test.map.swizzle, element.linear + byte)];
      }
      const std::uint64_t value = combined_by_hand(op, type, &expected[element.at], given);
      std::memcpy(&expected[element.at], &value, size);
    });
    const BoxCopy copy = test.copy();
    for (const auto& [first, count] : random_runs(random, copy.rows())) {
      ASSERT_FALSE(copy.reduce_rows(op, first, count, shared, memory)) << test;
    }
    ASSERT_TRUE(same(memory.content, expected)) << "op " << int(op) << " " << test;
  }
  EXPECT_EQ(seen.size(), 32u);
}

template <class Check>
void for_all_halves_against_some(Check&& check) {
  // Zeros, subnormals, ties, largest numbers, infinities and NaNs, of both signs.
  const std::uint16_t others[] = {0x0000, 0x0001, 0x0003, 0x0400, 0x0080, 0x3C00, 0x3C01, 0x3F80, 0x3F81,
                                  0x7BFF, 0x7C00, 0x7C01, 0x7F7F, 0x7F80, 0x7F81, 0x7FFF, 0x1400, 0x5BFF};
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    for (const std::uint16_t other : others) {
      for (const int sign : {0x0000, 0x8000}) {
        check(static_cast<std::uint16_t>(bits), static_cast<std::uint16_t>(other | sign));
      }
    }
  }
}

TEST(TensorReduce, SmallFloatsAgreeWithTheirDefinitionOnAllPatterns) {
  for (const auto& [type, format] : {std::pair{TensorType::kF16, kHalf}, std::pair{TensorType::kBF16, kBrain}}) {
    for (const ReduceOp op : {ReduceOp::kAdd, ReduceOp::kMin, ReduceOp::kMax}) {
      const Reduction reduce = find_reduction(op, type);
      int wrong = 0;
      for_all_halves_against_some([&, type = type, format = format](std::uint16_t old, std::uint16_t given) {
        std::uint16_t value = old;
        reduce(reinterpret_cast<std::byte*>(&value), reinterpret_cast<const std::byte*>(&given), 2);
        const std::uint16_t expected = small_float_by_hand(format, op, old, given);
        if (value != expected && ++wrong < 5) {
          ADD_FAILURE() << "type " << int(type) << " op " << int(op) << std::hex << ": " << old << ", " << given
                        << " gives " << value << ", not " << expected;
        }
      });
      EXPECT_EQ(wrong, 0);
    }
  }
}

TEST(TensorReduce, CountsUpToTheBoundAndDownFromIt) {
  struct Step {
    std::uint32_t old, bound, up, down;
  };
  // Up wraps to 0 at the bound, down wraps to the bound at 0 and above the bound.
  const Step steps[] = {{0, 3, 1, 3},
                        {1, 3, 2, 0},
                        {2, 3, 3, 1},
                        {3, 3, 0, 2},
                        {4, 3, 0, 3},
                        {0, 0, 0, 0},
                        {0xFFFF'FFFF, 0xFFFF'FFFF, 0, 0xFFFF'FFFE}};
  for (const auto& [old, bound, up, down] : steps) {
    std::uint32_t counted = old;
    const auto* source = reinterpret_cast<const std::byte*>(&bound);
    find_reduction(ReduceOp::kInc, TensorType::kU32)(reinterpret_cast<std::byte*>(&counted), source, 4);
    EXPECT_EQ(counted, up) << old << " up to " << bound;
    counted = old;
    find_reduction(ReduceOp::kDec, TensorType::kU32)(reinterpret_cast<std::byte*>(&counted), source, 4);
    EXPECT_EQ(counted, down) << old << " down from " << bound;
  }
}

TEST(TensorReduce, ExistsOnExactlyTheTypesOfTheManual) {
  for (const ReduceOp op : kOps) {
    for (int type = 0; type < 16; ++type) {
      EXPECT_EQ(find_reduction(op, TensorType(type)) != nullptr, is_a_reduction(op, TensorType(type)))
          << "op " << int(op) << " type " << type;
    }
  }
}

}  // namespace
}  // namespace heddle::sim::machine
