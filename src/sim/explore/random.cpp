// SPDX-License-Identifier: Apache-2.0
//
// Any thread or copy that can go may go next, by a seed. The seed also sets how fast copies are compared
// with threads and how often threads give way, so that different seeds give different kinds of run: copies
// that lag far behind, copies that are nearly instant, threads that run long or short stretches.
#include "sim/explore/generator.h"
#include "sim/explore/strategy.h"
#include "sim/machine/machine.h"

namespace heddle::sim::explore {

namespace {

class Random final : public Strategy {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {
    constexpr std::uint32_t kCopyWeights[] = {1, 8, 64, 192};
    constexpr std::uint32_t kStretches[] = {1, 2, 4, 16};
    copy_weight_ = kCopyWeights[generator_.below(4)];
    stretch_ = kStretches[generator_.below(4)];
  }

  Choice choose(const machine::Machine& machine) override {
    const std::size_t ready = machine.ready().size();
    const std::size_t copies = machine.in_flight();
    const bool is_copy = ready == 0 || (copies != 0 && generator_.below(256) < copy_weight_);
    return {.is_copy = is_copy,
            .index = generator_.below(is_copy ? copies : ready),
            .entropy = is_copy ? generator_() : 0};
  }
  bool preempts() override { return stretch_ == 1 || generator_.one_in(stretch_); }
  bool wakes_early() override { return generator_.one_in(32); }

 private:
  Generator generator_;
  std::uint32_t copy_weight_;  // of 256
  std::uint32_t stretch_;      // instructions between two places where a thread gives way, on average
};

}  // namespace

std::unique_ptr<Strategy> make_random(std::uint64_t seed) { return std::make_unique<Random>(seed); }

}  // namespace heddle::sim::explore
