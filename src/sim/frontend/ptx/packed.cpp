// SPDX-License-Identifier: Apache-2.0
//
// PTX: integers narrower than their register: dp4a, dp2a, mul24, mad24, cvt.pack, min and max with .relu.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/narrow_integer.h"
#include "sim/frontend/ptx/warp.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace heddle::sim::ptx {

namespace {

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
}

}  // namespace heddle::sim::ptx
