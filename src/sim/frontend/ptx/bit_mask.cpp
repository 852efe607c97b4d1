// SPDX-License-Identifier: Apache-2.0
//
// PTX: bmsk, szext, fns: masks of bits.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/warp.h"

#include <algorithm>

namespace heddle::sim::ptx {

namespace {

// flags
constexpr std::uint32_t kWrap = 1;
constexpr std::uint32_t kSigned = 2;

std::uint32_t ones(std::uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

// `b` bits that begin at bit `a`. .clamp: both are at most 32; .wrap: both are taken modulo 32.
void bmsk(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const auto limited = [&](std::uint32_t row) {
      const auto value = static_cast<std::uint32_t>(warp.rows[row][l]);
      return (i.flags & kWrap) != 0 ? value & 31 : std::min(value, 32u);
    };
    const std::uint32_t begin = limited(i.a);
    warp.rows[i.d][l] = begin >= 32 ? 0 : ones(limited(i.b)) << begin;
  });
}

// The lowest `b` bits of `a`, extended to 32.
void szext(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const auto a = static_cast<std::uint32_t>(warp.rows[i.a][l]);
    const auto b = static_cast<std::uint32_t>(warp.rows[i.b][l]);
    const std::uint32_t count = (i.flags & kWrap) != 0 ? b & 31 : std::min(b, 32u);
    const bool negative = (i.flags & kSigned) != 0 && count > 0 && (a >> (count - 1) & 1) != 0;
    warp.rows[i.d][l] = (a & ones(count)) | (negative ? ~ones(count) : 0u);
  });
}

// Where the n-th set bit is, counted from bit `b` on: upward if the offset is positive, downward if it is
// negative; with offset 0, whether bit `b` itself is set. No such bit: all ones.
void fns(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const auto bits = static_cast<std::uint32_t>(warp.rows[i.a][l]);
    const auto base = static_cast<std::uint32_t>(warp.rows[i.b][l]);
    const auto offset = static_cast<std::int32_t>(warp.rows[i.c][l]);
    const int step = offset < 0 ? -1 : 1;
    std::int64_t missing = offset < 0 ? -std::int64_t{offset} : std::max(offset, 1);
    std::uint32_t found = ~0u;
    for (std::int64_t at = base; at >= 0 && at < 32; at += step) {
      if ((bits >> at & 1) != 0 && --missing == 0) {
        found = static_cast<std::uint32_t>(at);
        break;
      }
      if (offset == 0) break;
    }
    warp.rows[i.d][l] = found;
  });
}

}  // namespace

void add_bit_mask_forms(FormTable& table) {
  table.add("bmsk{.clamp,.wrap}.b32", [](Build& b) {
    b.simple(2, {}, bmsk);
    b.out().flags = b.mod(0) == ".wrap" ? kWrap : 0u;
  });
  table.add("szext{.clamp,.wrap}{.u32,.s32}", [](Build& b) {
    b.simple(2, {}, szext);
    b.out().flags = (b.mod(0) == ".wrap" ? kWrap : 0u) | (b.mod(1) == ".s32" ? kSigned : 0u);
  });
  table.add("fns.b32", [](Build& b) { b.simple(3, {}, fns); });
}

}  // namespace heddle::sim::ptx
