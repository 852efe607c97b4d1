// SPDX-License-Identifier: Apache-2.0
//
// Matrix multiplication from a host program, on a GPU or in the simulated SM. What is computed is in
// matmul_problem.h, matmul_scaled_problem.h, matmul_grouped_problem.h and quantise_problem.h; which kernels
// compute it follows from the device.
//
//   MatmulProblem problem{.m = 256, .n = 256, .k = 512};
//   matmul(problem, {.a = a, .b = b, .out = out}, find_device("sim:sm100"));  // host memory
//   matmul(problem, {.a = a, .b = b, .out = out}, stream);                    // memory of the current GPU
//
// A problem that cannot be run is refused with an InputError before anything is written: the message names the
// rule, the value and what would pass.
#pragma once

#include "devices.h"
#include "matmul/api/matmul_grouped_problem.h"
#include "matmul/api/matmul_problem.h"
#include "matmul/api/matmul_scaled_problem.h"
#include "matmul/api/quantise_problem.h"

#include <heddle/host/device_id.h>
#include <heddle/host/run_options.h>

#include <string>
#include <vector>

namespace heddle {

// With all tensors in host memory: copies them to the device, runs, and copies the output back. Where the
// simulated SM found a mistake, or the GPU failed, the outcome has a report and nothing was written. `options`
// say how the simulated SM runs; the device in them is not used.
RunOutcome matmul(const MatmulProblem& problem, const MatmulTensors& tensors, const DeviceId& device,
                  const RunOptions& options = {.kernel = "matmul"});
RunOutcome matmul_scaled(const MatmulScaledProblem& problem, const MatmulScaledTensors& tensors,
                         const DeviceId& device, const RunOptions& options = {.kernel = "matmul"});
RunOutcome matmul_grouped(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors,
                          const DeviceId& device, const RunOptions& options = {.kernel = "matmul"});
RunOutcome quantise(const QuantiseProblem& problem, const QuantiseTensors& tensors, const DeviceId& device,
                    const RunOptions& options = {.kernel = "quantise"});

// With all tensors in the memory of the current GPU: starts the multiplication in a stream of it (a cudaStream_t)
// and does not wait, unless HEDDLE_TUNE=1 has it time the first use of a shape. Throws DriverError where it
// cannot be started. Whether the addresses are that GPU's is not checked.
void matmul(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream);
void matmul_grouped(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors, void* stream);
void quantise(const QuantiseProblem& problem, const QuantiseTensors& tensors, void* stream);

// With tensors in host memory, by the host alone: the same bits.
void quantise_on_host(const QuantiseProblem& problem, const QuantiseTensors& tensors);

// The configurations that can run a problem on a device, by name, and the one that is taken where the problem
// names none. Of the tensors only bias and residual matter, and whether they are null.
std::vector<std::string> matmul_configs(const MatmulProblem& problem, const MatmulTensors& tensors,
                                        const DeviceId& device);
std::string matmul_choice(const MatmulProblem& problem, const MatmulTensors& tensors, const DeviceId& device);
std::vector<std::string> matmul_scaled_configs(const MatmulScaledProblem& problem, const DeviceId& device);
std::string matmul_scaled_choice(const MatmulScaledProblem& problem, const DeviceId& device);
std::vector<std::string> matmul_grouped_configs(const MatmulGroupedProblem& problem, const DeviceId& device);
std::string matmul_grouped_choice(const MatmulGroupedProblem& problem, const DeviceId& device);

// Reads choices that a search found (matmul_bench --tune) instead of the file that HEDDLE_TUNE_FILE names; "" for
// none. Throws InputError for a file that cannot be read. The format is in matmul_tune_file.h.
void matmul_use_tune_file(const std::string& path);

}  // namespace heddle
