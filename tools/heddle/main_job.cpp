// SPDX-License-Identifier: Apache-2.0
//
// A matrix through a four-stage TMA pipeline, every byte checked; then the same kernel with one release
// dropped, to show what an explained hang looks like.
#include "commands.h"
#include "device.h"

#include <fmt/format.h>

#include <chrono>
#include <random>

namespace heddle::tool {

namespace {

TileCopyProblem matrix() {
  return {.rank = 2,
          .element_bytes = 2,
          .dims = {1000, 1024},
          .box = {64, 64},
          .swizzle_bytes = 128,
          .stages = 4,
          .consumer_warps = 4,
          .cluster = 1,
          .ctas = 4};
}

std::vector<unsigned char> random_bytes(std::size_t count) {
  std::mt19937_64 generator(20);
  std::vector<unsigned char> bytes(count);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(generator());
  return bytes;
}

bool run_on(const DeviceId& device, const std::string& where, const std::vector<unsigned char>& source) {
  const auto start = std::chrono::steady_clock::now();
  const TileCopyResult result = run_tile_copy(device, matrix(), {.kernel = "tile_copy"}, source);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!result.outcome.ok()) {
    fmt::print("{}\n", result.outcome.report);
    return false;
  }
  std::size_t different = 0;
  for (std::size_t i = 0; i < source.size(); ++i) different += result.outputs[0][i] != source[i] ? 1 : 0;
  fmt::print("{}: {} of {} bytes arrived unchanged ({:.2f} s)\n", where, source.size() - different, source.size(),
             took.count());
  if (!device.is_gpu()) {
    fmt::print("  {} copies, {} instructions, {} thread switches\n", result.outcome.copies,
               result.outcome.instructions, result.outcome.thread_switches);
  }
  return different == 0;
}

}  // namespace

int main_job() {
  const TileCopyProblem problem = matrix();
  const std::vector<unsigned char> source = random_bytes(plan_tile_copy(problem).tensor_bytes);
  fmt::print(
      "A {} x {} matrix of 16-bit elements, in tiles of {} x {}, through {} stages: one warp loads with TMA,\n"
      "{} warps take the tiles and store them with TMA; {} CTAs of {} threads.\n\n",
      problem.dims[1], problem.dims[0], problem.box[1], problem.box[0], problem.stages, problem.consumer_warps,
      problem.ctas, 32 * (1 + problem.consumer_warps));
  if (!run_on({}, "simulated SM", source)) return kFailed;
  const GpuList list = gpus();
  const DeviceId gpu = find_device("auto");
  if (!gpu.is_gpu()) {
    fmt::print("GPU: skipped, {}\n", list.gpus.empty() ? list.why : "none is a Hopper or Blackwell");
  } else if (!run_on(gpu, list.gpus[static_cast<std::size_t>(gpu.ordinal)].name, source)) {
    return kFailed;
  }

  fmt::print("\nThe same kernel, but one consumer warp does not release one stage:\n\n");
  TileCopyProblem broken = problem;
  broken.ctas = 1;
  broken.mistake = "drop_release";
  const TileCopyResult result = run_tile_copy(
      {}, broken, {.kernel = "tile_copy", .again = "heddle check tile_copy --mistake drop_release"}, source);
  fmt::print("{}", result.outcome.report);
  if (result.outcome.ok()) {
    fmt::print("the dropped release was not noticed\n");
    return kFailed;
  }
  return kWell;
}

}  // namespace heddle::tool
