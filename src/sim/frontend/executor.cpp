// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/executor.h"

#include "sim/check/deadlock.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace heddle::sim::frontend {

using machine::Fault;
using machine::Machine;
using machine::Thread;

namespace {

thread_local Executor* current_executor = nullptr;

// With nothing in flight, a state that has not changed over so many decisions will not change any more:
// every thread that can run only polls.
constexpr std::uint64_t kQuietDecisions = 100'000;

// A thread that only loads gives way after so many instructions, so that a loop on a flag lets others set it.
constexpr std::uint64_t kLoadsPerTurn = 1024;

}  // namespace

Executor::Executor(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry,
                   const void* params)
    : options_(options),
      entry_(entry),
      params_(params),
      machine_(options, shape, entry.threads, entry.shared_bytes, entry.registers),
      strategy_(explore::make_strategy(options.schedule)) {
  machine_.add_observer(history_);
  if (options.check_races) machine_.add_observer(races_.emplace(machine_));
}

Executor& Executor::current() {
  if (current_executor == nullptr) {
    std::fputs("heddle: a kernel instruction was called outside of sim::launch\n", stderr);
    std::abort();
  }
  return *current_executor;
}

Report Executor::run() {
  Executor* outer = std::exchange(current_executor, this);
  caller_.adopt_current();
  running_fiber_ = &caller_;
  // Threads come back here when SMs have become free, and at the end.
  while (!ended_) {
    start_threads();
    dispatch();
  }
  if (!diagnosis_) finish_copies();
  take_finding();
  current_executor = outer;
  Report report;
  if (diagnosis_) report.diagnoses.push_back(std::move(*diagnosis_));
  report.stats = machine_.stats();
  report.schedule = options_.schedule.name();
  return report;
}

void Executor::start_threads() {
  for (Thread* thread : machine_.start_clusters()) {
    while (seats_.size() <= thread->slot) seats_.emplace_back();
    Seat& seat = seats_[thread->slot];
    seat.executor = this;
    seat.thread = thread;
    seat.fiber.prepare(thread_main, &seat);
  }
}

void Executor::thread_main(void* argument) {
  Seat& seat = *static_cast<Seat*>(argument);
  Executor& executor = *seat.executor;
  std::byte* shared = seat.thread->cta->shared + machine::kSharedBase;
  executor.entry_.run(executor.params_, shared);
  bool found_mistake = false;
  try {
    executor.machine_.thread_exit(*seat.thread);
  } catch (const Fault& fault) {
    executor.record(fault);
    found_mistake = true;
  }
  if (found_mistake) executor.abandon();
  // The stack of this fiber may be given to a thread of the next cluster, so nobody starts one on it.
  if (executor.machine_.has_free_sms()) {
    executor.return_to_caller();
  } else {
    executor.dispatch();
  }
  std::abort();  // an exited thread is never resumed
}

Thread* Executor::next_thread() {
  for (;;) {
    if (take_finding()) return nullptr;
    const std::size_t ready = machine_.ready().size();
    const std::size_t copies = machine_.in_flight();
    if (ready == 0 && machine_.all_done()) return nullptr;
    if (machine_.state_changes() != last_change_) {
      last_change_ = machine_.state_changes();
      quiet_ = 0;
    }
    if (copies == 0 && (ready == 0 || ++quiet_ > kQuietDecisions)) {
      explain_stop();
      return nullptr;
    }
    const explore::Choice choice = strategy_->choose(ready, copies);
    if (choice.is_copy) {
      if (!step_copy(choice)) return nullptr;
      continue;
    }
    Thread* next = machine_.ready()[choice.index];
    if (next != running_) ++machine_.stats().thread_switches;
    return next;
  }
}

bool Executor::step_copy(const explore::Choice& choice) {
  try {
    machine_.step_copy(choice.index, choice.entropy);
    return true;
  } catch (const Fault& fault) {
    record(fault);
    return false;
  }
}

// An observer cannot stop the machine in the middle of an instruction; its finding ends the run before the next.
bool Executor::take_finding() {
  if (!races_ || !races_->finding()) return false;
  if (!diagnosis_) {
    const check::Finding& finding = *races_->finding();
    diagnosis_ = check::make_diagnosis(finding.code, finding.headline, finding.details, options_);
  }
  return true;
}

bool Executor::take_last_finding() {
  if (races_) races_->finish();
  return take_finding();
}

void Executor::explain_stop() {
  if (take_last_finding()) return;
  try {
    machine_.check_register_waits();
    diagnosis_ = check::explain_deadlock(machine_, history_, options_);
  } catch (const Fault& fault) {
    record(fault);
  }
}

void Executor::end_run() {
  ended_ = true;
  return_to_caller();
}

void Executor::return_to_caller() {
  if (running_fiber_ == &caller_) return;
  Fiber* left = std::exchange(running_fiber_, &caller_);
  left->switch_to(caller_);
}

void Executor::finish_copies() {
  while (machine_.in_flight() != 0) {
    if (!step_copy({.is_copy = true, .index = 0, .entropy = 0})) return;
  }
}

bool Executor::is_turn_over(bool visible, CallSite site) {
  const std::uint64_t count = ++machine_.stats().instructions;
  if (take_finding()) end_run();
  if (count > options_.max_steps) {
    diagnosis_ = check::explain_budget(machine_, history_, options_, site);
    end_run();
  }
  return visible ? strategy_->preempts() : count % kLoadsPerTurn == 0;
}

void Executor::record(const Fault& fault) {
  if (take_last_finding()) return;  // what was wrong before this
  diagnosis_ = check::make_diagnosis(fault.code, fault.headline, fault.details, options_);
}

void Executor::abandon() noexcept {
  end_run();
  std::abort();  // a run that has ended is never resumed
}

machine::SharedAddress Executor::address_of(const void* shared, CallSite site) {
  const machine::Cluster& cluster = *running_->cta->cluster;
  const auto distance = static_cast<std::uint64_t>(static_cast<const std::byte*>(shared) - cluster.arena);
  const std::uint64_t rank = distance / machine::kArenaStride;
  if (rank >= cluster.ctas.size()) {
    machine_.fault(running_, site, "not_shared",
                   shared == nullptr ? "a null pointer where shared memory was expected"
                                     : "a pointer where shared memory was expected, which does not point there");
  }
  return static_cast<machine::SharedAddress>(distance % machine::kArenaStride | rank << machine::kRankShift);
}

void* Executor::pointer_to(machine::SharedAddress address) {
  return running_->cta->cluster->arena + std::size_t{address >> machine::kRankShift} * machine::kArenaStride +
         (address & machine::kOffsetMask);
}

}  // namespace heddle::sim::frontend
