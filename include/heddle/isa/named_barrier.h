// SPDX-License-Identifier: Apache-2.0
//
// Named barriers: 16 counters in each CTA, on which whole warps meet. Barrier 0 is the one that
// syncthreads() uses.
#pragma once

#include <heddle/isa/target.h>
#include <heddle/isa/trace.h>

namespace heddle::inline HEDDLE_TARGET::isa {

inline constexpr std::uint32_t kNamedBarriers = 16;

#if HEDDLE_ON_CUDA

// Waits until `threads` threads (a multiple of 32) have arrived on barrier `id`.
// Orders: memory accesses of all of them before, against those of all that sync after.
HEDDLE_DEVICE void bar_sync(std::uint32_t id, std::uint32_t threads, CallSite = CallSite::here()) {
  const TracedWait traced(WaitedFor::kNamed, id);
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Arrives on barrier `id` without waiting.
HEDDLE_DEVICE void bar_arrive(std::uint32_t id, std::uint32_t threads, CallSite = CallSite::here()) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Waits for all threads of the CTA, on barrier 0.
HEDDLE_DEVICE void syncthreads(CallSite = CallSite::here()) {
  const TracedWait traced(WaitedFor::kNamed);
  __syncthreads();
}

#else

void bar_sync(std::uint32_t id, std::uint32_t threads, CallSite site = CallSite::here());
void bar_arrive(std::uint32_t id, std::uint32_t threads, CallSite site = CallSite::here());
void syncthreads(CallSite site = CallSite::here());

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
