// SPDX-License-Identifier: Apache-2.0
//
// PTX: Floating Point Instructions, of f32 and f64.
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/warp.h"

namespace heddle::sim::ptx {

namespace {

struct FAdd {
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
};
struct FSub {
  template <class T>
  static T of(T a, T b) {
    return a - b;
  }
};
struct FMul {
  template <class T>
  static T of(T a, T b) {
    return a * b;
  }
};
struct FDiv {
  template <class T>
  static T of(T a, T b) {
    return a / b;
  }
};
// Unverified: results of the approximate forms; here they are rounded correctly.
struct FDivApprox {
  static float of(float a, float b) { return static_cast<float>(static_cast<double>(a) / b); }
};
struct FFma {
  template <class T>
  static T of(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct FSqrt {
  template <class T>
  static T of(T a) {
    return std::sqrt(a);
  }
};
struct FRcp {
  template <class T>
  static T of(T a) {
    return T{1} / a;
  }
};
struct FRsqrt {
  static float of(float a) {
    return a == 0 ? std::copysign(INFINITY, a) : static_cast<float>(1.0 / std::sqrt(double{a}));
  }
  static double of(double a) { return a == 0 ? std::copysign(double{INFINITY}, a) : 1.0 / std::sqrt(a); }
};
struct FEx2 {
  static float of(float a) { return static_cast<float>(std::exp2(double{a})); }
};
struct FLg2 {
  static float of(float a) { return static_cast<float>(std::log2(double{a})); }
};
struct FSin {
  static float of(float a) { return static_cast<float>(std::sin(double{a})); }
};
struct FCos {
  static float of(float a) { return static_cast<float>(std::cos(double{a})); }
};
struct FTanh {
  static float of(float a) { return static_cast<float>(std::tanh(double{a})); }
};

// Flushing looks at the result as it would be rounded if exponents had no end: what becomes normal only for want
// of smaller numbers goes, too, as on an H200. `is_below` says whether the exact result is less than a number,
// both taken as positive.
template <class F>
float without_tiny(float result, std::uint32_t flags, F&& is_below) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  constexpr double kNext = kLeast * (1 - std::numeric_limits<float>::epsilon() / 2);  // below it, without an end
  if ((flags & kFtz) == 0 || std::abs(result) != std::numeric_limits<float>::min()) return result;
  // To nearest, half way between the two is the boundary; upward, only the lower one itself is below.
  const bool is_nearest = (flags & kRoundMask) == 0;
  const double boundary = is_nearest ? (kLeast + kNext) / 2 : std::nextafter(kNext, 1.0);
  return is_below(std::copysign(1.0, double{result}), boundary) ? std::copysign(0.0f, result) : result;
}

float fused(float x, float y, float z, std::uint32_t flags) {
  return without_tiny(std::fma(x, y, z), flags,
                      [&](double sign, double boundary) { return sign * x * y < boundary - sign * z; });
}
double fused(double x, double y, double z, std::uint32_t) { return std::fma(x, y, z); }

template <class Op, class T>
T applied(T x, T y, std::uint32_t flags) {
  const T result = Op::of(x, y);
  if constexpr (sizeof(T) == 4 && (std::is_same_v<Op, FMul> || std::is_same_v<Op, FDiv>)) {
    return without_tiny(result, flags, [&](double sign, double boundary) {
      return sign * Op::of(double{x}, double{y}) < boundary;
    });
  }
  return result;
}

template <class Op, class T>
void float_unary(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const RoundingScope scope(i.flags);
  Row& d = warp.rows[i.d];
  const Row& a = warp.rows[i.a];
  for_lanes(mask, [&](std::uint32_t l) {
    const T x = take(get<T>(a[l]), i.flags);
    d[l] = put(give<T>(with_nans(Op::of(x), x), i.flags));
  });
}

template <class Op, class T>
void float_binary(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const RoundingScope scope(i.flags);
  Row& d = warp.rows[i.d];
  const Row& a = warp.rows[i.a];
  const Row& b = warp.rows[i.b];
  for_lanes(mask, [&](std::uint32_t l) {
    const T x = take(get<T>(a[l]), i.flags);
    const T y = take(get<T>(b[l]), i.flags);
    d[l] = put(give<T>(with_nans(applied<Op>(x, y, i.flags), x, y), i.flags));
  });
}

template <class T>
void float_fma(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const RoundingScope scope(i.flags);
  for_lanes(mask, [&](std::uint32_t l) {
    const T x = take(get<T>(warp.rows[i.a][l]), i.flags);
    const T y = take(get<T>(warp.rows[i.b][l]), i.flags);
    const T z = take(get<T>(warp.rows[i.c][l]), i.flags);
    warp.rows[i.d][l] = put(give<T>(with_nans(fused(x, y, z, i.flags), x, y, z), i.flags));
  });
}

// Two f32 in a 64-bit register.
template <class Op>
void float_pairs(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const RoundingScope scope(i.flags);
  for_lanes(mask, [&](std::uint32_t l) {
    std::uint64_t result = 0;
    for (unsigned shift = 0; shift <= 32; shift += 32) {
      const auto part = [&](std::uint32_t row) { return take(get<float>(warp.rows[row][l] >> shift), i.flags); };
      float value = 0;
      if constexpr (std::is_same_v<Op, FFma>) {
        value = fused(part(i.a), part(i.b), part(i.c), i.flags);
      } else {
        value = applied<Op>(part(i.a), part(i.b), i.flags);
      }
      result |= put(give<float>(value, i.flags)) << shift;
    }
    warp.rows[i.d][l] = result;
  });
}

// The smaller or larger of two numbers. flags: kNan: a NaN wins.
template <class T, bool is_max>
T least_or_most(T a, T b, std::uint32_t flags) {
  if (std::isnan(a) || std::isnan(b)) {
    const bool both = std::isnan(a) && std::isnan(b);
    return both || (flags & kNan) != 0 ? with_nans(canonical(std::numeric_limits<T>::quiet_NaN()), a, b)
           : std::isnan(a)             ? b
                                       : a;
  }
  // Of zeros of either sign, the positive one is larger.
  if (a == b) return std::signbit(a) == is_max ? b : a;
  return (a < b) == is_max ? b : a;
}

// flags: kAbs: .xorsign.abs.
template <class T, bool is_max>
void float_min_max(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    T a = take(get<T>(warp.rows[i.a][l]), i.flags);
    T b = take(get<T>(warp.rows[i.b][l]), i.flags);
    const bool sign = std::signbit(a) != std::signbit(b);
    if ((i.flags & kAbs) != 0) {
      a = std::abs(a);
      b = std::abs(b);
    }
    T result = least_or_most<T, is_max>(a, b, i.flags);
    if ((i.flags & kAbs) != 0 && !std::isnan(result)) result = std::copysign(result, sign ? T{-1} : T{1});
    warp.rows[i.d][l] = put(result);
  });
}

// PTX: min, max of three numbers, on sm_100. flags: kAbs: of their magnitudes.
template <bool is_max>
void float_min_max_of_three(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const auto operand = [&](std::uint32_t row) {
      const float value = take(get<float>(warp.rows[row][l]), i.flags);
      return (i.flags & kAbs) != 0 ? std::abs(value) : value;
    };
    const float two = least_or_most<float, is_max>(operand(i.a), operand(i.b), i.flags);
    warp.rows[i.d][l] = put(canonical(least_or_most<float, is_max>(two, operand(i.c), i.flags)));
  });
}

template <class U>
void float_sign(Warp& warp, const Instruction& i, std::uint32_t mask) {
  // flags: kAbs clears the sign, otherwise it is inverted. On an H200, a NaN of 32 bits becomes the one that
  // arithmetic returns, and one of 64 bits becomes quiet and keeps its sign.
  constexpr U kSign = U{1} << (8 * sizeof(U) - 1);
  for_lanes(mask, [&](std::uint32_t l) {
    auto value = static_cast<U>(warp.rows[i.a][l]);
    if constexpr (sizeof(U) == 4) {
      if ((i.flags & kFtz) != 0) value = static_cast<U>(put(flush(get<float>(value))));
    }
    if constexpr (sizeof(U) == 4) {
      if (std::isnan(get<float>(value))) {
        warp.rows[i.d][l] = kCanonicalNan;
        return;
      }
    } else if (std::isnan(get<double>(value))) {
      warp.rows[i.d][l] = put(quiet(get<double>(value)));
      return;
    }
    warp.rows[i.d][l] =
        (i.flags & kAbs) != 0 ? static_cast<U>(value & static_cast<U>(~kSign)) : static_cast<U>(value ^ kSign);
  });
}

template <class U>
void copysign_bits(Warp& warp, const Instruction& i, std::uint32_t mask) {
  constexpr U kSign = U{1} << (8 * sizeof(U) - 1);
  for_lanes(mask, [&](std::uint32_t l) {
    warp.rows[i.d][l] = (warp.rows[i.a][l] & kSign) | (warp.rows[i.b][l] & static_cast<U>(~kSign));
  });
}

// flags: which property.
template <class T>
void testp(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const T a = get<T>(warp.rows[i.a][l]);
    bool result = false;
    switch (i.flags) {
      case 0: result = std::isfinite(a); break;
      case 1: result = std::isinf(a); break;
      case 2: result = !std::isnan(a); break;
      case 3: result = std::isnan(a); break;
      case 4: result = std::isnormal(a) || a == 0; break;
      default: result = std::fpclassify(a) == FP_SUBNORMAL; break;
    }
    warp.rows[i.d][l] = put(result);
  });
}

std::uint32_t flags_of(const Build& b, std::size_t round, std::size_t ftz, std::size_t sat) {
  return rounding_flag(b.mod(round)) | (b.has(ftz) ? kFtz : 0u) | (b.has(sat) ? kSat : 0u);
}

template <class Op>
void add_arithmetic(FormTable& table, const std::string& name) {
  table.add(name + "[.rn,.rz,.rm,.rp][.ftz][.sat].f32", [](Build& b) {
    b.simple(2, ".f32", float_binary<Op, float>);
    b.out().flags = flags_of(b, 0, 1, 2);
  });
  table.add(name + "[.rn,.rz,.rm,.rp].f64", [](Build& b) {
    b.simple(2, ".f64", float_binary<Op, double>);
    b.out().flags = rounding_flag(b.mod(0));
  });
  table.add(name + "[.rn,.rz,.rm,.rp][.ftz].f32x2", [](Build& b) {
    b.simple(2, {}, float_pairs<Op>);
    b.out().flags = rounding_flag(b.mod(0)) | (b.has(1) ? kFtz : 0u);
  });
}

template <class Op>
void add_approximate(FormTable& table, const std::string& name) {
  table.add(name + ".approx[.ftz].f32", [](Build& b) {
    b.simple(1, ".f32", float_unary<Op, float>);
    b.out().flags = b.has(0) ? kFtz : 0u;
  });
}

template <class Op>
void add_rounded(FormTable& table, const std::string& name) {
  table.add(name + "{.rn,.rz,.rm,.rp}[.ftz].f32", [](Build& b) {
    b.simple(1, ".f32", float_unary<Op, float>);
    b.out().flags = rounding_flag(b.mod(0)) | (b.has(1) ? kFtz : 0u);
  });
  table.add(name + "{.rn,.rz,.rm,.rp}.f64", [](Build& b) {
    b.simple(1, ".f64", float_unary<Op, double>);
    b.out().flags = rounding_flag(b.mod(0));
  });
}

bool is_of_first_generation(std::string_view target) { return target.size() == 5 && target.starts_with("sm_1"); }

template <bool is_max>
void add_min_max(FormTable& table, const std::string& name) {
  table.add(name + "[.ftz][.NaN].f32", [](Build& b) {
    const bool is_of_three = b.operands() == 4;
    b.simple(is_of_three ? 3 : 2, ".f32",
             is_of_three ? float_min_max_of_three<is_max> : float_min_max<float, is_max>);
    b.out().flags = (b.has(0) ? kFtz : 0u) | (b.has(1) ? kNan : 0u);
  });
  table.add(name + "[.ftz][.NaN]{.abs}.f32", [](Build& b) {
    b.simple(3, ".f32", float_min_max_of_three<is_max>);
    b.out().flags = kAbs | (b.has(0) ? kFtz : 0u) | (b.has(1) ? kNan : 0u);
  });
  table.add(name + "[.ftz][.NaN].xorsign.abs.f32", [](Build& b) {
    b.simple(2, ".f32", float_min_max<float, is_max>);
    b.out().flags = kAbs | (b.has(0) ? kFtz : 0u) | (b.has(1) ? kNan : 0u);
  });
  table.add(name + ".f64", [](Build& b) { b.simple(2, ".f64", float_min_max<double, is_max>); });
}

}  // namespace

void add_float_forms(FormTable& table) {
  add_arithmetic<FAdd>(table, "add");
  add_arithmetic<FSub>(table, "sub");
  add_arithmetic<FMul>(table, "mul");
  for (const std::string name : {"fma", "mad"}) {
    table.add(name + "{.rn,.rz,.rm,.rp}[.ftz][.sat].f32", [](Build& b) {
      b.simple(3, ".f32", float_fma<float>);
      b.out().flags = flags_of(b, 0, 1, 2);
    });
    table.add(name + "{.rn,.rz,.rm,.rp}.f64", [](Build& b) {
      b.simple(3, ".f64", float_fma<double>);
      b.out().flags = rounding_flag(b.mod(0));
    });
  }
  // PTX: Floating Point Instructions: mad. Without a rounding it is of targets before sm_20, and what later ones
  // make of it.
  table.add("mad[.ftz][.sat].f32", [](Build& b) {
    if (!is_of_first_generation(b.module().target)) b.fail("mad.f32 needs a rounding");
    b.simple(3, ".f32", float_fma<float>);
    b.out().flags = rounding_flag(".rn") | kFtz | (b.has(1) ? kSat : 0u);
  });
  table.add("fma{.rn,.rz,.rm,.rp}[.ftz].f32x2", [](Build& b) {
    b.simple(3, {}, float_pairs<FFma>);
    b.out().flags = rounding_flag(b.mod(0)) | (b.has(1) ? kFtz : 0u);
  });
  table.add("div{.rn,.rz,.rm,.rp}[.ftz].f32", [](Build& b) {
    b.simple(2, ".f32", float_binary<FDiv, float>);
    b.out().flags = rounding_flag(b.mod(0)) | (b.has(1) ? kFtz : 0u);
  });
  table.add("div{.approx,.full}[.ftz].f32", [](Build& b) {
    b.simple(2, ".f32", float_binary<FDivApprox, float>);
    b.out().flags = b.has(1) ? kFtz : 0u;
  });
  table.add("div{.rn,.rz,.rm,.rp}.f64", [](Build& b) {
    b.simple(2, ".f64", float_binary<FDiv, double>);
    b.out().flags = rounding_flag(b.mod(0));
  });
  add_rounded<FSqrt>(table, "sqrt");
  add_rounded<FRcp>(table, "rcp");
  add_approximate<FSqrt>(table, "sqrt");
  add_approximate<FRcp>(table, "rcp");
  add_approximate<FRsqrt>(table, "rsqrt");
  add_approximate<FEx2>(table, "ex2");
  add_approximate<FLg2>(table, "lg2");
  add_approximate<FSin>(table, "sin");
  add_approximate<FCos>(table, "cos");
  table.add("tanh.approx.f32", [](Build& b) { b.simple(1, ".f32", float_unary<FTanh, float>); });
  // Unverified: these drop the low half of the mantissa on hardware.
  table.add("rcp.approx.ftz.f64", [](Build& b) { b.simple(1, ".f64", float_unary<FRcp, double>); });
  table.add("rsqrt.approx[.ftz].f64", [](Build& b) { b.simple(1, ".f64", float_unary<FRsqrt, double>); });
  add_min_max<false>(table, "min");
  add_min_max<true>(table, "max");
  table.add("abs[.ftz].f32", [](Build& b) {
    b.simple(1, ".f32", float_sign<std::uint32_t>);
    b.out().flags = kAbs | (b.has(0) ? kFtz : 0u);
  });
  table.add("neg[.ftz].f32", [](Build& b) {
    b.simple(1, ".f32", float_sign<std::uint32_t>);
    b.out().flags = b.has(0) ? kFtz : 0u;
  });
  table.add("abs.f64", [](Build& b) {
    b.simple(1, ".f64", float_sign<std::uint64_t>);
    b.out().flags = kAbs;
  });
  table.add("neg.f64", [](Build& b) { b.simple(1, ".f64", float_sign<std::uint64_t>); });
  table.add("copysign{.f32,.f64}", [](Build& b) {
    b.simple(2, b.mod(0), b.mod(0) == ".f32" ? copysign_bits<std::uint32_t> : copysign_bits<std::uint64_t>);
  });
  table.add("testp{.finite,.infinite,.number,.notanumber,.normal,.subnormal}{.f32,.f64}", [](Build& b) {
    b.simple(1, b.mod(1), b.mod(1) == ".f32" ? testp<float> : testp<double>);
    constexpr std::string_view kNames[] = {".finite", ".infinite", ".number", ".notanumber", ".normal"};
    while (b.out().flags < 5 && kNames[b.out().flags] != b.mod(0)) ++b.out().flags;
  });
}

}  // namespace heddle::sim::ptx
