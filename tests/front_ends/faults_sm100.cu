// SPDX-License-Identifier: Apache-2.0
//
// Those of sm_100 as nvcc compiles them.
#include "faults_sm100.h"

namespace heddle::inline HEDDLE_TARGET {

#define HEDDLE_FAULT_ENTRIES(name, code, verdict, ctas, cluster)            \
  template __global__ void isa::kernel_entry<faults::Kernel_##name<true>>(  \
      const __grid_constant__ faults::Params);                              \
  template __global__ void isa::kernel_entry<faults::Kernel_##name<false>>( \
      const __grid_constant__ faults::Params);
HEDDLE_FAULTS_SM100(HEDDLE_FAULT_ENTRIES)
#undef HEDDLE_FAULT_ENTRIES

}  // namespace heddle::inline HEDDLE_TARGET
