// SPDX-License-Identifier: Apache-2.0
//
// Which libcudart this is.
#pragma once

namespace heddle::runtime {

// 12 or 13. Each of the shared objects has a definition of its own.
int cudart_major();

// The CUDA that the driver says it is for, which has to be as new as the compiler of any PTX that a tool hands
// it.
inline constexpr int kDriverVersion = 13040;

}  // namespace heddle::runtime
