// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/sim/ptx.h>

namespace heddle::sim::ptx {

// The module whose entries run instead of C++ kernels in this thread, if there is one.
extern thread_local PtxInstead* instead;

}  // namespace heddle::sim::ptx
