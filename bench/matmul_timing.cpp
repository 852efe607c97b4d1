// SPDX-License-Identifier: Apache-2.0
//
// What the timing model says of each instance of the Hopper matmul, in cycles: one cluster, simulated for few
// blocks along K and few tiles. matmul_predicted.py makes predictions for whole matmuls of it.
//
//   matmul_timing > pieces.json
#include "matmul_timing.h"

#include "matmul/host/matmul_sm90_plan.h"

#include <heddle/sim/timing.h>

#include <cstdio>
#include <string>

namespace heddle::timing {

namespace {

// A tile of `b` blocks takes first + b * block, one that follows another `next` + b * block.
struct Pieces {
  double first;
  double block;
  double next;
};

Pieces pieces_of(const Timed& timed, bool stores_float) {
  const std::uint32_t stages = kMatmulSm90Instances[timed.instance].config.stages;
  const std::uint32_t few = stages + 4;
  const std::uint32_t many = stages + 12;
  const auto cycles = [&](std::uint32_t tiles, std::uint32_t blocks) {
    return timed.cycles({.tiles = tiles, .blocks = blocks, .stores_float = stores_float});
  };
  const double one = cycles(1, many);
  // By two tiles, since two warpgroups may take turns.
  const double tile = (cycles(4, many) - cycles(2, many)) / 2;
  const double block = (one - cycles(1, few)) / (many - few);
  return {.first = one - many * block, .block = block, .next = tile - many * block};
}

void print(const Timed& timed, bool is_last) {
  const MatmulSm90Config& config = kMatmulSm90Instances[timed.instance].config;
  const Pieces plain = pieces_of(timed, false);
  const std::string name = name_of(MatmulSm90Choice{.instance = timed.instance});
  std::printf("    {\"instance\": \"%s\", \"first\": %.0f, \"block\": %.1f, \"next\": %.0f",
              name.substr(0, name.find('@')).c_str(), plain.first, plain.block, plain.next);
  if (!config.is_swapped) {
    const Pieces parts = pieces_of(timed, true);
    std::printf(", \"first_of_floats\": %.0f, \"next_of_floats\": %.0f", parts.first, parts.next);
  }
  std::printf(", \"join\": {");
  const char* comma = "";
  const std::uint32_t blocks = config.stages + 4;
  for (std::uint32_t parts = 2; parts <= isa::kMaxPortableCluster; ++parts) {
    if (!config.joins(parts)) continue;
    std::printf("%s\"%u\": %.0f", comma, parts,
                timed.cycles({.blocks = blocks, .parts = parts}) - blocks * plain.block);
    comma = ", ";
  }
  std::printf("}}%s\n", is_last ? "" : ",");
  std::fflush(stdout);
}

int run() {
  std::vector<Timed> all = timed_instances<MatmulGroup::kLarge>();
  for (const Timed& timed : timed_instances<MatmulGroup::kSmall>()) all.push_back(timed);
  for (const Timed& timed : timed_instances<MatmulGroup::kSwapped>()) all.push_back(timed);
  const sim::Timing& timing = sim::timing_of(Arch::kSm90);
  std::printf("{\n  \"clock_ghz\": %.2f,\n  \"sms\": %u,\n  \"launch_us\": %.2f,\n", timing.clock_ghz, timing.sms,
              timing.launch_us);
  std::printf("  \"l2_bytes\": %.0f,\n  \"memory_bytes\": %.0f,\n  \"instances\": [\n", timing.l2_bytes,
              timing.memory_bytes);
  for (const Timed& timed : all) print(timed, &timed == &all.back());
  std::printf("  ]\n}\n");
  return 0;
}

}  // namespace

}  // namespace heddle::timing

int main() { return heddle::timing::run(); }
