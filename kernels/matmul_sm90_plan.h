// SPDX-License-Identifier: Apache-2.0
//
// How a matmul is run: which instance, and in which order of tiles. The same for both targets.
#pragma once

#include "matmul_extents.h"
#include "matmul_problem.h"

#include <string>
#include <vector>

namespace heddle {

struct MatmulSm90Plan : MatmulExtents {
  std::uint32_t instance = 0;  // index in kMatmulSm90Instances
  std::uint32_t group = 8;     // clusters' tiles across a band
  bool bands_along_m = true;
};

// The configurations that can run this problem, by name, and the one that is taken where it names none. "@m8" or
// "@n8" behind a name says in which order tiles are visited.
std::vector<std::string> matmul_sm90_configs(const MatmulProblem& problem, bool is_fused, bool is_simulated);
std::string matmul_sm90_choice(const MatmulProblem& problem, bool is_fused, bool is_simulated);

// Throws InputError for what cannot be run.
MatmulSm90Plan plan_matmul_sm90(const MatmulProblem& problem, const MatmulTensors& tensors, bool is_simulated);

}  // namespace heddle
