// SPDX-License-Identifier: Apache-2.0
//
// How a Blackwell matmul with scales is run. The same for both targets.
#pragma once

#include "matmul/api/matmul_problem.h"
#include "matmul/api/matmul_scaled_problem.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

// The configurations, by name. The first is taken where a problem names none.
std::vector<std::string> matmul_scaled_sm100_configs(ScaledFormat format, GroupRows rows = GroupRows::kAll);

// Everything that follows from a problem. Throws InputError for one that cannot be run.
struct MatmulScaledPlan {
  std::uint32_t config = 0;
  std::uint64_t a_pitch_bytes = 0;
  std::uint64_t b_pitch_bytes = 0;
  std::uint64_t row_bytes = 0;  // of A and B, without what pads them
  std::uint64_t out_pitch = 0;
  std::size_t a_bytes = 0;
  std::size_t b_bytes = 0;
  std::size_t out_bytes = 0;
  bool is_ragged = false;
  std::uint64_t b_group_bytes = 0;  // from one group's B to the next
  std::size_t group_rows_bytes = 0;
};
MatmulScaledPlan plan_matmul_scaled(const MatmulScaledProblem& problem, const MatmulScaledTensors& tensors);

// Scales as the kernels read them. Blocks of 512 bytes for 128 rows x 4 scales, blocks along K first; what pads
// the last blocks is zero.
std::vector<unsigned char> scale_blocks(const ScaleMatrix& scales);
// Bytes with rows of `pitch`; what pads them is zero.
std::vector<unsigned char> padded_scales(const ScaleMatrix& scales, std::int64_t pitch);
// Floats with rows and columns changed round, rows padded to 16 bytes.
std::vector<float> transposed_scales(const ScaleMatrix& scales);

}  // namespace heddle
