// SPDX-License-Identifier: Apache-2.0
//
// How many CTAs and clusters a card of this kind has room for, by threads and shared memory. Registers are not
// known from PTX and do not count.
#pragma once

#include "runtime/launch.h"

namespace heddle::runtime {

Error max_active_blocks(State& card, const Kernel& kernel, int threads, std::size_t dynamic_shared, int& blocks);
Error max_active_clusters(State& card, const Kernel& kernel, const LaunchRequest& request, int& clusters);
Error max_cluster_size(State& card, const Kernel& kernel, const LaunchRequest& request, int& size);
Error available_dynamic_shared(State& card, const Kernel& kernel, int blocks, int threads, std::size_t& bytes);

}  // namespace heddle::runtime
