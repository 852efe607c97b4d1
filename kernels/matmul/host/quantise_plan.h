// SPDX-License-Identifier: Apache-2.0
//
// What the host checks before numbers are quantised, the same on the host, and what the kernels of each target
// offer. Target::kCuda exists only in programs that were built with nvcc.
#pragma once

#include "matmul/api/quantise_problem.h"

#include <heddle/host/run_options.h>
#include <heddle/isa/target.h>

#include <cstddef>
#include <cstdint>

namespace heddle {

struct QuantisePlan {
  std::uint64_t in_pitch = 0;
  std::uint64_t out_pitch = 0;
  std::uint64_t scales_pitch = 0;  // of a line of scales
  std::uint64_t col_blocks = 0;
  std::size_t in_bytes = 0;  // 0: there is nothing to do
  std::size_t out_bytes = 0;
  std::size_t scales_bytes = 0;
};

// Throws InputError for what cannot be run.
QuantisePlan plan_quantise(const QuantiseProblem& problem, const QuantiseTensors& tensors);

// With tensors in host memory, by the host: the same bits as on a device.
void quantise_on_host(const QuantiseProblem& problem, const QuantiseTensors& tensors);

// With tensors in host memory, by the device. A run that ends with a report has written nothing.
template <Target target>
RunOutcome quantise_sm90(const QuantiseProblem& problem, const QuantiseTensors& tensors,
                         const RunOptions& options);
// With tensors in the memory of the current GPU, in a stream of it. The simulated SM has neither, and refuses.
template <Target target>
void enqueue_quantise_sm90(const QuantiseProblem& problem, const QuantiseTensors& tensors, void* stream);

template <>
RunOutcome quantise_sm90<Target::kSim>(const QuantiseProblem&, const QuantiseTensors&, const RunOptions&);
template <>
RunOutcome quantise_sm90<Target::kCuda>(const QuantiseProblem&, const QuantiseTensors&, const RunOptions&);
template <>
void enqueue_quantise_sm90<Target::kSim>(const QuantiseProblem&, const QuantiseTensors&, void*);
template <>
void enqueue_quantise_sm90<Target::kCuda>(const QuantiseProblem&, const QuantiseTensors&, void*);

}  // namespace heddle
