// SPDX-License-Identifier: Apache-2.0
//
// The same for what sm_100 alone has: tensor memory and cluster launch control.
#pragma once

#include "faults.h"

#include <heddle/isa/clc.h>
#include <heddle/isa/tmem.h>

// As HEDDLE_FAULTS.
#define HEDDLE_FAULTS_SM100(X)                                 \
  X(columns_of_48, "tmem_alloc", "wrong", 1, 1)                \
  X(half_given_back, "tmem_dealloc", "wrong", 1, 1)            \
  X(nothing_given_back, "tmem_leak", "wrong", 1, 1)            \
  X(column_past_the_end, "tmem_out_of_bounds", "wrong", 1, 1)  \
  X(crooked_lane, "tmem_lane", "wrong", 1, 1)                  \
  X(freed_before_the_wait, "missing_tmem_wait", "wrong", 1, 1) \
  X(pair_of_one, "bad_cta_group", "wrong", 1, 1)               \
  X(cluster_of_a_refusal, "clc_no_cluster", "wrong", 1, 1)     \
  X(asked_after_a_refusal, "clc_after_failure", "wrong", 1, 1) \
  X(no_response, "clc_bad_response", "wrong", 1, 1)

namespace heddle::inline HEDDLE_TARGET {

namespace faults {

HEDDLE_DEVICE bool is_first_warp() { return isa::tid_x() < 32; }

// For warp 0, which gets their address.
HEDDLE_DEVICE std::uint32_t allocate(Shared& shared, std::uint32_t cols) {
  isa::tcgen05_alloc<1>(shared.words, cols);
  isa::syncwarp();
  return isa::ld_shared(shared.words);
}

HEDDLE_DEVICE void store(std::uint32_t taddr) {
  const std::uint32_t values[1] = {7};
  isa::tcgen05_st_32x32b(taddr, values);
}

template <bool is_wrong>
HEDDLE_DEVICE void columns_of_48(const Params&, Shared& shared) {
  constexpr std::uint32_t kCols = is_wrong ? 48 : 64;
  if (is_first_warp()) isa::tcgen05_dealloc<1>(allocate(shared, kCols), kCols);
}

template <bool is_wrong>
HEDDLE_DEVICE void half_given_back(const Params&, Shared& shared) {
  if (is_first_warp()) isa::tcgen05_dealloc<1>(allocate(shared, 64), is_wrong ? 32 : 64);
}

template <bool is_wrong>
HEDDLE_DEVICE void nothing_given_back(const Params&, Shared& shared) {
  if (!is_first_warp()) return;
  const std::uint32_t taddr = allocate(shared, 64);
  if (!is_wrong) isa::tcgen05_dealloc<1>(taddr, 64);
}

template <bool is_wrong>
HEDDLE_DEVICE void column_past_the_end(const Params&, Shared& shared) {
  if (!is_first_warp()) return;
  const std::uint32_t taddr = allocate(shared, 64);
  store(taddr + (is_wrong ? 64 : 63));
  isa::tcgen05_wait_st();
  isa::tcgen05_dealloc<1>(taddr, 64);
}

template <bool is_wrong>
HEDDLE_DEVICE void crooked_lane(const Params&, Shared& shared) {
  if (!is_first_warp()) return;
  const std::uint32_t taddr = allocate(shared, 64);
  store(taddr + (is_wrong ? 16u << 16 : 0));
  isa::tcgen05_wait_st();
  isa::tcgen05_dealloc<1>(taddr, 64);
}

template <bool is_wrong>
HEDDLE_DEVICE void freed_before_the_wait(const Params&, Shared& shared) {
  if (!is_first_warp()) return;
  const std::uint32_t taddr = allocate(shared, 64);
  store(taddr);
  if (!is_wrong) isa::tcgen05_wait_st();
  isa::tcgen05_dealloc<1>(taddr, 64);
  if (is_wrong) isa::tcgen05_wait_st();
}

template <bool is_wrong>
HEDDLE_DEVICE void pair_of_one(const Params&, Shared&) {
  if (is_first_warp()) isa::tcgen05_relinquish_alloc_permit<is_wrong ? 2 : 1>();
}

// Asks for a cluster where there is none left, and waits for the answer.
HEDDLE_DEVICE isa::Bytes16 refusal(Shared& shared) {
  isa::mbarrier_arrive_expect_tx(&shared.bars[0], 16);
  isa::clusterlaunchcontrol_try_cancel(&shared.responses[0], &shared.bars[0]);
  wait(shared);
  return isa::ld_shared(&shared.responses[0]);
}

template <bool is_wrong>
HEDDLE_DEVICE void cluster_of_a_refusal(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  if (!is_first()) return;
  const isa::Bytes16 response = refusal(shared);
  if (is_wrong || isa::clusterlaunchcontrol_query_cancel_is_canceled(response)) {
    isa::st_global(params.words, isa::clusterlaunchcontrol_query_cancel_get_first_ctaid(response).x);
  }
}

template <bool is_wrong>
HEDDLE_DEVICE void asked_after_a_refusal(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  if (!is_first()) return;
  const bool is_canceled = isa::clusterlaunchcontrol_query_cancel_is_canceled(refusal(shared));
  isa::st_global(params.words, is_canceled ? 1u : 0u);
  if (is_wrong) isa::clusterlaunchcontrol_try_cancel(&shared.responses[1], &shared.bars[0]);
}

template <bool is_wrong>
HEDDLE_DEVICE void no_response(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  if (!is_first()) return;
  isa::st_shared(&shared.responses[1], isa::Bytes16{});
  const isa::Bytes16 response = refusal(shared);
  const bool is_canceled = isa::clusterlaunchcontrol_query_cancel_is_canceled(
      is_wrong ? isa::ld_shared(&shared.responses[1]) : response);
  isa::st_global(params.words, is_canceled ? 1u : 0u);
}

#define HEDDLE_FAULT_KERNEL(name, code, verdict, ctas, cluster)                                             \
  template <bool is_wrong>                                                                                  \
  struct Kernel_##name {                                                                                    \
    using Params = faults::Params;                                                                          \
    using Shared = faults::Shared;                                                                          \
    static constexpr std::uint32_t kThreads = 64;                                                           \
    HEDDLE_DEVICE static void run(const Params& params, Shared& shared) { name<is_wrong>(params, shared); } \
  };
HEDDLE_FAULTS_SM100(HEDDLE_FAULT_KERNEL)
#undef HEDDLE_FAULT_KERNEL

}  // namespace faults

}  // namespace heddle::inline HEDDLE_TARGET
