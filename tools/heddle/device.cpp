// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <charconv>

namespace heddle::tool {

namespace {

// A build without nvcc has no GPU part to call.
constexpr bool kHasCuda = HEDDLE_WITH_CUDA != 0;

}  // namespace

GpuList gpus() {
  if constexpr (kHasCuda) return tile_copy_gpus<Target::kCuda>();
  return tile_copy_gpus<Target::kSim>();
}

DeviceChoice parse_device(const std::string& name) {
  if (name == "sim:sm90" || name == "sim:sm100") return {};
  const GpuList list = gpus();
  if (name == "auto") return {.is_gpu = !list.gpus.empty()};
  constexpr std::string_view kPrefix = "cuda:";
  int ordinal = -1;
  if (name.starts_with(kPrefix)) {
    const char* first = name.data() + kPrefix.size();
    const char* last = name.data() + name.size();
    if (const auto [end, error] = std::from_chars(first, last, ordinal); error != std::errc{} || end != last) {
      ordinal = -1;
    }
  }
  if (ordinal < 0) {
    throw InputError(fmt::format("device '{}': expected auto, cuda:N, sim:sm90 or sim:sm100", name));
  }
  if (list.gpus.empty()) throw InputError(fmt::format("device '{}': {}; sim:sm90 needs no GPU", name, list.why));
  if (static_cast<std::size_t>(ordinal) >= list.gpus.size()) {
    throw InputError(fmt::format("device '{}': this machine has {} GPU{}, so cuda:0 to cuda:{}", name,
                                 list.gpus.size(), list.gpus.size() == 1 ? "" : "s", list.gpus.size() - 1));
  }
  const GpuDescription& gpu = list.gpus[static_cast<std::size_t>(ordinal)];
  if (gpu.major != 9 && gpu.major != 10) {
    throw InputError(fmt::format("device '{}': {} has compute capability {}.{}; heddle's kernels need 9.0 (Hopper) "
                                 "or 10.0 (Blackwell)",
                                 name, gpu.name, gpu.major, gpu.minor));
  }
  return {.is_gpu = true, .ordinal = ordinal};
}

TileCopyResult run_tile_copy(const DeviceChoice& device, const TileCopyProblem& problem, const RunOptions& options,
                             const std::vector<unsigned char>& source) {
  if constexpr (kHasCuda) {
    if (device.is_gpu) {
      RunOptions gpu_options = options;
      gpu_options.ordinal = device.ordinal;
      return tile_copy<Target::kCuda>(problem, gpu_options, source);
    }
  }
  return tile_copy<Target::kSim>(problem, options, source);
}

}  // namespace heddle::tool
