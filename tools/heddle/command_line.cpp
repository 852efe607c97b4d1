// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <heddle/version.h>

#include <fmt/format.h>

namespace heddle::tool {

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

}  // namespace

CommandLine::CommandLine()
    : app("Warp-specialised GPU kernels, and a simulated SM that runs them on a CPU.\n"
          "Without a command: a Blackwell matmul in the simulated SM, its timeline, and an explained hang.") {
  app.set_version_flag("--version", fmt::format("heddle {}.{}.{}", HEDDLE_VERSION_MAJOR, HEDDLE_VERSION_MINOR,
                                                HEDDLE_VERSION_PATCH));
  app.require_subcommand(0, 1);

  info_command = app.add_subcommand("info", "Devices, and the memory map of each kernel");
  info_command->add_flag("--json", info.json, "Print JSON");

  check_command = app.add_subcommand(
      "check", "Run a kernel under many schedules and check its output; exit status 1 on a report");
  check_command->add_option("kernel", check.kernel, "tile_copy")->capture_default_str();
  add_check_options(*check_command, check);
  check_command->footer(
      "Examples:\n"
      "  heddle check tile_copy\n"
      "  heddle check tile_copy --mistake drop_release --schedule rr");

  matmul_command = add_matmul(app, matmul);
  attention_command = add_attention(app, attention);
  bench_command = add_bench(app, bench);
  exec_command = add_exec(app, exec);
  trace_command = add_trace(app, trace);
  completion_command = app.add_subcommand(
      "completion", "Print a shell's completion script, or with man the manual page of this program");
  completion_command->add_option("kind", completion_kind, "bash, zsh, fish or man")->required();
  completion_command->footer(
      "Examples:\n"
      "  source <(heddle completion bash)\n"
      "  heddle completion fish > ~/.config/fish/completions/heddle.fish\n"
      "  heddle completion man | man -l -");

  check_values(app);
}

void CommandLine::parse(int argc, const char* const* argv) {
  app.parse(argc, argv);
  if (exec_command->parsed()) exec.command = exec_command->remaining();
}

}  // namespace heddle::tool
