// SPDX-License-Identifier: Apache-2.0
//
// How long whole Blackwell matmuls take in the simulated SM, all bookkeeping on: seconds, and multiply-adds a second.
#include "matmul_sm100_host.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

namespace {

using namespace heddle;

void multiply(benchmark::State& state, const MatmulSm100Problem& problem, std::uint32_t sms) {
  // Numbers of either sign between a quarter and four, with random fractions.
  std::mt19937 random(1);
  const auto elems = [&](std::int64_t rows, std::int64_t cols, MatmulElement type) {
    const std::uint32_t bytes = element_bytes_of(type);
    std::vector<unsigned char> data(static_cast<std::size_t>(rows * cols) * bytes);
    for (std::size_t i = 0; i < data.size(); ++i) {
      const bool is_top = i % bytes == bytes - 1;
      data[i] = static_cast<unsigned char>(is_top ? (random() & 0x87) | 0x38 : random() & 0xff);
    }
    return data;
  };
  const std::vector<unsigned char> a = elems(problem.m, problem.k, problem.input);
  const std::vector<unsigned char> b = elems(problem.n, problem.k, problem.input);
  std::vector<unsigned char> out = elems(problem.m, problem.n, problem.output);
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const RunOutcome outcome =
        matmul_sm100<Target::kSim>(problem, {.a = a.data(), .b = b.data(), .out = out.data()}, {.sms = sms});
    if (!outcome.ok()) return state.SkipWithError(outcome.report.c_str());
    instructions += outcome.instructions;
  }
  const auto macs = static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
  state.counters["multiply-adds/s"] =
      benchmark::Counter(macs * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["instructions"] = static_cast<double>(instructions) / static_cast<double>(state.iterations());
}

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const char* name, const MatmulSm100Problem& problem, std::uint32_t sms) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { multiply(state, problem, sms); })
        ->Unit(benchmark::kSecond)
        ->Iterations(1)
        ->UseRealTime();
  };
  add("bf16/1024x1024x1024/two SMs, CLC/8 SMs", {.m = 1024, .n = 1024, .k = 1024, .config = "2sm_256x256_2x1"}, 8);
  add("bf16/512x512x512/one SM, CLC/8 SMs", {.m = 512, .n = 512, .k = 512, .config = "1sm_128x64_1x1"}, 8);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
