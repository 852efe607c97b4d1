// SPDX-License-Identifier: Apache-2.0
//
// A kernel of the library on random data, under one schedule or several, its output compared each time: what the
// commands for matmuls and for attention have in common.
#pragma once

#include "commands.h"
#include "progress.h"

#include <heddle/host/device_id.h>
#include <heddle/host/run_options.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tool {

// --device and everything behind it.
void add_trial_options(CLI::App& command, TrialOptions& options);

// Before the data are made, and the machine starts to swap.
void check_memory(std::string_view what, double bytes);

std::vector<std::string> schedules_of(const TrialOptions& options, const DeviceId& device);

// A command that shows a run again: what differs from an option's default, in the order in which it is added.
class Again {
 public:
  explicit Again(std::string command) : text_(std::move(command)) {}

  template <class Value>
  void add(const char* option, const Value& value, const Value& usual) {
    if (value != usual) text_ += fmt::format(" {} {}", option, value);
  }
  void flag(const char* option, bool is_set) {
    if (is_set) text_ += fmt::format(" {}", option);
  }
  // Without what says which schedules it runs.
  std::string with(const TrialOptions& options);

 private:
  std::string text_;
};

// What the runs came to.
struct Runs {
  std::uint32_t runs = 0;
  std::uint32_t reports = 0;
  std::uint32_t wrong = 0;
  std::string first;    // the first report, or what was wrong
  std::string remarks;  // of the first run
  double seconds =
      0;  // of the first run: of the kernel on a GPU (0: not known), otherwise by the clock on the wall

  int status() const { return reports == 0 && wrong == 0 ? kWell : kFailed; }
};

// Verdict: `checked` elements of an output, the `error` of the one that comes nearest to its `bound`, and what is
// `wrong`.
template <class Verdict>
struct Tally : Runs {
  Verdict verdict;
};

// Trial: reset_output(), run(device, options) and verify() of what is run.
template <class Trial>
auto run_all(Trial& trial, const DeviceId& device, const TrialOptions& options, RunOptions run) {
  const std::vector<std::string> schedules = schedules_of(options, device);
  run.sms = options.sms;
  run.check_races = !options.no_races;
  run.strict = options.strict;
  run.accepted = options.accept;
  Tally<decltype(trial.verify())> tally;
  for (const std::string& schedule : schedules) {
    run.schedule = schedule;
    trial.reset_output();
    const auto start = std::chrono::steady_clock::now();
    RunOutcome outcome;
    {
      const Ticker ticker(fmt::format("schedule {} of {}", tally.runs + 1, schedules.size()));
      outcome = trial.run(device, run);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (tally.runs++ == 0) {
      tally.seconds = device.is_gpu() ? outcome.kernel_ms / 1e3 : took.count();
      tally.remarks = outcome.remarks;
    }
    if (!outcome.ok()) {
      if (tally.reports++ == 0) tally.first = outcome.report;
      continue;
    }
    const auto verdict = trial.verify();
    if (!verdict.ok() && tally.wrong++ == 0) {
      tally.verdict = verdict;
      if (tally.first.empty()) tally.first = fmt::format("with schedule {}, {}\n", schedule, verdict.wrong);
    } else if (tally.wrong == 0 && (tally.verdict.checked == 0 ||
                                    verdict.error * tally.verdict.bound > tally.verdict.error * verdict.bound)) {
      tally.verdict = verdict;
    }
  }
  return tally;
}

// How a report begins and ends, and what is about the runs in it.
void print_first(const Runs& runs);
void print_runs(const Runs& runs);
void print_time(const Runs& runs, const DeviceId& device, double flops);  // 0 of these: not told

template <class Verdict>
nlohmann::json json_of(const Tally<Verdict>& tally, const TrialOptions& options, const DeviceId& device) {
  return {{"device", device.name()},
          {"seed", options.seed},
          {"schedules", tally.runs},
          {"reports", tally.reports},
          {"wrong_outputs", tally.wrong},
          {"elements_checked", tally.verdict.checked},
          {"largest_error", tally.verdict.error},
          {"error_bound", tally.verdict.bound},
          {"seconds", tally.seconds},
          {"seconds_are", device.is_gpu() ? "kernel" : "wall"},
          {"first", tally.first},
          {"remarks", tally.remarks}};
}

}  // namespace heddle::tool
