// SPDX-License-Identifier: Apache-2.0
//
// The devices that this program can run kernels on: the simulated SMs, and the GPUs of the machine if it was
// built with CUDA.
//
//   const DeviceId device = find_device("auto");
#pragma once

#include <heddle/host/device_id.h>

#include <string_view>

namespace heddle {

// "cuda:N", "sim:sm90", "sim:sm100", or "auto": the first GPU that there are kernels for, otherwise the simulated
// SM of `fallback`. Throws InputError for anything else, and for a GPU that is not there.
DeviceId find_device(std::string_view name, Arch fallback = Arch::kSm90);

// Empty, with the reason, where the program was built without CUDA.
GpuList gpus();
bool is_built_with_cuda();

}  // namespace heddle
