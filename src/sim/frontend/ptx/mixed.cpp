// SPDX-License-Identifier: Apache-2.0
//
// PTX: Mixed Precision Floating Point Instructions: add, sub and fma of f32 whose factors or first operand have
// 16 bits. These are widened, which is exact, and the result is rounded once, as that of the f32 instruction.
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/warp.h"

namespace heddle::sim::ptx {

namespace {

enum class MixedOp : std::uint8_t { kAdd, kSub, kFma };

template <class F, MixedOp op>
void mixed(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const RoundingScope scope(i.flags);
  for_lanes(mask, [&](std::uint32_t l) {
    const auto narrow_of = [&](std::uint32_t row) { return static_cast<float>(widen<F>(warp.rows[row][l])); };
    const float a = narrow_of(i.a);
    float result = 0;
    if constexpr (op == MixedOp::kFma) {
      result = std::fma(a, narrow_of(i.b), get<float>(warp.rows[i.c][l]));
    } else {
      const float c = get<float>(warp.rows[i.b][l]);
      result = op == MixedOp::kAdd ? a + c : a - c;
    }
    warp.rows[i.d][l] = put(give<float>(result, i.flags));
  });
}

template <MixedOp op>
void add_mixed(FormTable& table, const std::string& name) {
  constexpr bool is_fma = op == MixedOp::kFma;
  const std::string rounding = is_fma ? "{.rn,.rz,.rm,.rp}" : "[.rn,.rz,.rm,.rp]";
  table.add(name + rounding + "[.sat].f32{.f16,.bf16}", [](Build& b) {
    Instruction& out = b.out();
    b.want(is_fma ? 4 : 3);
    out.d = b.target(0);
    out.a = b.source(1, b.mod(2));
    out.b = b.source(2, is_fma ? b.mod(2) : ".f32");
    if (is_fma) out.c = b.source(3, ".f32");
    out.flags = rounding_flag(b.mod(0)) | (b.has(1) ? kSat : 0u);
    b.scalar(b.mod(2) == ".f16" ? mixed<HalfFormat, op> : mixed<BrainFormat, op>);
  });
}

}  // namespace

void add_mixed_forms(FormTable& table) {
  add_mixed<MixedOp::kAdd>(table, "add");
  add_mixed<MixedOp::kSub>(table, "sub");
  add_mixed<MixedOp::kFma>(table, "fma");
}

}  // namespace heddle::sim::ptx
