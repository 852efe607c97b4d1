// SPDX-License-Identifier: Apache-2.0
//
// Which libcudart this is.
#pragma once

namespace heddle::runtime {

// 12 or 13. Each of the shared objects has a definition of its own.
int cudart_major();

}  // namespace heddle::runtime
