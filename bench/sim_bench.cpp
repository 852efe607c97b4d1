// SPDX-License-Identifier: Apache-2.0
//
// How fast the simulated SM is on this machine: thread switches, instructions, bytes through the copy engine.
// The counters are what to read; all bookkeeping is on unless a name says otherwise.
#include "tile_copy/tile_copy_host.h"

#include <heddle/host/tensor_map.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/sim/launch.h>

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace {

using namespace heddle;

constexpr std::uint32_t kThreadsPerCta = 384;

// 384 threads that meet warp by warp, over and over: each meeting is 32 switches.
struct MeetInWarps {
  struct Params {
    std::uint32_t rounds;
  };
  struct Shared {};
  static constexpr std::uint32_t kThreads = kThreadsPerCta;
  static void run(const Params& params, Shared&) {
    for (std::uint32_t i = 0; i < params.rounds; ++i) isa::syncwarp();
  }
};

// 384 threads that meet on a named barrier.
struct MeetInCta {
  using Params = MeetInWarps::Params;
  using Shared = MeetInWarps::Shared;
  static constexpr std::uint32_t kThreads = kThreadsPerCta;
  static void run(const Params& params, Shared&) {
    for (std::uint32_t i = 0; i < params.rounds; ++i) isa::syncthreads();
  }
};

// Loads and stores of 16 bytes, the data path of a kernel.
struct LoadAndStore {
  using Params = MeetInWarps::Params;
  struct Shared {
    isa::Bytes16 words[kThreadsPerCta];
  };
  static constexpr std::uint32_t kThreads = kThreadsPerCta;
  static void run(const Params& params, Shared& shared) {
    isa::Bytes16* mine = &shared.words[isa::tid_x()];
    isa::st_shared(mine, {});
    for (std::uint32_t i = 0; i < params.rounds; ++i) isa::st_shared(mine, isa::ld_shared(mine));
  }
};

template <class Kernel>
void simulate(benchmark::State& state, sim::Schedule schedule, std::uint32_t rounds) {
  std::uint64_t switches = 0;
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const sim::Report report = sim::launch<Kernel>({.schedule = schedule}, {.grid = {1}}, {.rounds = rounds});
    if (!report.ok()) return state.SkipWithError(report.text().c_str());
    switches += report.stats.thread_switches;
    instructions += report.stats.instructions;
  }
  state.counters["switches/s"] = benchmark::Counter(static_cast<double>(switches), benchmark::Counter::kIsRate);
  state.counters["instructions/s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void copy_tiles(benchmark::State& state, const std::string& schedule) {
  const TileCopyProblem problem{
      .rank = 2, .element_bytes = 2, .dims = {2048, 2048}, .box = {64, 64}, .swizzle_bytes = 128, .ctas = 4};
  const std::vector<unsigned char> source(plan_tile_copy(problem).tensor_bytes, 1);
  std::uint64_t bytes = 0;
  std::uint64_t switches = 0;
  for (auto _ : state) {
    const TileCopyResult result = tile_copy<Target::kSim>(problem, {.schedule = schedule}, source);
    if (!result.outcome.ok()) return state.SkipWithError(result.outcome.report.c_str());
    bytes += result.outcome.copy_bytes;
    switches += result.outcome.thread_switches;
  }
  state.counters["switches/s"] = benchmark::Counter(static_cast<double>(switches), benchmark::Counter::kIsRate);
  state.counters["TMA bytes/s"] = benchmark::Counter(static_cast<double>(bytes), benchmark::Counter::kIsRate);
}

// The copy engine alone: loads as fast as one thread can issue and wait for them.
struct LoadTiles {
  struct Params {
    TensorMap map;
    std::uint32_t rounds;
  };
  struct Shared {
    alignas(1024) unsigned char tile[8][8192];
    SharedMemBarrier full;
  };
  static constexpr std::uint32_t kThreads = 1;
  static void run(const Params& params, Shared& shared) {
    isa::mbarrier_init(&shared.full, 1);
    isa::fence_mbarrier_init();
    for (std::uint32_t i = 0; i < params.rounds; ++i) {
      isa::mbarrier_arrive_expect_tx(&shared.full, sizeof(shared.tile));
      for (auto& tile : shared.tile) isa::cp_async_bulk_tensor_load(tile, &params.map, {0, 0}, &shared.full);
      while (!isa::mbarrier_try_wait_parity(&shared.full, i & 1)) {
      }
    }
  }
};

void load_tiles(benchmark::State& state) {
  std::vector<unsigned char> source(8192, 1);
  sim::GlobalMemory memory;
  memory.add("source", source.data(), source.size());
  const LoadTiles::Params params{.map = make_tensor_map({.type = TensorType::kU8,
                                                         .rank = 2,
                                                         .address = source.data(),
                                                         .dims = {128, 64},
                                                         .strides = {128},
                                                         .box = {128, 64},
                                                         .swizzle = Swizzle::k128B}),
                                 .rounds = 1000};
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    const sim::Report report = sim::launch<LoadTiles>({.memory = &memory}, {.grid = {1}}, params);
    if (!report.ok()) return state.SkipWithError(report.text().c_str());
    bytes += report.stats.copy_bytes;
  }
  state.counters["TMA bytes/s"] = benchmark::Counter(static_cast<double>(bytes), benchmark::Counter::kIsRate);
}

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const char* name, auto function) {
    benchmark::RegisterBenchmark(name, function)->Unit(benchmark::kMillisecond);
  };
  add("meet_in_warps/round_robin", [](auto& s) { simulate<MeetInWarps>(s, sim::Schedule::round_robin(), 1000); });
  add("meet_in_warps/random", [](auto& s) { simulate<MeetInWarps>(s, sim::Schedule::random(1), 1000); });
  add("meet_in_cta/round_robin", [](auto& s) { simulate<MeetInCta>(s, sim::Schedule::round_robin(), 1000); });
  add("load_and_store/round_robin",
      [](auto& s) { simulate<LoadAndStore>(s, sim::Schedule::round_robin(), 1000); });
  add("load_tiles", load_tiles);
  add("tile_copy/round_robin", [](auto& s) { copy_tiles(s, "rr"); });
  add("tile_copy/random", [](auto& s) { copy_tiles(s, "1"); });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
