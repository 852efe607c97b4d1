// SPDX-License-Identifier: Apache-2.0
// Operands of tcgen05 that differ in K.
// expect-nvcc: the operands differ in K
// expect-clang: the operands differ in K
#include "snippet.h"

#include <heddle/tile/tcgen05_mma.h>
#include <heddle/tile/tmem_plan.h>

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  using A = TmemOperand<bf16, 64>;
#ifdef MISUSE
  using B = TileOperand<TileTensor<bf16, k_major_tile<bf16>(32, 64, Swizzle::k64B)>, Major::kMN>;
#else
  using B = TileOperand<TileTensor<bf16, k_major_tile<bf16>(64, 64, Swizzle::k128B)>, Major::kMN>;
#endif
  constexpr std::uint32_t word = tcgen05_instruction<AccumulatorShape{.m = 128, .n = 64}, A, B>();
  use(args, word + pipeline.consumer_stage());
}
