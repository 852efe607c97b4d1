// SPDX-License-Identifier: Apache-2.0
//
// What the two halves of the mbarrier conformance test share: operations on one barrier, and one function for
// both targets that carries out many sequences of them. Plain types, the same for both.
#pragma once

#include <heddle/host/gpu_list.h>
#include <heddle/host/run_options.h>
#include <heddle/isa/target.h>

#include <cstdint>
#include <vector>

namespace heddle {

enum class BarrierOp : std::uint32_t {
  kInit,    // operand: count
  kArrive,  // operand: count; its token goes to the slot
  kArriveNoComplete,
  kArriveDrop,
  kArriveExpectTx,  // operand: bytes
  kExpectTx,
  kCompleteTx,
  kTestWaitParity,  // operand: parity
  kTestWait,        // of the slot's token
  kPendingCount,    // of the slot's token
  kInval,
};

struct BarrierStep {
  BarrierOp op;
  std::uint32_t operand;
  std::uint32_t slot;
};

inline constexpr std::uint32_t kTokenSlots = 8;
inline constexpr std::uint32_t kSequenceSteps = 64;

// Carries out sequences of kSequenceSteps steps, one to a CTA, and gives what each step answered, or 0.
template <Target target>
RunOutcome run_barriers(const std::vector<BarrierStep>& steps, std::vector<std::uint32_t>& answers);

template <Target target>
GpuList barrier_gpus();

}  // namespace heddle
