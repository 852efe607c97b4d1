// SPDX-License-Identifier: Apache-2.0
//
// Atomic operations on global memory, for CTAs that count one another. Whoever was counted last sees what the
// others wrote before they counted:
//
//   store(part);
//   isa::bar_sync(...);                                                    // all of this CTA's parts
//   if (thread == 0) is_last = isa::atom_add_acq_rel_gpu(counter, 1) + 1 == ctas;
#pragma once

#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA

// Adds and returns what was there before. PTX: atom.
// Orders: what this thread did before, and what it was shown, ahead of the addition, for all threads of the GPU
// whose additions come later; what they do afterwards sees it.
HEDDLE_DEVICE std::uint32_t atom_add_acq_rel_gpu(std::uint32_t* global, std::uint32_t value,
                                                 CallSite = CallSite::here()) {
  std::uint32_t before;
  asm volatile("atom.global.acq_rel.gpu.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(global)), "r"(value)
               : "memory");
  return before;
}

#else

std::uint32_t atom_add_acq_rel_gpu(std::uint32_t* global, std::uint32_t value, CallSite site = CallSite::here());

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
