// SPDX-License-Identifier: Apache-2.0
//
// Special registers: where in the grid, the cluster and the block a thread is.
#pragma once

#include <heddle/isa/cuda_ptx.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET::isa {

// Three coordinates or extents, as grids, clusters and CTAs have them.
struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

#if HEDDLE_ON_CUDA

HEDDLE_DEVICE std::uint32_t tid_x() { return threadIdx.x; }
HEDDLE_DEVICE std::uint32_t ntid_x() { return blockDim.x; }
HEDDLE_DEVICE Dim3 ctaid() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
HEDDLE_DEVICE Dim3 nctaid() { return {gridDim.x, gridDim.y, gridDim.z}; }
HEDDLE_DEVICE std::uint32_t laneid() { return cuda::ptx::get_sreg_laneid(); }
HEDDLE_DEVICE std::uint32_t smid() { return cuda::ptx::get_sreg_smid(); }
HEDDLE_DEVICE std::uint32_t cluster_ctarank() { return cuda::ptx::get_sreg_cluster_ctarank(); }
HEDDLE_DEVICE std::uint32_t cluster_nctarank() { return cuda::ptx::get_sreg_cluster_nctarank(); }
HEDDLE_DEVICE Dim3 cluster_ctaid() {
  return {cuda::ptx::get_sreg_cluster_ctaid_x(), cuda::ptx::get_sreg_cluster_ctaid_y(),
          cuda::ptx::get_sreg_cluster_ctaid_z()};
}
HEDDLE_DEVICE Dim3 clusterid() {
  return {cuda::ptx::get_sreg_clusterid_x(), cuda::ptx::get_sreg_clusterid_y(),
          cuda::ptx::get_sreg_clusterid_z()};
}

#else

std::uint32_t tid_x();
std::uint32_t ntid_x();
Dim3 ctaid();
Dim3 nctaid();
std::uint32_t laneid();
std::uint32_t smid();
std::uint32_t cluster_ctarank();
std::uint32_t cluster_nctarank();
Dim3 cluster_ctaid();
Dim3 clusterid();

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
