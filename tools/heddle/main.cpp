// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"
#include "tell.h"

#include <heddle/host/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

// Whether what is printed is for a program. What follows `exec` is for the program that it runs.
bool wants_json(int argc, char** argv) {
  const std::vector<std::string_view> words(argv, argv + argc);
  const bool is_exec = words.size() > 1 && words[1] == "exec";
  return !is_exec && std::find(words.begin(), words.end(), "--json") != words.end();
}

int fail(bool as_json, const char* what, int status) {
  // Whatever bytes a user has given, and wherever the output goes: this is the last that can be said.
  constexpr auto kAnyBytes = nlohmann::json::error_handler_t::replace;
  if (as_json) {
    const nlohmann::json result = {{"error", what}, {"status", status}};
    std::fputs((result.dump(2, ' ', false, kAnyBytes) + "\n").c_str(), stdout);
  }
  heddle::tool::tell("heddle: {}\n", what);
  return status;
}

// A result that could not be written is no result.
int written(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  heddle::tool::tell("heddle: the standard output cannot be written: {}\n", std::strerror(errno));
  return status == heddle::tool::kWell ? heddle::tool::kFailed : status;
}

int run(int argc, char** argv) {
  using namespace heddle::tool;
  CommandLine line;
  try {
    line.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_error = error.get_exit_code() != 0;
    if (is_error) tell_refused_exec(*line.exec_command, error.what());
    if (is_error && wants_json(argc, argv)) return fail(true, error.what(), kBadUsage);
    return line.app.exit(error) == 0 ? kWell : kBadUsage;
  }
  if (line.info_command->parsed()) return info(line.info);
  if (line.check_command->parsed()) return check(line.check);
  if (line.matmul_command->parsed()) return matmul(line.matmul);
  if (line.attention_command->parsed()) return attention(line.attention);
  if (line.bench_command->parsed()) return heddle::tool::bench(line.bench);
  if (line.completion_command->parsed()) {
    fmt::print("{}", completion(line.app, line.completion_kind));
    return kWell;
  }
  if (line.trace_command->parsed()) return heddle::tool::trace(line.trace, *line.trace_command);
  if (line.exec_command->parsed()) return exec(line.exec);
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
