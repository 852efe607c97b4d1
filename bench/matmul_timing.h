// SPDX-License-Identifier: Apache-2.0
//
// Instances of the Hopper matmul, as a cluster of each runs in the simulated SM with the timing model beside it.
#pragma once

#include "matmul/device/matmul_sm90_instances.h"

#include <cstdint>
#include <vector>

namespace heddle::timing {

// What one cluster works through: so many tiles, one after another, of so many blocks along K. Parts of K above 1
// are CTAs of a cluster that add them up.
struct Work {
  std::uint32_t tiles = 1;
  std::uint32_t blocks = 1;
  std::uint32_t parts = 1;
  bool stores_float = false;
};

struct Timed {
  std::uint32_t instance = 0;
  double (*cycles)(const Work& work) = nullptr;
};

// Those with B as [N, K] that store sums as they are.
template <MatmulGroup group>
std::vector<Timed> timed_instances();

template <>
std::vector<Timed> timed_instances<MatmulGroup::kLarge>();
template <>
std::vector<Timed> timed_instances<MatmulGroup::kSmall>();
template <>
std::vector<Timed> timed_instances<MatmulGroup::kSwapped>();

}  // namespace heddle::timing
