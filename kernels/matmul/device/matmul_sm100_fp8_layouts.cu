// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm100_launch.h"

namespace heddle::inline HEDDLE_TARGET {

RunOutcome launch_sm100_fp8_layouts(Device& device, const MatmulCall& call) {
  return sm100::launch_layouts<MmaKind::kF8f6f4>(device, call);
}

}  // namespace heddle::inline HEDDLE_TARGET
