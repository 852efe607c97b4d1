// SPDX-License-Identifier: Apache-2.0
// Operands of tcgen05 that differ in K, with an instruction whose types are known at run time.
// only: sm_100a
// expect-nvcc: the operands differ in K
// expect-clang: the operands differ in K
#include "snippet.h"

#include <heddle/tile/tcgen05_mma.h>
#include <heddle/tile/tmem_plan.h>

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  using A = PackedTmem<bf16, 64>;
#ifdef MISUSE
  using B = TileTensor<bf16, k_major_tile<bf16>(32, 64, Swizzle::k128B)>;
#else
  using B = TileTensor<bf16, k_major_tile<bf16>(64, 64, Swizzle::k128B)>;
#endif
  const TmemTensor<float, AccumulatorShape{.m = 128, .n = 64}> sums(TmemAddress(0));
  tcgen05_mma(sums, A(TmemAddress(64)).operand(), B(reinterpret_cast<bf16*>(args.barriers)).operand<Major::kMN>(),
              false, args.choice);
}
