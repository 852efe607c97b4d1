// SPDX-License-Identifier: Apache-2.0
//
// splitmix64: the same sequence with every compiler, and no set-up cost.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::sim::explore {

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

}  // namespace heddle::sim::explore
