// SPDX-License-Identifier: Apache-2.0
//
// Any thread or copy that can go may go next, by a seed. The seed also sets how fast copies are compared
// with threads and how often threads give way, so that different seeds give different kinds of run: copies
// that lag far behind, copies that are nearly instant, threads that run long or short stretches.
#include "sim/explore/strategy.h"

namespace heddle::sim::explore {

namespace {

// splitmix64: the same sequence with every compiler, and no set-up cost.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t operator()() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

  // Uniform enough over [0, bound) for a scheduler; bound is far below 2^32.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(((*this)() >> 32) * bound >> 32); }

  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

class Random final : public Strategy {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {
    constexpr std::uint32_t kCopyWeights[] = {1, 8, 64, 192};
    constexpr std::uint32_t kStretches[] = {1, 2, 4, 16};
    copy_weight_ = kCopyWeights[generator_.below(4)];
    stretch_ = kStretches[generator_.below(4)];
  }

  Choice choose(std::size_t ready, std::size_t copies) override {
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
