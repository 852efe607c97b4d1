// SPDX-License-Identifier: Apache-2.0
//
// How a Blackwell matmul is run. The same for both targets.
#pragma once

#include "matmul/api/matmul_problem.h"
#include "matmul_extents.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

// The configurations, by name, and the one that is taken where a problem names none. Those whose names end in
// "_fused" can do more to the sums than store them.
std::vector<std::string> matmul_sm100_configs();
std::string matmul_sm100_choice(const MatmulProblem& problem, bool is_fused);

// Everything that follows from a problem. Throws InputError for one that cannot be run.
struct MatmulSm100Plan : MatmulExtents {
  std::uint32_t config = 0;         // index in kMatmulSm100Configs
  std::uint64_t partial_pitch = 0;  // of the workspace, in floats
  std::size_t partial_bytes = 0;    // 0: K is not split
};
MatmulSm100Plan plan_matmul_sm100(const MatmulProblem& problem, const MatmulTensors& tensors);

}  // namespace heddle
