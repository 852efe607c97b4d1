// SPDX-License-Identifier: Apache-2.0
//
// The copy engine (TMA): tiles between global and shared memory, described by a tensor map. One thread
// issues; the copy runs on its own. Loads tell an mbarrier how many bytes have landed; stores and
// reductions are waited for through the bulk groups of the thread that issued them.
//
//   cp_async_bulk_tensor_load(tile, &params.a_map, {k, row}, full);
//   ...
//   fence_proxy_async_shared_cta(); bar_sync(...);               // the tile was written by ordinary stores
//   cp_async_bulk_tensor_store(&params.c_map, {col, row}, tile);
//   cp_async_bulk_commit_group();
//   cp_async_bulk_wait_group_read<0>();                          // the tile may be written again
#pragma once

#include <heddle/isa/cuda_ptx.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/isa/trace.h>

namespace heddle::inline HEDDLE_TARGET::isa {

// What a bulk reduction does to the element in global memory. The element type is the tensor map's.
enum class ReduceOp : std::uint8_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor };

// What createpolicy.fractional makes for all of a range: which lines L2 should give up first. The simulated SM
// has no caches.
enum class L2Policy : std::uint64_t {
  kEvictNormal = 0x1000'0000'0000'0000,
  kEvictFirst = 0x12F0'0000'0000'0000,
  kEvictLast = 0x14F0'0000'0000'0000,
};

#if HEDDLE_ON_CUDA

// Loads the box at `coords` (innermost first, in elements) into shared memory at `destination`.
// Orders: a thread whose wait on `bar` sees the bytes complete sees the tile, through either proxy.
template <std::uint32_t rank>
HEDDLE_DEVICE void cp_async_bulk_tensor_load(void* destination, const TensorMap* map,
                                             const std::int32_t (&coords)[rank], MbarPtr bar,
                                             CallSite = CallSite::here()) {
  cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global, destination, map, coords,
                                  &bar->opaque);
}

// As cp_async_bulk_tensor_load, into every CTA whose rank is set in `mask`: the same offset in each, and
// the barrier at the same offset as `bar` in each.
template <std::uint32_t rank>
HEDDLE_DEVICE void cp_async_bulk_tensor_load_multicast(void* destination, const TensorMap* map,
                                                       const std::int32_t (&coords)[rank], MbarPtr bar,
                                                       std::uint16_t mask, CallSite = CallSite::here()) {
  cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global, destination, map, coords,
                                  &bar->opaque, mask);
}

// The same two for a matrix, with a word on how long L2 should keep what they read.
HEDDLE_DEVICE void cp_async_bulk_tensor_load(void* destination, const TensorMap* map,
                                             const std::int32_t (&coords)[2], MbarPtr bar, L2Policy policy,
                                             CallSite = CallSite::here()) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(destination))),
      "l"(reinterpret_cast<std::uint64_t>(map)), "r"(coords[0]), "r"(coords[1]),
      "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(bar))), "l"(static_cast<std::uint64_t>(policy))
      : "memory");
}

HEDDLE_DEVICE void cp_async_bulk_tensor_load_multicast(void* destination, const TensorMap* map,
                                                       const std::int32_t (&coords)[2], MbarPtr bar,
                                                       std::uint16_t mask, L2Policy policy,
                                                       CallSite = CallSite::here()) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(
          static_cast<std::uint32_t>(__cvta_generic_to_shared(destination))),
      "l"(reinterpret_cast<std::uint64_t>(map)), "r"(coords[0]), "r"(coords[1]),
      "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(bar))), "h"(mask),
      "l"(static_cast<std::uint64_t>(policy))
      : "memory");
}

// As cp_async_bulk_tensor_load, for CTAs that work in pairs (ranks 2i and 2i + 1): `bar` may be the peer's, so
// that both CTAs' tiles count on one barrier. On sm_100a only.
template <std::uint32_t rank>
HEDDLE_DEVICE void cp_async_bulk_tensor_load_cta_group_2(void* destination, const TensorMap* map,
                                                         const std::int32_t (&coords)[rank], MbarPtr bar,
                                                         CallSite = CallSite::here()) {
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(destination));
  const auto from = reinterpret_cast<std::uint64_t>(map);
  const auto mbar = static_cast<std::uint32_t>(__cvta_generic_to_shared(bar));
#define HEDDLE_LOAD_PAIR(dims, list, bar_operand, ...)                                                    \
  asm volatile("cp.async.bulk.tensor." dims                                                               \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%0], [%1, {" list \
               "}], [%" bar_operand "];" ::"r"(to),                                                       \
               "l"(from), __VA_ARGS__, "r"(mbar)                                                          \
               : "memory")
  if constexpr (rank == 1) {
    HEDDLE_LOAD_PAIR("1d", "%2", "3", "r"(coords[0]));
  } else if constexpr (rank == 2) {
    HEDDLE_LOAD_PAIR("2d", "%2, %3", "4", "r"(coords[0]), "r"(coords[1]));
  } else if constexpr (rank == 3) {
    HEDDLE_LOAD_PAIR("3d", "%2, %3, %4", "5", "r"(coords[0]), "r"(coords[1]), "r"(coords[2]));
  } else if constexpr (rank == 4) {
    HEDDLE_LOAD_PAIR("4d", "%2, %3, %4, %5", "6", "r"(coords[0]), "r"(coords[1]), "r"(coords[2]), "r"(coords[3]));
  } else {
    static_assert(rank == 5, "a tensor map has 1 to 5 dimensions");
    HEDDLE_LOAD_PAIR("5d", "%2, %3, %4, %5, %6", "7", "r"(coords[0]), "r"(coords[1]), "r"(coords[2]),
                     "r"(coords[3]), "r"(coords[4]));
  }
#undef HEDDLE_LOAD_PAIR
}

// As cp_async_bulk_tensor_load_multicast, for pairs: for each CTA that gets the tile, the barrier is in that CTA
// of its pair whose rank has the parity of the CTA in which `bar` lies. On sm_100a only.
template <std::uint32_t rank>
HEDDLE_DEVICE void cp_async_bulk_tensor_load_multicast_cta_group_2(void* destination, const TensorMap* map,
                                                                   const std::int32_t (&coords)[rank],
                                                                   MbarPtr bar, std::uint16_t mask,
                                                                   CallSite = CallSite::here()) {
  cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global, cuda::ptx::cta_group_2,
                                  destination, map, coords, &bar->opaque, mask);
}

// Stores the box from shared memory; what lies outside the tensor is not written.
template <std::uint32_t rank>
HEDDLE_DEVICE void cp_async_bulk_tensor_store(const TensorMap* map, const std::int32_t (&coords)[rank],
                                              const void* source, CallSite = CallSite::here()) {
  cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_global, cuda::ptx::space_shared, map, coords, source);
}

namespace detail {

template <ReduceOp op>
HEDDLE_HOST_DEVICE constexpr auto ptx_op() {
  if constexpr (op == ReduceOp::kAdd) return cuda::ptx::op_add;
  else if constexpr (op == ReduceOp::kMin) return cuda::ptx::op_min;
  else if constexpr (op == ReduceOp::kMax) return cuda::ptx::op_max;
  else if constexpr (op == ReduceOp::kInc) return cuda::ptx::op_inc;
  else if constexpr (op == ReduceOp::kDec) return cuda::ptx::op_dec;
  else if constexpr (op == ReduceOp::kAnd) return cuda::ptx::op_and_op;
  else if constexpr (op == ReduceOp::kOr) return cuda::ptx::op_or_op;
  else return cuda::ptx::op_xor_op;
}

}  // namespace detail

// Combines the box with what is in global memory, element by element. The order of updates is not fixed.
template <ReduceOp op, std::uint32_t rank>
HEDDLE_DEVICE void cp_reduce_async_bulk_tensor(const TensorMap* map, const std::int32_t (&coords)[rank],
                                               const void* source, CallSite = CallSite::here()) {
  cuda::ptx::cp_reduce_async_bulk_tensor(cuda::ptx::space_global, cuda::ptx::space_shared, detail::ptx_op<op>(),
                                         map, coords, source);
}

// Copies `bytes` (a multiple of 16, both sides 16-byte aligned) without a tensor map.
HEDDLE_DEVICE void cp_async_bulk_load(void* destination, const void* global, std::uint32_t bytes, MbarPtr bar,
                                      CallSite = CallSite::here()) {
  cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, destination, global, bytes,
                           &bar->opaque);
}

HEDDLE_DEVICE void cp_async_bulk_store(void* global, const void* source, std::uint32_t bytes,
                                       CallSite = CallSite::here()) {
  cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, global, source, bytes);
}

// Copies shared memory into a peer's; the bytes complete on the peer's barrier.
HEDDLE_DEVICE void cp_async_bulk_cluster(void* peer_destination, const void* source, std::uint32_t bytes,
                                         MbarPtr peer_bar, CallSite = CallSite::here()) {
  cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_shared, peer_destination, source, bytes,
                           &peer_bar->opaque);
}

// Closes the group of this thread's bulk stores and reductions so far.
HEDDLE_DEVICE void cp_async_bulk_commit_group(CallSite = CallSite::here()) {
  cuda::ptx::cp_async_bulk_commit_group();
}

// Waits until at most `pending` of this thread's newest groups are unfinished.
// Orders: their writes become visible to this thread.
template <int pending>
HEDDLE_DEVICE void cp_async_bulk_wait_group(CallSite = CallSite::here()) {
  const TracedWait traced(WaitedFor::kStores, pending);
  cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<pending>{});
}

// As cp_async_bulk_wait_group, but only until the sources have been read: enough to reuse the tile.
template <int pending>
HEDDLE_DEVICE void cp_async_bulk_wait_group_read(CallSite = CallSite::here()) {
  const TracedWait traced(WaitedFor::kStoreSources, pending);
  cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<pending>{});
}

// Brings the box into L2. No effect on results.
template <std::uint32_t rank>
HEDDLE_DEVICE void cp_async_bulk_prefetch_tensor(const TensorMap* map, const std::int32_t (&coords)[rank],
                                                 CallSite = CallSite::here()) {
  const auto address = reinterpret_cast<std::uint64_t>(map);
  if constexpr (rank == 1) {
    asm volatile("cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%0, {%1}];" ::"l"(address), "r"(coords[0])
                 : "memory");
  } else if constexpr (rank == 2) {
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(address), "r"(coords[0]),
                 "r"(coords[1])
                 : "memory");
  } else if constexpr (rank == 3) {
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(address),
                 "r"(coords[0]), "r"(coords[1]), "r"(coords[2])
                 : "memory");
  } else if constexpr (rank == 4) {
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(address),
                 "r"(coords[0]), "r"(coords[1]), "r"(coords[2]), "r"(coords[3])
                 : "memory");
  } else {
    static_assert(rank == 5, "a tensor map has 1 to 5 dimensions");
    asm volatile("cp.async.bulk.prefetch.tensor.5d.L2.global.tile [%0, {%1, %2, %3, %4, %5}];" ::"l"(address),
                 "r"(coords[0]), "r"(coords[1]), "r"(coords[2]), "r"(coords[3]), "r"(coords[4])
                 : "memory");
  }
}

// Brings the tensor map itself into the cache. No effect on results.
HEDDLE_DEVICE void prefetch_tensormap(const TensorMap* map, CallSite = CallSite::here()) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<std::uint64_t>(map)) : "memory");
}

#else

void tensor_load(int cta_group, void* destination, const TensorMap* map, const std::int32_t* coords, int rank,
                 MbarPtr bar, CallSite site);
void tensor_load_multicast(int cta_group, void* destination, const TensorMap* map, const std::int32_t* coords,
                           int rank, MbarPtr bar, std::uint16_t mask, CallSite site);
void tensor_store(const TensorMap* map, const std::int32_t* coords, int rank, const void* source, CallSite site);
void tensor_reduce(ReduceOp op, const TensorMap* map, const std::int32_t* coords, int rank, const void* source,
                   CallSite site);
void tensor_prefetch(const TensorMap* map, const std::int32_t* coords, int rank, CallSite site);
void bulk_wait_group(std::uint32_t pending, bool read_only, CallSite site);

template <std::uint32_t rank>
void cp_async_bulk_tensor_load(void* destination, const TensorMap* map, const std::int32_t (&coords)[rank],
                               MbarPtr bar, CallSite site = CallSite::here()) {
  tensor_load(1, destination, map, coords, rank, bar, site);
}

template <std::uint32_t rank>
void cp_async_bulk_tensor_load_cta_group_2(void* destination, const TensorMap* map,
                                           const std::int32_t (&coords)[rank], MbarPtr bar,
                                           CallSite site = CallSite::here()) {
  tensor_load(2, destination, map, coords, rank, bar, site);
}

template <std::uint32_t rank>
void cp_async_bulk_tensor_load_multicast_cta_group_2(void* destination, const TensorMap* map,
                                                     const std::int32_t (&coords)[rank], MbarPtr bar,
                                                     std::uint16_t mask, CallSite site = CallSite::here()) {
  tensor_load_multicast(2, destination, map, coords, rank, bar, mask, site);
}

template <std::uint32_t rank>
void cp_async_bulk_tensor_load_multicast(void* destination, const TensorMap* map,
                                         const std::int32_t (&coords)[rank], MbarPtr bar, std::uint16_t mask,
                                         CallSite site = CallSite::here()) {
  tensor_load_multicast(1, destination, map, coords, rank, bar, mask, site);
}

inline void cp_async_bulk_tensor_load(void* destination, const TensorMap* map, const std::int32_t (&coords)[2],
                                      MbarPtr bar, L2Policy, CallSite site = CallSite::here()) {
  tensor_load(1, destination, map, coords, 2, bar, site);
}

inline void cp_async_bulk_tensor_load_multicast(void* destination, const TensorMap* map,
                                                const std::int32_t (&coords)[2], MbarPtr bar, std::uint16_t mask,
                                                L2Policy, CallSite site = CallSite::here()) {
  tensor_load_multicast(1, destination, map, coords, 2, bar, mask, site);
}

template <std::uint32_t rank>
void cp_async_bulk_tensor_store(const TensorMap* map, const std::int32_t (&coords)[rank], const void* source,
                                CallSite site = CallSite::here()) {
  tensor_store(map, coords, rank, source, site);
}

template <ReduceOp op, std::uint32_t rank>
void cp_reduce_async_bulk_tensor(const TensorMap* map, const std::int32_t (&coords)[rank], const void* source,
                                 CallSite site = CallSite::here()) {
  tensor_reduce(op, map, coords, rank, source, site);
}

void cp_async_bulk_load(void* destination, const void* global, std::uint32_t bytes, MbarPtr bar,
                        CallSite site = CallSite::here());
void cp_async_bulk_store(void* global, const void* source, std::uint32_t bytes, CallSite site = CallSite::here());
void cp_async_bulk_cluster(void* peer_destination, const void* source, std::uint32_t bytes, MbarPtr peer_bar,
                           CallSite site = CallSite::here());
void cp_async_bulk_commit_group(CallSite site = CallSite::here());

template <int pending>
void cp_async_bulk_wait_group(CallSite site = CallSite::here()) {
  bulk_wait_group(pending, false, site);
}

template <int pending>
void cp_async_bulk_wait_group_read(CallSite site = CallSite::here()) {
  bulk_wait_group(pending, true, site);
}

template <std::uint32_t rank>
void cp_async_bulk_prefetch_tensor(const TensorMap* map, const std::int32_t (&coords)[rank],
                                   CallSite site = CallSite::here()) {
  tensor_prefetch(map, coords, rank, site);
}

void prefetch_tensormap(const TensorMap* map, CallSite site = CallSite::here());

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
