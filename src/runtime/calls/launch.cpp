// SPDX-License-Identifier: Apache-2.0
//
// Launches of the runtime.
#include "runtime/launch.h"

#include "runtime/launch_attributes.h"

#include <fmt/format.h>

using namespace heddle::runtime;
namespace isa = heddle::isa;

namespace {

Error launch_handle(State& card, const void* handle, const LaunchRequest& request) {
  const Kernel* kernel = card.modules.find_kernel(handle);
  if (kernel == nullptr) return handle == nullptr ? Error::kInvalidDeviceFunction : Error::kInvalidHandle;
  return launch(card, *kernel, request);
}

}  // namespace

HEDDLE_CUDA_CALL int cudaLaunchKernel(const void* function, isa::Dim3 grid, isa::Dim3 block, void** arguments,
                                      std::size_t shared, void* stream) {
  return call_on("cudaLaunchKernel", stream, [&](State& card) {
    return launch_handle(
        card, function,
        {.grid = grid, .block = block, .dynamic_shared = shared, .stream = stream, .arguments = arguments});
  });
}

HEDDLE_CUDA_CALL int __cudaLaunchKernel(const void* kernel, isa::Dim3 grid, isa::Dim3 block, void** arguments,
                                        std::size_t shared, void* stream) {
  return call_on("cudaLaunchKernel", stream, [&](State& card) {
    return launch_handle(
        card, kernel,
        {.grid = grid, .block = block, .dynamic_shared = shared, .stream = stream, .arguments = arguments});
  });
}

HEDDLE_CUDA_CALL int cudaLaunchCooperativeKernel(const void* function, isa::Dim3 grid, isa::Dim3 block,
                                                 void** arguments, std::size_t shared, void* stream) {
  return call_on("cudaLaunchCooperativeKernel", stream, [&](State& card) {
    return launch_handle(card, function,
                         {.grid = grid,
                          .block = block,
                          .dynamic_shared = shared,
                          .is_cooperative = true,
                          .stream = stream,
                          .arguments = arguments});
  });
}

HEDDLE_CUDA_CALL int cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
  return call("cudaLaunchKernelExC", [&](State& card) {
    if (config == nullptr) return Error::kInvalidValue;
    if (!card.streams.is_known(config->stream)) return Error::kInvalidHandle;
    LaunchRequest request = request_of(*config);
    request.arguments = arguments;
    return launch_handle(card, function, request);
  });
}
