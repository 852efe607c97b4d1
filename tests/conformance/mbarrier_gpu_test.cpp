// SPDX-License-Identifier: Apache-2.0
//
// Random sequences of mbarrier operations on a GPU and in the simulated SM, answers compared: tests by parity and
// by token, and pending counts. The sequences are legal: no arrival too many, no count out of range, no token of
// a phase long over. Without a GPU it is skipped (status 77).
//
//   conformance_mbarrier_gpu [sequences, 20000 unless told]
#include "mbarrier_gpu_test.h"

#include <fmt/format.h>

#include <cstdlib>
#include <random>

namespace {

using namespace heddle;

constexpr int kSkipped = 77;

// The state that the manual describes, to keep sequences legal.
class Sequence {
 public:
  explicit Sequence(std::mt19937_64& random) : random_(random) {
    init();
    while (steps_.size() < kSequenceSteps) add();
  }
  const std::vector<BarrierStep>& steps() const { return steps_; }

 private:
  std::uint32_t pick(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random_() % (high - low + 1));
  }

  void push(BarrierOp op, std::uint32_t operand = 0, std::uint32_t slot = 0) {
    steps_.push_back({op, operand, slot});
  }

  void init() {
    constexpr std::uint32_t kMaxCount = (1u << 20) - 1;
    expected_ = pick(0, 9) == 0 ? pick(1, kMaxCount) : pick(1, 6);
    pending_ = expected_;
    bytes_ = 0;
    phase_ = 0;
    for (std::int64_t& phase : token_phase_) phase = -2;
    push(BarrierOp::kInit, expected_);
  }

  void settle() {
    if (pending_ != 0 || bytes_ != 0) return;
    pending_ = expected_;
    ++phase_;
  }

  // Arrivals of `count`, and the token that they give.
  void arrive(BarrierOp op, std::uint32_t count, std::uint32_t operand) {
    const std::uint32_t slot = pick(0, kTokenSlots - 1);
    push(op, operand, slot);
    token_phase_[slot] = phase_;
    pending_ -= count;
    settle();
  }

  void add() {
    constexpr std::int64_t kMaxBytes = (1 << 20) - 1;
    const std::uint32_t some = pending_ == 0 ? 0 : pick(0, 3) == 0 ? pending_ : pick(1, pending_);
    const std::uint32_t bytes = pick(0, 3) == 0 ? pick(1, 1 << 18) : 16 * pick(1, 64);
    const std::uint32_t slot = pick(0, kTokenSlots - 1);
    switch (pick(0, 13)) {
      case 0:
      case 1:
      case 2:
        if (pending_ != 0) arrive(BarrierOp::kArrive, some, some);
        return;
      case 3:
        if (pending_ > 1) {
          const std::uint32_t few = pick(1, pending_ - 1);
          arrive(BarrierOp::kArriveNoComplete, few, few);
        }
        return;
      case 4:
        if (pending_ != 0 && expected_ > some) {
          expected_ -= some;
          arrive(BarrierOp::kArriveDrop, some, some);
        }
        return;
      case 5:
        if (pending_ != 0 && bytes_ + bytes <= kMaxBytes) {
          bytes_ += bytes;
          arrive(BarrierOp::kArriveExpectTx, 1, bytes);
        }
        return;
      case 6:
        if (bytes_ + bytes <= kMaxBytes) {
          bytes_ += bytes;
          push(BarrierOp::kExpectTx, bytes);
          settle();
        }
        return;
      case 7:
      case 8: {
        // Often all that is outstanding, so that phases end.
        const std::uint32_t landed = bytes_ > 0 && pick(0, 1) == 0 ? static_cast<std::uint32_t>(bytes_) : bytes;
        if (bytes_ - landed >= -kMaxBytes) {
          bytes_ -= landed;
          push(BarrierOp::kCompleteTx, landed);
          settle();
        }
        return;
      }
      case 9:
      case 10: return push(BarrierOp::kTestWaitParity, pick(0, 1));
      case 11:
        if (token_phase_[slot] + 1 >= phase_) push(BarrierOp::kTestWait, 0, slot);
        return;
      case 12:
        if (token_phase_[slot] >= 0) push(BarrierOp::kPendingCount, 0, slot);
        return;
      default:
        if (pick(0, 7) == 0 && steps_.size() + 2 <= kSequenceSteps) {
          push(BarrierOp::kInval);
          init();
        }
        return;
    }
  }

  std::mt19937_64& random_;
  std::vector<BarrierStep> steps_;
  std::uint32_t expected_ = 0;
  std::uint32_t pending_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t phase_ = 0;
  std::int64_t token_phase_[kTokenSlots] = {};
};

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t sequences = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
  std::mt19937_64 random(5);
  std::vector<BarrierStep> steps;
  for (std::uint64_t i = 0; i < sequences; ++i) {
    const Sequence sequence(random);
    steps.insert(steps.end(), sequence.steps().begin(), sequence.steps().end());
  }
  std::vector<std::uint32_t> simulated;
  if (const RunOutcome outcome = run_barriers<Target::kSim>(steps, simulated); !outcome.ok()) {
    fmt::print("simulated SM: {}", outcome.report);
    return 1;
  }
  std::uint64_t answers = 0;
  std::uint64_t nonzero = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    answers += steps[i].op >= BarrierOp::kTestWaitParity && steps[i].op <= BarrierOp::kPendingCount;
    nonzero += simulated[i] != 0;
  }
#if HEDDLE_WITH_CUDA
  const GpuList list = barrier_gpus<Target::kCuda>();
  if (list.gpus.empty()) {
    fmt::print("skipped: {}; the simulated SM took {} sequences\n", list.why, sequences);
    return kSkipped;
  }
  std::vector<std::uint32_t> real;
  if (const RunOutcome outcome = run_barriers<Target::kCuda>(steps, real); !outcome.ok()) {
    fmt::print("{}: {}", list.gpus[0].name, outcome.report);
    return 1;
  }
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (real[i] == simulated[i]) continue;
    if (++different > 10) continue;
    fmt::print("sequence {}, step {}: operation {} of {} answers {} on the GPU and {} in the simulated SM\n",
               i / kSequenceSteps, i % kSequenceSteps, static_cast<int>(steps[i].op), steps[i].operand, real[i],
               simulated[i]);
  }
  fmt::print("{}: {} sequences, {} operations, {} answers ({} of them not 0): {} different\n", list.gpus[0].name,
             sequences, steps.size(), answers, nonzero, different);
  return different == 0 ? 0 : 1;
#else
  fmt::print("skipped: built without CUDA; the simulated SM took {} sequences\n", sequences);
  return kSkipped;
#endif
}
