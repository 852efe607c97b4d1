// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm100_launch.h"

namespace heddle::inline HEDDLE_TARGET {

template <>
RunOutcome launch_matmul_sm100<tf32>(Device& device, const MatmulSm100Call& call) {
  return sm100::launch_any<tf32>(device, call);
}

}  // namespace heddle::inline HEDDLE_TARGET
