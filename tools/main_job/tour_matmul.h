// SPDX-License-Identifier: Apache-2.0
//
// One Blackwell matmul of the library, with a mistake in its host code if one is asked for.
#pragma once

#include <heddle/host/run_options.h>
#include <matmul_reference.h>

namespace heddle::tool {

// bf16, the output in tiles of 128 x 64, four stages, in the simulated SM. With `has_short_box` the tensor map of
// A says half the rows that the kernel expects.
RunOutcome run_tour_matmul(reference::MatmulCase& matmul, bool has_short_box);

}  // namespace heddle::tool
