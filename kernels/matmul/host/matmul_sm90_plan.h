// SPDX-License-Identifier: Apache-2.0
//
// How a Hopper matmul is run. The same for both targets.
#pragma once

#include "matmul/api/matmul_problem.h"
#include "matmul_plan.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// What a configuration's name says: "64x128x64_8_2x1_single@m8/2:alone" is an instance, bands of 8 tiles along M,
// K in two parts, and a launch that waits for the kernel ahead.
using MatmulSm90Choice = MatmulChoice;

// What a choice must allow for.
struct MatmulSm90Needs {
  bool is_fused = false;
  bool is_simulated = false;
  std::uint64_t workspace_bytes = 0;
  std::string_view gpu = {};  // its name
};

// The configurations that can run this problem, by name, and the one that is taken where it names none. "@m8" or
// "@n8" behind a name says in which order tiles are visited, "/2" behind it that K is in two parts, and ":alone"
// that the launch does not overlap with the kernel ahead.
std::vector<std::string> matmul_sm90_configs(const MatmulProblem& problem, bool is_fused, bool is_simulated);
std::string matmul_sm90_choice(const MatmulProblem& problem, bool is_fused, bool is_simulated,
                               std::uint64_t workspace_bytes = kMatmulWorkspaceBytes, std::string_view gpu = {});

// Throws InputError for what cannot be run. A choice of the library takes at most `workspace_bytes`.
MatmulPlan plan_matmul_sm90(const MatmulProblem& problem, const MatmulTensors& tensors, bool is_simulated,
                            std::uint64_t workspace_bytes = kMatmulWorkspaceBytes, std::string_view gpu = {});

// From one row of A, B and the output to the next, in elements.
std::array<std::int64_t, 3> pitches_of(const MatmulProblem& problem);

// What a choice depends on of these: for each the most of 128, 16 and 1 bytes that all its rows begin on. A
// matrix of one row that begins on 16 counts as 128, for its pitch is walked over nowhere: x[:, -1, :] has
// another with each length of x.
std::array<std::int64_t, 3> row_steps_of(const MatmulProblem& problem);

// From the tune file, the table of tuned shapes or the cost model, in this order.
MatmulSm90Choice choose_matmul_sm90(const MatmulProblem& problem, const MatmulSm90Needs& needs);

// Names, and the other way round. Throws InputError where there is no such configuration, or where it cannot run
// the problem; without an order in the name, the model's is taken.
std::string name_of(const MatmulSm90Choice& choice);
MatmulSm90Choice read_matmul_sm90_choice(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                                         std::string_view name);

// Whether the instance can run the problem with K in so many parts, and whether clusters then add them up.
// Otherwise another kernel does, which takes a workspace.
bool can_run(std::uint32_t instance, const MatmulProblem& problem, const MatmulSm90Needs& needs,
             std::uint32_t splits);
bool is_joined(std::uint32_t instance, const MatmulProblem& problem, const MatmulSm90Needs& needs,
               std::uint32_t splits);

// How many parts of equal length K has, if none may be empty: at most `wanted`.
std::uint32_t possible_splits(std::uint32_t instance, const MatmulProblem& problem, std::uint32_t wanted);

// Bytes of partial sums that another kernel adds up. It also stores rows of the output that do not begin on 16
// bytes, from the sums of one part of K or more.
std::uint64_t workspace_of(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                           const MatmulSm90Choice& choice);

// Whether these fit into the workspace, with copies of the operands behind them where their rows do not begin on
// 16 bytes.
bool fits_workspace(const MatmulProblem& problem, const MatmulSm90Needs& needs, const MatmulSm90Choice& choice);

// The order of tiles that moves least between L2 and memory, by what an H200 showed.
void choose_order(const MatmulProblem& problem, MatmulSm90Choice& choice);

}  // namespace heddle
