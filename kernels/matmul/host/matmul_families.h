// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of each architecture offer to matmul() and matmul_scaled(), once for each target. Programs
// call those; see matmul.h. Target::kCuda exists only in programs that were built with nvcc.
#pragma once

#include "matmul/api/matmul_problem.h"
#include "matmul/api/matmul_scaled_problem.h"

#include <heddle/host/gpu_list.h>
#include <heddle/host/run_options.h>
#include <heddle/isa/target.h>

namespace heddle {

// Tensors in host memory. A run that ends with a report has written nothing.
template <Target target>
RunOutcome matmul_sm90(const MatmulProblem& problem, const MatmulTensors& tensors, const RunOptions& options);
template <Target target>
RunOutcome matmul_sm100(const MatmulProblem& problem, const MatmulTensors& tensors, const RunOptions& options);
template <Target target>
RunOutcome matmul_scaled_sm100(const MatmulScaledProblem& problem, const MatmulScaledTensors& tensors,
                               const RunOptions& options);

// Tensors in the memory of the current GPU, in a stream of it. The simulated SM has neither, and refuses.
template <Target target>
void enqueue_matmul_sm90(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream);
template <Target target>
void enqueue_matmul_sm100(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream);

template <>
RunOutcome matmul_sm90<Target::kSim>(const MatmulProblem&, const MatmulTensors&, const RunOptions&);
template <>
RunOutcome matmul_sm90<Target::kCuda>(const MatmulProblem&, const MatmulTensors&, const RunOptions&);
template <>
RunOutcome matmul_sm100<Target::kSim>(const MatmulProblem&, const MatmulTensors&, const RunOptions&);
template <>
RunOutcome matmul_sm100<Target::kCuda>(const MatmulProblem&, const MatmulTensors&, const RunOptions&);
template <>
RunOutcome matmul_scaled_sm100<Target::kSim>(const MatmulScaledProblem&, const MatmulScaledTensors&,
                                             const RunOptions&);
template <>
RunOutcome matmul_scaled_sm100<Target::kCuda>(const MatmulScaledProblem&, const MatmulScaledTensors&,
                                              const RunOptions&);
template <>
void enqueue_matmul_sm90<Target::kSim>(const MatmulProblem&, const MatmulTensors&, void*);
template <>
void enqueue_matmul_sm100<Target::kSim>(const MatmulProblem&, const MatmulTensors&, void*);
template <>
void enqueue_matmul_sm90<Target::kCuda>(const MatmulProblem&, const MatmulTensors&, void*);
template <>
void enqueue_matmul_sm100<Target::kCuda>(const MatmulProblem&, const MatmulTensors&, void*);

template <Target target>
GpuList matmul_gpus();
template <>
GpuList matmul_gpus<Target::kSim>();
template <>
GpuList matmul_gpus<Target::kCuda>();

}  // namespace heddle
