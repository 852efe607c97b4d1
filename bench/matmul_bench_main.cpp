// SPDX-License-Identifier: Apache-2.0
//
//   matmul_bench                                          the shapes of docs/results
//   matmul_bench --shape 4096,4096,4096 --json out.json
//   matmul_bench --tune 4096,4096,4096 --write FILE       a search; the library reads FILE (HEDDLE_TUNE_FILE)
//   matmul_bench --sweep --shapes FILE --json out.json    all configurations of many shapes
//   matmul_bench --once 8192,8192,8192 --config NAME      a single launch, for a profiler (or cublasLt:0)
#include "matmul_bench.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <exception>

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  heddle::bench::MatmulBenchOptions options;
  std::vector<std::string> tuned;
  CLI::App app("heddle's matmul against cublasLt");
  app.add_option("--shape", options.shapes, "M,N,K; may be repeated (default: the twelve of docs/results)");
  app.add_option("--tune", tuned,
                 "M,N,K: try every configuration that could be fast, and several orders of tiles");
  app.add_option("--write", options.write, "with --tune: add the fastest to this tune file");
  app.add_option("--shapes", options.shape_file, "a file with a shape M,N,K in each line");
  app.add_option(
      "--suite", options.suite,
      "results: the twelve of docs/results; llm: layers of language models; fp8: e4m3 with scales; moe: "
      "grouped matmuls; attention; decode: attention of one query");
  app.add_flag("--sweep", options.is_sweeping,
               "time every configuration of each shape briefly, for fit_matmul_sm90.py");
  app.add_flag("--by-model", options.is_by_model,
               "with --sweep: leave out what the present cost model puts far behind");
  app.add_flag("--all", options.is_whole, "with --sweep: also what no card could run fast");
  app.add_option("--tiles", options.tiles,
                 "with --sweep: only configurations whose names begin so, beside the library's choice")
      ->delimiter(',');
  app.add_option("--seconds", options.seconds, "begin no shape after so long");
  app.add_option("--once", options.once, "M,N,K: one launch of --config, checked");
  app.add_option("--config", options.config, "a configuration by name instead of the library's choice");
  app.add_option("--json", options.json, "write the report to this file");
  app.add_option("--rounds", options.rounds, "bursts of each kernel")->check(CLI::PositiveNumber);
  app.add_option("--search-rounds", options.search_rounds, "bursts of each candidate in a search")
      ->check(CLI::PositiveNumber);
  app.add_option("--search-rest", options.search_rest,
                 "with --tune: idle time after a burst, in times of the burst");
  app.add_option("--groups", options.groups, "with --tune: the heights of bands that are tried");
  app.add_option("--sustained", options.sustained_s, "seconds of the sustained regime for each kernel; 0: none");
  app.add_flag("--alone", options.is_alone, "no kernel starts before the one ahead of it has ended");
  CLI11_PARSE(app, argc, argv);
  if (!tuned.empty()) {
    options.shapes = tuned;
    options.is_tuning = true;
  }
  try {
    return heddle::bench::run_matmul_bench(options);
  } catch (const heddle::bench::NoGpu& error) {
    fmt::print("skipped: {}\n", error.what());
    return kSkipped;
  } catch (const std::exception& error) {
    fmt::print(stderr, "matmul_bench: {}\n", error.what());
    return 1;
  }
}
