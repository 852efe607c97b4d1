// SPDX-License-Identifier: Apache-2.0
//
// How a matmul is run: which instance, and in which order of tiles. The same for both targets.
#pragma once

#include "matmul.h"

namespace heddle {

struct MatmulSm90Plan {
  std::uint32_t instance = 0;  // index in kMatmulSm90Instances
  std::uint32_t group = 8;     // clusters' tiles across a band
  bool bands_along_m = true;
  std::uint64_t a_pitch = 0;
  std::uint64_t b_pitch = 0;
  std::uint64_t out_pitch = 0;
  std::uint64_t residual_pitch = 0;
  bool is_fused = false;       // has more of an epilogue than storing the sums
  bool is_ragged = false;      // rows of the output do not end on a multiple of 16 bytes
};

// Throws InputError for what cannot be run.
MatmulSm90Plan plan_matmul_sm90(const MatmulProblem& problem, const MatmulTensors& tensors, bool is_simulated);

// Throws InputError where the data are smaller than the problem's matrices.
void check_matmul_data(const MatmulProblem& problem, const MatmulSm90Plan& plan, const MatmulData& data);

}  // namespace heddle
