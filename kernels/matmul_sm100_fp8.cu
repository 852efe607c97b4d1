// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm100_launch.h"

namespace heddle::inline HEDDLE_TARGET {

template <>
RunOutcome launch_matmul_sm100<e4m3>(Device& device, const MatmulSm100Call& call) {
  return sm100::launch_any<e4m3>(device, call);
}

template <>
RunOutcome launch_matmul_sm100<e5m2>(Device& device, const MatmulSm100Call& call) {
  return sm100::launch_any<e5m2>(device, call);
}

}  // namespace heddle::inline HEDDLE_TARGET
