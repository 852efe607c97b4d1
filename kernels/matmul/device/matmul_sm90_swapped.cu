// SPDX-License-Identifier: Apache-2.0
//
// The instances of the group MatmulGroup::kSwapped: see matmul_sm90_instances.h.
#include "matmul_sm90_launch.h"

namespace heddle::inline HEDDLE_TARGET {

template <>
void add_launches<MatmulGroup::kSwapped>(MatmulSm90Launches& launches) {
  detail::add(launches.bf16, launches_of_group<MatmulGroup::kSwapped, bf16>());
  detail::add(launches.fp16, launches_of_group<MatmulGroup::kSwapped, fp16>());
}

}  // namespace heddle::inline HEDDLE_TARGET
