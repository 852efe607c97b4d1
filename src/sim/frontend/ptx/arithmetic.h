// SPDX-License-Identifier: Apache-2.0
//
// Floating point as PTX has it: rounding directions, flushing, saturation, and the NaN that every f32
// instruction returns.
#pragma once

#include <heddle/tile/element.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace heddle::sim::ptx {

enum FloatFlags : std::uint32_t {
  kRoundMask = 3,  // 0 .rn, 1 .rz, 2 .rm, 3 .rp
  kFtz = 4,
  kSat = 8,
  kRelu = 16,
  kNan = 32,
  kAbs = 64,
  kSatFinite = 128
};

inline std::uint32_t rounding_flag(std::string_view modifier) {
  if (modifier == ".rz" || modifier == ".rzi") return 1;
  if (modifier == ".rm" || modifier == ".rmi") return 2;
  if (modifier == ".rp" || modifier == ".rpi") return 3;
  return 0;
}

// The processor rounds this way while it lives. Operands come from memory that others could write, so the
// compiler cannot move the arithmetic out of it.
class RoundingScope {
 public:
  explicit RoundingScope(std::uint32_t flags) : is_changed_((flags & kRoundMask) != 0) {
    if (!is_changed_) return;
    constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    std::fesetround(kModes[flags & kRoundMask]);
  }
  ~RoundingScope() {
    if (is_changed_) std::fesetround(FE_TONEAREST);
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  bool is_changed_;
};

inline constexpr std::uint32_t kCanonicalNan = 0x7fffffff;

inline float canonical(float value) { return std::isnan(value) ? std::bit_cast<float>(kCanonicalNan) : value; }
inline double canonical(double value) {
  return std::isnan(value) ? std::bit_cast<double>(std::uint64_t{0xfff8000000000000}) : value;
}

inline double quiet(double nan) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) | std::uint64_t{0x0008000000000000});
}

// The result of arithmetic with these operands. Doubles hand on the first NaN among them, made quiet; floats
// return the same NaN always. As an H200 does it.
template <class T, class... Operands>
T with_nans(T result, Operands... operands) {
  if constexpr (sizeof(T) == 8) {
    if (std::isnan(result)) {
      result = canonical(result);
      bool is_found = false;
      ((!is_found && std::isnan(operands) ? (result = quiet(operands), is_found = true) : false), ...);
    }
  }
  return result;
}

inline float flush(float value) {
  return std::abs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}
inline double flush(double value) { return value; }

template <class T>
T take(T value, std::uint32_t flags) {
  return (flags & kFtz) != 0 ? flush(value) : value;
}

template <class T>
T give(T value, std::uint32_t flags) {
  if ((flags & kFtz) != 0) value = flush(value);
  if ((flags & kSat) != 0) {
    if (std::isnan(value)) return T{0};
    return value < T{0} ? T{0} : value > T{1} ? T{1} : value == T{0} ? T{0} : value;
  }
  if constexpr (sizeof(T) == 8) return value;  // with_nans has seen to it
  return canonical(value);
}

// A double cut to a float whose last bit remembers that something was cut off. What is then rounded to a
// narrower format comes out as if it had been rounded once.
inline float sticky_float(double value) {
  auto narrow = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(value)) return narrow;
  if (std::isinf(narrow)) narrow = std::copysign(std::numeric_limits<float>::max(), narrow);
  if (static_cast<double>(narrow) == value) return narrow;
  auto bits = std::bit_cast<std::uint32_t>(narrow);
  if (std::abs(static_cast<double>(narrow)) > std::abs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

// a * b + c, rounded so that its last bit remembers what was cut off; the product is exact.
inline double sticky_fma(double a, double b, double c) {
  const double product = a * b;
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  if (error == 0) return sum;
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if ((bits & 1) != 0) return sum;
  const bool away = (error > 0) == (sum > 0);
  bits = away ? bits + 1 : bits - 1;
  return std::bit_cast<double>(bits);
}

// 16-bit formats.
inline Rounding rounding_of(std::uint32_t flags) {
  constexpr Rounding kModes[] = {Rounding::kNearestEven, Rounding::kTowardZero, Rounding::kNearestEven,
                                 Rounding::kTowardPositive};
  return kModes[flags & kRoundMask];
}

struct HalfFormat {
  static constexpr FloatFormat format = fp16::format;
  static constexpr std::uint16_t nan = 0x7fff;
  static constexpr std::uint16_t infinity = 0x7c00;
  static constexpr std::uint16_t least_normal = 0x0400;
};
struct BrainFormat {
  static constexpr FloatFormat format = bf16::format;
  static constexpr std::uint16_t nan = 0x7fff;
  static constexpr std::uint16_t infinity = 0x7f80;
  static constexpr std::uint16_t least_normal = 0x0080;
};

template <class F>
double widen(std::uint64_t word) {
  return decode(F::format, static_cast<std::uint32_t>(word & 0xffff));
}

template <class F>
std::uint16_t narrow(double value, std::uint32_t flags) {
  if (std::isnan(value)) return (flags & kSat) != 0 ? std::uint16_t{0} : F::nan;
  if ((flags & kSat) != 0) value = value > 1 ? 1 : value > 0 ? value : 0;  // no negative zero
  if ((flags & kRelu) != 0 && !(value > 0)) value = 0;
  const Overflow overflow = (flags & kSatFinite) != 0 ? Overflow::kSaturate : Overflow::kToInfinity;
  float sticky = sticky_float(value);
  // Downward is upward of the negated number.
  const bool down = (flags & kRoundMask) == 2;
  if (down) sticky = -sticky;
  const Rounding rounding = down ? Rounding::kTowardPositive : rounding_of(flags);
  auto bits = static_cast<std::uint16_t>(encode(F::format, sticky, rounding, overflow));
  // Upward, a negative number that is too large becomes the largest there is.
  if (rounding == Rounding::kTowardPositive && bits == (F::infinity | 0x8000) && !std::isinf(value)) --bits;
  if (down) bits ^= 0x8000;
  // What would not be normal if exponents had no end is flushed. All of it is rounded to nearest.
  if ((flags & kFtz) != 0) {
    const double least = decode(F::format, F::least_normal);
    const double step = decode(F::format, 1);  // of subnormal numbers; half of it if exponents had no end
    if (std::abs(value) < least - step / 4) bits &= 0x8000;
  }
  return bits;
}

}  // namespace heddle::sim::ptx
