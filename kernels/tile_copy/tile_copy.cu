// SPDX-License-Identifier: Apache-2.0
#include "tile_copy.h"

#include "tile_copy_host.h"

#include <heddle/host/device.h>
#include <heddle/host/error.h>
#include <heddle/host/tensor_map.h>
#include <heddle/testing/mutant.h>

#include <memory>
#include <string>
#include <vector>

namespace heddle::inline HEDDLE_TARGET {

namespace {

TensorMapSpec tensor_spec(const TileCopyProblem& problem, const TileCopyPlan& plan, const void* address) {
  TensorMapSpec spec;
  spec.type = problem.element_bytes == 1   ? TensorType::kU8
              : problem.element_bytes == 2 ? TensorType::kU16
              : problem.element_bytes == 4 ? TensorType::kU32
                                           : TensorType::kU64;
  spec.rank = problem.rank;
  spec.address = address;
  for (std::uint32_t d = 0; d < problem.rank; ++d) {
    spec.dims[d] = problem.dims[d];
    spec.box[d] = problem.box[d];
    if (d > 0) spec.strides[d - 1] = plan.strides[d - 1];
  }
  spec.swizzle = problem.swizzle_bytes == 0    ? Swizzle::kNone
                 : problem.swizzle_bytes == 32 ? Swizzle::k32B
                 : problem.swizzle_bytes == 64 ? Swizzle::k64B
                                               : Swizzle::k128B;
  return spec;
}

template <std::uint32_t stages>
RunOutcome launch_stages(Device& device, const LaunchShape& shape, const TileCopyParams& params) {
  return device.launch<TileCopy<TileCopyConfig{.stages = stages}>>(shape, params);
}

// The kernel with one planted mistake, which only the simulated SM survives. A template, so that the GPU build
// does not contain it.
template <TileCopyConfig config>
RunOutcome launch_with_mistake(Device& device, const std::string& name, const LaunchShape& shape,
                               const TileCopyParams& params) {
  if constexpr (kIsSimulated) {
    RunOutcome outcome;
    const bool is_known = with_mistake<MbarrierBackend<config.stages, PipelineScope::kCluster>>(
        name, [&]<class Backend>() { outcome = device.launch<TileCopy<config, Backend>>(shape, params); });
    if (is_known) return outcome;
    throw InputError("tile copy: no mistake is called '" + name + "'");
  } else {
    throw InputError("tile copy: mistake '" + name + "' on a GPU, which would hang; use the simulated SM");
  }
}

RunOutcome launch_copy(Device& device, const TileCopyProblem& problem, const LaunchShape& shape,
                       const TileCopyParams& params) {
  if (!problem.mistake.empty() && problem.stages != TileCopyConfig{}.stages) {
    throw InputError("tile copy: a mistake with " + std::to_string(problem.stages) +
                     " stages; mistakes are planted in " + std::to_string(TileCopyConfig{}.stages));
  }
  if (!problem.mistake.empty())
    return launch_with_mistake<TileCopyConfig{}>(device, problem.mistake, shape, params);
  switch (problem.stages) {
    case 1: return launch_stages<1>(device, shape, params);
    case 2: return launch_stages<2>(device, shape, params);
    case 3: return launch_stages<3>(device, shape, params);
    case 4: return launch_stages<4>(device, shape, params);
    case 5: return launch_stages<5>(device, shape, params);
    case 6: return launch_stages<6>(device, shape, params);
    case 7: return launch_stages<7>(device, shape, params);
    default: return launch_stages<8>(device, shape, params);
  }
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
TileCopyResult tile_copy<kTarget>(const TileCopyProblem& problem, const RunOptions& options,
                                  const std::vector<unsigned char>& source) {
  const TileCopyPlan plan = plan_tile_copy(problem);
  if (source.size() != plan.tensor_bytes) {
    throw InputError("tile copy: the source has " + std::to_string(source.size()) + " bytes; the tensor takes " +
                     std::to_string(plan.tensor_bytes));
  }
  Device device(options);
  DeviceBuffer input(device, "source", plan.tensor_bytes);
  input.upload(source.data());

  TileCopyParams params{};
  params.source = make_tensor_map(tensor_spec(problem, plan, input.data()));
  params.rank = problem.rank;
  params.boxes = plan.boxes;
  params.tx_bytes = plan.tx_bytes;
  params.tile_bytes = plan.tile_bytes;
  for (std::uint32_t d = 0; d < problem.rank; ++d) {
    params.counts[d] = plan.counts[d];
    params.start[d] = problem.start[d];
    params.box[d] = problem.box[d];
  }
  const std::size_t output_bytes = problem.image ? std::size_t{plan.boxes} * plan.tile_bytes : plan.tensor_bytes;
  std::vector<std::unique_ptr<DeviceBuffer>> outputs;
  for (std::uint32_t cta = 0; cta < problem.cluster; ++cta) {
    outputs.push_back(std::make_unique<DeviceBuffer>(device, "destination " + std::to_string(cta), output_bytes));
    outputs.back()->fill(kTileCopyPoison);
    if (problem.image) {
      params.image[cta] = static_cast<unsigned char*>(outputs.back()->data());
    } else {
      params.destination[cta] = make_tensor_map(tensor_spec(problem, plan, outputs.back()->data()));
    }
  }
  const LaunchShape shape{.grid = {problem.ctas},
                          .cluster = {problem.cluster},
                          .threads = isa::kWarpThreads * (1 + problem.consumer_warps)};
  TileCopyResult result;
  result.outcome = launch_copy(device, problem, shape, params);
  if (!result.outcome.ok()) return result;
  for (const auto& output : outputs) {
    result.outputs.emplace_back(output_bytes);
    output->download(result.outputs.back().data());
  }
  return result;
}

template <>
GpuList tile_copy_gpus<kTarget>() {
  return find_gpus();
}

}  // namespace heddle
