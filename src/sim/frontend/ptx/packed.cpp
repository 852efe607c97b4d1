// SPDX-License-Identifier: Apache-2.0
//
// PTX: integers narrower than their register: dp4a, dp2a, mul24, mad24, cvt.pack, min and max with .relu, and the
// SIMD video instructions with their default selectors and masks.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/warp.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace heddle::sim::ptx {

namespace {

// The number of `bits` bits that begins at bit `from`.
constexpr std::int64_t field(std::uint64_t word, std::uint32_t from, std::uint32_t bits, bool is_signed) {
  const auto value = static_cast<std::int64_t>(word >> from & ((std::uint64_t{1} << bits) - 1));
  return is_signed && value >> (bits - 1) != 0 ? value - (std::int64_t{1} << bits) : value;
}

constexpr std::int64_t least(std::uint32_t bits, bool is_signed) {
  return is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
}

constexpr std::int64_t most(std::uint32_t bits, bool is_signed) {
  return (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
}

bool is_signed(std::string_view type) { return type[1] == 's'; }

// flags.
constexpr std::uint32_t kSignedA = 1;
constexpr std::uint32_t kSignedB = 2;
constexpr std::uint32_t kUpperHalf = 4;  // dp2a: of b; mul24, mad24: of the product
constexpr std::uint32_t kSaturate = 8;

std::uint32_t sign_flags(std::string_view a, std::string_view b) {
  return (is_signed(a) ? kSignedA : 0u) | (is_signed(b) ? kSignedB : 0u);
}

// c and the products of `count` parts of a with bytes of b.
template <std::uint32_t count>
void dot(Warp& warp, const Instruction& i, std::uint32_t mask) {
  constexpr std::uint32_t kBits = 32 / count;
  const std::uint32_t first = (i.flags & kUpperHalf) != 0 ? 16 : 0;
  for_lanes(mask, [&](std::uint32_t l) {
    auto sum = static_cast<std::uint32_t>(warp.rows[i.c][l]);
    for (std::uint32_t part = 0; part < count; ++part) {
      const std::int64_t a = field(warp.rows[i.a][l], kBits * part, kBits, (i.flags & kSignedA) != 0);
      const std::int64_t b = field(warp.rows[i.b][l], first + 8 * part, 8, (i.flags & kSignedB) != 0);
      sum += static_cast<std::uint32_t>(a * b);
    }
    warp.rows[i.d][l] = sum;
  });
}

// PTX: mul24.lo has bits 31:0 of the product of 48 bits, mul24.hi bits 47:16.
std::uint32_t product24(std::uint64_t a, std::uint64_t b, std::uint32_t flags) {
  const bool has_sign = (flags & kSignedA) != 0;
  const std::int64_t product = field(a, 0, 24, has_sign) * field(b, 0, 24, has_sign);
  return static_cast<std::uint32_t>((flags & kUpperHalf) != 0 ? product >> 16 : product);
}

void mul24(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.rows[i.d][l] = product24(warp.rows[i.a][l], warp.rows[i.b][l], i.flags);
  });
}

void mad24(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint32_t product = product24(warp.rows[i.a][l], warp.rows[i.b][l], i.flags);
    const auto c = static_cast<std::uint32_t>(warp.rows[i.c][l]);
    std::int64_t sum = std::int64_t{static_cast<std::int32_t>(product)} + static_cast<std::int32_t>(c);
    if ((i.flags & kSaturate) != 0) sum = std::clamp(sum, least(32, true), most(32, true));
    warp.rows[i.d][l] = static_cast<std::uint32_t>(sum);
  });
}

// flags: the bits of a part, and kSignedPart. c goes on top of the two parts.
constexpr std::uint32_t kPartBits = 31;
constexpr std::uint32_t kSignedPart = 32;

void pack(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::uint32_t bits = i.flags & kPartBits;
  const bool has_sign = (i.flags & kSignedPart) != 0;
  for_lanes(mask, [&](std::uint32_t l) {
    const auto part = [&](std::uint32_t row) {
      const std::int64_t value = static_cast<std::int32_t>(warp.rows[row][l]);
      return static_cast<std::uint64_t>(std::clamp(value, least(bits, has_sign), most(bits, has_sign))) &
             ((std::uint64_t{1} << bits) - 1);
    };
    const std::uint64_t rest = bits == 16 ? 0 : warp.rows[i.c][l] << 2 * bits;
    warp.rows[i.d][l] = static_cast<std::uint32_t>(rest | part(i.a) << bits | part(i.b));
  });
}

// The least or the most of the parts of a and b, and no less than 0.
template <std::uint32_t bits, bool is_max>
void min_max_relu(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    std::uint64_t d = 0;
    for (std::uint32_t from = 0; from < 32; from += bits) {
      const std::int64_t a = field(warp.rows[i.a][l], from, bits, true);
      const std::int64_t b = field(warp.rows[i.b][l], from, bits, true);
      const std::int64_t value = std::max(is_max ? std::max(a, b) : std::min(a, b), std::int64_t{0});
      d |= static_cast<std::uint64_t>(value) << from;
    }
    warp.rows[i.d][l] = d;
  });
}

enum class VideoOp : std::uint8_t { kAdd, kSub, kAverage, kAbsDiff, kMin, kMax, kEq, kNe, kLt, kLe, kGt, kGe };

// flags of video instructions, above those of the operands' signs.
constexpr std::uint32_t kSignedD = 4;
constexpr std::uint32_t kAccumulate = 16;
constexpr std::uint32_t kOpShift = 8;

std::int64_t video_value(VideoOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case VideoOp::kAdd: return a + b;
    case VideoOp::kSub: return a - b;
    case VideoOp::kAverage: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case VideoOp::kAbsDiff: return std::abs(a - b);
    case VideoOp::kMin: return std::min(a, b);
    case VideoOp::kMax: return std::max(a, b);
    case VideoOp::kEq: return a == b ? 1 : 0;
    case VideoOp::kNe: return a != b ? 1 : 0;
    case VideoOp::kLt: return a < b ? 1 : 0;
    case VideoOp::kLe: return a <= b ? 1 : 0;
    case VideoOp::kGt: return a > b ? 1 : 0;
    default: return a >= b ? 1 : 0;
  }
}

// PTX: vadd2 and the like: each part of the result replaces that of c, or, with .add, is added to c.
template <std::uint32_t bits>
void video(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const auto op = static_cast<VideoOp>(i.flags >> kOpShift);
  const bool has_sign = (i.flags & kSignedD) != 0;
  for_lanes(mask, [&](std::uint32_t l) {
    auto sum = static_cast<std::uint32_t>(warp.rows[i.c][l]);
    std::uint32_t merged = 0;
    for (std::uint32_t from = 0; from < 32; from += bits) {
      const std::int64_t a = field(warp.rows[i.a][l], from, bits, (i.flags & kSignedA) != 0);
      const std::int64_t b = field(warp.rows[i.b][l], from, bits, (i.flags & kSignedB) != 0);
      std::int64_t value = video_value(op, a, b);
      if ((i.flags & kSaturate) != 0) value = std::clamp(value, least(bits, has_sign), most(bits, has_sign));
      sum += static_cast<std::uint32_t>(value);
      merged |= (static_cast<std::uint32_t>(value) & ((1u << bits) - 1)) << from;
    }
    warp.rows[i.d][l] = (i.flags & kAccumulate) != 0 ? sum : merged;
  });
}

void add_video_forms(FormTable& table, const std::string& count, Handler handler) {
  constexpr const char* kNames[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"};
  for (std::uint32_t op = 0; op < std::size(kNames); ++op) {
    table.add(kNames[op] + count + "{.u32,.s32}{.u32,.s32}{.u32,.s32}[.sat,.add]", [=](Build& b) {
      b.simple(3, {}, handler);
      b.out().flags = sign_flags(b.mod(1), b.mod(2)) | (is_signed(b.mod(0)) ? kSignedD : 0u) |
                      (b.mod(3) == ".sat"   ? kSaturate
                       : b.mod(3) == ".add" ? kAccumulate
                                            : 0u) |
                      op << kOpShift;
    });
  }
  table.add("vset" + count + "{.u32,.s32}{.u32,.s32}{.eq,.ne,.lt,.le,.gt,.ge}[.add]", [=](Build& b) {
    b.simple(3, {}, handler);
    constexpr std::string_view kCompares[] = {".eq", ".ne", ".lt", ".le", ".gt", ".ge"};
    auto op = static_cast<std::uint32_t>(VideoOp::kEq);
    for (const std::string_view* at = kCompares; *at != b.mod(2); ++at) ++op;
    b.out().flags = sign_flags(b.mod(0), b.mod(1)) | (b.has(3) ? kAccumulate : 0u) | op << kOpShift;
  });
}

}  // namespace

void add_packed_forms(FormTable& table) {
  table.add("dp4a{.u32,.s32}{.u32,.s32}", [](Build& b) {
    b.simple(3, {}, dot<4>);
    b.out().flags = sign_flags(b.mod(0), b.mod(1));
  });
  table.add("dp2a{.lo,.hi}{.u32,.s32}{.u32,.s32}", [](Build& b) {
    b.simple(3, {}, dot<2>);
    b.out().flags = sign_flags(b.mod(1), b.mod(2)) | (b.mod(0) == ".hi" ? kUpperHalf : 0u);
  });
  table.add("mul24{.lo,.hi}{.u32,.s32}", [](Build& b) {
    b.simple(2, {}, mul24);
    b.out().flags = sign_flags(b.mod(1), b.mod(1)) | (b.mod(0) == ".hi" ? kUpperHalf : 0u);
  });
  table.add("mad24{.lo,.hi}{.u32,.s32}", [](Build& b) {
    b.simple(3, {}, mad24);
    b.out().flags = sign_flags(b.mod(1), b.mod(1)) | (b.mod(0) == ".hi" ? kUpperHalf : 0u);
  });
  table.add("mad24.hi.sat.s32", [](Build& b) {
    b.simple(3, {}, mad24);
    b.out().flags = kSignedA | kSignedB | kUpperHalf | kSaturate;
  });
  table.add("cvt.pack.sat{.u16,.s16}.s32", [](Build& b) {
    b.simple(2, {}, pack);
    b.out().flags = 16u | (is_signed(b.mod(0)) ? kSignedPart : 0u);
  });
  table.add("cvt.pack.sat{.u8,.s8,.u4,.s4,.u2,.s2}.s32.b32", [](Build& b) {
    b.simple(3, {}, pack);
    b.out().flags = static_cast<std::uint32_t>(b.mod(0)[2] - '0') | (is_signed(b.mod(0)) ? kSignedPart : 0u);
  });
  table.add("min{.relu}.s32", [](Build& b) { b.simple(2, {}, min_max_relu<32, false>); });
  table.add("max{.relu}.s32", [](Build& b) { b.simple(2, {}, min_max_relu<32, true>); });
  table.add("min{.relu}.s16x2", [](Build& b) { b.simple(2, {}, min_max_relu<16, false>); });
  table.add("max{.relu}.s16x2", [](Build& b) { b.simple(2, {}, min_max_relu<16, true>); });
  add_video_forms(table, "2", video<16>);
  add_video_forms(table, "4", video<8>);
}

}  // namespace heddle::sim::ptx
