// SPDX-License-Identifier: Apache-2.0
//
// The main loop with raw barriers.
#include "matmul_kernels.h"

HEDDLE_DEVICE void step(std::uint32_t& stage, std::uint32_t& phase) {
  if (++stage == kStages) {
    stage = 0;
    phase ^= 1;
  }
}

HEDDLE_DEVICE void arrive_everywhere(MbarPtr empty) {
  isa::syncwarp();
  const std::uint32_t lane = isa::laneid();
  if ((std::uint32_t{kEveryone} >> lane & 1u) != 0) isa::mbarrier_arrive_cluster_relaxed(isa::mapa(empty, lane));
}

extern "C" __global__ void __launch_bounds__(288, 1) matmul_loop(const __grid_constant__ Args args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& storage = *reinterpret_cast<Storage*>(memory);
  const Payload payload = storage.payload();
  SharedMemBarrier* full = storage.barriers.ptr();
  SharedMemBarrier* empty = full + kStages;
  std::uint32_t stage = 0;
  if (isa::tid_x() >= kMathThreads) {
    if (isa::tid_x() != kMathThreads) return;
    std::uint32_t phase = 1;
    for (std::uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      while (!isa::mbarrier_try_wait_parity_cluster_relaxed(&empty[stage], phase)) {
      }
      const std::uint32_t held = stage;
      step(stage, phase);
      load(args, payload, held, k_block, &full[held]);
      isa::mbarrier_arrive_expect_tx(&full[held], Payload::tx_bytes);
    }
    for (std::uint32_t i = 0; i < kStages; ++i) {
      while (!isa::mbarrier_try_wait_parity_cluster_relaxed(&empty[stage], phase)) {
      }
      step(stage, phase);
    }
    return;
  }
  std::uint32_t phase = 0;
  Sums sums;
  isa::wgmma_fence_operands(sums);
  while (!isa::mbarrier_try_wait_parity(&full[stage], phase)) {
  }
  std::uint32_t previous = stage;
  step(stage, phase);
  multiply(payload, previous, sums, true);
  for (std::uint32_t k_block = 1; k_block < args.k_blocks; ++k_block) {
    while (!isa::mbarrier_try_wait_parity(&full[stage], phase)) {
    }
    const std::uint32_t held = stage;
    step(stage, phase);
    multiply(payload, held, sums, false);
    isa::wgmma_wait_group<1>();
    arrive_everywhere(&empty[previous]);
    previous = held;
  }
  isa::wgmma_wait_group<0>();
  arrive_everywhere(&empty[previous]);
  store(args, sums);
}
