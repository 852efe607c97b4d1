// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "elf_program.h"

#include "runtime/options.h"

#include <heddle/host/error.h>
#include <heddle/sim/accept.h>
#include <heddle/sim/schedule.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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

// Where the shared objects are: beside this program, in the build tree as where it is installed.
fs::path runtime_folder() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path() / HEDDLE_RUNTIME_FOLDER;
  return folder.lexically_normal();
}

void prepend(const char* variable, const std::string& value) {
  const char* old = std::getenv(variable);
  const std::string joined = old == nullptr || *old == '\0' ? value : value + ":" + old;
  setenv(variable, joined.c_str(), 1);
}

void use_runtime(const std::string& path) {
  const ElfProgram program = read_elf(path);
  const std::string wanted = program.library("libcudart.so");
  // The runtime that nvcc links into a program is redirected by the program's symbols.
  if (program.has_device_code && wanted.empty() && !program.has_symbols) {
    throw InputError(fmt::format(
        "exec: '{}' has the CUDA runtime linked in and was stripped of its symbols, so that the runtime "
        "cannot be found in it. Do not strip it, or build it with nvcc -cudart shared",
        path));
  }
  const bool is_12 = wanted == "libcudart.so.12" || program.has_runtime_12;
  if (!wanted.empty() && !is_12 && wanted != "libcudart.so.13") {
    throw InputError(
        fmt::format("exec: '{}' wants {}; there are libcudart.so.12 and libcudart.so.13. Build it with "
                    "CUDA 12.8 to 13.0",
                    path, wanted));
  }
  const fs::path folder = runtime_folder();
  const fs::path first = folder / (is_12 ? "cuda12" : "cuda13");
  const fs::path second = folder / (is_12 ? "cuda13" : "cuda12");
  const fs::path library = first / (is_12 ? "libcudart.so.12" : "libcudart.so.13");
  if (!fs::exists(library)) {
    throw InputError(
        fmt::format("exec: there is no {}; it is built and installed with this program", library.string()));
  }
  prepend("LD_LIBRARY_PATH", first.string() + ":" + second.string());
  // A program that loads CUDA later, such as an interpreter, may find the real runtime first, by the RPATH of a
  // library.
  if (program.has_rpath || wanted.empty()) prepend("LD_PRELOAD", library.string());
  if (program.has_rpath) {
    fmt::print(stderr, "heddle exec: '{}' has an RPATH, which comes before LD_LIBRARY_PATH: using LD_PRELOAD\n",
               path);
  }
  // Triton assembles its PTX itself, and looks for the driver in the system's folders first.
  const fs::path assembler = folder / "tools" / "ptxas";
  setenv("TRITON_PTXAS_PATH", assembler.c_str(), 1);
  setenv("TRITON_PTXAS_BLACKWELL_PATH", assembler.c_str(), 1);
  setenv("TRITON_LIBCUDA_PATH", first.c_str(), 1);
}

constexpr int kEnding[] = {SIGTERM, SIGINT, SIGHUP};

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void set_number(const char* variable, std::uint64_t number) {
  setenv(variable, fmt::format("{}", number).c_str(), 1);
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
  for (const std::string& rule : options.accept) sim::AcceptRule::parse(rule);
  setenv(runtime::kAcceptVariable, fmt::format("{}", fmt::join(options.accept, "\n")).c_str(), 1);
  std::vector<std::string> suppressed;
  for (const std::string& file : options.suppressions) {
    for (std::string& rule : sim::read_suppressions(file)) suppressed.push_back(std::move(rule));
  }
  setenv(runtime::kSuppressVariable, fmt::format("{}", fmt::join(suppressed, "\n")).c_str(), 1);
  setenv(runtime::kStatsVariable, options.stats ? "1" : "0", 1);
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
  fmt::print(stderr, "heddle: exec: '{}' cannot be run: {}\n", path, std::strerror(errno));
  std::_Exit(kBadUsage);
}

// The program that runs, and the signal that ended this one meanwhile: both are to stop.
volatile pid_t running = 0;
volatile std::sig_atomic_t stopped_by = 0;

void pass_on(int signal) {
  stopped_by = signal;
  if (running > 0) kill(running, signal);
}

// The exit status as a shell would give it. A signal that ends this process ends the program, too.
int run_and_wait(const std::string& path, const std::vector<std::string>& command) {
  std::fflush(nullptr);
  // No signal comes between the start of the program and knowing its number.
  sigset_t ending;
  sigset_t before;
  sigemptyset(&ending);
  for (const int signal : kEnding) sigaddset(&ending, signal);
  sigprocmask(SIG_BLOCK, &ending, &before);
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : kEnding) std::signal(signal, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    become(path, command);
  }
  running = child;
  for (const int signal : kEnding) std::signal(signal, pass_on);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw std::runtime_error("exec: no new process");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running = 0;
  if (stopped_by != 0) std::_Exit(128 + stopped_by);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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
  command->add_option("--schedule", options.schedule, "rr, or a seed in hexadecimal")->default_str("rr");
  command->add_option("--schedules", options.schedules, "Run the program again under so many random schedules")
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Of the first random schedule")->capture_default_str();
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
  command->add_flag("--stats", options.stats, "Say at the end how much was executed, and how fast");
  return command;
}

int exec(const ExecOptions& options) {
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
  const std::string first = options.schedule.empty() ? "rr" : sim::Schedule::parse(options.schedule).name();
  setenv(runtime::kScheduleVariable, first.c_str(), 1);
  if (options.schedules == 0 || !options.schedule.empty()) become(path, options.command);

  int worst = run_and_wait(path, options.command);
  std::uint32_t failed = worst == 0 ? 0 : 1;
  for (std::uint32_t s = 0; s < options.schedules; ++s) {
    const std::string name = sim::Schedule::random(options.seed + s).name();
    setenv(runtime::kScheduleVariable, name.c_str(), 1);
    const int status = run_and_wait(path, options.command);
    if (status == 0) continue;
    ++failed;
    fmt::print(stderr, "heddle exec: status {} with schedule {}\n", status, name);
    if (worst == 0) worst = status;
  }
  fmt::print(stderr, "heddle exec: {} schedules, {} with a status other than 0\n", options.schedules + 1, failed);
  return worst;
}

}  // namespace heddle::tool
