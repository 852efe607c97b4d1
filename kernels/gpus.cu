// SPDX-License-Identifier: Apache-2.0
#include "gpus.h"

#include <heddle/host/device.h>

namespace heddle {

template <>
GpuList gpus_of<kTarget>() {
  return find_gpus();
}

template <>
int current_gpu<kTarget>() {
  return current_device();
}

}  // namespace heddle
