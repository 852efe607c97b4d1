// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "elf_program.h"
#include "tell.h"

#include "runtime/options.h"

#include <heddle/host/error.h>
#include <heddle/sim/accept.h>
#include <heddle/sim/schedule.h>
#include <heddle/sim/trace.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace heddle::tool {

namespace {

namespace fs = std::filesystem;

// As a shell looks for it.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (!fs::is_regular_file(name)) throw InputError(fmt::format("exec: there is no program '{}'", name));
    return name;
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / name;
    if (access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate)) return candidate;
  }
  const std::string hint = fs::exists(name) ? fmt::format(". There is ./{}", name) : "";
  throw InputError(fmt::format("exec: there is no program '{}' on PATH{}", name, hint));
}

// What comes with this program lies beside it, in the build tree as where it is installed.
fs::path beside_program(const char* folder) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / folder).lexically_normal();
}

void prepend(const char* variable, const std::string& value) {
  const char* old = std::getenv(variable);
  const std::string joined = old == nullptr || *old == '\0' ? value : value + ":" + old;
  setenv(variable, joined.c_str(), 1);
}

// An interpreter of Python runs the file sitecustomize.py of this folder first, which adds what PyTorch and
// Triton need.
void use_python(const fs::path& folder) {
  prepend("PYTHONPATH", (folder / "startup").string());
  setenv("HEDDLE_EXEC_PYTHON", beside_program(HEDDLE_PYTHON_FOLDER).c_str(), 1);
  // Each tensor is an allocation of its own then, so that a kernel that leaves one is seen.
  setenv("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", 0);
}

void use_runtime(const std::string& path) {
  const ElfProgram program = read_elf(path);
  const std::string wanted = program.library("libcudart.so");
  const bool is_12 = wanted == "libcudart.so.12" || program.has_runtime_12;
  if (!wanted.empty() && !is_12 && wanted != "libcudart.so.13") {
    throw InputError(
        fmt::format("exec: '{}' wants {}; there are libcudart.so.12 and libcudart.so.13. Build it with "
                    "CUDA 12.8 to 13.0",
                    path, wanted));
  }
  const fs::path folder = beside_program(HEDDLE_RUNTIME_FOLDER);
  const fs::path first = folder / (is_12 ? "cuda12" : "cuda13");
  const fs::path second = folder / (is_12 ? "cuda13" : "cuda12");
  const fs::path library = first / (is_12 ? "libcudart.so.12" : "libcudart.so.13");
  if (!fs::exists(library)) {
    throw InputError(
        fmt::format("exec: there is no {}; it is built and installed with this program", library.string()));
  }
  prepend("LD_LIBRARY_PATH", first.string() + ":" + second.string());
  // Before all others: a program that loads CUDA later, such as an interpreter, may find the real runtime first,
  // by the RPATH of a library; and functions of compilers that are linked to a program are replaced.
  prepend("LD_PRELOAD", library.string());
  if (program.has_rpath) {
    tell("heddle exec: '{}' has an RPATH, which comes before LD_LIBRARY_PATH: using LD_PRELOAD\n", path);
  }
  // Triton assembles its PTX itself, and looks for the driver in the system's folders first.
  const fs::path assembler = folder / "tools" / "ptxas";
  setenv("TRITON_PTXAS_PATH", assembler.c_str(), 1);
  setenv("TRITON_PTXAS_BLACKWELL_PATH", assembler.c_str(), 1);
  setenv("TRITON_LIBCUDA_PATH", first.c_str(), 1);
  // What CuPy has in machine code alone it also makes of source; CuTe DSL's cache would skip the compiler.
  setenv("CUPY_ACCELERATORS", "", 0);
  setenv("CUTE_DSL_DISABLE_FILE_CACHING", "1", 0);
  use_python(folder);
}

// What a shell takes as it is.
constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%";

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void set_number(const char* variable, std::uint64_t number) {
  setenv(variable, fmt::format("{}", number).c_str(), 1);
}

// What a token calls the program: a word that a shell takes as it is.
std::string program_name(const std::string& program) {
  std::string name = fs::path(program).filename().string();
  for (char& c : name) {
    if (kPlain.find(c) == std::string_view::npos || c == '@') c = '_';
  }
  return name;
}

void set_options(const ExecOptions& options) {
  if (options.arch != "sm90" && options.arch != "sm100") {
    throw InputError(fmt::format("exec: architecture '{}': sm90 or sm100", options.arch));
  }
  if (options.sms == 0) throw InputError("exec: no SM to run on; --sms is at least 1");
  setenv(runtime::kArchVariable, options.arch.c_str(), 1);
  set_number(runtime::kSmsVariable, options.sms);
  if (options.budget != 0) set_number(runtime::kBudgetVariable, options.budget);
  setenv(runtime::kRacesVariable, options.no_races ? "0" : "1", 1);
  setenv(runtime::kStrictVariable, options.strict ? "1" : "0", 1);
  for (const std::string& rule : options.accept) sim::AcceptRule::check(rule);
  setenv(runtime::kAcceptVariable, fmt::format("{}", fmt::join(options.accept, "\n")).c_str(), 1);
  std::vector<std::string> suppressed;
  for (const std::string& file : options.suppressions) {
    for (std::string& rule : sim::read_suppressions(file)) suppressed.push_back(std::move(rule));
  }
  setenv(runtime::kSuppressVariable, fmt::format("{}", fmt::join(suppressed, "\n")).c_str(), 1);
  const std::string program = program_name(options.command.front());
  setenv(runtime::kProgramVariable, program.c_str(), 1);
  const sim::ReplayToken token =
      options.schedule.empty() ? sim::ReplayToken{} : sim::ReplayToken::parse(options.schedule, program);
  setenv(runtime::kScheduleVariable, token.text().c_str(), 1);
  if (options.schedules != 0) {
    set_number(runtime::kSchedulesVariable, options.schedules);
    set_number(runtime::kSeedVariable, options.seed);
    if (options.depth != 0) set_number(runtime::kPctVariable, options.depth);
  }
  if (options.exhaust) set_number(runtime::kExhaustVariable, options.limit);
  setenv(runtime::kStatsVariable, options.stats ? "1" : "0", 1);
  if (!options.json.empty()) setenv(runtime::kJsonVariable, fs::absolute(options.json).c_str(), 1);
  if (!options.trace.empty()) {
    if ((options.schedules != 0 && options.schedule.empty()) || options.exhaust) {
      throw InputError("exec: --trace draws one run; give --schedule SEED instead of --schedules or --exhaust");
    }
    sim::Trace::check_path(options.trace);
    // The program may change its folder.
    setenv(runtime::kTraceVariable, fs::absolute(options.trace).c_str(), 1);
    set_number(runtime::kTraceEventsVariable, options.trace_events);
  }
  std::string again = "heddle exec";
  if (options.arch != "sm90") again += " --arch " + options.arch;
  if (options.sms != ExecOptions{}.sms) again += fmt::format(" --sms {}", options.sms);
  if (options.budget != 0) again += fmt::format(" --budget {}", options.budget);
  if (options.no_races) again += " --no-races";
  if (options.strict) again += " --strict";
  for (const std::string& code : options.accept) again += " --accept " + quoted(code);
  for (const std::string& file : options.suppressions) again += " --suppressions " + quoted(file);
  again += " --schedule {}";
  for (const std::string& word : options.command) again += " " + quoted(word);
  setenv(runtime::kAgainVariable, again.c_str(), 1);
}

[[noreturn]] void become(const std::string& path, const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
  tell("heddle: exec: '{}' cannot be run: {}\n", path, std::strerror(errno));
  std::_Exit(kBadUsage);
}

}  // namespace

CLI::App* add_exec(CLI::App& app, ExecOptions& options) {
  CLI::App* command = app.add_subcommand(
      "exec",
      "heddle exec [OPTIONS] PROGRAM ARGS...: run a CUDA program, or Python with one, against a "
      "simulated GPU; exit status: the program's");
  command->prefix_command();
  command->add_option("--arch", options.arch, "sm90 or sm100")->capture_default_str();
  command->add_option("--sms", options.sms, "How many SMs the card has")->capture_default_str();
  add_schedule_options(*command, options);
  command->add_option("--budget", options.budget,
                      "Instructions after which a launch is stopped with a report of where each warp is");
  command->add_flag("--no-races", options.no_races, "Do not look for races: faster");
  command->add_flag("--strict", options.strict, "Formal findings end a launch, too");
  command
      ->add_option("--accept", options.accept,
                   "A mistake that is told and does not end a launch: a code, or CODE@FILE:LINE for one place")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("CODE");
  command
      ->add_option("--suppressions", options.suppressions,
                   "A file of such mistakes, with a line code:pattern for each")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      ->add_option("--trace", options.trace,
                   "Write the timeline of the launches to a file that ends in .html, .json (Perfetto) or .svg")
      ->type_name("FILE");
  command->add_option("--trace-events", options.trace_events, "How many spans of it to keep")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}))
      ->capture_default_str();
  command
      ->add_option("--json", options.json,
                   "Write what is found to a file too, a line of JSON for each finding, message and error")
      ->type_name("FILE");
  command->add_flag("--stats", options.stats, "Say at the end how much was executed, and how fast");
  command->footer(
      "Examples:\n"
      "  heddle exec ./program --its --own=arguments\n"
      "  heddle exec --arch sm100 python kernels.py\n"
      "  heddle exec --trace program.html --schedule 7f3a ./program\n"
      "  heddle exec --json findings.jsonl ./program");
  return command;
}

namespace {

int start(const ExecOptions& options) {
  if (options.command.empty()) {
    throw InputError("exec: which program? heddle exec [--arch sm90|sm100] PROGRAM ARGS...");
  }
  if (options.command.front().starts_with('-')) {
    throw InputError(fmt::format("exec: there is no option '{}'; heddle exec --help lists those that there are",
                                 options.command.front()));
  }
  const std::string path = find_program(options.command.front());
  use_runtime(path);
  set_options(options);
  become(path, options.command);
}

// The file is there from the beginning, and holds nothing of a run before.
void write_json(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text << std::flush;
  if (!file) throw InputError(fmt::format("exec: --json '{}' cannot be written: {}", path, std::strerror(errno)));
}

void write_error(const std::string& path, const char* what) {
  const nlohmann::json line = {{"error", what}, {"status", kBadUsage}};
  // Names of files are any bytes.
  write_json(path, line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

void tell_refused_exec(const CLI::App& command, const char* what) {
  const std::vector<std::string> paths = command.get_option("--json")->results();
  if (!paths.empty() && !paths.back().empty()) write_error(paths.back(), what);
}

int exec(const ExecOptions& options) {
  if (options.json.empty()) return start(options);
  write_json(options.json, "");
  try {
    return start(options);
  } catch (const InputError& error) {
    write_error(options.json, error.what());
    throw;
  }
}

}  // namespace heddle::tool
