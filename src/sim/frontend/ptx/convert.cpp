// SPDX-License-Identifier: Apache-2.0
//
// PTX: cvt.
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/warp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace heddle::sim::ptx {

namespace {

// flags: those of arithmetic.h, and
constexpr std::uint32_t kToInteger = 1u << 10;  // .rni .rzi .rmi .rpi: round to a whole number

template <class To, class From>
To saturate_integer(From value) {
  // Both fit a signed 128-bit number, but the few cases are quicker to tell apart.
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_signed_v<From>) {
    if (value < 0) {
      if constexpr (std::is_signed_v<To>) {
        return value < static_cast<std::int64_t>(Limits::min()) ? Limits::min() : static_cast<To>(value);
      } else {
        return 0;
      }
    }
  }
  return static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(Limits::max()) ? Limits::max()
                                                                                       : static_cast<To>(value);
}

// Integer to integer. The source is extended to the destination, or cut down.
template <class To, class From>
void int_to_int(Warp& warp, const Instruction& i, std::uint32_t mask) {
  Row& d = warp.rows[i.d];
  const Row& a = warp.rows[i.a];
  if ((i.flags & kSat) != 0) {
    for_lanes(mask,
              [&](std::uint32_t l) { d[l] = static_cast<std::uint64_t>(saturate_integer<To>(get<From>(a[l]))); });
  } else {
    // Destination registers may be wider than the type; the value is then extended by its sign.
    for_lanes(mask,
              [&](std::uint32_t l) { d[l] = static_cast<std::uint64_t>(static_cast<To>(get<From>(a[l]))); });
  }
}

template <class To, class From>
void int_to_float(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const RoundingScope scope(i.flags);
  for_lanes(mask, [&](std::uint32_t l) {
    const From value = get<From>(warp.rows[i.a][l]);
    warp.rows[i.d][l] = put(give<To>(static_cast<To>(value), i.flags & kSat));
  });
}

template <class F, class From>
void int_to_half(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    // 64-bit integers do not fit a double; what is cut off still counts.
    const From value = get<From>(warp.rows[i.a][l]);
    double wide = static_cast<double>(value);
    if constexpr (sizeof(From) == 8)
      wide =
          sticky_fma(static_cast<double>(value & ~From{0xffff}), 1.0, static_cast<double>(value & From{0xffff}));
    warp.rows[i.d][l] = narrow<F>(wide, i.flags);
  });
}

double whole(double value, std::uint32_t flags) {
  switch (flags & kRoundMask) {
    case 1: return std::trunc(value);
    case 2: return std::floor(value);
    case 3: return std::ceil(value);
    default: return std::nearbyint(value);
  }
}

// PTX: NaN becomes 0, and what does not fit becomes the nearest number that does. An H200 makes the highest bit
// alone of a NaN if the source or the destination has 64 bits.
template <class To>
To clamp_to(double value, bool is_from_f64) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value)) {
    if (!is_from_f64 && sizeof(To) < 8) return 0;
    return static_cast<To>(std::uint64_t{1} << (8 * sizeof(To) - 1));
  }
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  // The maximum of 64 bits rounds up to a power of two as a double.
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<To>(value);
}

struct FromF32 {
  static double of(std::uint64_t word, std::uint32_t flags) { return take(get<float>(word), flags); }
};
struct FromF64 {
  static double of(std::uint64_t word, std::uint32_t) { return get<double>(word); }
};
struct FromF16 {
  static double of(std::uint64_t word, std::uint32_t) { return widen<HalfFormat>(word); }
};
struct FromBf16 {
  static double of(std::uint64_t word, std::uint32_t) { return widen<BrainFormat>(word); }
};

template <class To, class From>
void float_to_int(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const double value = whole(From::of(warp.rows[i.a][l], i.flags), i.flags);
    warp.rows[i.d][l] = static_cast<std::uint64_t>(clamp_to<To>(value, std::is_same_v<From, FromF64>));
  });
}

// A NaN whose payload, of `from_bits` bits, begins at the top of that of the destination: what conversions to and
// from f64, and from bf16, make of it on an H200. The other conversions return one NaN always.
constexpr std::uint64_t moved_nan(std::uint64_t bits, unsigned from_width, unsigned from_bits, unsigned to_width,
                                  unsigned to_bits) {
  const std::uint64_t sign = bits >> (from_width - 1) & 1;
  std::uint64_t payload = bits & ((std::uint64_t{1} << from_bits) - 1);
  payload = to_bits >= from_bits ? payload << (to_bits - from_bits) : payload >> (from_bits - to_bits);
  payload |= std::uint64_t{1} << (to_bits - 1);
  const std::uint64_t exponent = ((std::uint64_t{1} << (to_width - 1 - to_bits)) - 1) << to_bits;
  return sign << (to_width - 1) | exponent | payload;
}

template <class From>
void to_f32(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const RoundingScope scope((i.flags & kToInteger) != 0 ? 0 : i.flags);
  for_lanes(mask, [&](std::uint32_t l) {
    double value = From::of(warp.rows[i.a][l], i.flags);
    if (std::isnan(value) && (i.flags & (kSat | kFtz)) == 0) {
      if constexpr (std::is_same_v<From, FromF64>) {
        warp.rows[i.d][l] = moved_nan(warp.rows[i.a][l], 64, 52, 32, 23);
        return;
      } else if constexpr (std::is_same_v<From, FromBf16>) {
        warp.rows[i.d][l] = (warp.rows[i.a][l] & 0xffff) << 16;
        return;
      }
    }
    if ((i.flags & kToInteger) != 0) value = whole(value, i.flags);
    float result = static_cast<float>(value);
    if ((i.flags & kRelu) != 0 && result < 0) result = 0;
    warp.rows[i.d][l] = put(give<float>(result, i.flags));
  });
}

template <class From>
void to_f64(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    double value = From::of(warp.rows[i.a][l], i.flags);
    if (std::isnan(value) && (i.flags & kSat) == 0) {
      if constexpr (std::is_same_v<From, FromF16>) {
        warp.rows[i.d][l] = moved_nan(warp.rows[i.a][l] & 0xffff, 16, 10, 64, 52);
        return;
      }
      if ((i.flags & kFtz) != 0) value = std::bit_cast<float>(kCanonicalNan);
    }
    if ((i.flags & kToInteger) != 0) value = std::isnan(value) ? quiet(value) : whole(value, i.flags);
    if ((i.flags & kSat) != 0) value = give<double>(value, kSat);
    warp.rows[i.d][l] = put(value);
  });
}

template <class F, class From>
void to_half(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    double value = From::of(warp.rows[i.a][l], i.flags);
    if constexpr (std::is_same_v<From, FromF64> && std::is_same_v<F, HalfFormat>) {
      if (std::isnan(value) && (i.flags & kSat) == 0) {
        warp.rows[i.d][l] = moved_nan(warp.rows[i.a][l], 64, 52, 16, 10);
        return;
      }
    }
    std::uint32_t flags = i.flags & ~kFtz;
    if ((i.flags & kToInteger) != 0) {
      value = whole(value, i.flags);
      flags &= ~kRoundMask;
    }
    warp.rows[i.d][l] = narrow<F>(value, flags);
  });
}

// Two f32 into one register: the first becomes the upper half.
template <class F>
void pack_halves(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint32_t high = narrow<F>(get<float>(warp.rows[i.a][l]), i.flags);
    const std::uint32_t low = narrow<F>(get<float>(warp.rows[i.b][l]), i.flags);
    warp.rows[i.d][l] = high << 16 | low;
  });
}

void to_tf32(Warp& warp, const Instruction& i, std::uint32_t mask) {
  // flags: 0 .rn, 1 .rz, 2 .rna, and kRelu, kSatFinite.
  for_lanes(mask, [&](std::uint32_t l) {
    float value = get<float>(warp.rows[i.a][l]);
    if ((i.flags & kRelu) != 0 && value < 0) value = 0;
    const std::uint32_t how = i.flags & kRoundMask;
    std::uint32_t bits = how == 0   ? tf32::from_float(value).bits
                         : how == 1 ? tf32::from_float<Rounding::kTowardZero>(value).bits
                                    : tf32::from_float<Rounding::kNearestAway>(value).bits;
    if ((i.flags & kSatFinite) != 0 && (bits & 0x7fffffff) == 0x7f800000) bits = (bits & 0x80000000) | 0x7f7fe000;
    warp.rows[i.d][l] = bits;
  });
}

// The 8-, 6- and 4-bit formats, always two at once.
template <class E>
struct Narrow {
  static constexpr std::uint32_t bits = std::is_same_v<E, e2m1> ? 4 : 8;
  static std::uint32_t of(float value, std::uint32_t flags) {
    if ((flags & kRelu) != 0 && value <= 0) value = 0;  // no negative zero
    return E::from_float(value).bits;
  }
};

template <class E>
void pack_narrow(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint32_t high = Narrow<E>::of(get<float>(warp.rows[i.a][l]), i.flags);
    const std::uint32_t low = Narrow<E>::of(get<float>(warp.rows[i.b][l]), i.flags);
    warp.rows[i.d][l] = high << Narrow<E>::bits | low;
  });
}

template <class E, class F>
void pack_narrow_halves(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t a = warp.rows[i.a][l];
    const std::uint32_t high = Narrow<E>::of(static_cast<float>(widen<F>(a >> 16)), i.flags);
    const std::uint32_t low = Narrow<E>::of(static_cast<float>(widen<F>(a)), i.flags);
    warp.rows[i.d][l] = high << Narrow<E>::bits | low;
  });
}

template <class E>
void unpack_narrow(Warp& warp, const Instruction& i, std::uint32_t mask) {
  constexpr std::uint32_t kBits = Narrow<E>::bits;
  for_lanes(mask, [&](std::uint32_t l) {
    const auto part = [&](std::uint32_t shift) {
      const E value{static_cast<std::uint8_t>(warp.rows[i.a][l] >> shift & ((1u << kBits) - 1))};
      return std::uint32_t{narrow<HalfFormat>(value.to_float(), i.flags)};
    };
    warp.rows[i.d][l] = part(kBits) << 16 | part(0);
  });
}

// Two scales, powers of two. flags: 1 .rz, 3 .rp.
void pack_scales(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const auto part = [&](std::uint32_t row) {
      const float value = get<float>(warp.rows[row][l]);
      return encode(ue8m0::format, value,
                    (i.flags & kRoundMask) == 3 ? Rounding::kTowardPositive : Rounding::kTowardZero,
                    Overflow::kSaturate);
    };
    warp.rows[i.d][l] = part(i.a) << 8 | part(i.b);
  });
}

void pack_scales_of_halves(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const auto part = [&](std::uint32_t shift) {
      const auto value = static_cast<float>(widen<BrainFormat>(warp.rows[i.a][l] >> shift));
      return encode(ue8m0::format, value,
                    (i.flags & kRoundMask) == 3 ? Rounding::kTowardPositive : Rounding::kTowardZero,
                    Overflow::kSaturate);
    };
    warp.rows[i.d][l] = part(16) << 8 | part(0);
  });
}

void unpack_scales(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const auto part = [&](std::uint32_t shift) {
      const auto bits = static_cast<std::uint32_t>(warp.rows[i.a][l] >> shift & 0xff);
      return std::uint32_t{narrow<BrainFormat>(decode(ue8m0::format, bits), 0)};
    };
    warp.rows[i.d][l] = part(8) << 16 | part(0);
  });
}

// PTX: cvt.rs: random bits are added to what is cut off, at its top, and the sum is cut. What `value` becomes
// when the format has `bits` of mantissa and no normal number below 2^least.
double round_by_chance(double value, int mantissa_bits, int least, std::uint32_t random, int random_bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double step = std::ldexp(1.0, std::max(std::ilogb(value), least) - mantissa_bits);
  return std::copysign(std::floor(std::abs(value) / step + std::ldexp(random, -random_bits)) * step, value);
}

template <class F>
void pack_halves_by_chance(Warp& warp, const Instruction& i, std::uint32_t mask) {
  constexpr bool kIsHalf = std::is_same_v<F, HalfFormat>;
  constexpr int kRandomBits = kIsHalf ? 13 : 16;
  for_lanes(mask, [&](std::uint32_t l) {
    const auto part = [&](std::uint32_t row, std::uint32_t shift) {
      const auto random = static_cast<std::uint32_t>(warp.rows[i.c][l] >> shift & ((1u << kRandomBits) - 1));
      const double value = get<float>(warp.rows[row][l]);
      return std::uint32_t{narrow<F>(
          round_by_chance(value, kIsHalf ? 10 : 7, kIsHalf ? -14 : -126, random, kRandomBits), i.flags)};
    };
    warp.rows[i.d][l] = part(i.a, 16) << 16 | part(i.b, 0);
  });
}

std::uint32_t reversed16(std::uint32_t bits) {
  std::uint32_t result = 0;
  for (std::uint32_t bit = 0; bit < 16; ++bit) result |= (bits >> bit & 1) << (15 - bit);
  return result;
}

// Four at once, the first at the top. Unverified: two of them share 16 random bits, which the upper one takes in
// reverse, as public measurements of e4m3 on a B200 have it.
template <class E, int mantissa_bits, int least>
void pack_four_by_chance(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    std::uint32_t packed = 0;
    for (std::uint32_t part = 0; part < 4; ++part) {
      const auto shared = static_cast<std::uint32_t>(warp.rows[i.b][l] >> (part < 2 ? 16 : 0) & 0xffff);
      const double value = get<float>(warp.rows[i.rows[part]][l]);
      const double rounded =
          round_by_chance(value, mantissa_bits, least, part % 2 == 0 ? reversed16(shared) : shared, 16);
      packed = packed << Narrow<E>::bits | Narrow<E>::of(static_cast<float>(rounded), i.flags);
    }
    warp.rows[i.d][l] = packed;
  });
}

template <class F>
Handler by_integer(std::string_view type, F&& make) {
  if (type == ".u8") return make.template operator()<std::uint8_t>();
  if (type == ".s8") return make.template operator()<std::int8_t>();
  if (type == ".u16") return make.template operator()<std::uint16_t>();
  if (type == ".s16") return make.template operator()<std::int16_t>();
  if (type == ".u32") return make.template operator()<std::uint32_t>();
  if (type == ".s32") return make.template operator()<std::int32_t>();
  if (type == ".u64") return make.template operator()<std::uint64_t>();
  return make.template operator()<std::int64_t>();
}

template <class From>
Handler float_handler(std::string_view to) {
  if (to == ".f32") return to_f32<From>;
  if (to == ".f64") return to_f64<From>;
  if (to == ".f16") return to_half<HalfFormat, From>;
  return to_half<BrainFormat, From>;
}

template <class F>
Handler by_float(std::string_view type, F&& make) {
  if (type == ".f32") return make.template operator()<FromF32>();
  if (type == ".f64") return make.template operator()<FromF64>();
  if (type == ".f16") return make.template operator()<FromF16>();
  return make.template operator()<FromBf16>();
}

constexpr const char* kIntegers = "{.u8,.s8,.u16,.s16,.u32,.s32,.u64,.s64}";
constexpr const char* kFloats = "{.f16,.bf16,.f32,.f64}";

std::uint32_t extra_flags(std::string_view modifier) {
  return modifier == ".relu" ? kRelu : modifier == ".satfinite" ? kSatFinite : 0u;
}

void two_sources(Build& b, Handler handler, std::uint32_t flags) {
  b.simple(2, ".f32", handler);
  b.out().flags = flags;
}

}  // namespace

void add_convert_forms(FormTable& table) {
  table.add(std::string("cvt[.sat]") + kIntegers + kIntegers, [](Build& b) {
    const std::string_view from = b.mod(2);
    b.simple(1, {}, by_integer(b.mod(1), [from]<class To>() -> Handler {
               return by_integer(from, []<class From>() -> Handler { return int_to_int<To, From>; });
             }));
    b.out().flags = b.has(0) ? kSat : 0u;
  });
  table.add(std::string("cvt[.rn,.rz,.rm,.rp][.ftz][.sat]") + kFloats + kIntegers, [](Build& b) {
    const std::string_view to = b.mod(3);
    b.simple(1, {}, by_integer(b.mod(4), [to]<class From>() -> Handler {
               if (to == ".f32") return int_to_float<float, From>;
               if (to == ".f64") return int_to_float<double, From>;
               if (to == ".f16") return int_to_half<HalfFormat, From>;
               return int_to_half<BrainFormat, From>;
             }));
    b.out().flags = rounding_flag(b.mod(0)) | (b.has(2) ? kSat : 0u);
  });
  table.add(std::string("cvt{.rni,.rzi,.rmi,.rpi}[.ftz][.sat]") + kIntegers + kFloats, [](Build& b) {
    const std::string_view from = b.mod(4);
    b.simple(1, from, by_integer(b.mod(3), [from]<class To>() -> Handler {
               return by_float(from, []<class From>() -> Handler { return float_to_int<To, From>; });
             }));
    b.out().flags = rounding_flag(b.mod(0)) | (b.has(1) ? kFtz : 0u);
  });
  table.add(std::string("cvt[.rn,.rz,.rm,.rp,.rni,.rzi,.rmi,.rpi][.ftz][.sat]") + kFloats + kFloats,
            [](Build& b) {
              const std::string_view to = b.mod(3);
              b.simple(1, b.mod(4),
                       by_float(b.mod(4), [to]<class From>() -> Handler { return float_handler<From>(to); }));
              const bool is_whole = b.mod(0).size() == 4;
              b.out().flags = rounding_flag(b.mod(0)) | (is_whole ? kToInteger : 0u) | (b.has(1) ? kFtz : 0u) |
                              (b.has(2) ? kSat : 0u);
            });
  table.add("cvt{.rn,.rz}[.relu][.satfinite]{.f16,.bf16}.f32", [](Build& b) {
    b.simple(1, ".f32", b.mod(3) == ".f16" ? to_half<HalfFormat, FromF32> : to_half<BrainFormat, FromF32>);
    b.out().flags = rounding_flag(b.mod(0)) | extra_flags(b.mod(1)) | extra_flags(b.mod(2));
  });
  table.add("cvt{.rn,.rz}[.relu][.satfinite]{.f16x2,.bf16x2}.f32", [](Build& b) {
    two_sources(b, b.mod(3) == ".f16x2" ? pack_halves<HalfFormat> : pack_halves<BrainFormat>,
                rounding_flag(b.mod(0)) | extra_flags(b.mod(1)) | extra_flags(b.mod(2)));
  });
  table.add("cvt.rs[.relu][.satfinite]{.f16x2,.bf16x2}.f32", [](Build& b) {
    b.simple(3, ".f32",
             b.mod(2) == ".f16x2" ? pack_halves_by_chance<HalfFormat> : pack_halves_by_chance<BrainFormat>);
    b.out().flags = extra_flags(b.mod(0)) | extra_flags(b.mod(1));
  });
  table.add("cvt.rs[.relu].satfinite{.e4m3x4,.e5m2x4,.e2m3x4,.e3m2x4,.e2m1x4}.f32", [](Build& b) {
    b.want(3);
    const std::string_view to = b.mod(1);
    b.out().rows = b.sources(b.operand(1), ".f32");
    if (b.out().rows.size() != 4) b.fail("four sources are wanted");
    b.out().d = b.target(0);
    b.out().b = b.source(2);
    b.out().flags = extra_flags(b.mod(0));
    b.scalar(to == ".e4m3x4"   ? pack_four_by_chance<e4m3, 3, -6>
             : to == ".e5m2x4" ? pack_four_by_chance<e5m2, 2, -14>
             : to == ".e2m3x4" ? pack_four_by_chance<e2m3, 3, 0>
             : to == ".e3m2x4" ? pack_four_by_chance<e3m2, 2, -2>
                               : pack_four_by_chance<e2m1, 1, 0>);
  });
  table.add("cvt{.rn,.rz,.rna}[.relu][.satfinite].tf32.f32", [](Build& b) {
    b.simple(1, ".f32", to_tf32);
    b.out().flags = (b.mod(0) == ".rz"    ? 1u
                     : b.mod(0) == ".rna" ? 2u
                                          : 0u) |
                    extra_flags(b.mod(1)) | extra_flags(b.mod(2));
  });
  table.add("cvt.rn.satfinite[.relu]{.e4m3x2,.e5m2x2,.e2m3x2,.e3m2x2,.e2m1x2}.f32", [](Build& b) {
    const std::string_view to = b.mod(1);
    two_sources(b,
                to == ".e4m3x2"   ? pack_narrow<e4m3>
                : to == ".e5m2x2" ? pack_narrow<e5m2>
                : to == ".e2m3x2" ? pack_narrow<e2m3>
                : to == ".e3m2x2" ? pack_narrow<e3m2>
                                  : pack_narrow<e2m1>,
                extra_flags(b.mod(0)));
  });
  table.add("cvt.rn.satfinite[.relu]{.e4m3x2,.e5m2x2}{.f16x2,.bf16x2}", [](Build& b) {
    const bool is_half = b.mod(2) == ".f16x2";
    b.simple(1, {},
             b.mod(1) == ".e4m3x2"
                 ? (is_half ? pack_narrow_halves<e4m3, HalfFormat> : pack_narrow_halves<e4m3, BrainFormat>)
                 : (is_half ? pack_narrow_halves<e5m2, HalfFormat> : pack_narrow_halves<e5m2, BrainFormat>));
    b.out().flags = extra_flags(b.mod(0));
  });
  table.add("cvt.rn[.relu].f16x2{.e4m3x2,.e5m2x2,.e2m3x2,.e3m2x2,.e2m1x2}", [](Build& b) {
    const std::string_view from = b.mod(1);
    b.simple(1, {},
             from == ".e4m3x2"   ? unpack_narrow<e4m3>
             : from == ".e5m2x2" ? unpack_narrow<e5m2>
             : from == ".e2m3x2" ? unpack_narrow<e2m3>
             : from == ".e3m2x2" ? unpack_narrow<e3m2>
                                 : unpack_narrow<e2m1>);
    b.out().flags = extra_flags(b.mod(0));
  });
  table.add("cvt{.rz,.rp}[.satfinite].ue8m0x2.f32",
            [](Build& b) { two_sources(b, pack_scales, rounding_flag(b.mod(0))); });
  table.add("cvt{.rz,.rp}[.satfinite].ue8m0x2.bf16x2", [](Build& b) {
    b.simple(1, {}, pack_scales_of_halves);
    b.out().flags = rounding_flag(b.mod(0));
  });
  table.add("cvt.rn.bf16x2.ue8m0x2", [](Build& b) { b.simple(1, {}, unpack_scales); });
}

}  // namespace heddle::sim::ptx
