// SPDX-License-Identifier: Apache-2.0
//
// The kernels of with_handles.cu, written with raw barriers. As acquiring does, each loop keeps the stage that
// it waited for and moves the cursor on before it uses the stage.
#include "kernels.h"

extern "C" __global__ void ring(Args args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  SharedMemBarrier* full = shared.barriers;
  SharedMemBarrier* empty = shared.barriers + kStages;
  std::uint32_t stage = 0;
  if (isa::tid_x() == 0) {
    std::uint32_t phase = 1;
    for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
      while (!isa::mbarrier_try_wait_parity(&empty[stage], phase)) {
      }
      const std::uint32_t held = stage;
      if (++stage == kStages) {
        stage = 0;
        phase ^= 1;
      }
      load(shared, args, turn, held, &full[held]);
      isa::mbarrier_arrive_expect_tx(&full[held], 2 * kTileBytes);
    }
    for (std::uint32_t i = 0; i < kStages; ++i) {
      while (!isa::mbarrier_try_wait_parity(&empty[stage], phase)) {
      }
      if (++stage == kStages) {
        stage = 0;
        phase ^= 1;
      }
    }
  } else if (isa::tid_x() >= 32) {
    std::uint32_t phase = 0;
    float sum = 0;
    for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
      while (!isa::mbarrier_try_wait_parity(&full[stage], phase)) {
      }
      const std::uint32_t held = stage;
      if (++stage == kStages) {
        stage = 0;
        phase ^= 1;
      }
      sum += multiply(shared, held, isa::tid_x());
      isa::syncwarp();
      if (isa::elect_sync()) isa::mbarrier_arrive(&empty[held]);
    }
    isa::st_global(args.out + isa::tid_x(), sum);
  }
}

extern "C" __global__ void scopes(Args args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  SharedMemBarrier* full = shared.barriers;
  SharedMemBarrier* empty = shared.barriers + kStages;
  std::uint32_t stage = 0;
  if (isa::tid_x() == 0) {
    std::uint32_t phase = 1;
    for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
      while (!isa::mbarrier_try_wait_parity(&empty[stage], phase)) {
      }
      const std::uint32_t held = stage;
      if (++stage == kStages) {
        stage = 0;
        phase ^= 1;
      }
      load(shared, args, turn, held, &full[held]);
      isa::mbarrier_arrive_expect_tx(&full[held], 2 * kTileBytes);
    }
  } else if (isa::tid_x() >= 32) {
    std::uint32_t phase = 0;
    float sum = 0;
    for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
      while (!isa::mbarrier_try_wait_parity(&full[stage], phase)) {
      }
      const std::uint32_t held = stage;
      if (++stage == kStages) {
        stage = 0;
        phase ^= 1;
      }
      sum += multiply(shared, held, isa::tid_x());
      isa::mbarrier_arrive(&empty[held]);
    }
    isa::st_global(args.out + isa::tid_x(), sum);
  }
}

extern "C" __global__ void two_held(Args args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  SharedMemBarrier* full = shared.barriers;
  SharedMemBarrier* empty = shared.barriers + kStages;
  if (args.turns == 0) return;
  std::uint32_t held = 0;
  std::uint32_t stage = 0;
  std::uint32_t phase = 0;
  while (!isa::mbarrier_try_wait_parity(&full[stage], phase)) {
  }
  float sum = multiply(shared, stage, isa::tid_x());
  if (++stage == kStages) {
    stage = 0;
    phase ^= 1;
  }
  for (std::uint32_t turn = 1; turn < args.turns; ++turn) {
    const std::uint32_t next = stage;
    while (!isa::mbarrier_try_wait_parity(&full[next], phase)) {
    }
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
    sum += multiply(shared, next, isa::tid_x());
    isa::mbarrier_arrive(&empty[held]);
    held = next;
  }
  isa::mbarrier_arrive(&empty[held]);
  isa::st_global(args.out + isa::tid_x(), sum);
}

extern "C" __global__ void tokens(Args args) {
  constexpr std::uint32_t stages = 3;
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  SharedMemBarrier* full = shared.barriers;
  SharedMemBarrier* empty = shared.barriers + stages;
  std::uint32_t stage = 0;
  std::uint32_t phase = 0;
  float sum = 0;
  bool is_ready = isa::mbarrier_try_wait_parity_cluster(&full[stage], phase);
  for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
    if (!is_ready) {
      while (!isa::mbarrier_try_wait_parity_cluster(&full[stage], phase)) {
      }
    }
    const std::uint32_t held = stage;
    if (++stage == stages) {
      stage = 0;
      phase ^= 1;
    }
    sum += multiply(shared, held, isa::tid_x());
    isa::syncwarp();
    const std::uint32_t lane = isa::laneid();
    if (lane < 4) isa::mbarrier_arrive_cluster(isa::mapa(&empty[held], lane));
    is_ready = isa::mbarrier_try_wait_parity_cluster(&full[stage], phase);
  }
  isa::st_global(args.out + isa::tid_x(), sum);
}
