// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/executor.h"

#include "sim/frontend/stack_watch.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

namespace heddle::sim::frontend {

using machine::Fault;
using machine::Machine;
using machine::Thread;

namespace {

thread_local Executor* current_executor = nullptr;

// A thread that only loads gives way after so many instructions, so that a loop on a flag lets others set it.
constexpr std::uint64_t kLoadsPerTurn = 1024;

}  // namespace

Executor::Executor(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry,
                   const void* params)
    : Run(options, shape, entry.threads, entry.shared_bytes, entry.registers), entry_(entry), params_(params) {}

Executor* Executor::current_or_null() { return current_executor; }

Executor& Executor::current() {
  if (current_executor == nullptr) {
    std::fputs("heddle: a kernel instruction was called outside of sim::launch\n", stderr);
    std::abort();
  }
  return *current_executor;
}

bool Executor::has_overflowed(const void* address) {
  if (current_executor == nullptr || current_executor->running_fiber_ == &current_executor->caller_) return false;
  const Stack& stack = current_executor->running_fiber_->stack();
  const auto distance = static_cast<const std::byte*>(stack.bottom) - static_cast<const std::byte*>(address);
  return distance > 0 && static_cast<std::size_t>(distance) <= kGuardBytes;
}

Report Executor::run() {
  // Kernels may launch kernels.
  struct Current {
    explicit Current(Executor* inner) : outer(std::exchange(current_executor, inner)) {}
    ~Current() { current_executor = outer; }
    Executor* outer;
  };
  watch_stacks();
  const Current current(this);
  caller_.adopt_current();
  running_fiber_ = &caller_;
  // Threads come back here when SMs have become free, and at the end.
  while (!ended_) {
    start_threads();
    dispatch();
  }
  if (lost_) std::rethrow_exception(std::exchange(lost_, nullptr));
  return make_report();
}

void Executor::start_threads() {
  for (Thread* thread : machine_.start_clusters()) {
    while (seats_.size() <= thread->slot) seats_.emplace_back();
    Seat& seat = seats_[thread->slot];
    seat.executor = this;
    seat.thread = thread;
    seat.fiber.prepare(thread_main, &seat, options_.stack_bytes == 0 ? kStackBytes : options_.stack_bytes);
  }
}

void Executor::keep_exception() noexcept {
  try {
    throw;
  } catch (const Fault& fault) {
    try {
      record(fault);
    } catch (...) {
      lost_ = std::current_exception();
    }
  } catch (...) {
    lost_ = std::current_exception();
  }
}

// Nothing may be thrown past the first frame of a stack, nor kept on it: it is never unwound.
bool Executor::run_thread(const Seat& seat) noexcept {
  const auto fail = [&](const char* what) {
    machine_.fault(seat.thread, {}, FaultCode::kException,
                   fmt::format("the kernel threw an exception, which no GPU has: {}", what));
  };
  try {
    try {
      entry_.run(params_, seat.thread->cta->shared + machine::kSharedBase);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      fail(error.what());
    } catch (...) {
      fail("not a std::exception");
    }
    machine_.thread_exit(*seat.thread);
    return true;
  } catch (...) {
    keep_exception();
    return false;
  }
}

void Executor::thread_main(void* argument) {
  const Seat& seat = *static_cast<Seat*>(argument);
  Executor& executor = *seat.executor;
  if (!executor.run_thread(seat)) executor.abandon();
  // The stack of this fiber may be given to a thread of the next cluster, so nobody starts one on it.
  try {
    if (executor.machine_.has_free_sms()) {
      executor.return_to_caller();
    } else {
      executor.dispatch();
    }
    std::abort();  // an exited thread is never resumed
  } catch (...) {
    executor.keep_exception();
  }
  executor.abandon();
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

bool Executor::is_turn_over(bool visible, CallSite site) {
  const std::uint64_t count = ++machine_.stats().instructions;
  if (take_finding()) end_run();
  if (count > options_.max_steps) {
    explain_budget(site);
    end_run();
  }
  return visible ? preempts() : count % kLoadsPerTurn == 0;
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
    machine_.fault(running_, site, FaultCode::kNotShared,
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
