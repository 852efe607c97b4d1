// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace heddle {

// What a matmul can apply to a sum. Gelu is its usual approximation, by a hyperbolic tangent.
enum class Activation : std::uint8_t { kNone, kRelu, kGelu, kSilu };

}  // namespace heddle
