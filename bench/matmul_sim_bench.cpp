// SPDX-License-Identifier: Apache-2.0
//
// How long whole Blackwell matmuls take in the simulated SM, all bookkeeping on: seconds, and multiply-adds a
// second.
#include "matmul/host/matmul_families.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using namespace heddle;

// Numbers of either sign and moderate size, with random fractions.
std::vector<unsigned char> random_numbers(std::int64_t bytes, std::uint32_t element_bytes) {
  std::mt19937 random(1);
  std::vector<unsigned char> data(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < data.size(); ++i) {
    const bool is_top = i % element_bytes == element_bytes - 1;
    data[i] = static_cast<unsigned char>(is_top ? (random() & 0x87) | 0x38 : random() & 0xff);
  }
  return data;
}

void count(benchmark::State& state, std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t instructions) {
  const double macs = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto runs = static_cast<double>(state.iterations());
  state.counters["multiply-adds/s"] = benchmark::Counter(macs * runs, benchmark::Counter::kIsRate);
  state.counters["instructions"] = static_cast<double>(instructions) / runs;
}

void multiply(benchmark::State& state, const MatmulProblem& problem, std::uint32_t sms) {
  const auto elems = [&](std::int64_t rows, std::int64_t cols, MatmulElement type) {
    return random_numbers(rows * cols * element_bytes_of(type), element_bytes_of(type));
  };
  const std::vector<unsigned char> a = elems(problem.m, problem.k, problem.a_type);
  const std::vector<unsigned char> b = elems(problem.n, problem.k, problem.a_type);
  std::vector<unsigned char> out = elems(problem.m, problem.n, problem.out_type);
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const RunOutcome outcome =
        matmul_sm100<Target::kSim>(problem, {.a = a.data(), .b = b.data(), .out = out.data()}, {.sms = sms});
    if (!outcome.ok()) return state.SkipWithError(outcome.report.c_str());
    instructions += outcome.instructions;
  }
  count(state, problem.m, problem.n, problem.k, instructions);
}

void multiply_scaled(benchmark::State& state, const MatmulScaledProblem& problem, std::uint32_t sms) {
  const std::int64_t scales = problem.k / scale_vector_of(problem.format);
  const std::int64_t b_rows = is_blockwise(problem.format) ? problem.n / 128 : problem.n;
  const std::vector<unsigned char> a =
      random_numbers(problem.m * problem.k * bits_of_element(problem.format) / 8, 1);
  const std::vector<unsigned char> b =
      random_numbers(problem.n * problem.k * bits_of_element(problem.format) / 8, 1);
  // A byte of 0x38 is 1 in ue4m3; four of them are a float.
  const std::vector<unsigned char> scale_bytes(static_cast<std::size_t>(4 * std::max(problem.m, b_rows) * scales),
                                               0x38);
  std::vector<unsigned char> out(static_cast<std::size_t>(problem.m * problem.n * 4));
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const RunOutcome outcome =
        matmul_scaled_sm100<Target::kSim>(problem,
                                          {.a = a.data(),
                                           .b = b.data(),
                                           .a_scales = {scale_bytes.data(), problem.m, scales},
                                           .b_scales = {scale_bytes.data(), b_rows, scales},
                                           .out = out.data()},
                                          {.sms = sms});
    if (!outcome.ok()) return state.SkipWithError(outcome.report.c_str());
    instructions += outcome.instructions;
  }
  count(state, problem.m, problem.n, problem.k, instructions);
}

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const char* name, const MatmulProblem& problem, std::uint32_t sms) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { multiply(state, problem, sms); })
        ->Unit(benchmark::kSecond)
        ->Iterations(1)
        ->UseRealTime();
  };
  add("bf16/1024x1024x1024/two SMs, CLC/8 SMs", {.m = 1024, .n = 1024, .k = 1024, .config = "2sm_256x256_2x1"},
      8);
  add("bf16/512x512x512/one SM, CLC/8 SMs", {.m = 512, .n = 512, .k = 512, .config = "1sm_128x64_1x1"}, 8);
  const auto add_scaled = [](const char* name, const MatmulScaledProblem& problem, std::uint32_t sms) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { multiply_scaled(state, problem, sms); })
        ->Unit(benchmark::kSecond)
        ->Iterations(1)
        ->UseRealTime();
  };
  add_scaled("nvfp4/512x512x512/two SMs, CLC/8 SMs",
             {.m = 512, .n = 512, .k = 512, .format = ScaledFormat::kNvfp4, .config = "2sm_256x256_2x1"}, 8);
  add_scaled("blockwise e4m3/512x512x512/one SM, CLC/8 SMs",
             {.m = 512, .n = 512, .k = 512, .format = ScaledFormat::kBlockwiseE4m3, .config = "1sm_128x128_1x1"},
             8);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
