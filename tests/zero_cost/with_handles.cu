// SPDX-License-Identifier: Apache-2.0
//
// Pipeline loops written with stage handles and scopes. by_hand.cu has the same kernels with raw barriers; a
// test compares what the two compile to.
#include "kernels.h"

// One thread loads, the other warps consume; a consumer warp signals once.
extern "C" __global__ void ring(Args args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  ProducerConsumerPipeline<kStages> pipeline(shared.barriers, "input");
  if (isa::tid_x() == 0) {
    for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
      auto stage = pipeline.acquire_producer();
      stage.expect_bytes(2 * kTileBytes);
      load(shared, args, turn, stage.index(), stage.mbar());
      std::move(stage).release();
    }
    pipeline.drain_producer();
  } else if (isa::tid_x() >= 32) {
    float sum = 0;
    for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
      auto stage = pipeline.acquire_consumer();
      sum += multiply(shared, stage.index(), isa::tid_x());
      std::move(stage).release_elected();
    }
    isa::st_global(args.out + isa::tid_x(), sum);
  }
}

// As ring, with scopes, and every consumer thread signals.
extern "C" __global__ void scopes(Args args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  ProducerConsumerPipeline<kStages> pipeline(shared.barriers, "input");
  if (isa::tid_x() == 0) {
    for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
      auto stage = pipeline.produce();
      stage.expect_bytes(kTileBytes);
      stage.expect_bytes(kTileBytes);
      load(shared, args, turn, stage.index(), stage.mbar());
    }
  } else if (isa::tid_x() >= 32) {
    float sum = 0;
    for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
      auto stage = pipeline.consume();
      sum += multiply(shared, stage.index(), isa::tid_x());
    }
    isa::st_global(args.out + isa::tid_x(), sum);
  }
}

// The consumer holds a stage while it waits for the next, and releases the older one then.
extern "C" __global__ void two_held(Args args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  ProducerConsumerPipeline<kStages> pipeline(shared.barriers, "input");
  if (args.turns == 0) return;
  auto held = pipeline.acquire_consumer();
  float sum = multiply(shared, held.index(), isa::tid_x());
  for (std::uint32_t turn = 1; turn < args.turns; ++turn) {
    auto next = pipeline.acquire_consumer();
    sum += multiply(shared, next.index(), isa::tid_x());
    std::move(held).release();
    held = std::move(next);
  }
  std::move(held).release();
  isa::st_global(args.out + isa::tid_x(), sum);
}

// A stage count that is no power of two, a try before the wait, and a release to every CTA of a cluster.
extern "C" __global__ void tokens(Args args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  ProducerConsumerPipeline<3, MbarrierBackend<3, PipelineScope::kCluster>> pipeline(shared.barriers, "input");
  float sum = 0;
  auto ready = pipeline.try_wait_producer();
  for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
    auto stage = pipeline.acquire_consumer(ready, SuspendHint{1000});
    sum += multiply(shared, stage.index(), isa::tid_x());
    std::move(stage).release_to(0xf);
    ready = pipeline.try_wait_producer();
  }
  isa::st_global(args.out + isa::tid_x(), sum);
}
