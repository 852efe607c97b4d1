// SPDX-License-Identifier: Apache-2.0
//
// Choices that a search on a GPU has found, in a text file: a line for each problem, with the GPU's name, M,N,K,
// the types of the inputs and of the output, the layout of B, and the configuration. Empty lines and lines that
// begin with
// '#' say nothing; the last line for a problem counts.
//
//   # found by matmul_bench --tune
//   NVIDIA H200; 256,4096,4096; bf16; bf16; nk; 64x128x64_8_4x1_single@m8
//
// The library reads the file that HEDDLE_TUNE_FILE names when it makes its first choice; matmul_use_tune_file
// names another. A line holds for problems of exactly these extents and types, with the sums stored as they are,
// on a GPU of that name; where it asks for a larger workspace than the caller gives, it does not hold.
#pragma once

#include "matmul_sm90_plan.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

struct MatmulTuned {
  std::string gpu;
  MatmulProblem problem;  // extents, types, layout and configuration
};

// Throws InputError for a file that cannot be read, and for a line that breaks a rule: with the file, the line,
// the value, and what would pass.
std::vector<MatmulTuned> read_matmul_tune_file(const std::string& path);

// Puts lines behind those of the file, or makes it. Throws InputError where it cannot be written.
void add_to_matmul_tune_file(const std::string& path, const std::vector<MatmulTuned>& lines);

// Instead of the file that HEDDLE_TUNE_FILE names; "" for none. Throws InputError as reading does.
void matmul_use_tune_file(const std::string& path);

// Changes when another file takes the place of the library's.
std::uint64_t matmul_tune_file_version();

// What the library's tune file says about a problem. Throws InputError as reading does.
std::optional<MatmulSm90Choice> tuned_matmul_choice(const MatmulProblem& problem, const MatmulSm90Needs& needs);

}  // namespace heddle
