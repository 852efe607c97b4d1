// SPDX-License-Identifier: Apache-2.0
//
// The Hopper matmul on a GPU, in a build whose warps record what they do: see heddle/host/device_trace.h.
#pragma once

#include "matmul.h"

#include <heddle/host/traced_launch.h>

#include <string>
#include <vector>

namespace heddle::tool {

// The one that is taken where none is named.
inline constexpr const char* kTracedConfig = "128x256x64_4_2x1_coop";

// Tensors in host memory. Runs the kernel twice, and adds what the second launch did to `launches`. Throws
// InputError for a configuration without such a build, or where the program has none at all.
RunOutcome traced_matmul(const MatmulProblem& problem, const MatmulTensors& tensors, int ordinal,
                         std::vector<TracedLaunch>& launches);

}  // namespace heddle::tool
