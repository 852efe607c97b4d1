// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "device.h"
#include "tile_copy/tile_copy.h"

#include <heddle/kernel/shared_memory.h>
#include <heddle/version.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle::tool {

int info(const InfoOptions& options) {
  using Shared = TileCopy<TileCopyConfig{}>::Shared;
  const GpuList list = gpus();
  const std::string version =
      fmt::format("{}.{}.{}", HEDDLE_VERSION_MAJOR, HEDDLE_VERSION_MINOR, HEDDLE_VERSION_PATCH);
  if (options.json) {
    nlohmann::json json{{"version", version}, {"built_with_cuda", is_built_with_cuda()}};
    json["devices"] = nlohmann::json::array({"sim:sm90", "sim:sm100"});
    for (const GpuDescription& gpu : list.gpus) json["devices"].push_back(fmt::format("cuda:{}", gpu.ordinal));
    nlohmann::json map = nlohmann::json::array();
    for (const MemoryRange& range : memory_map<Shared>()) {
      map.push_back({{"name", range.name}, {"offset", range.offset}, {"bytes", range.bytes}});
    }
    json["kernels"] = {{"tile_copy", {{"shared_bytes", sizeof(Shared)}, {"memory_map", map}}}};
    fmt::print("{}\n", json.dump(2));
    return kWell;
  }
  fmt::print("heddle {}, built {} CUDA\n\ndevices\n  sim:sm90, sim:sm100   simulated SM\n", version,
             is_built_with_cuda() ? "with" : "without");
  for (const GpuDescription& gpu : list.gpus) {
    fmt::print("  cuda:{:<16}  {}, compute capability {}.{}\n", gpu.ordinal, gpu.name, gpu.major, gpu.minor);
  }
  if (list.gpus.empty()) fmt::print("  no GPU: {}\n", list.why);
  fmt::print("\nshared memory of tile_copy, {} bytes of {}\n", sizeof(Shared), max_shared_bytes(Arch::kSm90));
  for (const MemoryRange& range : memory_map<Shared>()) {
    fmt::print("  {:>8} {:>8}  {}\n", range.offset, range.bytes, range.name);
  }
  return kWell;
}

}  // namespace heddle::tool
