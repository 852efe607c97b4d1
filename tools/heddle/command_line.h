// SPDX-License-Identifier: Apache-2.0
//
// The command line: its commands, their options, and what a user has asked for. Nothing runs here.
#pragma once

#include "commands.h"
#include "matmul_bench.h"

#include <CLI/CLI.hpp>

#include <string>

namespace heddle::tool {

struct CommandLine {
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Throws CLI::ParseError: for a mistake, and for --help and --version.
  void parse(int argc, const char* const* argv);

  CLI::App app;
  InfoOptions info;
  CheckOptions check;
  MatmulOptions matmul;
  AttentionOptions attention;
  bench::MatmulBenchOptions bench;
  ExecOptions exec;
  TraceOptions trace;
  std::string completion_kind;

  CLI::App* info_command = nullptr;
  CLI::App* check_command = nullptr;
  CLI::App* matmul_command = nullptr;
  CLI::App* attention_command = nullptr;
  CLI::App* bench_command = nullptr;
  CLI::App* exec_command = nullptr;
  CLI::App* trace_command = nullptr;
  CLI::App* completion_command = nullptr;
};

}  // namespace heddle::tool
