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
// Block-scaled kinds multiply every number by a scale that 16 or 32 of a row share. The scales lie in tensor
// memory, where tcgen05_cp puts them from shared memory: of row m, scale s is byte `id + s` of column m / 32, in
// lane m % 32 and again in the lanes 32, 64 and 96 further on.
//
// A function that is instantiated for another architecture than sm_100a does not link.
#pragma once

#include <heddle/isa/cuda_ptx.h>
#include <heddle/isa/instruction_descriptor.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/smem_descriptor.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/trace.h>

namespace heddle::inline HEDDLE_TARGET {

// What a tcgen05.cp moves from shared memory: rows of 16 or 32 bytes, each into one lane or copied into several.
//
//   shape                rows x bytes  row r goes to
//   128x256b             128 x 32      lane r, 8 columns
//   128x128b             128 x 16      lane r, 4 columns
//   64x128b warpx2 02_13  64 x 16      lanes r and r + 64
//   64x128b warpx2 01_23  64 x 16      lanes r % 32 + 64 * (r / 32) and 32 more
//   32x128b warpx4        32 x 16      lanes r, r + 32, r + 64 and r + 96
//   4x256b                 4 x 32      lane 32 * r + the lane of the address
// PTX: tcgen05.cp.
enum class TmemCopyShape : std::uint8_t {
  k128x256b,
  k128x128b,
  k64x128bWarpx2_02_13,
  k64x128bWarpx2_01_23,
  k32x128bWarpx4,
  k4x256b
};

// How many scales of a row one instruction of a kind reads, where only one number is possible; 0: name it.
HEDDLE_HOST_DEVICE constexpr int default_scale_vec(MmaKind kind) {
  return kind == MmaKind::kMxf8f6f4 ? 1 : kind == MmaKind::kMxf4 ? 2 : 0;
}

HEDDLE_HOST_DEVICE constexpr bool has_scale_vec(MmaKind kind, int scale_vec) {
  if (kind == MmaKind::kMxf4nvf4) return scale_vec == 2 || scale_vec == 4;
  return is_block_scaled(kind) && scale_vec == default_scale_vec(kind);
}

namespace isa {

namespace detail {

template <MmaKind kind, int scale_vec>
HEDDLE_HOST_DEVICE constexpr void require_scale_vec() {
  static_assert(is_block_scaled(kind), "tcgen05_mma_block_scale: kinds mxf8f6f4, mxf4 and mxf4nvf4 have scales");
  static_assert(
      !is_block_scaled(kind) || has_scale_vec(kind, scale_vec),
      "tcgen05_mma_block_scale: mxf8f6f4 reads 1 scale of a row, mxf4 reads 2, mxf4nvf4 2 or 4 (name it)");
}

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
  trace_arrive(bar);
  cuda::ptx::tcgen05_commit(detail::cta_group_tag<cta_group>(), &bar->opaque);
}

// The same, on the barrier at the same place in every CTA whose rank is in `mask`.
template <int cta_group>
HEDDLE_DEVICE void tcgen05_commit_multicast(MbarPtr bar, std::uint16_t mask, CallSite = CallSite::here()) {
  trace_arrive(bar);
  cuda::ptx::tcgen05_commit_multicast(detail::cta_group_tag<cta_group>(), &bar->opaque, mask);
}

namespace detail {

template <MmaKind kind>
HEDDLE_DEVICE constexpr auto kind_tag() {
  if constexpr (kind == MmaKind::kF16) {
    return cuda::ptx::kind_f16_t{};
  } else if constexpr (kind == MmaKind::kTf32) {
    return cuda::ptx::kind_tf32_t{};
  } else if constexpr (kind == MmaKind::kF8f6f4) {
    return cuda::ptx::kind_f8f6f4_t{};
  } else if constexpr (kind == MmaKind::kMxf4) {
    return cuda::ptx::kind_mxf4_t{};
  } else {
    return cuda::ptx::kind_mxf4nvf4_t{};
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

// A in tensor memory: K-major, the numbers of a row packed into 8 columns, in the lanes that D's rows have.
template <MmaKind kind, int cta_group>
HEDDLE_DEVICE void tcgen05_mma_tmem_a(std::uint32_t d_taddr, std::uint32_t a_taddr, std::uint64_t b_descriptor,
                                      std::uint32_t instruction_descriptor, bool accumulate,
                                      CallSite = CallSite::here()) {
  detail::require_plain_kind<kind>();
  cuda::ptx::tcgen05_mma_tmem_a(detail::kind_tag<kind>(), detail::cta_group_tag<cta_group>(), d_taddr, a_taddr,
                                b_descriptor, instruction_descriptor, accumulate);
}

// D = (A * scales of A) * (B * scales of B), or added to D where `accumulate`. Which byte of a column holds the
// first scale is said by the instruction descriptor.
template <MmaKind kind, int cta_group, int scale_vec = default_scale_vec(kind)>
HEDDLE_DEVICE void tcgen05_mma_block_scale(std::uint32_t d_taddr, std::uint64_t a_descriptor,
                                           std::uint64_t b_descriptor, std::uint32_t instruction_descriptor,
                                           std::uint32_t sfa_taddr, std::uint32_t sfb_taddr, bool accumulate,
                                           CallSite = CallSite::here()) {
  detail::require_scale_vec<kind, scale_vec>();
  constexpr auto group = detail::cta_group_tag<cta_group>();
  if constexpr (scale_vec == 1) {
    cuda::ptx::tcgen05_mma_block_scale_vec_1x(cuda::ptx::kind_mxf8f6f4_t{}, group, d_taddr, a_descriptor,
                                              b_descriptor, instruction_descriptor, sfa_taddr, sfb_taddr,
                                              accumulate);
  } else if constexpr (scale_vec == 2) {
    cuda::ptx::tcgen05_mma_block_scale_vec_2x(detail::kind_tag<kind>(), group, d_taddr, a_descriptor,
                                              b_descriptor, instruction_descriptor, sfa_taddr, sfb_taddr,
                                              accumulate);
  } else {
    cuda::ptx::tcgen05_mma_block_scale_vec_4x(cuda::ptx::kind_mxf4nvf4_t{}, group, d_taddr, a_descriptor,
                                              b_descriptor, instruction_descriptor, sfa_taddr, sfb_taddr,
                                              accumulate);
  }
}

// Copies from shared memory, which the descriptor describes, to tensor memory; with cta_group 2 in both CTAs.
// Orders: after what this thread has issued, and before what it issues next.
template <int cta_group>
HEDDLE_DEVICE void tcgen05_cp_128x256b(std::uint32_t taddr, std::uint64_t descriptor,
                                       CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_cp_128x256b(detail::cta_group_tag<cta_group>(), taddr, descriptor);
}

template <int cta_group>
HEDDLE_DEVICE void tcgen05_cp_128x128b(std::uint32_t taddr, std::uint64_t descriptor,
                                       CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_cp_128x128b(detail::cta_group_tag<cta_group>(), taddr, descriptor);
}

template <int cta_group>
HEDDLE_DEVICE void tcgen05_cp_64x128b_warpx2_02_13(std::uint32_t taddr, std::uint64_t descriptor,
                                                   CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_cp_64x128b_warpx2_02_13(detail::cta_group_tag<cta_group>(), taddr, descriptor);
}

template <int cta_group>
HEDDLE_DEVICE void tcgen05_cp_64x128b_warpx2_01_23(std::uint32_t taddr, std::uint64_t descriptor,
                                                   CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_cp_64x128b_warpx2_01_23(detail::cta_group_tag<cta_group>(), taddr, descriptor);
}

// 128 rows x 4 scales, 512 bytes in shared memory, into 4 columns.
template <int cta_group>
HEDDLE_DEVICE void tcgen05_cp_32x128b_warpx4(std::uint32_t taddr, std::uint64_t descriptor,
                                             CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_cp_32x128b_warpx4(detail::cta_group_tag<cta_group>(), taddr, descriptor);
}

template <int cta_group>
HEDDLE_DEVICE void tcgen05_cp_4x256b(std::uint32_t taddr, std::uint64_t descriptor, CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_cp_4x256b(detail::cta_group_tag<cta_group>(), taddr, descriptor);
}

#else

namespace detail {

void tcgen05_commit(int cta_group, MbarPtr bar, CallSite site);
void tcgen05_commit_multicast(int cta_group, MbarPtr bar, std::uint16_t mask, CallSite site);
// What a multiplication is given; scale_vec 0: the kind has no scales.
struct Tcgen05Mma {
  MmaKind kind;
  int cta_group;
  std::uint32_t d_taddr;
  std::uint64_t a_descriptor;
  std::uint64_t b_descriptor;
  std::uint32_t instruction_descriptor;
  bool accumulate;
  bool a_in_tmem = false;
  std::uint32_t a_taddr = 0;
  int scale_vec = 0;
  std::uint32_t sfa_taddr = 0;
  std::uint32_t sfb_taddr = 0;
};

void tcgen05_mma(const Tcgen05Mma& mma, CallSite site);
void tcgen05_cp(TmemCopyShape shape, int cta_group, std::uint32_t taddr, std::uint64_t descriptor, CallSite site);

template <TmemCopyShape shape, int cta_group>
void tcgen05_cp(std::uint32_t taddr, std::uint64_t descriptor, CallSite site) {
  require_cta_group<cta_group>();
  tcgen05_cp(shape, cta_group, taddr, descriptor, site);
}

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
  detail::tcgen05_mma({.kind = kind,
                       .cta_group = cta_group,
                       .d_taddr = d_taddr,
                       .a_descriptor = a_descriptor,
                       .b_descriptor = b_descriptor,
                       .instruction_descriptor = instruction_descriptor,
                       .accumulate = accumulate},
                      site);
}

template <MmaKind kind, int cta_group>
void tcgen05_mma_tmem_a(std::uint32_t d_taddr, std::uint32_t a_taddr, std::uint64_t b_descriptor,
                        std::uint32_t instruction_descriptor, bool accumulate, CallSite site = CallSite::here()) {
  detail::require_plain_kind<kind>();
  detail::require_cta_group<cta_group>();
  detail::tcgen05_mma({.kind = kind,
                       .cta_group = cta_group,
                       .d_taddr = d_taddr,
                       .a_descriptor = 0,
                       .b_descriptor = b_descriptor,
                       .instruction_descriptor = instruction_descriptor,
                       .accumulate = accumulate,
                       .a_in_tmem = true,
                       .a_taddr = a_taddr},
                      site);
}

template <MmaKind kind, int cta_group, int scale_vec = default_scale_vec(kind)>
void tcgen05_mma_block_scale(std::uint32_t d_taddr, std::uint64_t a_descriptor, std::uint64_t b_descriptor,
                             std::uint32_t instruction_descriptor, std::uint32_t sfa_taddr,
                             std::uint32_t sfb_taddr, bool accumulate, CallSite site = CallSite::here()) {
  detail::require_scale_vec<kind, scale_vec>();
  detail::require_cta_group<cta_group>();
  detail::tcgen05_mma({.kind = kind,
                       .cta_group = cta_group,
                       .d_taddr = d_taddr,
                       .a_descriptor = a_descriptor,
                       .b_descriptor = b_descriptor,
                       .instruction_descriptor = instruction_descriptor,
                       .accumulate = accumulate,
                       .scale_vec = scale_vec,
                       .sfa_taddr = sfa_taddr,
                       .sfb_taddr = sfb_taddr},
                      site);
}

template <int cta_group>
void tcgen05_cp_128x256b(std::uint32_t taddr, std::uint64_t descriptor, CallSite site = CallSite::here()) {
  detail::tcgen05_cp<TmemCopyShape::k128x256b, cta_group>(taddr, descriptor, site);
}

template <int cta_group>
void tcgen05_cp_128x128b(std::uint32_t taddr, std::uint64_t descriptor, CallSite site = CallSite::here()) {
  detail::tcgen05_cp<TmemCopyShape::k128x128b, cta_group>(taddr, descriptor, site);
}

template <int cta_group>
void tcgen05_cp_64x128b_warpx2_02_13(std::uint32_t taddr, std::uint64_t descriptor,
                                     CallSite site = CallSite::here()) {
  detail::tcgen05_cp<TmemCopyShape::k64x128bWarpx2_02_13, cta_group>(taddr, descriptor, site);
}

template <int cta_group>
void tcgen05_cp_64x128b_warpx2_01_23(std::uint32_t taddr, std::uint64_t descriptor,
                                     CallSite site = CallSite::here()) {
  detail::tcgen05_cp<TmemCopyShape::k64x128bWarpx2_01_23, cta_group>(taddr, descriptor, site);
}

template <int cta_group>
void tcgen05_cp_32x128b_warpx4(std::uint32_t taddr, std::uint64_t descriptor, CallSite site = CallSite::here()) {
  detail::tcgen05_cp<TmemCopyShape::k32x128bWarpx4, cta_group>(taddr, descriptor, site);
}

template <int cta_group>
void tcgen05_cp_4x256b(std::uint32_t taddr, std::uint64_t descriptor, CallSite site = CallSite::here()) {
  detail::tcgen05_cp<TmemCopyShape::k4x256b, cta_group>(taddr, descriptor, site);
}

#endif

}  // namespace isa
}  // namespace heddle::inline HEDDLE_TARGET
