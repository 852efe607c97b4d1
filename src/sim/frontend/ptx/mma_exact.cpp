// SPDX-License-Identifier: Apache-2.0
//
// PTX: mma.sync whose sums are exact or rounded as plain arithmetic: f64, and integers of 4 bits and 1 bit, and
// the 8 x 8 shape of integers of 8 bits. With E elements in a register, group = lane / 4 and part = lane % 4:
//
//   A[M x K], register r: row group + 8 * (r % (M / 8)), columns from E * part + 4 * E * (r / (M / 8)) on
//   B[K x 8], register r: rows from E * part + 4 * E * r on, column group
//   C, D[M x 8], element e: row group + 8 * (e / 2), column 2 * part + e % 2
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

namespace heddle::sim::ptx {

namespace {

constexpr std::uint32_t kN = 8;

// flags
constexpr std::uint32_t kDepthMask = 0x1ff;
constexpr std::uint32_t kSixteenRows = 1u << 9;
constexpr std::uint32_t kSignedA = 1u << 10;
constexpr std::uint32_t kSignedB = 1u << 11;
constexpr std::uint32_t kSaturate = 1u << 12;
constexpr std::uint32_t kAnd = 1u << 13;   // of bits: and, not xor
constexpr std::uint32_t kBitsShift = 14;   // of an element: 1, 4, 8, 64
constexpr std::uint32_t kRoundShift = 24;  // of f64: as in FloatFlags

// rows: those of D, A, B and C, one after the other.
struct Shape {
  std::uint32_t depth, m, bits, per_register, d_registers, a_registers, b_registers;

  explicit Shape(std::uint32_t flags)
      : depth(flags & kDepthMask),
        m((flags & kSixteenRows) != 0 ? 16 : 8),
        bits(flags >> kBitsShift & 0x7f),
        per_register(bits == 64 ? 1 : 32 / bits),
        d_registers(m / 4),
        a_registers(depth / (4 * per_register) * (m / 8)),
        b_registers(depth / (4 * per_register)) {}
};

std::uint64_t& word(Warp& warp, const Instruction& i, std::uint32_t row, std::uint32_t lane) {
  return warp.frame_of[lane]->rows[i.rows[row]][lane];
}

std::int32_t element(std::uint64_t word, std::uint32_t index, std::uint32_t bits, bool is_signed) {
  const auto value = static_cast<std::int32_t>(word >> index * bits & ((1u << bits) - 1));
  return is_signed && value >> (bits - 1) != 0 ? value - (1 << bits) : value;
}

// The matrices as the lanes hold them: A row by row, B column by column, words as they are.
template <class T, class Element>
void gather(Warp& warp, const Instruction& i, const Shape& s, std::vector<T>& a, std::vector<T>& b,
            Element&& of) {
  const std::uint32_t blocks = s.m / 8;
  for (std::uint32_t l = 0; l < 32; ++l) {
    const std::uint32_t group = l / 4;
    const std::uint32_t first = s.per_register * (l % 4);
    for (std::uint32_t e = 0; e < s.per_register; ++e) {
      for (std::uint32_t r = 0; r < s.a_registers; ++r) {
        const std::uint32_t column = first + 4 * s.per_register * (r / blocks) + e;
        a[(group + 8 * (r % blocks)) * s.depth + column] = of(word(warp, i, s.d_registers + r, l), e, true);
      }
      for (std::uint32_t r = 0; r < s.b_registers; ++r) {
        const std::uint32_t row = first + 4 * s.per_register * r + e;
        b[group * s.depth + row] = of(word(warp, i, s.d_registers + s.a_registers + r, l), e, false);
      }
    }
  }
}

// D = sum(row of A, column of B, C) for every element.
template <class Sum>
void scatter(Warp& warp, const Instruction& i, const Shape& s, Sum&& sum) {
  const std::uint32_t c_row = s.d_registers + s.a_registers + s.b_registers;
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t e = 0; e < s.d_registers; ++e) {
      const std::uint32_t row = l / 4 + 8 * (e / 2);
      const std::uint32_t column = 2 * (l % 4) + e % 2;
      word(warp, i, e, l) = sum(row, column, word(warp, i, c_row + e, l));
    }
  }
}

// Unverified: the order in which a card adds f64; here k by k, each step rounded once.
void multiply_f64(Warp& warp, const Instruction& i, const Shape& s) {
  const RoundingScope scope(i.flags >> kRoundShift);
  std::vector<double> a(std::size_t{s.m} * s.depth), b(std::size_t{kN} * s.depth);
  gather(warp, i, s, a, b, [](std::uint64_t word, std::uint32_t, bool) { return get<double>(word); });
  scatter(warp, i, s, [&](std::uint32_t row, std::uint32_t column, std::uint64_t c) {
    double sum = get<double>(c);
    for (std::uint32_t k = 0; k < s.depth; ++k) {
      const double x = a[row * s.depth + k];
      const double y = b[column * s.depth + k];
      sum = with_nans(std::fma(x, y, sum), x, y, sum);
    }
    return put(sum);
  });
}

void multiply_integers(Warp& warp, const Instruction& i, const Shape& s) {
  std::vector<std::int32_t> a(std::size_t{s.m} * s.depth), b(std::size_t{kN} * s.depth);
  gather(warp, i, s, a, b, [&](std::uint64_t word, std::uint32_t index, bool is_a) {
    return element(word, index, s.bits, (i.flags & (is_a ? kSignedA : kSignedB)) != 0);
  });
  scatter(warp, i, s, [&](std::uint32_t row, std::uint32_t column, std::uint64_t c) {
    std::int64_t sum = static_cast<std::int32_t>(c);
    for (std::uint32_t k = 0; k < s.depth; ++k) {
      const std::int32_t x = a[row * s.depth + k];
      const std::int32_t y = b[column * s.depth + k];
      sum += s.bits != 1 ? x * y : (i.flags & kAnd) != 0 ? x & y : x ^ y;
    }
    if ((i.flags & kSaturate) != 0) {
      sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int32_t>::max());
    }
    return std::uint64_t{static_cast<std::uint32_t>(sum)};
  });
}

std::uint32_t mma_exact(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        if (!warp.machine->warps.meet(warp.thread(l), machine::WarpOp::kMma, isa::kFullMask, 0, 0, i.site))
          return;
        const Shape shape(i.flags);
        if (shape.bits == 64) {
          multiply_f64(warp, i, shape);
        } else {
          multiply_integers(warp, i, shape);
        }
      },
      [](std::uint32_t) { return true; });
}

void decode(Build& b, std::string_view shape, std::uint32_t bits, std::uint32_t flags) {
  b.want(4);
  Instruction& out = b.out();
  std::uint32_t depth = 0;
  std::from_chars(shape.data() + shape.find('k') + 1, shape.data() + shape.size(), depth);
  out.flags = flags | depth | bits << kBitsShift | (shape.starts_with(".m16") ? kSixteenRows : 0u);
  const Shape s(out.flags);
  const std::size_t wanted[] = {s.d_registers, s.a_registers, s.b_registers, s.d_registers};
  out.rows = b.targets(b.operand(0));
  for (std::size_t index = 0; index < 4; ++index) {
    const std::vector<std::uint32_t> rows = index == 0 ? out.rows : b.sources(b.operand(index), ".f64");
    if (rows.size() != wanted[index]) {
      b.fail(fmt::format("{} registers where {} are wanted", rows.size(), wanted[index]));
    }
    if (index != 0) out.rows.insert(out.rows.end(), rows.begin(), rows.end());
  }
  b.machine(mma_exact);
}

void decode_integers(Build& b, std::uint32_t bits) {
  const std::string_view a = b.mod(2);
  const std::string_view right = b.mod(3);
  decode(b, b.mod(0), bits,
         (b.has(1) ? kSaturate : 0u) | (a[1] == 's' ? kSignedA : 0u) | (right[1] == 's' ? kSignedB : 0u));
}

}  // namespace

void add_exact_mma_forms(FormTable& table) {
  table.add("mma.sync.aligned{.m8n8k4,.m16n8k4,.m16n8k8,.m16n8k16}[.rn,.rz,.rm,.rp].row.col.f64.f64.f64.f64",
            [](Build& b) { decode(b, b.mod(0), 64, rounding_flag(b.mod(1)) << kRoundShift); });
  table.add("mma.sync.aligned{.m8n8k16}.row.col[.satfinite].s32{.s8,.u8}{.s8,.u8}.s32",
            [](Build& b) { decode_integers(b, 8); });
  table.add("mma.sync.aligned{.m8n8k32,.m16n8k32,.m16n8k64}.row.col[.satfinite].s32{.s4,.u4}{.s4,.u4}.s32",
            [](Build& b) { decode_integers(b, 4); });
  table.add("mma.sync.aligned{.m8n8k128,.m16n8k128,.m16n8k256}.row.col.s32.b1.b1.s32{.xor,.and}.popc",
            [](Build& b) { decode(b, b.mod(0), 1, b.mod(1) == ".and" ? kAnd : 0u); });
}

}  // namespace heddle::sim::ptx
