// SPDX-License-Identifier: Apache-2.0
//
// Tuning at the first use of a shape, which is off unless the environment has HEDDLE_TUNE=1. The first call for a
// shape in a stream times the configurations that the cost model puts near its best, with copies of the caller's
// operands, and takes the fastest; the tune file keeps it for the processes that follow: HEDDLE_TUNE_FILE, or
// else heddle/matmul-2-9d1f3a60.tune in XDG_CACHE_HOME or ~/.cache, with the file's version and the eight digits
// of the library's own kernels: another library has another file. A call that is being captured into a graph, or
// with an epilogue, tunes nothing; nor does one while another thread tunes, which would have it wait for that
// thread's stream.
#pragma once

#include "matmul_sm90_plan.h"

#include <functional>
#include <string>
#include <vector>

namespace heddle {

// Microseconds of a launch. Throws std::exception where it cannot be timed.
using MatmulTimer = std::function<double(const MatmulSm90Choice&)>;

// Whether HEDDLE_TUNE says so. Anything but 0, 1 or nothing is reported once, and counts as 0.
bool matmul_tunes_first_use();

// Where choices are kept; empty: nowhere.
std::string matmul_tune_path();

// Whether nothing is known yet about a problem that may be tuned, and no other thread tunes.
bool is_first_use(const MatmulProblem& problem, const MatmulTensors& tensors, const MatmulSm90Needs& needs);

// Times candidates, the library's own choice among them, and keeps the fastest. Where none can be timed that
// choice stays, and the reason is reported once. `timer_of` is called where there is something to time. Does
// nothing while another thread tunes.
void tune_first_use(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                    const std::function<MatmulTimer()>& timer_of);

// The choices that the cost model puts within `share` of its best, best first, `most` of them.
std::vector<MatmulSm90Choice> likely_matmul_sm90(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                                                 double share, std::size_t most);

}  // namespace heddle
