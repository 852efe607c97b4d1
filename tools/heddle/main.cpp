// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "matmul_bench.h"

#include <heddle/host/error.h>
#include <heddle/version.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

// A value that is empty, or below zero where there is no such number, would otherwise be read as some number.
void check_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    const bool is_unsigned = option->get_type_name() == "UINT";
    option->check([=](const std::string& value) -> std::string {
      if (value.empty()) return "an empty value";
      if (is_unsigned && value.front() == '-') return fmt::format("{}; a number from 0 on", value);
      return {};
    });
  }
  for (CLI::App* command : app.get_subcommands({})) check_values(*command);
}

// Whether what is printed is for a program. What follows `exec` is for the program that it runs.
bool wants_json(int argc, char** argv) {
  const std::vector<std::string_view> words(argv, argv + argc);
  const bool is_exec = words.size() > 1 && words[1] == "exec";
  return !is_exec && std::find(words.begin(), words.end(), "--json") != words.end();
}

int fail(bool as_json, const char* what, int status) {
  if (as_json) fmt::print("{}\n", nlohmann::json{{"error", what}, {"status", status}}.dump(2));
  fmt::print(stderr, "heddle: {}\n", what);
  return status;
}

// A result that could not be written is no result.
int written(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  fmt::print(stderr, "heddle: the standard output cannot be written: {}\n", std::strerror(errno));
  return status == heddle::tool::kWell ? heddle::tool::kFailed : status;
}

int run(int argc, char** argv) {
  using namespace heddle::tool;
  CLI::App app(
      "Warp-specialised GPU kernels, and a simulated SM that runs them on a CPU.\n"
      "Without a command: a Blackwell matmul in the simulated SM, its timeline, and an explained hang.");
  app.set_version_flag("--version", fmt::format("heddle {}.{}.{}", HEDDLE_VERSION_MAJOR, HEDDLE_VERSION_MINOR,
                                                HEDDLE_VERSION_PATCH));
  app.require_subcommand(0, 1);

  InfoOptions info_options;
  CLI::App* info_command = app.add_subcommand("info", "Devices, and the memory map of each kernel");
  info_command->add_flag("--json", info_options.json, "Print JSON");

  CheckOptions check_options;
  CLI::App* check_command = app.add_subcommand(
      "check", "Run a kernel under many schedules and check its output; exit status 1 on a report");
  check_command->add_option("kernel", check_options.kernel, "tile_copy")->capture_default_str();
  add_check_options(*check_command, check_options);
  check_command->footer(
      "Examples:\n"
      "  heddle check tile_copy\n"
      "  heddle check tile_copy --mistake drop_release --schedule rr");

  MatmulOptions matmul_options;
  CLI::App* matmul_command = add_matmul(app, matmul_options);
  AttentionOptions attention_options;
  CLI::App* attention_command = add_attention(app, attention_options);
  heddle::bench::MatmulBenchOptions bench_options;
  CLI::App* bench_command = add_bench(app, bench_options);
  ExecOptions exec_options;
  CLI::App* exec_command = add_exec(app, exec_options);
  TraceOptions trace_options;
  CLI::App* trace_command = add_trace(app, trace_options);
  std::string completion_kind;
  CLI::App* completion_command = app.add_subcommand(
      "completion", "Print a shell's completion script, or with man the manual page of this program");
  completion_command->add_option("kind", completion_kind, "bash, zsh, fish or man")->required();
  completion_command->footer(
      "Examples:\n"
      "  source <(heddle completion bash)\n"
      "  heddle completion fish > ~/.config/fish/completions/heddle.fish\n"
      "  heddle completion man | man -l -");

  check_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_error = error.get_exit_code() != 0;
    if (is_error && wants_json(argc, argv)) return fail(true, error.what(), kBadUsage);
    return app.exit(error) == 0 ? kWell : kBadUsage;
  }
  if (info_command->parsed()) return info(info_options);
  if (check_command->parsed()) return check(check_options);
  if (matmul_command->parsed()) return matmul(matmul_options);
  if (attention_command->parsed()) return attention(attention_options);
  if (bench_command->parsed()) return heddle::tool::bench(bench_options);
  if (completion_command->parsed()) {
    fmt::print("{}", completion(app, completion_kind));
    return kWell;
  }
  if (trace_command->parsed()) return heddle::tool::trace(trace_options, *trace_command);
  if (exec_command->parsed()) {
    exec_options.command = exec_command->remaining();
    return exec(exec_options);
  }
  return main_job();
}

}  // namespace

int main(int argc, char** argv) {
  const bool as_json = wants_json(argc, argv);
  try {
    return written(run(argc, argv));
  } catch (const heddle::InputError& error) {
    return fail(as_json, error.what(), heddle::tool::kBadUsage);
  } catch (const std::exception& error) {
    return written(fail(as_json, error.what(), heddle::tool::kFailed));
  }
}
