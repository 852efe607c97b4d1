// SPDX-License-Identifier: Apache-2.0
//
// tcgen05: the matrix multiply of sm_100a. One thread issues D = A * B (+ D); A and B lie in shared memory, which
// descriptors (isa/smem_descriptor.h) describe, and D in tensor memory (isa/tmem.h). The instruction descriptor
// (isa/instruction_descriptor.h) says which shape and types. With cta_group 2 the two CTAs of a pair multiply
// together, each with half of A's rows, half of B's columns and half of D's rows, at the same addresses in both.
//
// Everything here is asynchronous. Multiplications of one thread run in the order in which it issued them, and a
// commit tells a barrier when those before it are complete; nothing else does. Until then the operands must stay
// as they are.
//
//   for (std::uint32_t k = 0; k < 4; ++k) {
//     tcgen05_mma<MmaKind::kF16, 1>(d, advanced_descriptor(a, 32 * k), advanced_descriptor(b, 32 * k), idesc, k
//     != 0);
//   }
//   tcgen05_commit<1>(full);            // ... and the readers of D:
//   while (!mbarrier_try_wait_parity(full, 0)) {}
//   tcgen05_fence_after_thread_sync();
//
// A function that is instantiated for another architecture than sm_100a does not link.
#pragma once

#include <heddle/isa/instruction_descriptor.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/smem_descriptor.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tmem.h>

#if HEDDLE_ON_CUDA
#include <cuda/ptx>
#endif

namespace heddle::inline HEDDLE_TARGET::isa {

namespace detail {

template <MmaKind kind>
HEDDLE_HOST_DEVICE constexpr void require_plain_kind() {
  static_assert(!is_block_scaled(kind), "tcgen05_mma: a block-scaled kind takes scale factors");
  static_assert(kind != MmaKind::kI8, "tcgen05_mma: integers are not supported");
}

}  // namespace detail

#if HEDDLE_ON_CUDA

// Orders: this thread's tcgen05 operations before, as far as it has waited for them, against those that other
// threads issue after a synchronisation that follows. Not a fence for shared memory.
HEDDLE_DEVICE void tcgen05_fence_before_thread_sync(CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_fence_before_thread_sync();
}

// Orders: tcgen05 operations of others that a synchronisation before this has covered, against this thread's
// after.
HEDDLE_DEVICE void tcgen05_fence_after_thread_sync(CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_fence_after_thread_sync();
}

// Arrives once on `bar`, which may lie in another CTA of the cluster, when all that this thread has issued so far
// is complete.
// Orders: those operations, for threads whose wait on the phase succeeds. Includes the fence before the
// synchronisation; the reader's fence after it stays necessary.
template <int cta_group>
HEDDLE_DEVICE void tcgen05_commit(MbarPtr bar, CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_commit(detail::cta_group_tag<cta_group>(), &bar->opaque);
}

// The same, on the barrier at the same place in every CTA whose rank is in `mask`.
template <int cta_group>
HEDDLE_DEVICE void tcgen05_commit_multicast(MbarPtr bar, std::uint16_t mask, CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_commit_multicast(detail::cta_group_tag<cta_group>(), &bar->opaque, mask);
}

namespace detail {

template <MmaKind kind>
HEDDLE_DEVICE constexpr auto kind_tag() {
  if constexpr (kind == MmaKind::kF16) {
    return cuda::ptx::kind_f16_t{};
  } else if constexpr (kind == MmaKind::kTf32) {
    return cuda::ptx::kind_tf32_t{};
  } else {
    return cuda::ptx::kind_f8f6f4_t{};
  }
}

}  // namespace detail

// D = A * B, or D += A * B where `accumulate`.
template <MmaKind kind, int cta_group>
HEDDLE_DEVICE void tcgen05_mma(std::uint32_t d_taddr, std::uint64_t a_descriptor, std::uint64_t b_descriptor,
                               std::uint32_t instruction_descriptor, bool accumulate,
                               CallSite = CallSite::here()) {
  detail::require_plain_kind<kind>();
  cuda::ptx::tcgen05_mma(detail::kind_tag<kind>(), detail::cta_group_tag<cta_group>(), d_taddr, a_descriptor,
                         b_descriptor, instruction_descriptor, accumulate);
}

#else

namespace detail {

void tcgen05_commit(int cta_group, MbarPtr bar, CallSite site);
void tcgen05_commit_multicast(int cta_group, MbarPtr bar, std::uint16_t mask, CallSite site);
void tcgen05_mma(MmaKind kind, int cta_group, std::uint32_t d_taddr, std::uint64_t a_descriptor,
                 std::uint64_t b_descriptor, std::uint32_t instruction_descriptor, bool accumulate,
                 CallSite site);

}  // namespace detail

void tcgen05_fence_before_thread_sync(CallSite site = CallSite::here());
void tcgen05_fence_after_thread_sync(CallSite site = CallSite::here());

template <int cta_group>
void tcgen05_commit(MbarPtr bar, CallSite site = CallSite::here()) {
  detail::require_cta_group<cta_group>();
  detail::tcgen05_commit(cta_group, bar, site);
}

template <int cta_group>
void tcgen05_commit_multicast(MbarPtr bar, std::uint16_t mask, CallSite site = CallSite::here()) {
  detail::require_cta_group<cta_group>();
  detail::tcgen05_commit_multicast(cta_group, bar, mask, site);
}

template <MmaKind kind, int cta_group>
void tcgen05_mma(std::uint32_t d_taddr, std::uint64_t a_descriptor, std::uint64_t b_descriptor,
                 std::uint32_t instruction_descriptor, bool accumulate, CallSite site = CallSite::here()) {
  detail::require_plain_kind<kind>();
  detail::require_cta_group<cta_group>();
  detail::tcgen05_mma(kind, cta_group, d_taddr, a_descriptor, b_descriptor, instruction_descriptor, accumulate,
                      site);
}

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
