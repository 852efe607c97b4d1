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
      machine_(options, shape, entry.threads, entry.shared_bytes),
      strategy_(explore::make_strategy(options.schedule)) {
  machine_.add_observer(history_);
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
  current_executor = outer;
  Report report;
  if (diagnosis_) report.diagnoses.push_back(std::move(*diagnosis_));
  report.stats = machine_.stats();
  report.schedule = options_.schedule.name();
  return report;
}

void Executor::start_threads() {
  for (Thread* thread : machine_.start_clusters()) {
    while (seats_.size() <= thread->slot) seats_.push_back(std::make_unique<Seat>());
    Seat& seat = *seats_[thread->slot];
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

void Executor::dispatch() {
  for (;;) {
    const std::size_t ready = machine_.ready().size();
    const std::size_t copies = machine_.tma().in_flight();
    if (ready == 0 && machine_.all_done()) return end_run();
    if (machine_.state_changes() != last_change_) {
      last_change_ = machine_.state_changes();
      quiet_ = 0;
    }
    if (copies == 0 && (ready == 0 || ++quiet_ > kQuietDecisions)) {
      diagnosis_ = check::explain_deadlock(machine_, history_, options_);
      return end_run();
    }
    const explore::Choice choice = strategy_->choose(ready, copies);
    if (choice.is_copy) {
      if (!step_copy(choice)) return end_run();
      continue;
    }
    Thread* next = machine_.ready()[choice.index];
    Fiber& fiber = seats_[next->slot]->fiber;
    if (&fiber == running_fiber_) return;
    ++machine_.stats().thread_switches;
    running_ = next;
    Fiber* left = std::exchange(running_fiber_, &fiber);
    left->switch_to(fiber);
    return;
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
  while (machine_.tma().in_flight() != 0) {
    if (!step_copy({.is_copy = true, .index = 0, .entropy = 0})) return;
  }
}

void Executor::count_instruction(bool visible, CallSite site) {
  const std::uint64_t count = ++machine_.stats().instructions;
  if (count > options_.max_steps) {
    diagnosis_ = check::explain_budget(machine_, history_, options_, site);
    end_run();
  }
  if (visible ? strategy_->preempts() : count % kLoadsPerTurn == 0) give_way();
}

void Executor::give_way() { dispatch(); }

void Executor::suspend() { dispatch(); }

void Executor::record(const Fault& fault) {
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
