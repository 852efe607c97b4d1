// SPDX-License-Identifier: Apache-2.0
//
// Running kernels on the device that a command names.
#pragma once

#include "devices.h"
#include "tile_copy/tile_copy_host.h"

#include <heddle/host/device_id.h>
#include <heddle/host/run_options.h>

#include <vector>

namespace heddle::tool {

TileCopyResult run_tile_copy(const DeviceId& device, const TileCopyProblem& problem, const RunOptions& options,
                             const std::vector<unsigned char>& source);

}  // namespace heddle::tool
