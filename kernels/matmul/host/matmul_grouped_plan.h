// SPDX-License-Identifier: Apache-2.0
//
// How a grouped matmul is run, and what the kernels of each target offer to matmul_grouped(). Target::kCuda
// exists only in programs that were built with nvcc.
#pragma once

#include "matmul/api/matmul_grouped_problem.h"

#include <heddle/host/run_options.h>
#include <heddle/isa/arch.h>
#include <heddle/isa/target.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

struct MatmulGroupedPlan {
  Arch arch = Arch::kSm90;
  bool is_blockwise = false;
  // Index in kMatmulGroupedInstances; on sm100 in kGroupedConfigs, or blockwise in kGroupedBlockwiseConfigs.
  std::uint32_t instance = 0;
  std::uint64_t a_pitch = 0;
  std::uint64_t b_pitch = 0;
  std::uint64_t out_pitch = 0;
  std::uint64_t b_group_stride = 0;
  std::size_t a_bytes = 0;
  std::size_t b_bytes = 0;
  std::size_t out_bytes = 0;  // 0: there is nothing to do
  std::size_t group_rows_bytes = 0;
  std::uint64_t a_scales_pitch = 0;
  std::size_t a_scales_bytes = 0;
  std::size_t b_scales_bytes = 0;
};

// Throws InputError for what cannot be run.
MatmulGroupedPlan plan_matmul_grouped(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors,
                                      bool is_simulated, Arch arch = Arch::kSm90);

// Beyond that, for tensors that the device reads where they are.
void check_alignment(const MatmulGroupedTensors& tensors);

// The configurations that can run a problem, by name; of a plan, the one that it takes.
std::vector<std::string> matmul_grouped_sm90_configs(const MatmulGroupedProblem& problem, bool is_simulated);
std::vector<std::string> matmul_grouped_sm100_configs(const MatmulGroupedProblem& problem);
std::string config_of(const MatmulGroupedPlan& plan);

// Tensors in host memory. A run that ends with a report has written nothing.
template <Target target>
RunOutcome matmul_grouped_sm90(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors,
                               const RunOptions& options);
// Tensors in the memory of the current GPU, in a stream of it. The simulated SM has neither, and refuses.
template <Target target>
void enqueue_matmul_grouped_sm90(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors,
                                 void* stream);

template <Target target>
RunOutcome matmul_grouped_sm100(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors,
                                const RunOptions& options);
template <Target target>
void enqueue_matmul_grouped_sm100(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors,
                                  void* stream);

template <>
RunOutcome matmul_grouped_sm90<Target::kSim>(const MatmulGroupedProblem&, const MatmulGroupedTensors&,
                                             const RunOptions&);
template <>
RunOutcome matmul_grouped_sm90<Target::kCuda>(const MatmulGroupedProblem&, const MatmulGroupedTensors&,
                                              const RunOptions&);
template <>
void enqueue_matmul_grouped_sm90<Target::kSim>(const MatmulGroupedProblem&, const MatmulGroupedTensors&, void*);
template <>
void enqueue_matmul_grouped_sm90<Target::kCuda>(const MatmulGroupedProblem&, const MatmulGroupedTensors&, void*);
template <>
RunOutcome matmul_grouped_sm100<Target::kSim>(const MatmulGroupedProblem&, const MatmulGroupedTensors&,
                                              const RunOptions&);
template <>
RunOutcome matmul_grouped_sm100<Target::kCuda>(const MatmulGroupedProblem&, const MatmulGroupedTensors&,
                                               const RunOptions&);
template <>
void enqueue_matmul_grouped_sm100<Target::kSim>(const MatmulGroupedProblem&, const MatmulGroupedTensors&, void*);
template <>
void enqueue_matmul_grouped_sm100<Target::kCuda>(const MatmulGroupedProblem&, const MatmulGroupedTensors&, void*);

}  // namespace heddle
