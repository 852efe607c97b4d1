// SPDX-License-Identifier: Apache-2.0
//
// One Blackwell matmul of the library, with a mistake in what its load warp does if one is asked for.
#pragma once

#include <heddle/host/run_options.h>
#include <matmul/reference/matmul_reference.h>

namespace heddle::tool {

// bf16, the output in tiles of 128 x 64, four stages, in the simulated SM. With `forgets_b` it copies
// A alone, and expects both.
RunOutcome run_tour_matmul(reference::MatmulCase& matmul, bool forgets_b);

}  // namespace heddle::tool
