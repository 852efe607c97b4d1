// SPDX-License-Identifier: Apache-2.0
//
// How a Blackwell matmul is run. The same for both targets.
#pragma once

#include "matmul/api/matmul_problem.h"
#include "matmul_plan.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// The configurations, by name, and the one that is taken where a problem names none. Those whose names end in
// "_fused" can do more to the sums than store them.
std::vector<std::string> matmul_sm100_configs();
std::string matmul_sm100_choice(const MatmulProblem& problem, bool is_fused);

// Throws InputError for one that cannot be run. The choice depends on neither target nor workspace.
MatmulPlan plan_matmul_sm100(const MatmulProblem& problem, const MatmulTensors& tensors, bool is_simulated = true,
                             std::uint64_t workspace_bytes = kMatmulWorkspaceBytes, std::string_view gpu = {});

}  // namespace heddle
