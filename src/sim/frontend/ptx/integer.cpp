// SPDX-License-Identifier: Apache-2.0
//
// PTX: Integer Arithmetic Instructions, Extended-Precision Integer Arithmetic Instructions, Logic and Shift
// Instructions.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/warp.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace heddle::sim::ptx {

namespace {

__extension__ using Wide128 = __int128;
__extension__ using UnsignedWide128 = unsigned __int128;

template <class T>
struct Twice;
template <>
struct Twice<std::uint16_t> {
  using Type = std::uint32_t;
};
template <>
struct Twice<std::int16_t> {
  using Type = std::int32_t;
};
template <>
struct Twice<std::uint32_t> {
  using Type = std::uint64_t;
};
template <>
struct Twice<std::int32_t> {
  using Type = std::int64_t;
};
template <>
struct Twice<std::uint64_t> {
  using Type = UnsignedWide128;
};
template <>
struct Twice<std::int64_t> {
  using Type = Wide128;
};

// Arithmetic modulo 2^n, without the promotions and overflows of C++.
template <class T>
using Bits = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;

template <class T>
T wrap(Bits<T> value) {
  return static_cast<T>(value);
}

struct Add {
  template <class T>
  static T of(T a, T b) {
    return wrap<T>(static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b));
  }
};
struct Sub {
  template <class T>
  static T of(T a, T b) {
    return wrap<T>(static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b));
  }
};
struct MulLo {
  template <class T>
  static T of(T a, T b) {
    return wrap<T>(static_cast<Bits<T>>(a) * static_cast<Bits<T>>(b));
  }
};
struct MulHi {
  template <class T>
  static T of(T a, T b) {
    using W = typename Twice<T>::Type;
    return static_cast<T>(static_cast<W>(static_cast<W>(a) * static_cast<W>(b)) >> 8 * sizeof(T));
  }
};
struct MulWide {
  template <class T>
  static auto of(T a, T b) {
    using W = typename Twice<T>::Type;
    return static_cast<W>(static_cast<W>(a) * static_cast<W>(b));
  }
};
template <class Product>
struct Mad {
  template <class T>
  static T of(T a, T b, T c) {
    return Add::of<T>(Product::template of<T>(a, b), c);
  }
};
// PTX does not say what a division by zero gives. An H200 gives all ones, for the remainder too.
struct Div {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return Sub::of<T>(0, a);
    }
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return 0;
    }
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};
struct AddSat {
  static std::int32_t of(std::int32_t a, std::int32_t b) {
    const std::int64_t sum = std::int64_t{a} + b;
    return static_cast<std::int32_t>(sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum);
  }
};
struct SubSat {
  static std::int32_t of(std::int32_t a, std::int32_t b) {
    const std::int64_t difference = std::int64_t{a} - b;
    return static_cast<std::int32_t>(difference < INT32_MIN   ? INT32_MIN
                                     : difference > INT32_MAX ? INT32_MAX
                                                              : difference);
  }
};
struct MadHiSat {
  static std::int32_t of(std::int32_t a, std::int32_t b, std::int32_t c) {
    return AddSat::of(MulHi::of<std::int32_t>(a, b), c);
  }
};
struct Sad {
  template <class T>
  static T of(T a, T b, T c) {
    const T difference = a < b ? Sub::of<T>(b, a) : Sub::of<T>(a, b);
    return Add::of<T>(c, difference);
  }
};
struct Abs {
  template <class T>
  static T of(T a) {
    return a < 0 ? Sub::of<T>(0, a) : a;
  }
};
struct Neg {
  template <class T>
  static T of(T a) {
    return Sub::of<T>(0, a);
  }
};
struct And {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  static T of(T a) {
    return static_cast<T>(~a);
  }
};
struct NotPredicate {
  template <class T>
  static T of(T a) {
    return static_cast<T>(a == 0 ? 1 : 0);
  }
};
struct Popc {
  template <class T>
  static std::uint32_t of(T a) {
    return static_cast<std::uint32_t>(std::popcount(a));
  }
};
struct Clz {
  template <class T>
  static std::uint32_t of(T a) {
    return static_cast<std::uint32_t>(std::countl_zero(a));
  }
};
struct Brev {
  template <class T>
  static T of(T a) {
    T reversed = 0;
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit)
      reversed = static_cast<T>(reversed | (a >> bit & 1) << (8 * sizeof(T) - 1 - bit));
    return reversed;
  }
};
template <bool shift_amount>
struct Bfind {
  template <class T>
  static std::uint32_t of(T a) {
    auto bits = static_cast<std::make_unsigned_t<T>>(a);
    if constexpr (std::is_signed_v<T>) {
      if (a < 0) bits = static_cast<std::make_unsigned_t<T>>(~bits);
    }
    if (bits == 0) return 0xffffffffu;
    const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
    return shift_amount ? zeros : static_cast<std::uint32_t>(8 * sizeof(T) - 1) - zeros;
  }
};

// Shift amounts are 32 bits wide, and clamped to the width.
template <class T>
void shift_left(Warp& warp, const Instruction& i, std::uint32_t mask) {
  Row& d = warp.rows[i.d];
  const Row& a = warp.rows[i.a];
  const Row& b = warp.rows[i.b];
  for_lanes(mask, [&](std::uint32_t l) {
    const auto amount = static_cast<std::uint32_t>(b[l]);
    d[l] = amount >= 8 * sizeof(T) ? 0 : put(static_cast<T>(Bits<T>{get<T>(a[l])} << amount));
  });
}

template <class T>
void shift_right(Warp& warp, const Instruction& i, std::uint32_t mask) {
  Row& d = warp.rows[i.d];
  const Row& a = warp.rows[i.a];
  const Row& b = warp.rows[i.b];
  constexpr std::uint32_t kBits = 8 * sizeof(T);
  for_lanes(mask, [&](std::uint32_t l) {
    const auto amount = static_cast<std::uint32_t>(b[l]);
    const T value = get<T>(a[l]);
    const T filled = std::is_signed_v<T> && value < 0 ? static_cast<T>(~T{0}) : T{0};
    d[l] = put(amount >= kBits ? filled : static_cast<T>(value >> amount));
  });
}

// flags: 1 left, 2 wrap.
void funnel_shift(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t both = (warp.rows[i.b][l] & 0xffffffffu) << 32 | (warp.rows[i.a][l] & 0xffffffffu);
    auto amount = static_cast<std::uint32_t>(warp.rows[i.c][l]);
    amount = (i.flags & 2) != 0 ? amount & 31 : amount > 32 ? 32 : amount;
    warp.rows[i.d][l] = (i.flags & 1) != 0 ? both << amount >> 32 : both >> amount & 0xffffffffu;
  });
}

std::uint32_t logic_of_three(const Warp& warp, const Instruction& i, std::uint32_t l) {
  const auto a = static_cast<std::uint32_t>(warp.rows[i.a][l]);
  const auto b = static_cast<std::uint32_t>(warp.rows[i.b][l]);
  const auto c = static_cast<std::uint32_t>(warp.rows[i.c][l]);
  std::uint32_t result = 0;
  for (unsigned term = 0; term < 8; ++term) {
    if ((i.flags >> term & 1) == 0) continue;
    result |= ((term & 4) != 0 ? a : ~a) & ((term & 2) != 0 ? b : ~b) & ((term & 1) != 0 ? c : ~c);
  }
  return result;
}

void lop3(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) { warp.rows[i.d][l] = logic_of_three(warp, i, l); });
}

// value: how the predicate d2 is made of "the result is not 0" and of e.
constexpr std::uint64_t kLop3And = 1;
constexpr std::uint64_t kLop3Negated = 2;

void lop3_predicate(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint32_t result = logic_of_three(warp, i, l);
    const bool operand = (warp.rows[i.e][l] != 0) != ((i.value & kLop3Negated) != 0);
    warp.rows[i.d][l] = result;
    const bool is_any = result != 0;
    if (i.d2 != kNone)
      warp.rows[i.d2][l] = put((i.value & kLop3And) != 0 ? is_any && operand : is_any || operand);
  });
}

// PTX: prmt. flags: the mode.
enum PrmtMode : std::uint32_t { kBytes, kF4e, kB4e, kRc8, kEcl, kEcr, kRc16 };

std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selector, std::uint32_t mode) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  const std::uint32_t low = selector & 3;
  std::uint32_t result = 0;
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    std::uint32_t from = 0;
    switch (mode) {
      case kBytes: from = selector >> 4 * byte & 15; break;
      case kF4e: from = low + byte; break;
      case kB4e: from = (low + 8 - byte) & 7; break;
      case kRc8: from = low; break;
      case kEcl: from = byte < low ? low : byte; break;
      case kEcr: from = byte < low ? byte : low; break;
      default: from = (low & 1) * 2 + (byte & 1); break;
    }
    std::uint32_t value = static_cast<std::uint32_t>(both >> 8 * (from & 7)) & 0xff;
    if ((from & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
    result |= value << 8 * byte;
  }
  return result;
}

void prmt(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.rows[i.d][l] =
        permute(static_cast<std::uint32_t>(warp.rows[i.a][l]), static_cast<std::uint32_t>(warp.rows[i.b][l]),
                static_cast<std::uint32_t>(warp.rows[i.c][l]), i.flags);
  });
}

template <class T>
void bfe(Warp& warp, const Instruction& i, std::uint32_t mask) {
  using U = std::make_unsigned_t<T>;
  constexpr std::uint32_t kMsb = 8 * sizeof(T) - 1;
  for_lanes(mask, [&](std::uint32_t l) {
    const auto a = static_cast<U>(warp.rows[i.a][l]);
    const auto position = static_cast<std::uint32_t>(warp.rows[i.b][l] & 0xff);
    const auto length = static_cast<std::uint32_t>(warp.rows[i.c][l] & 0xff);
    bool sign = false;
    if (std::is_signed_v<T> && length != 0) {
      const std::uint32_t top = position + length - 1 < kMsb ? position + length - 1 : kMsb;
      sign = (a >> top & 1) != 0;
    }
    U field = position > kMsb ? U{0} : static_cast<U>(a >> position);
    const std::uint32_t present = position > kMsb ? 0 : kMsb + 1 - position;
    const std::uint32_t kept = length < present ? length : present;
    if (kept <= kMsb) {
      const U low = static_cast<U>((U{1} << kept) - 1);
      field = static_cast<U>((field & low) | (sign ? static_cast<U>(~low) : U{0}));
    }
    warp.rows[i.d][l] = field;
  });
}

template <class U>
void bfi(Warp& warp, const Instruction& i, std::uint32_t mask) {
  constexpr std::uint32_t kBits = 8 * sizeof(U);
  for_lanes(mask, [&](std::uint32_t l) {
    const auto a = static_cast<U>(warp.rows[i.a][l]);
    const auto b = static_cast<U>(warp.rows[i.b][l]);
    const auto position = static_cast<std::uint32_t>(warp.rows[i.c][l] & 0xff);
    const auto length = static_cast<std::uint32_t>(warp.rows[i.e][l] & 0xff);
    if (position >= kBits || length == 0) {
      warp.rows[i.d][l] = b;
      return;
    }
    const U ones = length >= kBits ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << length) - 1);
    const U field = static_cast<U>(ones << position);
    warp.rows[i.d][l] = static_cast<U>((b & ~field) | (static_cast<U>(a << position) & field));
  });
}

// flags: 1 carry in, 2 carry out, 4 subtract.
template <class U>
void add_carry(Warp& warp, const Instruction& i, std::uint32_t mask) {
  Row& carry = warp.rows[i.e];
  for_lanes(mask, [&](std::uint32_t l) {
    const auto a = static_cast<U>(warp.rows[i.a][l]);
    const auto b = static_cast<U>(warp.rows[i.b][l]);
    const auto in = static_cast<U>((i.flags & 1) != 0 ? carry[l] : 0);
    UnsignedWide128 result = 0;
    if ((i.flags & 4) != 0) {
      result = UnsignedWide128{a} - b - in;
    } else {
      result = UnsignedWide128{a} + b + in;
    }
    warp.rows[i.d][l] = static_cast<U>(result);
    if ((i.flags & 2) != 0) carry[l] = static_cast<std::uint64_t>(result >> 8 * sizeof(U)) & 1;
  });
}

// flags: 1 carry in, 2 carry out, 8 upper half. The fourth source is the row of the carry, in `target`.
template <class T>
void mad_carry(Warp& warp, const Instruction& i, std::uint32_t mask) {
  using U = std::make_unsigned_t<T>;
  Row& carry = warp.rows[i.target];
  for_lanes(mask, [&](std::uint32_t l) {
    const T a = get<T>(warp.rows[i.a][l]);
    const T b = get<T>(warp.rows[i.b][l]);
    const U product = static_cast<U>((i.flags & 8) != 0 ? MulHi::of<T>(a, b) : MulLo::of<T>(a, b));
    const auto in = static_cast<U>((i.flags & 1) != 0 ? carry[l] : 0);
    const UnsignedWide128 result = UnsignedWide128{product} + static_cast<U>(warp.rows[i.c][l]) + in;
    warp.rows[i.d][l] = static_cast<U>(result);
    if ((i.flags & 2) != 0) carry[l] = static_cast<std::uint64_t>(result >> 8 * sizeof(U)) & 1;
  });
}

template <class T>
void mul_wide(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.rows[i.d][l] =
        static_cast<std::uint64_t>(MulWide::of<T>(get<T>(warp.rows[i.a][l]), get<T>(warp.rows[i.b][l])));
  });
}

template <class T>
void mad_wide(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.rows[i.d][l] =
        static_cast<std::uint64_t>(MulWide::of<T>(get<T>(warp.rows[i.a][l]), get<T>(warp.rows[i.b][l]))) +
        warp.rows[i.c][l];
  });
}

// Two 16-bit numbers in one register.
template <class Op, class T>
void pairwise(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t a = warp.rows[i.a][l];
    const std::uint64_t b = warp.rows[i.b][l];
    warp.rows[i.d][l] = put(Op::template of<T>(get<T>(a), get<T>(b))) |
                        put(Op::template of<T>(get<T>(a >> 16), get<T>(b >> 16))) << 16;
  });
}

template <class F>
Handler by_type(std::string_view type, F&& make) {
  if (type == ".u16") return make.template operator()<std::uint16_t>();
  if (type == ".s16") return make.template operator()<std::int16_t>();
  if (type == ".u32") return make.template operator()<std::uint32_t>();
  if (type == ".s32") return make.template operator()<std::int32_t>();
  if (type == ".u64") return make.template operator()<std::uint64_t>();
  return make.template operator()<std::int64_t>();
}

template <class F>
Handler by_bits(std::string_view type, F&& make) {
  if (type == ".b16") return make.template operator()<std::uint16_t>();
  if (type == ".b64") return make.template operator()<std::uint64_t>();
  return make.template operator()<std::uint32_t>();
}

constexpr const char* kAll = "{.u16,.s16,.u32,.s32,.u64,.s64}";

template <class Op>
void add_binary(FormTable& table, const std::string& name) {
  table.add(name + kAll, [](Build& b) {
    b.simple(2, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return binary<Op, T>; }));
  });
}

template <class Op>
void add_logic(FormTable& table, const std::string& name) {
  table.add(name + "{.pred,.b16,.b32,.b64}", [](Build& b) {
    b.simple(2, b.mod(0), by_bits(b.mod(0), []<class T>() -> Handler { return binary<Op, T>; }));
  });
}

void carry_form(Build& b, std::uint32_t flags, std::string_view type) {
  b.simple(2, type, type == ".u64" || type == ".s64" ? add_carry<std::uint64_t> : add_carry<std::uint32_t>);
  b.out().e = b.carry();
  b.out().flags = flags;
}

void mad_carry_form(Build& b, std::uint32_t flags, std::string_view half, std::string_view type) {
  b.simple(3, type, by_type(type, []<class T>() -> Handler { return mad_carry<T>; }));
  b.out().target = b.carry();
  b.out().flags = flags | (half == ".hi" ? 8u : 0u);
}

}  // namespace

void add_integer_forms(FormTable& table) {
  add_binary<Add>(table, "add");
  add_binary<Sub>(table, "sub");
  add_binary<Div>(table, "div");
  add_binary<Rem>(table, "rem");
  add_binary<Min>(table, "min");
  add_binary<Max>(table, "max");
  table.add("add.sat.s32", [](Build& b) { b.simple(2, ".s32", binary<AddSat, std::int32_t>); });
  table.add("sub.sat.s32", [](Build& b) { b.simple(2, ".s32", binary<SubSat, std::int32_t>); });
  table.add("add{.u16x2,.s16x2}", [](Build& b) { b.simple(2, {}, pairwise<Add, std::uint16_t>); });
  table.add("min{.u16x2,.s16x2}", [](Build& b) {
    b.simple(2, {}, b.mod(0) == ".u16x2" ? pairwise<Min, std::uint16_t> : pairwise<Min, std::int16_t>);
  });
  table.add("max{.u16x2,.s16x2}", [](Build& b) {
    b.simple(2, {}, b.mod(0) == ".u16x2" ? pairwise<Max, std::uint16_t> : pairwise<Max, std::int16_t>);
  });
  table.add("add.cc{.u32,.s32,.u64,.s64}", [](Build& b) { carry_form(b, 2, b.mod(0)); });
  table.add("addc[.cc]{.u32,.s32,.u64,.s64}", [](Build& b) { carry_form(b, b.has(0) ? 3 : 1, b.mod(1)); });
  table.add("sub.cc{.u32,.s32,.u64,.s64}", [](Build& b) { carry_form(b, 6, b.mod(0)); });
  table.add("subc[.cc]{.u32,.s32,.u64,.s64}", [](Build& b) { carry_form(b, b.has(0) ? 7 : 5, b.mod(1)); });
  table.add("mad{.lo,.hi}.cc{.u32,.s32,.u64,.s64}", [](Build& b) { mad_carry_form(b, 2, b.mod(0), b.mod(1)); });
  table.add("madc{.lo,.hi}[.cc]{.u32,.s32,.u64,.s64}",
            [](Build& b) { mad_carry_form(b, b.has(1) ? 3 : 1, b.mod(0), b.mod(2)); });
  table.add(std::string("mul.lo") + kAll, [](Build& b) {
    b.simple(2, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return binary<MulLo, T>; }));
  });
  table.add(std::string("mul.hi") + kAll, [](Build& b) {
    b.simple(2, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return binary<MulHi, T>; }));
  });
  table.add("mul.wide{.u16,.s16,.u32,.s32}", [](Build& b) {
    b.simple(2, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return mul_wide<T>; }));
  });
  table.add(std::string("mad.lo") + kAll, [](Build& b) {
    b.simple(3, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return ternary<Mad<MulLo>, T>; }));
  });
  table.add(std::string("mad.hi") + kAll, [](Build& b) {
    b.simple(3, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return ternary<Mad<MulHi>, T>; }));
  });
  table.add("mad.hi.sat.s32", [](Build& b) { b.simple(3, ".s32", ternary<MadHiSat, std::int32_t>); });
  table.add("mad.wide{.u16,.s16,.u32,.s32}", [](Build& b) {
    b.simple(3, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return mad_wide<T>; }));
  });
  table.add(std::string("sad") + kAll, [](Build& b) {
    b.simple(3, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return ternary<Sad, T>; }));
  });
  table.add("abs{.s16,.s32,.s64}", [](Build& b) {
    b.simple(1, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return unary<Abs, T>; }));
  });
  table.add("neg{.s16,.s32,.s64}", [](Build& b) {
    b.simple(1, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return unary<Neg, T>; }));
  });
  table.add("popc{.b32,.b64}", [](Build& b) {
    b.simple(1, b.mod(0), by_bits(b.mod(0), []<class T>() -> Handler { return unary<Popc, T>; }));
  });
  table.add("clz{.b32,.b64}", [](Build& b) {
    b.simple(1, b.mod(0), by_bits(b.mod(0), []<class T>() -> Handler { return unary<Clz, T>; }));
  });
  table.add("brev{.b32,.b64}", [](Build& b) {
    b.simple(1, b.mod(0), by_bits(b.mod(0), []<class T>() -> Handler { return unary<Brev, T>; }));
  });
  table.add("bfind{.u32,.s32,.u64,.s64}", [](Build& b) {
    b.simple(1, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return unary<Bfind<false>, T>; }));
  });
  table.add("bfind.shiftamt{.u32,.s32,.u64,.s64}", [](Build& b) {
    b.simple(1, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return unary<Bfind<true>, T>; }));
  });
  table.add("bfe{.u32,.s32,.u64,.s64}", [](Build& b) {
    b.simple(3, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return bfe<T>; }));
  });
  table.add("bfi{.b32,.b64}", [](Build& b) {
    b.simple(4, b.mod(0), b.mod(0) == ".b32" ? bfi<std::uint32_t> : bfi<std::uint64_t>);
  });
  add_logic<And>(table, "and");
  add_logic<Or>(table, "or");
  add_logic<Xor>(table, "xor");
  table.add("not.pred", [](Build& b) { b.simple(1, {}, unary<NotPredicate, std::uint32_t>); });
  table.add("not{.b16,.b32,.b64}", [](Build& b) {
    b.simple(1, b.mod(0), by_bits(b.mod(0), []<class T>() -> Handler { return unary<Not, T>; }));
  });
  table.add("cnot{.b16,.b32,.b64}", [](Build& b) {
    b.simple(1, b.mod(0), by_bits(b.mod(0), []<class T>() -> Handler { return unary<NotPredicate, T>; }));
  });
  table.add("lop3.b32", [](Build& b) {
    b.want(5);
    b.out().d = b.target(0);
    b.out().a = b.source(1);
    b.out().b = b.source(2);
    b.out().c = b.source(3);
    b.out().flags = static_cast<std::uint32_t>(b.constant(4) & 0xff);
    b.scalar(lop3);
  });
  table.add("lop3{.or,.and}.b32", [](Build& b) {
    b.want(6);
    Instruction& out = b.out();
    out.d = b.target(0);
    out.d2 = b.operand(0).second;
    out.a = b.source(1);
    out.b = b.source(2);
    out.c = b.source(3);
    bool negated = false;
    out.e = b.predicate(5, negated);
    out.flags = static_cast<std::uint32_t>(b.constant(4) & 0xff);
    out.value = (b.mod(0) == ".and" ? kLop3And : 0u) | (negated ? kLop3Negated : 0u);
    b.scalar(lop3_predicate);
  });
  table.add("shl{.b16,.b32,.b64}", [](Build& b) {
    b.simple(2, b.mod(0), by_bits(b.mod(0), []<class T>() -> Handler { return shift_left<T>; }));
  });
  table.add("shr{.b16,.b32,.b64}", [](Build& b) {
    b.simple(2, b.mod(0), by_bits(b.mod(0), []<class T>() -> Handler { return shift_right<T>; }));
  });
  table.add(std::string("shr") + kAll, [](Build& b) {
    b.simple(2, b.mod(0), by_type(b.mod(0), []<class T>() -> Handler { return shift_right<T>; }));
  });
  table.add("shf{.l,.r}{.wrap,.clamp}.b32", [](Build& b) {
    b.simple(3, {}, funnel_shift);
    b.out().flags = (b.mod(0) == ".l" ? 1u : 0u) | (b.mod(1) == ".wrap" ? 2u : 0u);
  });
  table.add("prmt.b32[.f4e,.b4e,.rc8,.ecl,.ecr,.rc16]", [](Build& b) {
    b.simple(3, {}, prmt);
    constexpr std::string_view kModes[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
    while (kModes[b.out().flags] != b.mod(0)) ++b.out().flags;
  });
}

}  // namespace heddle::sim::ptx
