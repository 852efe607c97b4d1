// SPDX-License-Identifier: Apache-2.0
//
// Choices that a search on a GPU has found, in a text file: a line for each problem, with the GPU's name, M,N,K,
// the types of the inputs and of the output, the layout of B, and the configuration; and, where it matters that
// rows of A, B and the output do not follow one another, from one row to the next, in elements. Empty lines and
// lines that begin with '#' say nothing; the last line for a problem counts.
//
//   version 2; kernels 3f9a51c2
//   NVIDIA H200; 256,4096,4096; bf16; bf16; nk; 64x128x64_8_4x1_single@m8
//   NVIDIA H200; 256,4096,4095; bf16; bf16; nk; 64x128x64_8_4x1_single@m8; rows 4095,4096,8192
//
// The first of these lines says of which version the file is and for which set of configurations it was made; a
// file of a later version or for other kernels is refused, because its times say nothing. One that was written by
// hand may do without. Files of version 1, whose lines name no rows, are read, and become version 2 when
// something is added.
//
// The library reads the file that HEDDLE_TUNE_FILE names when it makes its first choice; matmul_use_tune_file
// names another. A line holds for problems of exactly these extents and types, with the sums stored as they are,
// on a GPU of that name, and for all rows that begin on 128 bytes, on 16 or on neither as those of the line do
// (row_steps_of); where it asks for a larger workspace than the caller gives, it does not hold. It does not tell
// whether launches may overlap: what was found where they may holds where they may not, and the other way round.
// A file that HEDDLE_TUNE_FILE names and that cannot be used is reported once on the standard error output, and
// the library goes on without it.
#pragma once

#include "matmul_sm90_plan.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

// Of the files that are written.
inline constexpr int kMatmulTuneFileVersion = 2;

struct MatmulTuned {
  std::string gpu;
  MatmulProblem problem;  // extents, types, layout, pitches and configuration
};

// Throws InputError for a file that cannot be read, and for a line that breaks a rule: with the file, the line,
// the value, and what would pass.
std::vector<MatmulTuned> read_matmul_tune_file(const std::string& path);

// Puts lines behind those of the file, or makes it; what it said about the same problems is taken out. Another
// file takes its place at once, under a lock (the file's name and ".lock"), so that processes that do the same
// lose nothing of one another's. Throws InputError where it cannot be written, or breaks the rules.
void add_to_matmul_tune_file(const std::string& path, const std::vector<MatmulTuned>& lines);

// Instead of the file that HEDDLE_TUNE_FILE names; "" for none. Throws InputError as reading does.
void matmul_use_tune_file(const std::string& path);

// What a search has found, from now on and in the library's file, where it has one.
void keep_tuned_matmul_choice(const MatmulTuned& tuned);

// Eight digits of the set of configurations, which follow "kernels" in a file.
std::string matmul_kernels_id();

// Changes when the library's choices do.
std::uint64_t matmul_tune_file_version();

// What the library's tune file says about a problem.
std::optional<MatmulSm90Choice> tuned_matmul_choice(const MatmulProblem& problem, const MatmulSm90Needs& needs);

}  // namespace heddle
