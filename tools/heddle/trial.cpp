// SPDX-License-Identifier: Apache-2.0
#include "trial.h"

#include <heddle/host/error.h>
#include <heddle/sim/schedule.h>

#include <CLI/CLI.hpp>

#include <unistd.h>

namespace heddle::tool {

void add_trial_options(CLI::App& command, TrialOptions& o) {
  command.add_option("--device", o.device, "auto, cuda:N, sim:sm90 or sim:sm100")->capture_default_str();
  command.add_option("--seed", o.seed, "Of the data and of the first random schedule")->capture_default_str();
  command.add_option("--schedules", o.schedules, "Simulated SM: so many random schedules after round robin")
      ->capture_default_str();
  command.add_option("--schedule", o.schedule, "Simulated SM: one schedule only, rr or a seed in hexadecimal");
  command.add_option("--sms", o.sms, "Simulated SM: how many, 1 to 1024")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_flag("--no-races", o.no_races, "Simulated SM: do not look for races, which is faster");
  command.add_flag("--strict", o.strict, "Simulated SM: formal findings end the run, too");
  command.add_option("--accept", o.accept, "Simulated SM: a mistake that does not end the run, as for exec")
      ->allow_extra_args(false)
      ->type_name("CODE");
  command.add_flag("--json", o.json, "Print JSON");
}

void check_memory(std::string_view what, double bytes) {
  const double have = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes > have) {
    throw InputError(
        fmt::format("the {} and their reference take {:.3g} bytes; this machine has {:.3g}", what, bytes, have));
  }
}

std::vector<std::string> schedules_of(const TrialOptions& options, const DeviceId& device) {
  if (!options.schedule.empty()) return {sim::Schedule::parse(options.schedule).name()};
  std::vector<std::string> schedules = {"rr"};
  for (std::uint32_t s = 0; !device.is_gpu() && s < options.schedules; ++s) {
    schedules.push_back(sim::Schedule::random(options.seed + s).name());
  }
  return schedules;
}

std::string Again::with(const TrialOptions& o) {
  const TrialOptions plain;
  add("--seed", o.seed, plain.seed);
  add("--sms", o.sms, plain.sms);
  flag("--no-races", o.no_races);
  flag("--strict", o.strict);
  for (const std::string& rule : o.accept) text_ += " --accept " + rule;
  return text_;
}

void print_first(const Runs& runs) {
  if (!runs.first.empty()) fmt::print("{}\n", runs.first);
  if (!runs.remarks.empty()) fmt::print("{}\n", runs.remarks);
}

void print_runs(const Runs& runs) {
  fmt::print("  runs            {}, {} with a report, {} with a wrong output\n", runs.runs, runs.reports,
             runs.wrong);
}

void print_time(const Runs& runs, const DeviceId& device, double flops) {
  if (!device.is_gpu()) {
    fmt::print("  time            {:.2f} s in the simulated SM\n", runs.seconds);
  } else if (runs.seconds > 0) {
    fmt::print("  time            {:.2f} us in the kernel{}, one cold launch\n", runs.seconds * 1e6,
               flops == 0 ? "" : fmt::format(", {:.1f} TFLOP/s", flops / runs.seconds / 1e12));
  }
}

}  // namespace heddle::tool
