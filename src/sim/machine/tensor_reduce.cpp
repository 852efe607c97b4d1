// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/tensor_reduce.h"

#include <heddle/tile/element.h>

#include <bit>
#include <cstring>
#include <type_traits>

namespace heddle::sim::machine {
namespace {

using isa::ReduceOp;

template <class T>
constexpr bool is_small_float = std::is_same_v<T, fp16> || std::is_same_v<T, bf16>;

constexpr bool is_nan(float value) { return value != value; }

// The sum of two 16-bit floats is rounded twice, to 24 and then to 11 or 8 significant bits. 24 is at least
// twice as many and two more, so the result is that of one rounding to nearest even.
template <class T>
constexpr T add(T old, T given) {
  if constexpr (is_small_float<T>) {
    return T::from_float(old.to_float() + given.to_float());
  } else if constexpr (std::is_same_v<T, float>) {
    // Unverified: that the tensor form keeps subnormal numbers.
    const float sum = old + given;
    return is_nan(sum) ? std::bit_cast<float>(0x7FFF'FFFFU) : sum;
  } else if constexpr (std::is_same_v<T, double>) {
    return old + given;
  } else {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                          static_cast<std::make_unsigned_t<T>>(given));
  }
}

// The number wins over NaN, and -0 is less than +0, as in the scalar min and max.
// Unverified: both, for the tensor form.
template <class T>
constexpr T lesser(T old, T given) {
  if constexpr (is_small_float<T>) {
    const float a = old.to_float();
    const float b = given.to_float();
    if (is_nan(a) || is_nan(b)) return !is_nan(a) ? old : !is_nan(b) ? given : T::from_float(a);
    return a == b ? T{static_cast<std::uint16_t>(old.bits | given.bits)} : a < b ? old : given;
  } else {
    return given < old ? given : old;
  }
}

template <class T>
constexpr T greater(T old, T given) {
  if constexpr (is_small_float<T>) {
    const float a = old.to_float();
    const float b = given.to_float();
    if (is_nan(a) || is_nan(b)) return !is_nan(a) ? old : !is_nan(b) ? given : T::from_float(a);
    return a == b ? T{static_cast<std::uint16_t>(old.bits & given.bits)} : a > b ? old : given;
  } else {
    return given > old ? given : old;
  }
}

template <ReduceOp op, class T>
constexpr T combined(T old, T given) {
  if constexpr (op == ReduceOp::kAdd) return add(old, given);
  else if constexpr (op == ReduceOp::kMin) return lesser(old, given);
  else if constexpr (op == ReduceOp::kMax) return greater(old, given);
  else if constexpr (op == ReduceOp::kInc) return old >= given ? T{0} : static_cast<T>(old + 1);
  else if constexpr (op == ReduceOp::kDec) return old == 0 || old > given ? given : static_cast<T>(old - 1);
  else if constexpr (op == ReduceOp::kAnd) return static_cast<T>(old & given);
  else if constexpr (op == ReduceOp::kOr) return static_cast<T>(old | given);
  else return static_cast<T>(old ^ given);
}

template <ReduceOp op, class T>
void reduce(std::byte* destination, const std::byte* source, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at < bytes; at += sizeof(T)) {
    T old;
    T given;
    std::memcpy(&old, destination + at, sizeof(T));
    std::memcpy(&given, source + at, sizeof(T));
    const T value = combined<op>(old, given);
    std::memcpy(destination + at, &value, sizeof(T));
  }
}

template <ReduceOp op>
Reduction find_arithmetic(TensorType type) {
  switch (type) {
    case TensorType::kU32: return reduce<op, std::uint32_t>;
    case TensorType::kI32: return reduce<op, std::int32_t>;
    case TensorType::kU64: return reduce<op, std::uint64_t>;
    case TensorType::kI64: return op == ReduceOp::kAdd ? nullptr : reduce<op, std::int64_t>;
    case TensorType::kF32:
      if constexpr (op == ReduceOp::kAdd) return reduce<op, float>;
      else return nullptr;
    case TensorType::kF16: return reduce<op, fp16>;
    case TensorType::kBF16: return reduce<op, bf16>;
    default: return nullptr;
  }
}

template <ReduceOp op>
Reduction find_bitwise(TensorType type) {
  switch (type) {
    case TensorType::kU32:
    case TensorType::kI32: return reduce<op, std::uint32_t>;
    case TensorType::kU64:
    case TensorType::kI64: return reduce<op, std::uint64_t>;
    default: return nullptr;
  }
}

template <ReduceOp op>
Reduction find_counting(TensorType type) {
  return type == TensorType::kU32 ? Reduction{reduce<op, std::uint32_t>} : nullptr;
}

}  // namespace

Reduction find_reduction(ReduceOp op, TensorType type) {
  switch (op) {
    case ReduceOp::kAdd: return find_arithmetic<ReduceOp::kAdd>(type);
    case ReduceOp::kMin: return find_arithmetic<ReduceOp::kMin>(type);
    case ReduceOp::kMax: return find_arithmetic<ReduceOp::kMax>(type);
    case ReduceOp::kInc: return find_counting<ReduceOp::kInc>(type);
    case ReduceOp::kDec: return find_counting<ReduceOp::kDec>(type);
    case ReduceOp::kAnd: return find_bitwise<ReduceOp::kAnd>(type);
    case ReduceOp::kOr: return find_bitwise<ReduceOp::kOr>(type);
    case ReduceOp::kXor: return find_bitwise<ReduceOp::kXor>(type);
  }
  return nullptr;
}

Reduction find_flat_reduction(ReduceOp op, TensorType type) {
  if (op == ReduceOp::kAdd && type == TensorType::kF64) return reduce<ReduceOp::kAdd, double>;
  return find_reduction(op, type);
}

}  // namespace heddle::sim::machine
