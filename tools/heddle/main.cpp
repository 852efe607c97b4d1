// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <heddle/host/error.h>
#include <heddle/pipeline/mutant.h>
#include <heddle/version.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

std::string mistake_list() {
  std::string text = "Plants a mistake in the kernel:";
  for (const heddle::MistakeName& known : heddle::kMistakes) text += fmt::format("\n  {}: {}", known.name, known.meaning);
  return text;
}

int run(int argc, char** argv) {
  using namespace heddle::tool;
  CLI::App app("Warp-specialised GPU kernels, and a simulated SM that runs them on a CPU.\n"
               "Without a command: a matrix through a TMA pipeline, and an explained hang.");
  app.set_version_flag("--version", fmt::format("heddle {}.{}.{}", HEDDLE_VERSION_MAJOR, HEDDLE_VERSION_MINOR,
                                                HEDDLE_VERSION_PATCH));
  app.require_subcommand(0, 1);

  InfoOptions info_options;
  CLI::App* info_command = app.add_subcommand("info", "Devices, and the memory map of each kernel");
  info_command->add_flag("--json", info_options.json, "Print JSON");

  CheckOptions check_options;
  CLI::App* check_command =
      app.add_subcommand("check", "Run a kernel under many schedules and check its output; exit status 1 on a report");
  check_command->add_option("kernel", check_options.kernel, "tile_copy")->capture_default_str();
  check_command->add_option("--device", check_options.device, "auto, cuda:N, sim:sm90 or sim:sm100")
      ->capture_default_str();
  check_command->add_option("--schedule", check_options.schedule, "One schedule only: rr, or a seed in hexadecimal");
  check_command->add_option("--schedules", check_options.schedules, "How many random schedules, after round robin")
      ->capture_default_str();
  check_command->add_option("--seed", check_options.seed, "Of the data and of the first random schedule")
      ->capture_default_str();
  check_command->add_option("--mistake", check_options.mistake, mistake_list());
  check_command->add_option("--stages", check_options.stages, "1 to 8")->capture_default_str();
  check_command->add_option("--consumers", check_options.consumer_warps, "Warps that store, 1 to 4")
      ->capture_default_str();
  check_command->add_option("--cluster", check_options.cluster, "CTAs in a cluster, 1 or 2")->capture_default_str();
  check_command->add_flag("--json", check_options.json, "Print JSON");

  heddle::bench::MatmulBenchOptions bench_options;
  CLI::App* bench_command = app.add_subcommand(
      "bench", "Time the Hopper matmul on a GPU, against cublasLt where it can be loaded; exit status 2 without a GPU");
  bench_command->add_option("shape", bench_options.shapes, "M,N,K, one or more; without any, those of docs/results");
  bench_command->add_flag("--tune", bench_options.is_tuning,
                          "Try every configuration that could be fast, and several orders of tiles");
  bench_command->add_option("--write", bench_options.write,
                            "With --tune: add the fastest to this file, which HEDDLE_TUNE_FILE can name");
  bench_command->add_option("--config", bench_options.config, "A configuration by name instead of the library's choice");
  bench_command->add_option("--rounds", bench_options.rounds, "Bursts of each kernel")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  bench_command->add_option("--sustained", bench_options.sustained_s, "Seconds of sustained load for each kernel; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  bench_command->add_flag("--json", bench_options.prints_json, "Print JSON");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kWell : kBadUsage;
  }
  if (info_command->parsed()) return info(info_options);
  if (check_command->parsed()) return check(check_options);
  if (bench_command->parsed()) return bench(bench_options);
  return main_job();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const heddle::InputError& error) {
    fmt::print(stderr, "heddle: {}\n", error.what());
    return heddle::tool::kBadUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "heddle: {}\n", error.what());
    return heddle::tool::kFailed;
  }
}
