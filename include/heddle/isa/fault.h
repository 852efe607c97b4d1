// SPDX-License-Identifier: Apache-2.0
//
// Where a broken promise about a stage ends up. None of these is an instruction that a correct kernel
// contains: linear.h calls them on paths that only a mistake can reach.
//
// On the GPU each is a mnemonic that no assembler knows, so a kernel in which the path survives optimisation
// does not build, and ptxas prints the mnemonic. In a device debug build (-G) nothing is optimised away:
// there the same call prints and traps at run time. In the simulated SM it is a diagnosis that ends the run.
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

#if HEDDLE_ON_CUDA && defined(__CUDACC_DEBUG__)
#include <cstdio>
#endif

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA

namespace detail {

// Names are empty in builds that cannot report one.
template <class N>
HEDDLE_DEVICE const char* name_text(const N& name) {
  if constexpr (requires { name.text; }) {
    return name.text;
  } else {
    return "pipeline";
  }
}

}  // namespace detail

// A handle of a stage went out of scope, or was overwritten, without a release.
HEDDLE_DEVICE void fault_stage_dropped([[maybe_unused]] Name pipeline, [[maybe_unused]] std::uint32_t stage,
                                       CallSite /*acquired*/) {
#if defined(__CUDACC_DEBUG__)
  printf("[stage_dropped] block (%u,%u,%u), warp %u, lane %u dropped its handle of %s[%u] without release()\n",
         ctaid().x, ctaid().y, ctaid().z, tid_x() / 32, laneid(), detail::name_text(pipeline), stage);
  __trap();
#else
  asm volatile("heddle_error_stage_dropped_without_release;");
#endif
}

// A handle was used, or released again, after its release or after it was moved from.
HEDDLE_DEVICE void fault_stage_used_after_release([[maybe_unused]] Name pipeline,
                                                  [[maybe_unused]] std::uint32_t stage, CallSite /*used*/) {
#if defined(__CUDACC_DEBUG__)
  printf(
      "[stage_used_after_release] block (%u,%u,%u), warp %u, lane %u used a handle of %s[%u] that no longer "
      "holds the stage\n",
      ctaid().x, ctaid().y, ctaid().z, tid_x() / 32, laneid(), detail::name_text(pipeline), stage);
  __trap();
#else
  asm volatile("heddle_error_stage_used_after_release;");
#endif
}

#else

[[noreturn]] void fault_stage_dropped(Name pipeline, std::uint32_t stage, CallSite acquired) noexcept;
[[noreturn]] void fault_stage_used_after_release(Name pipeline, std::uint32_t stage, CallSite used) noexcept;

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
