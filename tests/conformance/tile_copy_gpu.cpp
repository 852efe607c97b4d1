// SPDX-License-Identifier: Apache-2.0
//
// The tile copy on a GPU and in the simulated SM, bytes compared: every number of stages, consumer warps,
// cluster size, swizzle and rank, and random boxes that reach outside of their tensors. Without a GPU it is
// skipped (status 77).
#include "tile_copy/tile_copy_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using heddle::TileCopyProblem;
using heddle::TileCopyResult;

constexpr int kSkipped = 77;
constexpr std::uint64_t kStageBytes = 16384;  // of the kernel's default configuration

struct Tally {
  std::uint64_t problems = 0;
  std::uint64_t boxes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t different = 0;
  std::uint64_t failed = 0;
};

std::string describe(const TileCopyProblem& p) {
  std::string text =
      fmt::format("rank {}, {}-byte elements, swizzle {}, stages {}, consumers {}, cluster {}, box", p.rank,
                  p.element_bytes, p.swizzle_bytes, p.stages, p.consumer_warps, p.cluster);
  for (std::uint32_t d = 0; d < p.rank; ++d) text += fmt::format(" {}", p.box[d]);
  text += ", tensor";
  for (std::uint32_t d = 0; d < p.rank; ++d) text += fmt::format(" {}", p.dims[d]);
  text += ", start";
  for (std::uint32_t d = 0; d < p.rank; ++d) text += fmt::format(" {}", p.start[d]);
  return text;
}

void compare(const TileCopyProblem& problem, std::mt19937_64& generator, Tally& tally) {
  const heddle::TileCopyPlan plan = heddle::plan_tile_copy(problem);
  std::vector<unsigned char> source(plan.tensor_bytes);
  for (unsigned char& byte : source) byte = static_cast<unsigned char>(generator());
  const std::string schedule = fmt::format("{:x}", generator() & 0xffffffffu);
  const TileCopyResult sim =
      heddle::tile_copy<heddle::Target::kSim>(problem, {.kernel = "tile_copy", .schedule = schedule}, source);
  const TileCopyResult gpu = heddle::tile_copy<heddle::Target::kCuda>(problem, {.kernel = "tile_copy"}, source);
  ++tally.problems;
  tally.boxes += plan.boxes;
  if (!sim.outcome.ok() || !gpu.outcome.ok()) {
    ++tally.failed;
    fmt::print("FAILED {}\n{}{}", describe(problem), sim.outcome.report, gpu.outcome.report);
    if (!gpu.outcome.ok()) std::exit(1);  // a GPU that has faulted answers nothing any more
    return;
  }
  std::uint64_t different = 0;
  for (std::size_t o = 0; o < sim.outputs.size(); ++o) {
    for (std::size_t i = 0; i < sim.outputs[o].size(); ++i)
      different += sim.outputs[o][i] != gpu.outputs[o][i] ? 1 : 0;
    tally.bytes += sim.outputs[o].size();
  }
  if (different != 0) fmt::print("DIFFERENT {} bytes: {}\n", different, describe(problem));
  tally.different += different;
}

// Every combination, on a small tensor with ragged edges.
void compare_configurations(Tally& tally, std::mt19937_64& generator) {
  for (std::uint32_t rank = 1; rank <= 5; ++rank) {
    for (std::uint32_t swizzle : {0u, 32u, 64u, 128u}) {
      for (std::uint32_t stages = 1; stages <= 8; ++stages) {
        for (std::uint32_t consumers = 1; consumers <= 4; ++consumers) {
          for (std::uint32_t cluster : {1u, 2u}) {
            TileCopyProblem p{.rank = rank,
                              .element_bytes = 2,
                              .swizzle_bytes = swizzle,
                              .stages = stages,
                              .consumer_warps = consumers,
                              .cluster = cluster,
                              .ctas = 2 * cluster};
            p.box[0] = swizzle == 0 ? 64 : swizzle / 2;
            p.dims[0] = 3 * p.box[0] + 8;  // 16 bytes, where stores are clipped
            for (std::uint32_t d = 1; d < rank; ++d) {
              p.box[d] = d == 1 ? 16 : 2;
              p.dims[d] = d == 1 ? 37 : 3;
            }
            compare(p, generator, tally);
          }
        }
      }
    }
  }
}

// Boxes that start before, inside and behind random tensors, as they lie in shared memory.
void compare_random_boxes(std::uint32_t count, Tally& tally, std::mt19937_64& generator) {
  const auto below = [&](std::uint64_t bound) { return generator() % bound; };
  while (tally.boxes < count) {
    TileCopyProblem p{.rank = static_cast<std::uint32_t>(1 + below(5)),
                      .element_bytes = 1u << below(4),
                      .stages = static_cast<std::uint32_t>(1 + below(8)),
                      .consumer_warps = static_cast<std::uint32_t>(1 + below(4)),
                      .cluster = static_cast<std::uint32_t>(1 + below(2)),
                      .image = true};
    constexpr std::uint32_t kSwizzles[] = {0, 32, 64, 128};
    p.swizzle_bytes = kSwizzles[below(4)];
    p.ctas = p.cluster * static_cast<std::uint32_t>(1 + below(4));
    const std::uint32_t span = p.swizzle_bytes == 0 ? 256 : p.swizzle_bytes;
    const auto chunks = static_cast<std::uint32_t>(1 + below(span / 16));  // of 16 bytes
    p.box[0] = chunks * 16 / p.element_bytes;
    if (p.box[0] > 256) continue;
    p.dims[0] = 1 + below(3 * p.box[0]);
    p.start[0] = static_cast<std::int32_t>(16 / p.element_bytes) * (static_cast<std::int32_t>(below(24)) - 16);
    for (std::uint32_t d = 1; d < p.rank; ++d) {
      p.box[d] = static_cast<std::uint32_t>(1 + below(d == 1 ? 24 : 3));
      p.dims[d] = 1 + below(3 * p.box[d]);
      p.start[d] = static_cast<std::int32_t>(below(2 * p.box[d] + 1)) - static_cast<std::int32_t>(p.box[d]) - 1;
    }
    bool is_inside = true;
    for (std::uint32_t d = 0; d < p.rank; ++d) is_inside &= p.start[d] < static_cast<std::int64_t>(p.dims[d]);
    std::uint64_t tile_bytes = std::max(p.box[0] * p.element_bytes, p.swizzle_bytes);
    for (std::uint32_t d = 1; d < p.rank; ++d) tile_bytes *= p.box[d];
    if (!is_inside || tile_bytes > kStageBytes) continue;
    compare(p, generator, tally);
  }
}

void print(const char* what, const Tally& tally) {
  fmt::print("{}: {} problems, {} boxes, {} bytes compared, {} different, {} failed\n", what, tally.problems,
             tally.boxes, tally.bytes, tally.different, tally.failed);
}

}  // namespace

int main(int argc, char** argv) {
  const heddle::GpuList list = heddle::tile_copy_gpus<heddle::Target::kCuda>();
  if (list.gpus.empty()) {
    fmt::print("skipped: {}\n", list.why);
    return kSkipped;
  }
  const std::uint32_t boxes = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 5000;
  fmt::print("{} against the simulated SM, seed 7\n", list.gpus[0].name);
  std::mt19937_64 generator(7);
  Tally configurations;
  compare_configurations(configurations, generator);
  print("configurations", configurations);
  Tally random;
  compare_random_boxes(boxes, random, generator);
  print("random boxes", random);
  const bool same = configurations.different + configurations.failed + random.different + random.failed == 0;
  return same ? 0 : 1;
}
