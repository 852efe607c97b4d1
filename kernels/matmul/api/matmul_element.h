// SPDX-License-Identifier: Apache-2.0
//
// The element types that matmuls know by name at run time.
#pragma once

#include <cstdint>

namespace heddle {

// tf32 is a float whose low 13 bits the tensor cores ignore.
enum class MatmulElement : std::uint8_t { kBf16, kFp16, kFp32, kTf32, kE4m3, kE5m2 };

}  // namespace heddle
