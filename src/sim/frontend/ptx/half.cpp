// SPDX-License-Identifier: Apache-2.0
//
// PTX: Half Precision Floating Point Instructions: f16, bf16, and two of them in a register. Results are
// computed with enough bits and rounded once.
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/warp.h"

namespace heddle::sim::ptx {

namespace {

enum class HalfOp : std::uint8_t { kAdd, kSub, kMul, kFma, kMin, kMax, kNeg, kAbs, kEx2, kTanh };

template <class F>
std::uint64_t flush_half(std::uint64_t bits, std::uint32_t flags) {
  return (flags & kFtz) != 0 && (bits & 0x7fff) < F::least_normal ? bits & 0x8000 : bits & 0xffff;
}

// What a tensor map with the fill NAN_REQUEST_ZERO_FMA leaves beyond an edge. An H200 takes either sign of it, in
// a factor, and not in c.
constexpr std::uint16_t kOobNan = 0x7ff7;
constexpr std::uint32_t kZeroesOob = 1u << 10;  // a flag, above those of arithmetic.h: fma.oob

template <class F, HalfOp op>
std::uint16_t half_op(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint32_t flags) {
  a = flush_half<F>(a, flags);
  b = flush_half<F>(b, flags);
  c = flush_half<F>(c, flags);
  const double x = widen<F>(a);
  const double y = widen<F>(b);
  switch (op) {
    case HalfOp::kNeg: return std::isnan(x) ? F::nan : static_cast<std::uint16_t>(a ^ 0x8000);
    case HalfOp::kAbs: return std::isnan(x) ? F::nan : static_cast<std::uint16_t>(a & 0x7fff);
    case HalfOp::kAdd: return narrow<F>(sticky_fma(x, 1.0, y), flags);
    case HalfOp::kSub: return narrow<F>(sticky_fma(x, 1.0, -y), flags);
    case HalfOp::kMul: return narrow<F>(x * y, flags);
    case HalfOp::kFma:
      if ((flags & kZeroesOob) != 0 && ((a & 0x7fff) == kOobNan || (b & 0x7fff) == kOobNan)) return 0;
      return narrow<F>(sticky_fma(x, y, widen<F>(c)), flags);
    case HalfOp::kEx2: return narrow<F>(std::exp2(x), flags);
    case HalfOp::kTanh: return narrow<F>(std::tanh(x), flags);
    default: break;
  }
  constexpr bool is_max = op == HalfOp::kMax;
  if ((flags & kAbs) != 0) {  // .xorsign.abs
    const auto magnitude = half_op<F, op>(a & 0x7fff, b & 0x7fff, c, flags & ~kAbs);
    return std::isnan(widen<F>(magnitude)) ? magnitude
                                           : static_cast<std::uint16_t>(magnitude | ((a ^ b) & 0x8000));
  }
  if (std::isnan(x) || std::isnan(y)) {
    const bool both = std::isnan(x) && std::isnan(y);
    if (both || (flags & kNan) != 0) return F::nan;
    return static_cast<std::uint16_t>(std::isnan(x) ? b : a);
  }
  if (x == y) return static_cast<std::uint16_t>(std::signbit(x) == is_max ? b : a);
  return static_cast<std::uint16_t>((x < y) == is_max ? b : a);
}

template <class F, HalfOp op>
void half_one(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.rows[i.d][l] = half_op<F, op>(warp.rows[i.a][l], warp.rows[i.b][l], warp.rows[i.c][l], i.flags);
  });
}

template <class F, HalfOp op>
void half_two(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t a = warp.rows[i.a][l];
    const std::uint64_t b = warp.rows[i.b][l];
    const std::uint64_t c = warp.rows[i.c][l];
    const std::uint32_t low = half_op<F, op>(a, b, c, i.flags);
    const std::uint32_t high = half_op<F, op>(a >> 16, b >> 16, c >> 16, i.flags);
    warp.rows[i.d][l] = low | high << 16;
  });
}

template <HalfOp op>
void half_form(Build& b, std::size_t sources, std::string_view type, std::uint32_t flags) {
  b.simple(sources, type,
           type == ".f16"     ? half_one<HalfFormat, op>
           : type == ".f16x2" ? half_two<HalfFormat, op>
           : type == ".bf16"  ? half_one<BrainFormat, op>
                              : half_two<BrainFormat, op>);
  Instruction& out = b.out();
  if (out.b == kNone) out.b = out.a;
  if (out.c == kNone) out.c = out.a;
  out.flags = flags;
}

constexpr const char* kTypes = "{.f16,.f16x2,.bf16,.bf16x2}";

template <HalfOp op>
void add_half_arithmetic(FormTable& table, const std::string& name) {
  table.add(name + "[.rn][.ftz][.sat]" + kTypes,
            [](Build& b) { half_form<op>(b, 2, b.mod(3), (b.has(1) ? kFtz : 0u) | (b.has(2) ? kSat : 0u)); });
}

template <HalfOp op>
void add_half_unary(FormTable& table, const std::string& name) {
  table.add(name + "[.ftz]" + kTypes, [](Build& b) { half_form<op>(b, 1, b.mod(1), b.has(0) ? kFtz : 0u); });
}

template <HalfOp op>
void add_half_min_max(FormTable& table, const std::string& name) {
  table.add(name + "[.ftz][.NaN]" + kTypes,
            [](Build& b) { half_form<op>(b, 2, b.mod(2), (b.has(0) ? kFtz : 0u) | (b.has(1) ? kNan : 0u)); });
  table.add(name + "[.ftz][.NaN].xorsign.abs" + kTypes, [](Build& b) {
    half_form<op>(b, 2, b.mod(2), kAbs | (b.has(0) ? kFtz : 0u) | (b.has(1) ? kNan : 0u));
  });
}

}  // namespace

void add_half_forms(FormTable& table) {
  add_half_arithmetic<HalfOp::kAdd>(table, "add");
  add_half_arithmetic<HalfOp::kSub>(table, "sub");
  add_half_arithmetic<HalfOp::kMul>(table, "mul");
  table.add(std::string("fma.rn[.ftz][.sat,.relu]") + kTypes, [](Build& b) {
    const std::uint32_t clamp = b.mod(1) == ".sat" ? kSat : b.mod(1) == ".relu" ? kRelu : 0u;
    half_form<HalfOp::kFma>(b, 3, b.mod(2), clamp | (b.has(0) ? kFtz : 0u));
  });
  table.add(std::string("fma.rn.oob[.relu]") + kTypes,
            [](Build& b) { half_form<HalfOp::kFma>(b, 3, b.mod(1), kZeroesOob | (b.has(0) ? kRelu : 0u)); });
  add_half_unary<HalfOp::kNeg>(table, "neg");
  add_half_unary<HalfOp::kAbs>(table, "abs");
  add_half_min_max<HalfOp::kMin>(table, "min");
  add_half_min_max<HalfOp::kMax>(table, "max");
  // Unverified: results of the approximate forms; here they are rounded correctly.
  table.add(std::string("ex2.approx[.ftz]") + kTypes,
            [](Build& b) { half_form<HalfOp::kEx2>(b, 1, b.mod(1), b.has(0) ? kFtz : 0u); });
  table.add(std::string("tanh.approx") + kTypes, [](Build& b) { half_form<HalfOp::kTanh>(b, 1, b.mod(0), 0); });
}

}  // namespace heddle::sim::ptx
