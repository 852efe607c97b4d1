// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/run.h"

#include "sim/check/deadlock.h"
#include "sim/trace/recorder.h"

#include <heddle/sim/trace.h>

#include <utility>

namespace heddle::sim::frontend {

using machine::Fault;
using machine::Thread;

namespace {

// With nothing in flight, a state that has not changed over so many decisions will not change any more:
// every thread that can run only polls.
constexpr std::uint64_t kQuietDecisions = 100'000;

// So many more are watched, to see what is polled.
constexpr std::uint64_t kWatchedDecisions = 10'000;

// After so many, threads that sleep in a mbarrier.try_wait may give it up.
constexpr std::uint64_t kQuietTry = 2'000;

}  // namespace

Run::Run(const LaunchOptions& options, const LaunchShape& shape, std::uint32_t threads, std::size_t shared_bytes,
         std::uint32_t registers)
    : options_(options),
      machine_(options, shape, threads, shared_bytes, registers),
      own_strategy_(options.strategy == nullptr ? explore::make_strategy(options.schedule) : nullptr),
      strategy_(options.strategy == nullptr ? own_strategy_.get() : options.strategy) {
  machine_.add_observer(history_);
  if (options.check_races) machine_.add_observer(races_.emplace(machine_, machine_.findings()));
  if (races_ && options.history != nullptr) {
    machine_.add_observer(
        overlap_.emplace(machine_, races_->order(), machine_.findings(), *options.history, options.kernel));
  }
  if (options.trace != nullptr) {
    recorder_ = std::make_unique<trace::Recorder>(machine_, options, options.trace->timeline());
    machine_.add_observer(*recorder_);
  }
}

Run::~Run() = default;

Thread* Run::next_thread() {
  for (;;) {
    if (take_finding()) return nullptr;
    const std::size_t ready = machine_.ready().size();
    const std::size_t copies = machine_.in_flight();
    if (ready == 0 && machine_.all_done()) return nullptr;
    if (machine_.state_changes() != last_change_) {
      last_change_ = machine_.state_changes();
      quiet_ = 0;
    }
    if (copies == 0) {
      if (ready == 0 && machine_.mbarriers.end_tries()) continue;
      if (ready == 0 || ++quiet_ > kQuietDecisions + kWatchedDecisions) {
        explain_stop();
        return nullptr;
      }
      if (quiet_ > kQuietDecisions && !polls_) machine_.add_observer(polls_.emplace());
      if (quiet_ % kQuietTry == 0) machine_.mbarriers.end_tries();
    }
    const explore::Choice choice = strategy_->choose(machine_);
    if (choice.is_copy) {
      ++machine_.stats().steps;
      if (!step_copy(choice)) return nullptr;
      continue;
    }
    Thread* next = machine_.ready()[choice.index];
    if (next != running_) ++machine_.stats().thread_switches;
    return next;
  }
}

bool Run::step_copy(const explore::Choice& choice) {
  try {
    machine_.step_copy(choice.index, choice.entropy);
    return true;
  } catch (const Fault& fault) {
    record(fault);
    return false;
  }
}

// An observer cannot stop the machine in the middle of an instruction; its finding ends the run before the next.
bool Run::take_finding() {
  if (!races_) return false;
  const std::optional<check::Finding>& found =
      !races_->finding() && overlap_ ? overlap_->finding() : races_->finding();
  if (!found) return false;
  if (!diagnosis_) diagnosis_ = check::make_diagnosis(*found, options_);
  return true;
}

bool Run::take_last_finding() {
  if (races_) races_->finish();
  return take_finding();
}

void Run::explain_stop() {
  if (take_last_finding()) return;
  try {
    machine_.registers.check_waits();
    diagnosis_ = check::explain_deadlock(machine_, history_, options_, polls_ ? &*polls_ : nullptr);
  } catch (const Fault& fault) {
    record(fault);
  }
}

void Run::explain_budget(CallSite site, bool knows_places) {
  diagnosis_ = check::explain_budget(machine_, history_, options_, site, knows_places);
}

void Run::record(const Fault& fault) {
  if (take_last_finding()) return;  // what was wrong before this
  diagnosis_ = check::make_diagnosis(fault, options_);
}

void Run::finish_copies() {
  while (machine_.in_flight() != 0) {
    if (!step_copy({.is_copy = true, .index = 0, .entropy = 0})) return;
  }
}

Report Run::make_report() {
  if (!diagnosis_) finish_copies();
  take_finding();
  if (overlap_) overlap_->finish();
  Report report;
  if (diagnosis_) report.diagnoses.push_back(std::move(*diagnosis_));
  for (const machine::Findings::Told& one : machine_.findings().told()) {
    std::vector<Diagnosis>& told = one.accepted_by.empty() ? report.formal : report.accepted;
    told.push_back(check::make_diagnosis(one.fault, options_));
    told.back().times = one.times;
    told.back().accepted_by = one.accepted_by;
  }
  report.stats = machine_.stats();
  report.schedule = options_.schedule.name();
  if (recorder_) recorder_->finish(report);
  return report;
}

}  // namespace heddle::sim::frontend
