// SPDX-License-Identifier: Apache-2.0
//
// Sequences of mbarrier operations, on the GPU or in the simulated SM, depending on the compiler.
#include "mbarrier_gpu_test.h"

#include <heddle/host/device.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>

namespace heddle::inline HEDDLE_TARGET {

namespace {

struct BarrierSequence {
  struct Params {
    const std::uint32_t* steps;  // three words each
    std::uint32_t* answers;
  };
  struct Shared {
    SharedMemBarrier bar;
    std::uint64_t tokens[kTokenSlots];
  };
  static constexpr std::uint32_t kThreads = 1;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    for (std::uint32_t i = 0; i < kSequenceSteps; ++i) {
      const std::uint32_t at = isa::ctaid().x * kSequenceSteps + i;
      const auto op = static_cast<BarrierOp>(isa::ld_global(params.steps + 3 * at));
      const std::uint32_t operand = isa::ld_global(params.steps + 3 * at + 1);
      const std::uint32_t slot = isa::ld_global(params.steps + 3 * at + 2);
      isa::st_global(params.answers + at, step(shared, op, operand, slot));
    }
  }

  HEDDLE_DEVICE static std::uint32_t step(Shared& shared, BarrierOp op, std::uint32_t operand,
                                          std::uint32_t slot) {
    MbarPtr bar = &shared.bar;
    std::uint64_t* token = &shared.tokens[slot];
    switch (op) {
      case BarrierOp::kInit: isa::mbarrier_init(bar, operand); return 0;
      case BarrierOp::kArrive: isa::st_shared(token, isa::mbarrier_arrive(bar, operand)); return 0;
      case BarrierOp::kArriveNoComplete:
        isa::st_shared(token, isa::mbarrier_arrive_no_complete(bar, operand));
        return 0;
      case BarrierOp::kArriveDrop: isa::st_shared(token, isa::mbarrier_arrive_drop(bar, operand)); return 0;
      case BarrierOp::kArriveExpectTx:
        isa::st_shared(token, isa::mbarrier_arrive_expect_tx(bar, operand));
        return 0;
      case BarrierOp::kExpectTx: isa::mbarrier_expect_tx(bar, operand); return 0;
      case BarrierOp::kCompleteTx: isa::mbarrier_complete_tx_cluster(bar, operand); return 0;
      case BarrierOp::kTestWaitParity: return isa::mbarrier_test_wait_parity(bar, operand) ? 1 : 0;
      case BarrierOp::kTestWait: return isa::mbarrier_test_wait(bar, isa::ld_shared(token)) ? 1 : 0;
      case BarrierOp::kPendingCount: return isa::mbarrier_pending_count(isa::ld_shared(token));
      case BarrierOp::kInval: isa::mbarrier_inval(bar); return 0;
    }
    return 0;
  }
};

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome run_barriers<kTarget>(const std::vector<BarrierStep>& steps, std::vector<std::uint32_t>& answers) {
  static_assert(sizeof(BarrierStep) == 12);
  // A random wait need not come after the phase before.
  Device device({.kernel = "mbarrier sequences", .accepted = {"lost_phase"}});
  DeviceBuffer input(device, "steps", steps.size() * sizeof(BarrierStep));
  DeviceBuffer output(device, "answers", steps.size() * sizeof(std::uint32_t));
  input.upload(steps.data());
  output.fill(0xEE);
  const RunOutcome outcome = device.launch<BarrierSequence>(
      {.grid = {static_cast<std::uint32_t>(steps.size() / kSequenceSteps)}},
      {static_cast<const std::uint32_t*>(input.data()), static_cast<std::uint32_t*>(output.data())});
  if (!outcome.ok()) return outcome;
  answers.resize(steps.size());
  output.download(answers.data());
  return outcome;
}

template <>
GpuList barrier_gpus<kTarget>() {
  return find_gpus();
}

}  // namespace heddle
