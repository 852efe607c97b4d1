// SPDX-License-Identifier: Apache-2.0
//
// A budget for waits on the GPU. Built with HEDDLE_WATCHDOG set to a number of milliseconds, a wait that
// lasts longer prints what it waits for and traps, instead of hanging the card. Otherwise it is empty. The
// simulated SM needs none: it sees that nothing can end a wait.
//
//   Watchdog watchdog;
//   while (!mbarrier_try_wait_parity(bar, parity)) watchdog.check(name, "full", stage, parity);
#pragma once

#include <heddle/isa/cuda_ptx.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

#if HEDDLE_ON_CUDA && HEDDLE_WATCHDOG > 0
#include <cstdio>
#endif

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA && HEDDLE_WATCHDOG > 0

class Watchdog {
 public:
  HEDDLE_DEVICE Watchdog() : start_ns_(cuda::ptx::get_sreg_globaltimer()) {}

  HEDDLE_DEVICE void check(Name pipeline, const char* barrier, std::uint32_t stage, std::uint32_t phase) const {
    if (cuda::ptx::get_sreg_globaltimer() - start_ns_ < std::uint64_t{HEDDLE_WATCHDOG} * 1'000'000u) return;
    printf("[watchdog] block (%u,%u,%u), warp %u, lane %u waits for %s of %s[%u], phase %u, since %d ms\n",
           ctaid().x, ctaid().y, ctaid().z, tid_x() / 32, laneid(), barrier, pipeline.text, stage, phase,
           HEDDLE_WATCHDOG);
    __trap();
  }

 private:
  std::uint64_t start_ns_;
};

#else

class Watchdog {
 public:
  HEDDLE_DEVICE void check(Name, const char*, std::uint32_t, std::uint32_t) const {}
};

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
