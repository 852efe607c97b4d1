// SPDX-License-Identifier: Apache-2.0
//
// The devices that the program can run kernels on.
#pragma once

#include "tile_copy_host.h"

#include <heddle/host/run_options.h>
#include <heddle/isa/gpu_list.h>

#include <string>
#include <vector>

namespace heddle::tool {

struct DeviceChoice {
  bool is_gpu = false;
  int ordinal = 0;
};

// "auto", "cuda:N", "sim:sm90" or "sim:sm100". Throws InputError for any other name, and for a GPU that is
// not there or that this build has no code for.
DeviceChoice parse_device(const std::string& name);

GpuList gpus();

TileCopyResult run_tile_copy(const DeviceChoice& device, const TileCopyProblem& problem, const RunOptions& options,
                             const std::vector<unsigned char>& source);

}  // namespace heddle::tool
