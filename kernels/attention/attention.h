// SPDX-License-Identifier: Apache-2.0
//
// Attention from a host program, on a GPU or in the simulated SM. What is computed is in attention_problem.h.
//
//   AttentionProblem problem{.batches = 2, .heads = 16, .queries = 4096, .keys = 4096, .is_causal = true};
//   attention(problem, {.q = q, .k = k, .v = v, .o = o}, find_device("sim:sm90"));  // host memory
//   attention(problem, {.q = q, .k = k, .v = v, .o = o, .lse = lse}, stream);       // memory of the current GPU
//
// A problem that cannot be run is refused with an InputError before anything is written: the message names the
// rule, the value and what would pass.
#pragma once

#include "../devices.h"
#include "attention_problem.h"

#include <heddle/host/device_id.h>
#include <heddle/host/run_options.h>

namespace heddle {

// With all tensors in host memory: copies them to the device, runs, and copies the output back. Where the
// simulated SM found a mistake, or the GPU failed, the outcome has a report and nothing was written. `options`
// say how the simulated SM runs; the device in them is not used.
RunOutcome attention(const AttentionProblem& problem, const AttentionTensors& tensors, const DeviceId& device,
                     const RunOptions& options = {.kernel = "attention"});

// With all tensors in the memory of the current GPU: starts attention in a stream of it (a cudaStream_t) and does
// not wait. Throws DriverError where it cannot be started. Whether the addresses are that GPU's is not checked.
void attention(const AttentionProblem& problem, const AttentionTensors& tensors, void* stream);

}  // namespace heddle
