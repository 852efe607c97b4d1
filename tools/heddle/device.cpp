// SPDX-License-Identifier: Apache-2.0
#include "device.h"

namespace heddle::tool {

TileCopyResult run_tile_copy(const DeviceId& device, const TileCopyProblem& problem, const RunOptions& options,
                             const std::vector<unsigned char>& source) {
  RunOptions there = options;
  there.arch = device.arch;
  there.ordinal = device.ordinal;
  // A build without nvcc has no GPU part to call.
  if constexpr (HEDDLE_WITH_CUDA != 0) {
    if (device.is_gpu()) return tile_copy<Target::kCuda>(problem, there, source);
  }
  return tile_copy<Target::kSim>(problem, there, source);
}

}  // namespace heddle::tool
