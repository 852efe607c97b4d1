// SPDX-License-Identifier: Apache-2.0
//
// PTX: mma.sync.m8n8k4 of f16: four multiplications at once, one in each pair of quads: lanes 4q to 4q + 3 and
// those sixteen above. With part = lane % 4 and upper = 4 in the upper quad, 0 in the lower:
//
//   A .row: row part + upper, columns 0 to 3            A .col: column part, rows from upper on
//   B .row: row part, columns from upper on             B .col: column part + upper, rows 0 to 3
//   C, D of f16: row part + upper, columns 0 to 7
//   C, D of f32, element e: row (part & 1) + (e & 2) + upper, column (e & 4) + (part & 2) + (e & 1)
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"
#include "sim/frontend/ptx/product_flow.h"
#include "sim/frontend/ptx/warp.h"

#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace heddle::sim::ptx {

namespace {

constexpr std::uint32_t kSide = 8;  // of D
constexpr std::uint32_t kDepth = 4;
constexpr std::uint32_t kHalves = 2;  // in a register

// flags
constexpr std::uint32_t kARows = 1;
constexpr std::uint32_t kBRows = 2;
constexpr std::uint32_t kCFloat = 4;
constexpr std::uint32_t kDFloat = 8;

struct Place {
  std::uint32_t row, column;
};

Place place_of_a(std::uint32_t lane, std::uint32_t e, std::uint32_t flags) {
  const std::uint32_t upper = lane / 16 * 4;
  return (flags & kARows) != 0 ? Place{lane % 4 + upper, e} : Place{e + upper, lane % 4};
}

Place place_of_b(std::uint32_t lane, std::uint32_t e, std::uint32_t flags) {
  const std::uint32_t upper = lane / 16 * 4;
  return (flags & kBRows) != 0 ? Place{lane % 4, e + upper} : Place{e, lane % 4 + upper};
}

Place place_of_c(std::uint32_t lane, std::uint32_t e, bool is_float) {
  const std::uint32_t upper = lane / 16 * 4;
  if (!is_float) return {lane % 4 + upper, e};
  return {(lane & 1) + (e & 2) + upper, (e & 4) + (lane & 2) + (e & 1)};
}

// rows: the registers of D, A, B and C, one after the other.
struct Registers {
  std::uint32_t d, a, b, c;  // where each begins

  explicit Registers(std::uint32_t flags)
      : d(0), a((flags & kDFloat) != 0 ? kSide : kSide / kHalves), b(a + 2), c(b + 2) {}
};

// An element's register among those of its matrix, and its bits there.
struct Bits {
  std::uint32_t index, shift;
  std::uint64_t mask;
};

Bits bits_of_element(std::uint32_t e, bool is_float) {
  if (is_float) return {e, 0, 0xffffffff};
  return {e / kHalves, 16 * (e % kHalves), 0xffff};
}

template <class Body>
void for_lanes_of_pair(std::uint32_t pair, Body&& body) {
  for (std::uint32_t l = 4 * pair; l < 4 * pair + 4; ++l) {
    body(l);
    body(l + 16);
  }
}

void follow_multiply(Warp& warp, const Instruction& i, std::uint32_t pair) {
  const Registers registers(i.flags);
  ProductFlow flow(kSide, kSide);
  const auto undefined = [&](std::uint32_t lane, std::uint32_t first, const Bits& bits) {
    const Undefined word = undefined_of(*warp.frame_of[lane], i.rows[first + bits.index], lane);
    return Undefined{word.bits >> bits.shift & bits.mask, word.origin};
  };
  for_lanes_of_pair(pair, [&](std::uint32_t l) {
    for (std::uint32_t e = 0; e < kDepth; ++e) {
      const Bits bits = bits_of_element(e, false);
      if (const Undefined a = undefined(l, registers.a, bits); a.bits != 0)
        flow.rows[place_of_a(l, e, i.flags).row] = a;
      if (const Undefined b = undefined(l, registers.b, bits); b.bits != 0)
        flow.columns[place_of_b(l, e, i.flags).column] = b;
    }
    for (std::uint32_t e = 0; e < kSide; ++e) {
      const bool is_float = (i.flags & kCFloat) != 0;
      const Place at = place_of_c(l, e, is_float);
      flow.c(at.row, at.column) = undefined(l, registers.c, bits_of_element(e, is_float));
    }
  });
  const bool is_float = (i.flags & kDFloat) != 0;
  for_lanes_of_pair(pair, [&](std::uint32_t l) {
    std::array<Undefined, kSide> words;
    for (std::uint32_t e = 0; e < kSide; ++e) {
      const Place at = place_of_c(l, e, is_float);
      const Undefined& one = flow.of(at.row, at.column);
      const Bits bits = bits_of_element(e, is_float);
      if (one.bits != 0) words[bits.index] = {words[bits.index].bits | bits.mask << bits.shift, one.origin};
    }
    for (std::uint32_t r = 0; r < registers.a; ++r) {
      set_undefined(warp, *warp.frame_of[l], i.rows[registers.d + r], l, words[r]);
    }
  });
}

// Model: no card since Volta has this one. Hopper's assembler makes a chain of f32 of it, to which C is added
// last; so an H200 has it.
std::uint64_t element(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t c, std::uint32_t flags) {
  float sum = 0;
  for (std::uint32_t k = 0; k < kDepth; ++k) {
    const auto x = static_cast<float>(widen<HalfFormat>(a[k]));
    const auto y = static_cast<float>(widen<HalfFormat>(b[k]));
    sum = k == 0 ? x * y : std::fma(x, y, sum);
  }
  sum += (flags & kCFloat) != 0 ? get<float>(c) : static_cast<float>(widen<HalfFormat>(c));
  return (flags & kDFloat) != 0 ? put(canonical(sum)) : narrow<HalfFormat>(sum, 0);
}

void multiply(Warp& warp, const Instruction& i, std::uint32_t pair) {
  const Registers registers(i.flags);
  if (warp.undefined_rows != 0) follow_multiply(warp, i, pair);
  const auto word = [&](std::uint32_t lane, std::uint32_t row) -> std::uint64_t& {
    return warp.frame_of[lane]->rows[i.rows[row]][lane];
  };
  std::vector<std::uint64_t> a(kSide * kDepth), b(kSide * kDepth), d(kSide * kSide);
  const bool is_c_float = (i.flags & kCFloat) != 0;
  const bool is_d_float = (i.flags & kDFloat) != 0;
  for_lanes_of_pair(pair, [&](std::uint32_t l) {
    for (std::uint32_t e = 0; e < kDepth; ++e) {
      const Bits bits = bits_of_element(e, false);
      const Place in_a = place_of_a(l, e, i.flags);
      const Place in_b = place_of_b(l, e, i.flags);
      a[in_a.row * kDepth + in_a.column] = word(l, registers.a + bits.index) >> bits.shift & bits.mask;
      b[in_b.column * kDepth + in_b.row] = word(l, registers.b + bits.index) >> bits.shift & bits.mask;
    }
    for (std::uint32_t e = 0; e < kSide; ++e) {
      const Bits bits = bits_of_element(e, is_c_float);
      const Place at = place_of_c(l, e, is_c_float);
      d[at.row * kSide + at.column] = word(l, registers.c + bits.index) >> bits.shift & bits.mask;
    }
  });
  for (std::uint32_t at = 0; at < d.size(); ++at) {
    d[at] = element(&a[at / kSide * kDepth], &b[at % kSide * kDepth], d[at], i.flags);
  }
  for_lanes_of_pair(pair, [&](std::uint32_t l) {
    for (std::uint32_t r = 0; r < registers.a; ++r) word(l, registers.d + r) = 0;
    for (std::uint32_t e = 0; e < kSide; ++e) {
      const Bits bits = bits_of_element(e, is_d_float);
      const Place at = place_of_c(l, e, is_d_float);
      word(l, registers.d + bits.index) |= d[at.row * kSide + at.column] << bits.shift;
    }
  });
}

std::uint32_t mma_quads(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        if (!warp.machine->warps.meet(warp.thread(l), machine::WarpOp::kMma, isa::kFullMask, 0, 0, i.site))
          return;
        for (std::uint32_t pair = 0; pair < 4; ++pair) multiply(warp, i, pair);
      },
      [](std::uint32_t) { return true; });
}

}  // namespace

void add_quad_mma_forms(FormTable& table) {
  table.add("mma.sync.aligned.m8n8k4{.row,.col}{.row,.col}{.f16,.f32}.f16.f16{.f16,.f32}", [](Build& b) {
    b.want(4);
    Instruction& out = b.out();
    out.flags = (b.mod(0) == ".row" ? kARows : 0u) | (b.mod(1) == ".row" ? kBRows : 0u) |
                (b.mod(2) == ".f32" ? kDFloat : 0u) | (b.mod(3) == ".f32" ? kCFloat : 0u);
    if ((out.flags & kCFloat) != 0 && (out.flags & kDFloat) == 0) b.fail("D of f16 where C is of f32");
    const std::size_t wanted[] = {(out.flags & kDFloat) != 0 ? 8u : 4u, 2, 2,
                                  (out.flags & kCFloat) != 0 ? 8u : 4u};
    for (std::size_t index = 0; index < std::size(wanted); ++index) {
      const std::vector<std::uint32_t> rows = index == 0 ? b.targets(b.operand(0)) : b.sources(b.operand(index));
      if (rows.size() != wanted[index]) {
        b.fail(fmt::format("{} registers where {} are wanted", rows.size(), wanted[index]));
      }
      out.rows.insert(out.rows.end(), rows.begin(), rows.end());
    }
    b.machine(mma_quads);
  });
}

}  // namespace heddle::sim::ptx
