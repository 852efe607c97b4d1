// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "matmul_bench.h"

#include <heddle/host/error.h>

#include <CLI/CLI.hpp>

namespace heddle::tool {

CLI::App* add_bench(CLI::App& app, bench::MatmulBenchOptions& options) {
  CLI::App* command = app.add_subcommand(
      "bench",
      "Time the Hopper matmul on a GPU, against cublasLt where it can be loaded, or attention; exit status 2\n"
      "without a GPU");
  command->add_option("shape", options.shapes, "M,N,K, one or more; without any, those of docs/results");
  command->add_option(
      "--suite", options.suite,
      "Shapes by name: results (those of docs/results), llm (layers of language models), fp8 (e4m3 with "
      "scales), moe (grouped), attention or decode (attention of one query over a cache)");
  command->add_flag("--tune", options.is_tuning,
                    "Try every configuration that could be fast, and several orders of tiles");
  command->add_option("--write", options.write,
                      "With --tune: add the fastest to this file, for HEDDLE_TUNE_FILE");
  command->add_option("--config", options.config, "A configuration by name instead of the library's choice");
  command->add_option("--rounds", options.rounds, "Bursts of each kernel")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--sustained", options.sustained_s, "Seconds of sustained load for each kernel; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--json", options.prints_json, "Print JSON");
  return command;
}

int bench(const bench::MatmulBenchOptions& options) {
#if HEDDLE_WITH_MATMUL_BENCH
  return bench::run_matmul_bench(options);
#else
  (void)options;
  throw InputError(
      "bench: this program was built without the GPU part of the matmul, which it measures; configure with "
      "nvcc, -DHEDDLE_CUDA=ON and 90a among HEDDLE_CUDA_ARCHS");
#endif
}

}  // namespace heddle::tool
