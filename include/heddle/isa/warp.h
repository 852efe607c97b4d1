// SPDX-License-Identifier: Apache-2.0
//
// What the 32 threads of a warp do together. Every thread named in `mask` must execute the same
// instruction with the same mask; the simulated SM reports it when they do not.
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET::isa {

inline constexpr std::uint32_t kWarpThreads = 32;
inline constexpr std::uint32_t kFullMask = 0xffffffffu;

#if HEDDLE_ON_CUDA

// True in exactly one thread of the mask: the lowest, and the same one each time.
HEDDLE_DEVICE bool elect_sync(std::uint32_t mask = kFullMask, CallSite = CallSite::here()) {
  std::uint32_t elected;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "elect.sync _|p, %1;\n\t"
      "selp.b32 %0, 1, 0, p;\n\t}"
      : "=r"(elected)
      : "r"(mask));
  return elected != 0;
}

// Orders: memory accesses of the mask's threads before, against theirs after.
HEDDLE_DEVICE void syncwarp(std::uint32_t mask = kFullMask, CallSite = CallSite::here()) { __syncwarp(mask); }

HEDDLE_DEVICE std::uint32_t shfl_sync_idx(std::uint32_t value, std::uint32_t source_lane,
                                          std::uint32_t mask = kFullMask, CallSite = CallSite::here()) {
  return __shfl_sync(mask, value, static_cast<int>(source_lane));
}

HEDDLE_DEVICE std::uint32_t shfl_sync_up(std::uint32_t value, std::uint32_t delta, std::uint32_t mask = kFullMask,
                                         CallSite = CallSite::here()) {
  return __shfl_up_sync(mask, value, delta);
}

HEDDLE_DEVICE std::uint32_t shfl_sync_down(std::uint32_t value, std::uint32_t delta,
                                           std::uint32_t mask = kFullMask, CallSite = CallSite::here()) {
  return __shfl_down_sync(mask, value, delta);
}

HEDDLE_DEVICE std::uint32_t shfl_sync_bfly(std::uint32_t value, std::uint32_t lane_mask,
                                           std::uint32_t mask = kFullMask, CallSite = CallSite::here()) {
  return __shfl_xor_sync(mask, value, static_cast<int>(lane_mask));
}

// Bit i is set where `predicate` holds in thread i of the mask.
HEDDLE_DEVICE std::uint32_t vote_sync_ballot(bool predicate, std::uint32_t mask = kFullMask,
                                             CallSite = CallSite::here()) {
  return __ballot_sync(mask, predicate);
}

// The index of this thread's warp in its CTA, in a form that the compiler knows to be warp-uniform: a shuffle,
// which all lanes execute together. A single lane takes tid_x() / kWarpThreads.
HEDDLE_DEVICE std::uint32_t warp_idx(CallSite = CallSite::here()) {
  return __shfl_sync(kFullMask, threadIdx.x / kWarpThreads, 0);
}

#else

bool elect_sync(std::uint32_t mask = kFullMask, CallSite site = CallSite::here());
void syncwarp(std::uint32_t mask = kFullMask, CallSite site = CallSite::here());
std::uint32_t shfl_sync_idx(std::uint32_t value, std::uint32_t source_lane, std::uint32_t mask = kFullMask,
                            CallSite site = CallSite::here());
std::uint32_t shfl_sync_up(std::uint32_t value, std::uint32_t delta, std::uint32_t mask = kFullMask,
                           CallSite site = CallSite::here());
std::uint32_t shfl_sync_down(std::uint32_t value, std::uint32_t delta, std::uint32_t mask = kFullMask,
                             CallSite site = CallSite::here());
std::uint32_t shfl_sync_bfly(std::uint32_t value, std::uint32_t lane_mask, std::uint32_t mask = kFullMask,
                             CallSite site = CallSite::here());
std::uint32_t vote_sync_ballot(bool predicate, std::uint32_t mask = kFullMask, CallSite site = CallSite::here());

inline std::uint32_t warp_idx(CallSite site = CallSite::here()) {
  return shfl_sync_idx(tid_x() / kWarpThreads, 0, kFullMask, site);
}

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
