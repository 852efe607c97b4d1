// SPDX-License-Identifier: Apache-2.0
//
// A kernel of two warps, run in the simulated SM: each thread of one warp writes a word to shared memory, the
// other warp copies the words to global memory in reverse order.
#include <heddle/isa/entry.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/sim/launch.h>
#include <heddle/version.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace heddle;

struct Reverse {
  static constexpr std::uint32_t kWords = 32;
  static constexpr std::uint32_t kThreads = 2 * kWords;
  struct Params {
    std::uint32_t* output;
  };
  struct Shared {
    std::uint32_t words[kWords];
  };

  static void run(const Params& params, Shared& shared) {
    const std::uint32_t lane = isa::tid_x() % kWords;
    const bool is_writer = isa::tid_x() < kWords;
    if (is_writer) isa::st_shared(&shared.words[lane], 100 + lane);
    isa::bar_sync(1, kThreads);
    if (!is_writer) isa::st_global(&params.output[lane], isa::ld_shared(&shared.words[kWords - 1 - lane]));
  }
};

}  // namespace

int main() {
  std::vector<std::uint32_t> output(Reverse::kWords);
  sim::GlobalMemory memory;
  memory.add("output", output.data(), output.size() * sizeof(output[0]));
  const sim::Report report = sim::launch<Reverse>({.memory = &memory}, {}, {.output = output.data()});
  if (!report.ok()) {
    std::fputs(report.text().c_str(), stderr);
    return 1;
  }
  for (std::uint32_t i = 0; i < Reverse::kWords; ++i) {
    if (output[i] != 100 + Reverse::kWords - 1 - i) {
      std::fprintf(stderr, "word %u is %u\n", i, output[i]);
      return 1;
    }
  }
  std::printf("heddle %d.%d.%d ran a kernel\n", HEDDLE_VERSION_MAJOR, HEDDLE_VERSION_MINOR, HEDDLE_VERSION_PATCH);
}
