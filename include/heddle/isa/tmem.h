// SPDX-License-Identifier: Apache-2.0
//
// Tensor memory of sm_100a: 128 lanes x 512 columns of 32 bits for each CTA, where tcgen05.mma keeps its
// accumulators. An address holds the lane in its upper and the column in its lower 16 bits.
//
// Columns are allocated at run time, by one whole warp, and freed before the kernel ends. Each warp reads and
// writes the 32 lanes of its quarter, 32 * (warp % 4), and all 32 of its threads execute these functions
// together, with the same address. A load is asynchronous: between it and tcgen05_wait_ld its registers hold
// nothing that can be read, and stay where they are; the simulated SM keeps NaNs in them until then.
//
//   tcgen05_alloc<1>(&shared.tmem_base, 256);            // one warp; a barrier, then all read the address
//   std::uint32_t r[32];
//   tcgen05_ld_32x32b(r, base + (32 * (warp % 4) << 16));  // D[32 * (warp % 4) + lane][0 .. 31]
//   tcgen05_wait_ld();
//
// A function that is instantiated for another architecture than sm_100a does not link.
#pragma once

#include <heddle/isa/cuda_ptx.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

inline constexpr std::uint32_t kTmemLanes = 128;
inline constexpr std::uint32_t kTmemCols = 512;
inline constexpr std::uint32_t kMinTmemAllocCols = 32;

// What tcgen05.alloc takes: a power of two, 32 to 512.
HEDDLE_HOST_DEVICE constexpr bool is_tmem_alloc_size(std::uint32_t cols) {
  return cols >= kMinTmemAllocCols && cols <= kTmemCols && (cols & (cols - 1)) == 0;
}

// How a tcgen05.ld or tcgen05.st spreads cells over threads and registers. Of thread t, register r is
//
//   shape     registers  lane                            column
//   32x32b    n          t                               r
//   16x64b    n          t / 4 + 8 * (t % 2)             2 * r + t / 2 % 2
//   16x128b   2 n        t / 4 + 8 * (r % 2)             4 * (r / 2) + t % 4
//   16x256b   4 n        t / 4 + 8 * (r / 2 % 2)         8 * (r / 4) + 2 * (t % 4) + r % 2
//   16x32bx2  n          t % 16, of the address,         r
//                        or of the address + offset for threads 16 to 31
//
// from the address on, with n a power of two and at most 128 registers.
// PTX: Tensor Memory and Register Load/Store Instructions, data movement shapes.
enum class TmemShape : std::uint8_t { k32x32b, k16x64b, k16x128b, k16x256b, k16x32bx2 };

HEDDLE_HOST_DEVICE constexpr std::uint32_t tmem_registers_per_repeat(TmemShape shape) {
  return shape == TmemShape::k16x128b ? 2 : shape == TmemShape::k16x256b ? 4 : 1;
}

// Columns that a load or store with so many registers spans, from each of its addresses on.
HEDDLE_HOST_DEVICE constexpr std::uint32_t tmem_cols_of(TmemShape shape, std::uint32_t registers) {
  return shape == TmemShape::k32x32b || shape == TmemShape::k16x32bx2 ? registers : 2 * registers;
}

HEDDLE_HOST_DEVICE constexpr bool is_tmem_register_count(TmemShape shape, std::uint32_t registers) {
  return registers >= tmem_registers_per_repeat(shape) && registers <= 128 && (registers & (registers - 1)) == 0;
}

namespace isa {

namespace detail {

template <int cta_group>
HEDDLE_HOST_DEVICE constexpr void require_cta_group() {
  static_assert(cta_group == 1 || cta_group == 2, "tcgen05: cta_group is 1, or 2 for a pair of CTAs");
}

template <TmemShape shape, std::size_t count>
HEDDLE_HOST_DEVICE constexpr void require_tmem_registers() {
  static_assert(is_tmem_register_count(shape, count),
                "tcgen05.ld and tcgen05.st move a power of two of registers, at most 128; 16x128b at least 2, "
                "16x256b at least 4");
}

}  // namespace detail

#if HEDDLE_ON_CUDA

namespace detail {

template <int cta_group>
HEDDLE_DEVICE constexpr auto cta_group_tag() {
  require_cta_group<cta_group>();
  if constexpr (cta_group == 1) {
    return cuda::ptx::cta_group_1_t{};
  } else {
    return cuda::ptx::cta_group_2_t{};
  }
}

}  // namespace detail

// Allocates columns and writes the address of the first, 32 bits, to shared memory. Blocks while so many are not
// free. With cta_group 2 one warp in each CTA of the pair executes it, and both get the same columns.
// Orders: the address is an ordinary write of shared memory; a barrier hands it over.
template <int cta_group>
HEDDLE_DEVICE void tcgen05_alloc(std::uint32_t* smem_address, std::uint32_t cols, CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_alloc(detail::cta_group_tag<cta_group>(), smem_address, cols);
}

// Gives back what one tcgen05_alloc has allocated, when everyone is done with it.
template <int cta_group>
HEDDLE_DEVICE void tcgen05_dealloc(std::uint32_t taddr, std::uint32_t cols, CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_dealloc(detail::cta_group_tag<cta_group>(), taddr, cols);
}

// Promises that this CTA allocates no more, so that another on the same SM can.
template <int cta_group>
HEDDLE_DEVICE void tcgen05_relinquish_alloc_permit(CallSite = CallSite::here()) {
  cuda::ptx::tcgen05_relinquish_alloc_permit(detail::cta_group_tag<cta_group>());
}

// Waits for this warp's loads: their registers can be read.
// Orders: the loads, before what this thread does next with tensor memory. To hand the cells over to another
// thread, tcgen05_fence_before_thread_sync and a barrier follow.
HEDDLE_DEVICE void tcgen05_wait_ld(CallSite = CallSite::here()) { cuda::ptx::tcgen05_wait_ld(); }

// Waits for this warp's stores.
// Orders: as tcgen05_wait_ld.
HEDDLE_DEVICE void tcgen05_wait_st(CallSite = CallSite::here()) { cuda::ptx::tcgen05_wait_st(); }

template <std::size_t count>
HEDDLE_DEVICE void tcgen05_ld_32x32b(std::uint32_t (&r)[count], std::uint32_t taddr,
                                     CallSite = CallSite::here()) {
  detail::require_tmem_registers<TmemShape::k32x32b, count>();
  cuda::ptx::tcgen05_ld_32x32b(r, taddr);
}

template <std::size_t count>
HEDDLE_DEVICE void tcgen05_ld_16x64b(std::uint32_t (&r)[count], std::uint32_t taddr,
                                     CallSite = CallSite::here()) {
  detail::require_tmem_registers<TmemShape::k16x64b, count>();
  cuda::ptx::tcgen05_ld_16x64b(r, taddr);
}

template <std::size_t count>
HEDDLE_DEVICE void tcgen05_ld_16x128b(std::uint32_t (&r)[count], std::uint32_t taddr,
                                      CallSite = CallSite::here()) {
  detail::require_tmem_registers<TmemShape::k16x128b, count>();
  cuda::ptx::tcgen05_ld_16x128b(r, taddr);
}

template <std::size_t count>
HEDDLE_DEVICE void tcgen05_ld_16x256b(std::uint32_t (&r)[count], std::uint32_t taddr,
                                      CallSite = CallSite::here()) {
  detail::require_tmem_registers<TmemShape::k16x256b, count>();
  cuda::ptx::tcgen05_ld_16x256b(r, taddr);
}

template <std::uint32_t offset, std::size_t count>
HEDDLE_DEVICE void tcgen05_ld_16x32bx2(std::uint32_t (&r)[count], std::uint32_t taddr,
                                       CallSite = CallSite::here()) {
  detail::require_tmem_registers<TmemShape::k16x32bx2, count>();
  cuda::ptx::tcgen05_ld_16x32bx2(r, taddr, cuda::ptx::n32_t<static_cast<int>(offset)>{});
}

template <std::size_t count>
HEDDLE_DEVICE void tcgen05_st_32x32b(std::uint32_t taddr, const std::uint32_t (&r)[count],
                                     CallSite = CallSite::here()) {
  detail::require_tmem_registers<TmemShape::k32x32b, count>();
  cuda::ptx::tcgen05_st_32x32b(taddr, r);
}

template <std::size_t count>
HEDDLE_DEVICE void tcgen05_st_16x64b(std::uint32_t taddr, const std::uint32_t (&r)[count],
                                     CallSite = CallSite::here()) {
  detail::require_tmem_registers<TmemShape::k16x64b, count>();
  cuda::ptx::tcgen05_st_16x64b(taddr, r);
}

template <std::size_t count>
HEDDLE_DEVICE void tcgen05_st_16x128b(std::uint32_t taddr, const std::uint32_t (&r)[count],
                                      CallSite = CallSite::here()) {
  detail::require_tmem_registers<TmemShape::k16x128b, count>();
  cuda::ptx::tcgen05_st_16x128b(taddr, r);
}

template <std::size_t count>
HEDDLE_DEVICE void tcgen05_st_16x256b(std::uint32_t taddr, const std::uint32_t (&r)[count],
                                      CallSite = CallSite::here()) {
  detail::require_tmem_registers<TmemShape::k16x256b, count>();
  cuda::ptx::tcgen05_st_16x256b(taddr, r);
}

template <std::uint32_t offset, std::size_t count>
HEDDLE_DEVICE void tcgen05_st_16x32bx2(std::uint32_t taddr, const std::uint32_t (&r)[count],
                                       CallSite = CallSite::here()) {
  detail::require_tmem_registers<TmemShape::k16x32bx2, count>();
  cuda::ptx::tcgen05_st_16x32bx2(taddr, cuda::ptx::n32_t<static_cast<int>(offset)>{}, r);
}

#else

namespace detail {

void tcgen05_alloc(int cta_group, std::uint32_t* smem_address, std::uint32_t cols, CallSite site);
void tcgen05_dealloc(int cta_group, std::uint32_t taddr, std::uint32_t cols, CallSite site);
void tcgen05_relinquish_alloc_permit(int cta_group, CallSite site);
void tcgen05_ld(TmemShape shape, std::uint32_t* registers, std::uint32_t count, std::uint32_t taddr,
                std::uint32_t offset, CallSite site);
void tcgen05_st(TmemShape shape, const std::uint32_t* registers, std::uint32_t count, std::uint32_t taddr,
                std::uint32_t offset, CallSite site);

template <TmemShape shape, std::size_t count>
void tcgen05_ld(std::uint32_t (&r)[count], std::uint32_t taddr, std::uint32_t offset, CallSite site) {
  require_tmem_registers<shape, count>();
  tcgen05_ld(shape, r, count, taddr, offset, site);
}

template <TmemShape shape, std::size_t count>
void tcgen05_st(const std::uint32_t (&r)[count], std::uint32_t taddr, std::uint32_t offset, CallSite site) {
  require_tmem_registers<shape, count>();
  tcgen05_st(shape, r, count, taddr, offset, site);
}

}  // namespace detail

template <int cta_group>
void tcgen05_alloc(std::uint32_t* smem_address, std::uint32_t cols, CallSite site = CallSite::here()) {
  detail::require_cta_group<cta_group>();
  detail::tcgen05_alloc(cta_group, smem_address, cols, site);
}

template <int cta_group>
void tcgen05_dealloc(std::uint32_t taddr, std::uint32_t cols, CallSite site = CallSite::here()) {
  detail::require_cta_group<cta_group>();
  detail::tcgen05_dealloc(cta_group, taddr, cols, site);
}

template <int cta_group>
void tcgen05_relinquish_alloc_permit(CallSite site = CallSite::here()) {
  detail::require_cta_group<cta_group>();
  detail::tcgen05_relinquish_alloc_permit(cta_group, site);
}

void tcgen05_wait_ld(CallSite site = CallSite::here());
void tcgen05_wait_st(CallSite site = CallSite::here());

template <std::size_t count>
void tcgen05_ld_32x32b(std::uint32_t (&r)[count], std::uint32_t taddr, CallSite site = CallSite::here()) {
  detail::tcgen05_ld<TmemShape::k32x32b>(r, taddr, 0, site);
}

template <std::size_t count>
void tcgen05_ld_16x64b(std::uint32_t (&r)[count], std::uint32_t taddr, CallSite site = CallSite::here()) {
  detail::tcgen05_ld<TmemShape::k16x64b>(r, taddr, 0, site);
}

template <std::size_t count>
void tcgen05_ld_16x128b(std::uint32_t (&r)[count], std::uint32_t taddr, CallSite site = CallSite::here()) {
  detail::tcgen05_ld<TmemShape::k16x128b>(r, taddr, 0, site);
}

template <std::size_t count>
void tcgen05_ld_16x256b(std::uint32_t (&r)[count], std::uint32_t taddr, CallSite site = CallSite::here()) {
  detail::tcgen05_ld<TmemShape::k16x256b>(r, taddr, 0, site);
}

template <std::uint32_t offset, std::size_t count>
void tcgen05_ld_16x32bx2(std::uint32_t (&r)[count], std::uint32_t taddr, CallSite site = CallSite::here()) {
  detail::tcgen05_ld<TmemShape::k16x32bx2>(r, taddr, offset, site);
}

template <std::size_t count>
void tcgen05_st_32x32b(std::uint32_t taddr, const std::uint32_t (&r)[count], CallSite site = CallSite::here()) {
  detail::tcgen05_st<TmemShape::k32x32b>(r, taddr, 0, site);
}

template <std::size_t count>
void tcgen05_st_16x64b(std::uint32_t taddr, const std::uint32_t (&r)[count], CallSite site = CallSite::here()) {
  detail::tcgen05_st<TmemShape::k16x64b>(r, taddr, 0, site);
}

template <std::size_t count>
void tcgen05_st_16x128b(std::uint32_t taddr, const std::uint32_t (&r)[count], CallSite site = CallSite::here()) {
  detail::tcgen05_st<TmemShape::k16x128b>(r, taddr, 0, site);
}

template <std::size_t count>
void tcgen05_st_16x256b(std::uint32_t taddr, const std::uint32_t (&r)[count], CallSite site = CallSite::here()) {
  detail::tcgen05_st<TmemShape::k16x256b>(r, taddr, 0, site);
}

template <std::uint32_t offset, std::size_t count>
void tcgen05_st_16x32bx2(std::uint32_t taddr, const std::uint32_t (&r)[count], CallSite site = CallSite::here()) {
  detail::tcgen05_st<TmemShape::k16x32bx2>(r, taddr, offset, site);
}

#endif

}  // namespace isa
}  // namespace heddle::inline HEDDLE_TARGET
