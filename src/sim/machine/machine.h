// SPDX-License-Identifier: Apache-2.0
//
// The machine: a core, which has CTAs, threads and shared memory, and on it the units of the SM, each with an
// entry for each of its instructions. Operands are what the hardware sees: 32-bit shared addresses (the CTA's
// rank in the cluster above bit 24), 64-bit global addresses, register values. It does not know how threads are
// run: a front end executes a thread until an instruction blocks it, and a scheduler picks what goes next.
//
// An entry checks its operands, changes the state and emits the event, in this order. Entries that can
// block return false when they did; the thread is then not ready until a unit makes it so.
#pragma once

#include "sim/machine/async_copy_unit.h"
#include "sim/machine/clc.h"
#include "sim/machine/cluster_barrier_unit.h"
#include "sim/machine/core.h"
#include "sim/machine/matrix_unit.h"
#include "sim/machine/mbarrier_unit.h"
#include "sim/machine/memory_unit.h"
#include "sim/machine/named_barrier_unit.h"
#include "sim/machine/register_unit.h"
#include "sim/machine/tcgen05_unit.h"
#include "sim/machine/tma.h"
#include "sim/machine/tmem_unit.h"
#include "sim/machine/warp_unit.h"
#include "sim/machine/wgmma_unit.h"

#include <cstddef>
#include <cstdint>

namespace heddle::sim::machine {

class Machine : public Core {
 public:
  Machine(const LaunchOptions& options, const LaunchShape& shape, std::uint32_t threads_per_cta,
          std::size_t shared_bytes, std::uint32_t start_registers = 0)
      : Core(options, shape, threads_per_cta, shared_bytes, start_registers) {}

  void thread_exit(Thread& thread);

  // What runs on its own, and lets one step of it happen: `entropy` says which, where there is a choice.
  std::size_t in_flight() const {
    return tma.in_flight() + clc.in_flight() + wgmma.in_flight() + tcgen05.in_flight() + tmem.in_flight();
  }
  void step_copy(std::size_t index, std::uint64_t entropy);

  // The units, and whom each of them asks.
  WarpUnit warps{*this};
  MbarrierUnit mbarriers{*this, tma};
  NamedBarrierUnit named_barriers{*this};
  ClusterBarrierUnit cluster_barrier{*this};
  MemoryUnit memory{*this, mbarriers, tmem};
  MatrixUnit matrices{*this, warps, mbarriers};
  AsyncCopyUnit async_copies{*this, mbarriers, memory};
  TmaEngine tma{*this, mbarriers};
  ClcUnit clc{*this, mbarriers};
  RegisterUnit registers{*this, warps};
  WgmmaUnit wgmma{*this, warps};
  TmemUnit tmem{*this, warps, mbarriers, tcgen05};
  Tcgen05Unit tcgen05{*this, mbarriers, memory, tmem};

 private:
  void cta_exit(Cta& cta);
};

}  // namespace heddle::sim::machine
