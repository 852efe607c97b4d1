// SPDX-License-Identifier: Apache-2.0
//
// How a matmul is run: which instance, in which order of tiles, and in how many parts of K. The same for both
// targets.
#pragma once

#include "matmul.h"

#include <string_view>

namespace heddle {

// What a configuration's name says: "64x128x64_8_2x1_single@m8/2".
struct MatmulSm90Choice {
  std::uint32_t instance = 0;  // index in kMatmulSm90Instances
  std::uint32_t group = 8;     // clusters' tiles across a band
  bool bands_along_m = true;
  std::uint32_t splits = 1;    // parts of K
};

struct MatmulSm90Plan {
  MatmulSm90Choice choice;
  std::uint64_t a_pitch = 0;
  std::uint64_t b_pitch = 0;
  std::uint64_t out_pitch = 0;
  std::uint64_t residual_pitch = 0;
  std::uint32_t partial_rows = 0;  // of each part of K in the workspace
  std::uint64_t partial_pitch = 0;
  bool is_fused = false;           // has more of an epilogue than storing the sums
  bool is_ragged = false;          // rows of the output do not end on a multiple of 16 bytes
};

// Where a problem is run, and with what.
struct MatmulSm90Place {
  bool is_simulated = false;
  std::string_view gpu = {};  // its name; empty: any
};

// Throws InputError for what cannot be run.
MatmulSm90Plan plan_matmul_sm90(const MatmulProblem& problem, const MatmulTensors& tensors, const MatmulSm90Place& place);

// Throws DriverError where there is no such GPU, and InputError where it is none that the kernels are for.
void check_matmul_sm90_gpu(const GpuList& list, int ordinal);

// Throws InputError for a stream of another GPU than the current one.
void check_matmul_stream(int stream_device, int current_device);

// Throws InputError where the data are smaller than the problem's matrices.
void check_matmul_data(const MatmulProblem& problem, const MatmulSm90Plan& plan, const MatmulData& data);

// What a choice must allow for.
struct MatmulSm90Needs {
  bool is_fused = false;
  bool is_simulated = false;
  std::uint64_t workspace_bytes = 0;
  std::string_view gpu = {};
};

// From the tune file, the table of tuned shapes or the cost model, in this order.
MatmulSm90Choice choose_matmul_sm90(const MatmulProblem& problem, const MatmulSm90Needs& needs);

// Names, and the other way round. Throws InputError where there is no such configuration, or where it cannot run the
// problem; without an order in the name, the model's is taken.
std::string name_of(const MatmulSm90Choice& choice);
MatmulSm90Choice read_matmul_sm90_choice(const MatmulProblem& problem, const MatmulSm90Needs& needs, std::string_view name);

// Whether the instance can run the problem, as a whole or with K in parts.
bool can_run(std::uint32_t instance, const MatmulProblem& problem, const MatmulSm90Needs& needs, bool is_split);

// How many parts of equal length K has, if none may be empty: at most `wanted`.
std::uint32_t possible_splits(std::uint32_t instance, const MatmulProblem& problem, std::uint32_t wanted);

// Bytes of partial sums.
std::uint64_t workspace_of(const MatmulProblem& problem, std::uint32_t splits);

// The order of tiles that moves least between L2 and memory, by what an H200 showed.
void choose_order(const MatmulProblem& problem, MatmulSm90Choice& choice);

}  // namespace heddle
