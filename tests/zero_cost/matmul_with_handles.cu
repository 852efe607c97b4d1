// SPDX-License-Identifier: Apache-2.0
//
// The main loop with a tile pipeline and its handles.
#include "matmul_kernels.h"

extern "C" __global__ void __launch_bounds__(288, 1) matmul_loop(const __grid_constant__ Args args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  InputTilePipeline<Payload, kStages, 1, Backend> input(*reinterpret_cast<Storage*>(memory), "input");
  if (isa::tid_x() >= kMathThreads) {
    if (isa::tid_x() != kMathThreads) return;
    for (std::uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      auto tiles = input.acquire_producer();
      load(args, tiles.payload(), tiles.stage(), k_block, tiles.barrier());
      std::move(tiles).release();
    }
    input.drain_producer();
    return;
  }
  Sums sums;
  isa::wgmma_fence_operands(sums);
  auto previous = input.acquire_consumer();
  multiply(previous.payload(), previous.stage(), sums, true);
  for (std::uint32_t k_block = 1; k_block < args.k_blocks; ++k_block) {
    auto tiles = input.acquire_consumer();
    multiply(tiles.payload(), tiles.stage(), sums, false);
    isa::wgmma_wait_group<1>();
    std::move(previous).release_to(kEveryone);
    previous = std::move(tiles);
  }
  isa::wgmma_wait_group<0>();
  std::move(previous).release_to(kEveryone);
  store(args, sums);
}
