// SPDX-License-Identifier: Apache-2.0
//
// tcgen05_mma: tiles multiplied into an accumulator in tensor memory, all of K that they have. Operands are
// types (tile/operand.h, or TmemOperand for an A in tensor memory), so those that do not fit the accumulator or
// one another do not compile.
//
//   const TmemTensor<float, AccumulatorShape{.m = 128, .n = 256}> d(stage.tmem().address());
//   tcgen05_mma(d, a_tile.operand(), b_tile.operand<Major::kMN>(), k_block != 0);
//
// By one thread, of the CTA that leads where two multiply together. A commit says when it is done.
#pragma once

#include <heddle/isa/instruction_descriptor.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/tile/operand.h>
#include <heddle/tile/scale_factors.h>
#include <heddle/tile/tmem_view.h>

namespace heddle::inline HEDDLE_TARGET {

// The kind of multiplication that takes operands of this type.
HEDDLE_HOST_DEVICE constexpr MmaKind mma_kind(OperandType type) {
  if (type == OperandType::kF16 || type == OperandType::kBf16) return MmaKind::kF16;
  return type == OperandType::kTf32 ? MmaKind::kTf32 : MmaKind::kF8f6f4;
}

namespace detail {

template <class A>
concept InTensorMemory = requires(const A& a) {
  a.taddr(0u);
};

template <AccumulatorShape shape, class A, class B>
HEDDLE_HOST_DEVICE constexpr void check_tcgen05_operands() {
  constexpr auto group = static_cast<std::uint32_t>(shape.cta_group);
  static_assert(A::rows * group == shape.m, "the rows of A, in all CTAs of the group, are those of D");
  static_assert(B::rows * group == shape.n,
                "each CTA of the group holds an equal part of D's columns as rows of B");
  static_assert(A::k == B::k, "the operands differ in K: give both the same");
  static_assert(mma_kind(A::type) == mma_kind(B::type), "no MMA multiplies numbers of these two types");
  static_assert(A::k * sizeof(typename A::value_type) % 32 == 0, "an MMA multiplies 32 bytes of K at a time");
}

}  // namespace detail

// The word that says what multiplies these operands into that accumulator.
template <AccumulatorShape shape, class A, class B>
HEDDLE_HOST_DEVICE constexpr std::uint32_t tcgen05_instruction() {
  detail::check_tcgen05_operands<shape, A, B>();
  return instruction_descriptor(InstructionDescriptor{.kind = mma_kind(A::type),
                                                      .m = shape.m,
                                                      .n = shape.n,
                                                      .a_type = A::type,
                                                      .b_type = B::type,
                                                      .a_major = A::major,
                                                      .b_major = B::major});
}

// D = A * B, or D += A * B where `accumulate`. `instruction` is for kernels whose types are known when they run:
// it names others of the same size and kind.
template <AccumulatorShape shape, class A, class B>
HEDDLE_DEVICE void tcgen05_mma(const TmemTensor<float, shape>& d, const A& a, const B& b, bool accumulate,
                               std::uint32_t instruction, CallSite site = CallSite::here()) {
  detail::check_tcgen05_operands<shape, A, B>();
  constexpr MmaKind kind = mma_kind(A::type);
  constexpr std::uint32_t step = 32 / sizeof(typename A::value_type);
  HEDDLE_UNROLL
  for (std::uint32_t k = 0; k < A::k; k += step) {
    if constexpr (detail::InTensorMemory<A>) {
      isa::tcgen05_mma_tmem_a<kind, shape.cta_group>(d.address().bits(), a.taddr(k), b.tcgen05_descriptor(k),
                                                     instruction, accumulate || k != 0, site);
    } else {
      isa::tcgen05_mma<kind, shape.cta_group>(d.address().bits(), a.tcgen05_descriptor(k),
                                              b.tcgen05_descriptor(k), instruction, accumulate || k != 0, site);
    }
  }
}
template <AccumulatorShape shape, class A, class B>
HEDDLE_DEVICE void tcgen05_mma(const TmemTensor<float, shape>& d, const A& a, const B& b, bool accumulate,
                               CallSite site = CallSite::here()) {
  tcgen05_mma(d, a, b, accumulate, tcgen05_instruction<shape, A, B>(), site);
}

// The same with a scale for every few numbers along K, `scales_per_mma` of each row for one instruction.
template <MmaKind kind, int scales_per_mma, AccumulatorShape shape, class A, class B, class ScalesOfA,
          class ScalesOfB>
HEDDLE_DEVICE void tcgen05_mma_block_scale(const TmemTensor<float, shape>& d, const A& a, const B& b,
                                           const ScalesOfA& a_scales, const ScalesOfB& b_scales, bool accumulate,
                                           std::uint32_t instruction, CallSite site = CallSite::here()) {
  using namespace detail::instruction_bits;
  static_assert(A::k == B::k, "the operands differ in K: give both the same");
  constexpr std::uint32_t step = 32 / sizeof(typename A::value_type);
  // Copies: nvcc has no address for a static member in device code.
  constexpr auto shape_of_a = ScalesOfA::shape;
  constexpr auto shape_of_b = ScalesOfB::shape;
  HEDDLE_UNROLL
  for (std::uint32_t k = 0; k < A::k; k += step) {
    const std::uint32_t i = k / step;
    // Which byte of a column holds the first scale is part of the instruction; it is 0 before.
    const auto ids = static_cast<std::uint32_t>(SfaIdField::put(shape_of_a.id_of(i, scales_per_mma)) |
                                                SfbIdField::put(shape_of_b.id_of(i, scales_per_mma)));
    isa::tcgen05_mma_block_scale<kind, shape.cta_group, scales_per_mma>(
        d.address().bits(), a.tcgen05_descriptor(k), b.tcgen05_descriptor(k), instruction | ids,
        a_scales.address().plus_cols(shape_of_a.col_of(i, scales_per_mma)).bits(),
        b_scales.address().plus_cols(shape_of_b.col_of(i, scales_per_mma)).bits(), accumulate || k != 0, site);
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
