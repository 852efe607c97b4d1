// SPDX-License-Identifier: Apache-2.0
//
// PTX: Comparison and Selection Instructions.
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/warp.h"

namespace heddle::sim::ptx {

namespace {

enum class Compare : std::uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kLo,
  kLs,
  kHi,
  kHs,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan
};
constexpr std::string_view kCompares[] = {".eq", ".ne",  ".lt",  ".le",  ".gt",  ".ge",  ".lo",  ".ls",  ".hi",
                                          ".hs", ".equ", ".neu", ".ltu", ".leu", ".gtu", ".geu", ".num", ".nan"};
constexpr const char* kAnyCompare =
    "{.eq,.ne,.lt,.le,.gt,.ge,.lo,.ls,.hi,.hs,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}";

// flags of an instruction.
constexpr std::uint32_t kCompareMask = 31;
constexpr std::uint32_t kCombineShift = 5;  // 0 none, 1 and, 2 or, 3 xor
constexpr std::uint32_t kNegateOperand = 1u << 7;
constexpr std::uint32_t kFlush = 1u << 8;

template <class T>
bool compare(Compare how, T a, T b) {
  switch (how) {
    case Compare::kEq: return a == b;
    case Compare::kLt:
    case Compare::kLo: return a < b;
    case Compare::kLe:
    case Compare::kLs: return a <= b;
    case Compare::kGt:
    case Compare::kHi: return a > b;
    case Compare::kGe:
    case Compare::kHs: return a >= b;
    case Compare::kNe:
      if constexpr (std::is_floating_point_v<T>) return a < b || a > b;
      return a != b;
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    switch (how) {
      case Compare::kEqu: return unordered || a == b;
      case Compare::kNeu: return unordered || a != b;
      case Compare::kLtu: return unordered || a < b;
      case Compare::kLeu: return unordered || a <= b;
      case Compare::kGtu: return unordered || a > b;
      case Compare::kGeu: return unordered || a >= b;
      case Compare::kNum: return !unordered;
      default: return unordered;
    }
  }
  return false;
}

template <class T>
T operand_of(std::uint64_t word, std::uint32_t flags) {
  T value = get<T>(word);
  if constexpr (std::is_same_v<T, float>) {
    if ((flags & kFlush) != 0) value = flush(value);
  }
  return value;
}

// Halves are compared as doubles.
struct HalfValue {};
struct BrainValue {};

template <class T>
bool compare_words(std::uint64_t a, std::uint64_t b, std::uint32_t flags) {
  const auto how = static_cast<Compare>(flags & kCompareMask);
  if constexpr (std::is_same_v<T, HalfValue>) {
    const auto value = [&](std::uint64_t word) {
      const bool is_flushed = (flags & kFlush) != 0 && (word & 0x7fff) < HalfFormat::least_normal;
      return is_flushed ? 0.0 : widen<HalfFormat>(word);
    };
    return compare<double>(how, value(a), value(b));
  } else if constexpr (std::is_same_v<T, BrainValue>) {
    return compare<double>(how, widen<BrainFormat>(a), widen<BrainFormat>(b));
  } else {
    return compare<T>(how, operand_of<T>(a, flags), operand_of<T>(b, flags));
  }
}

bool combine(bool value, bool operand, std::uint32_t flags) {
  switch (flags >> kCombineShift & 3) {
    case 1: return value && operand;
    case 2: return value || operand;
    case 3: return value != operand;
    default: return value;
  }
}

// Without a boolean operand c is any row, and its value has no say.
template <class T>
void setp(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const bool value = compare_words<T>(warp.rows[i.a][l], warp.rows[i.b][l], i.flags);
    const bool operand = (warp.rows[i.c][l] != 0) != ((i.flags & kNegateOperand) != 0);
    warp.rows[i.d][l] = put(combine(value, operand, i.flags));
    if (i.d2 != kNone) warp.rows[i.d2][l] = put(combine(!value, operand, i.flags));
  });
}

// The two halves of the operands have a predicate each.
template <class T>
void setp_pairs(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t a = warp.rows[i.a][l];
    const std::uint64_t b = warp.rows[i.b][l];
    const bool operand = (warp.rows[i.c][l] != 0) != ((i.flags & kNegateOperand) != 0);
    warp.rows[i.d][l] = put(combine(compare_words<T>(a, b, i.flags), operand, i.flags));
    if (i.d2 != kNone)
      warp.rows[i.d2][l] = put(combine(compare_words<T>(a >> 16, b >> 16, i.flags), operand, i.flags));
  });
}

// value: what "true" is, for one result.
template <class T>
void set(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const bool value = compare_words<T>(warp.rows[i.a][l], warp.rows[i.b][l], i.flags);
    const bool operand = (warp.rows[i.c][l] != 0) != ((i.flags & kNegateOperand) != 0);
    warp.rows[i.d][l] = combine(value, operand, i.flags) ? i.value : 0;
  });
}

// The two halves of the operands have a half of the result each.
template <class T>
void set_pairs(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const bool operand = (warp.rows[i.c][l] != 0) != ((i.flags & kNegateOperand) != 0);
    const auto half = [&](std::uint32_t shift) {
      const bool value = compare_words<T>(warp.rows[i.a][l] >> shift, warp.rows[i.b][l] >> shift, i.flags);
      return combine(value, operand, i.flags) ? i.value << shift : 0;
    };
    warp.rows[i.d][l] = half(16) | half(0);
  });
}

// PTX: set. One of floats is 1.0, one of integers has all bits set.
std::uint64_t true_of(std::string_view type) {
  if (type == ".f32") return 0x3f800000u;
  if (type == ".f16" || type == ".f16x2") return 0x3c00;
  if (type == ".bf16" || type == ".bf16x2") return 0x3f80;
  return type.ends_with("16") ? 0xffffu : 0xffffffffu;
}

// flags: 1: the predicate is negated.
void selp(Warp& warp, const Instruction& i, std::uint32_t mask) {
  Row& d = warp.rows[i.d];
  const Row& a = warp.rows[i.a];
  const Row& b = warp.rows[i.b];
  const Row& c = warp.rows[i.c];
  const bool negated = i.flags != 0;
  for_lanes(mask, [&](std::uint32_t l) { d[l] = (c[l] != 0) != negated ? a[l] : b[l]; });
}

// flags: 1: c is a float; 2: .ftz.
void slct(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t c = warp.rows[i.c][l];
    const bool first = i.flags != 0 ? get<float>(c) >= 0 || ((i.flags & 2) != 0 && flush(get<float>(c)) == 0)
                                    : get<std::int32_t>(c) >= 0;
    warp.rows[i.d][l] = first ? warp.rows[i.a][l] : warp.rows[i.b][l];
  });
}

template <class F>
Handler by_compare_type(std::string_view type, F&& make) {
  if (type == ".b16" || type == ".u16") return make.template operator()<std::uint16_t>();
  if (type == ".s16") return make.template operator()<std::int16_t>();
  if (type == ".b32" || type == ".u32") return make.template operator()<std::uint32_t>();
  if (type == ".s32") return make.template operator()<std::int32_t>();
  if (type == ".b64" || type == ".u64") return make.template operator()<std::uint64_t>();
  if (type == ".s64") return make.template operator()<std::int64_t>();
  if (type == ".f32") return make.template operator()<float>();
  if (type == ".f64") return make.template operator()<double>();
  if (type == ".f16" || type == ".f16x2") return make.template operator()<HalfValue>();
  return make.template operator()<BrainValue>();
}

std::uint32_t compare_flags(std::string_view how, std::string_view combining, bool ftz) {
  std::uint32_t flags = 0;
  while (kCompares[flags] != how) ++flags;
  const std::uint32_t boolean = combining == ".and" ? 1 : combining == ".or" ? 2 : combining == ".xor" ? 3 : 0;
  return flags | boolean << kCombineShift | (ftz ? kFlush : 0u);
}

void comparison(Build& b, std::string_view type, Handler handler, std::uint32_t flags) {
  const bool has_operand = (flags >> kCombineShift & 3) != 0;
  b.want(has_operand ? 4 : 3);
  Instruction& out = b.out();
  out.d = b.target(0);
  out.d2 = b.operand(0).second;
  out.a = b.source(1, type);
  out.b = b.source(2, type);
  out.c = out.a;
  out.flags = flags;
  if (has_operand) {
    bool negated = false;
    out.c = b.predicate(3, negated);
    if (negated) out.flags |= kNegateOperand;
  }
  b.scalar(handler);
}

constexpr const char* kTypes = "{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64,.f16,.bf16}";

}  // namespace

void add_compare_forms(FormTable& table) {
  table.add(std::string("setp") + kAnyCompare + "[.and,.or,.xor][.ftz]" + kTypes, [](Build& b) {
    comparison(b, b.mod(3), by_compare_type(b.mod(3), []<class T>() -> Handler { return setp<T>; }),
               compare_flags(b.mod(0), b.mod(1), b.has(2)));
  });
  table.add(std::string("setp") + kAnyCompare + "[.and,.or,.xor][.ftz]{.f16x2,.bf16x2}", [](Build& b) {
    comparison(b, b.mod(3), b.mod(3) == ".f16x2" ? setp_pairs<HalfValue> : setp_pairs<BrainValue>,
               compare_flags(b.mod(0), b.mod(1), b.has(2)));
  });
  table.add(
      std::string("set") + kAnyCompare + "[.and,.or,.xor][.ftz]{.u16,.s16,.u32,.s32,.f32,.f16,.bf16}" + kTypes,
      [](Build& b) {
        comparison(b, b.mod(4), by_compare_type(b.mod(4), []<class T>() -> Handler { return set<T>; }),
                   compare_flags(b.mod(0), b.mod(1), b.has(2)));
        b.out().value = true_of(b.mod(3));
      });
  table.add(std::string("set") + kAnyCompare + "[.and,.or,.xor][.ftz]{.u32,.s32,.f16x2,.bf16x2}{.f16x2,.bf16x2}",
            [](Build& b) {
              comparison(b, b.mod(4), b.mod(4) == ".f16x2" ? set_pairs<HalfValue> : set_pairs<BrainValue>,
                         compare_flags(b.mod(0), b.mod(1), b.has(2)));
              b.out().value = true_of(b.mod(3)) & 0xffff;
            });
  table.add("selp{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}", [](Build& b) {
    b.want(4);
    Instruction& out = b.out();
    out.d = b.target(0);
    out.a = b.source(1, b.mod(0));
    out.b = b.source(2, b.mod(0));
    bool negated = false;
    out.c = b.predicate(3, negated);
    out.flags = negated ? 1 : 0;
    b.scalar(selp);
  });
  table.add("slct[.ftz]{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}{.s32,.f32}", [](Build& b) {
    b.simple(3, b.mod(1), slct);
    b.out().flags = (b.mod(2) == ".f32" ? 1u : 0u) | (b.has(0) ? 2u : 0u);
  });
}

}  // namespace heddle::sim::ptx
