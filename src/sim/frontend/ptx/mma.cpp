// SPDX-License-Identifier: Apache-2.0
//
// PTX: mma.sync. The warp's registers hold the matrices; the fragments of all types follow one pattern. With E
// elements in a register, group = lane / 4 and part = lane % 4:
//
//   A[16 x K], register r: row group + 8 * (r % 2), columns from E * part + 4 * E * (r / 2) on
//   B[K x 8],  register r: rows from E * part + 4 * E * r on, column group
//   C, D[16 x 8], element e: row group + 8 * (e / 2), column 2 * part + e % 2
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
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace heddle::sim::ptx {

namespace {

using machine::MmaArithmetic;
using machine::MmaOperand;

constexpr std::uint32_t kM = 16;
constexpr std::uint32_t kN = 8;

// flags
constexpr std::uint32_t kAShift = 0;  // OperandType, 4 bits
constexpr std::uint32_t kBShift = 4;  // likewise
constexpr std::uint32_t kDShift = 8;  // AccumulatorType, 2 bits
constexpr std::uint32_t kSaturate = 1u << 10;

// rows: those of D, A, B and C, one behind the other.
struct Fragments {
  OperandType a, b;
  AccumulatorType d;
  std::uint32_t element_bytes, d_registers, a_registers, b_registers, depth;

  explicit Fragments(const Instruction& i)
      : a(static_cast<OperandType>(i.flags >> kAShift & 15)),
        b(static_cast<OperandType>(i.flags >> kBShift & 15)),
        d(static_cast<AccumulatorType>(i.flags >> kDShift & 3)),
        element_bytes(machine::stored_bytes(a)),
        d_registers(d == AccumulatorType::kF16 ? 2 : 4),
        a_registers((static_cast<std::uint32_t>(i.rows.size()) - 2 * d_registers) / 3 * 2),
        b_registers(a_registers / 2),
        depth(16 / element_bytes * b_registers) {}

  std::uint32_t a_row(std::uint32_t r) const { return d_registers + r; }
  std::uint32_t b_row(std::uint32_t r) const { return d_registers + a_registers + r; }
  std::uint32_t c_row(std::uint32_t r) const { return d_registers + a_registers + b_registers + r; }
};

std::uint64_t& word(Warp& warp, const Instruction& i, std::uint32_t row, std::uint32_t lane) {
  return warp.frame_of[lane]->rows[i.rows[row]][lane];
}

std::int32_t integer(OperandType type, std::byte value) {
  return type == OperandType::kS8 ? static_cast<std::int8_t>(value) : static_cast<std::int32_t>(value);
}

// PTX: mma. Without .satfinite, an overflow wraps.
std::uint32_t integer_dot(const Fragments& f, const std::byte* a, const std::byte* b, std::uint32_t c,
                          bool saturates) {
  std::int64_t sum = static_cast<std::int32_t>(c);
  for (std::uint32_t k = 0; k < f.depth; ++k) sum += integer(f.a, a[k]) * integer(f.b, b[k]);
  if (saturates) {
    sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                   std::numeric_limits<std::int32_t>::max());
  }
  return static_cast<std::uint32_t>(sum);
}

// As add.f16 and add.f32, whose NaN is always the same one.
std::uint32_t sum(AccumulatorType type, std::uint32_t left, std::uint32_t right) {
  if (type == AccumulatorType::kF16)
    return narrow<HalfFormat>(widen<HalfFormat>(left) + widen<HalfFormat>(right), 0);
  const float result = std::bit_cast<float>(left) + std::bit_cast<float>(right);
  return std::isnan(result) ? kCanonicalNan : std::bit_cast<std::uint32_t>(result);
}

// Of every four bytes, all, or the lower or the upper two.
std::vector<std::byte> part(const std::vector<std::byte>& rows, std::uint32_t step, std::uint32_t steps) {
  if (steps == 1) return rows;
  std::vector<std::byte> result;
  for (std::size_t at = 2 * step; at < rows.size(); at += 4)
    result.insert(result.end(), &rows[at], &rows[at] + 2);
  return result;
}

// A row of D depends on the row of A, a column on the column of B, an element on that of C.
void follow_multiply(Warp& warp, const Instruction& i, const Fragments& f) {
  const auto undefined = [&](std::uint32_t row, std::uint32_t l) {
    return undefined_of(*warp.frame_of[l], i.rows[row], l);
  };
  std::array<Undefined, kM> rows = {};
  std::array<Undefined, kN> columns = {};
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t r = 0; r < f.a_registers; ++r) {
      if (const Undefined a = undefined(f.a_row(r), l); a.bits != 0) rows[l / 4 + 8 * (r % 2)] = a;
    }
    for (std::uint32_t r = 0; r < f.b_registers; ++r) {
      if (const Undefined b = undefined(f.b_row(r), l); b.bits != 0) columns[l / 4] = b;
    }
  }
  const bool is_half = f.d == AccumulatorType::kF16;
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t r = 0; r < f.d_registers; ++r) {
      Undefined d = undefined(f.c_row(r), l);
      for (std::uint32_t e = is_half ? 2 * r : r; e <= (is_half ? 2 * r + 1 : r); ++e) {
        const std::uint64_t bits = is_half ? std::uint64_t{0xffff} << 16 * (e % 2) : 0xffffffffu;
        if (const Undefined& a = rows[l / 4 + 8 * (e / 2)]; a.bits != 0) d = {d.bits | bits, a.origin};
        if (const Undefined& b = columns[2 * (l % 4) + e % 2]; b.bits != 0) d = {d.bits | bits, b.origin};
      }
      set_undefined(warp, *warp.frame_of[l], i.rows[r], l, d);
    }
  }
}

// All lanes stand at the instruction: each of them finds its operands, and gets its result, in its own frame.
void multiply(Warp& warp, const Instruction& i) {
  const Fragments f(i);
  if (warp.undefined_rows != 0) follow_multiply(warp, i, f);
  const std::uint32_t pitch = f.depth * f.element_bytes;
  std::vector<std::byte> a(std::size_t{kM} * pitch), b(std::size_t{kN} * pitch);
  std::array<std::uint32_t, kM* kN> d = {};
  const auto place = [](std::uint32_t lane, std::uint32_t element) {
    return (lane / 4 + 8 * (element / 2)) * kN + 2 * (lane % 4) + element % 2;
  };
  const auto is_half = f.d == AccumulatorType::kF16;
  for (std::uint32_t l = 0; l < 32; ++l) {
    // A register holds four bytes of a row of A, or of a column of B.
    for (std::uint32_t r = 0; r < f.a_registers; ++r) {
      std::memcpy(&a[(l / 4 + 8 * (r % 2)) * pitch + 4 * (l % 4) + 16 * (r / 2)], &word(warp, i, f.a_row(r), l),
                  4);
    }
    for (std::uint32_t r = 0; r < f.b_registers; ++r) {
      std::memcpy(&b[l / 4 * pitch + 4 * (l % 4) + 16 * r], &word(warp, i, f.b_row(r), l), 4);
    }
    for (std::uint32_t e = 0; e < 4; ++e) {
      const std::uint64_t c = word(warp, i, f.c_row(is_half ? e / 2 : e), l);
      d[place(l, e)] = static_cast<std::uint32_t>(is_half ? c >> 16 * (e % 2) & 0xffff : c);
    }
  }
  if (f.d == AccumulatorType::kS32) {
    for (std::uint32_t row = 0; row < kM; ++row) {
      for (std::uint32_t column = 0; column < kN; ++column) {
        std::uint32_t& at = d[row * kN + column];
        at = integer_dot(f, &a[row * pitch], &b[column * pitch], at, (i.flags & kSaturate) != 0);
      }
    }
  } else {
    // Model: Hopper has no mma of fp8. Its assembler makes f16 of the operands, multiplies the lower halves of
    // the registers, then the upper ones on top of them, and adds C to the sum last.
    constexpr MmaArithmetic kArithmetic{.fraction_bits = 25, .result_fraction_bits = 23};
    const bool is_fp8 = f.element_bytes == 1;
    const std::uint32_t steps = is_fp8 ? 2 : 1;
    const std::array<std::uint32_t, kM* kN> c = d;
    if (is_fp8) d = {};
    for (std::uint32_t step = 0; step < steps; ++step) {
      const std::vector<std::byte> a_part = part(a, step, steps);
      const std::vector<std::byte> b_part = part(b, step, steps);
      const MmaOperand left(MmaOperand::Side::kA, f.a, false, kM, f.depth / steps, a_part.data());
      const MmaOperand right(MmaOperand::Side::kB, f.b, false, kN, f.depth / steps, b_part.data());
      machine::multiply_add(kArithmetic, left, 0, kM, right, f.d, d.data());
    }
    if (is_fp8) {
      for (std::size_t at = 0; at < d.size(); ++at) d[at] = sum(f.d, c[at], d[at]);
    }
  }
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t r = 0; r < f.d_registers; ++r) {
      word(warp, i, r, l) = is_half ? d[place(l, 2 * r)] | d[place(l, 2 * r + 1)] << 16 : d[place(l, r)];
    }
  }
}

std::uint32_t mma_sync(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        if (warp.machine->warps.meet(warp.thread(l), machine::WarpOp::kMma, isa::kFullMask, 0, 0, i.site)) {
          multiply(warp, i);
        }
      },
      [](std::uint32_t) { return true; });
}

OperandType type_of(std::string_view name) {
  if (name == ".f16") return OperandType::kF16;
  if (name == ".bf16") return OperandType::kBf16;
  if (name == ".tf32") return OperandType::kTf32;
  if (name == ".e4m3") return OperandType::kE4m3;
  if (name == ".e5m2") return OperandType::kE5m2;
  return name == ".s8" ? OperandType::kS8 : OperandType::kU8;
}

void decode_mma(Build& b, std::string_view shape, bool saturates, std::string_view d, std::string_view a,
                std::string_view right) {
  b.want(4);
  std::uint32_t depth = 0;
  std::from_chars(shape.data() + 7, shape.data() + shape.size(), depth);
  const std::size_t d_registers = d == ".f16" ? 2 : 4;
  const std::size_t b_registers = depth * machine::stored_bytes(type_of(a)) / 16;
  Instruction& out = b.out();
  out.rows = b.targets(b.operand(0));
  const std::size_t wanted[] = {d_registers, 2 * b_registers, b_registers, d_registers};
  for (std::size_t index = 0; index < 4; ++index) {
    std::vector<std::uint32_t> rows = index == 0 ? out.rows : b.sources(b.operand(index));
    if (rows.size() != wanted[index]) {
      b.fail(fmt::format("{} registers where {} are wanted", rows.size(), wanted[index]));
    }
    if (index != 0) out.rows.insert(out.rows.end(), rows.begin(), rows.end());
  }
  const AccumulatorType type = d == ".f16"   ? AccumulatorType::kF16
                               : d == ".s32" ? AccumulatorType::kS32
                                             : AccumulatorType::kF32;
  out.flags = static_cast<std::uint32_t>(type_of(a)) << kAShift |
              static_cast<std::uint32_t>(type_of(right)) << kBShift |
              static_cast<std::uint32_t>(type) << kDShift | (saturates ? kSaturate : 0u);
  b.machine(mma_sync);
}

}  // namespace

void add_mma_forms(FormTable& table) {
  const auto add = [&](std::string_view pattern) {
    table.add(pattern, [](Build& b) { decode_mma(b, b.mod(0), false, b.mod(1), b.mod(2), b.mod(3)); });
  };
  add("mma.sync.aligned{.m16n8k8,.m16n8k16}.row.col{.f32}{.f16}{.f16}.f32");
  add("mma.sync.aligned{.m16n8k8,.m16n8k16}.row.col{.f16}{.f16}{.f16}.f16");
  add("mma.sync.aligned{.m16n8k8,.m16n8k16}.row.col{.f32}{.bf16}{.bf16}.f32");
  add("mma.sync.aligned{.m16n8k4,.m16n8k8}.row.col{.f32}{.tf32}{.tf32}.f32");
  for (const std::string shape : {"{.m16n8k16,.m16n8k32}", ".kind::f8f6f4{.m16n8k32}"}) {
    add("mma.sync.aligned" + shape + ".row.col{.f32}{.e4m3,.e5m2}{.e4m3,.e5m2}.f32");
    add("mma.sync.aligned" + shape + ".row.col{.f16}{.e4m3,.e5m2}{.e4m3,.e5m2}.f16");
  }
  table.add("mma.sync.aligned{.m16n8k16,.m16n8k32}.row.col[.satfinite].s32{.s8,.u8}{.s8,.u8}.s32",
            [](Build& b) { decode_mma(b, b.mod(0), b.has(1), ".s32", b.mod(2), b.mod(3)); });
}

}  // namespace heddle::sim::ptx
