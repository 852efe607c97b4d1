// SPDX-License-Identifier: Apache-2.0
//
// Runs a C++ kernel on the machine: a fiber for each thread, and the loop that lets them take turns. The
// only code that knows that kernels are C++ and that shared memory has host pointers.
#pragma once

#include "sim/frontend/fiber.h"
#include "sim/frontend/run.h"

#include <heddle/sim/launch.h>

#include <deque>
#include <exception>
#include <utility>

namespace heddle::sim::frontend {

class Executor : private Run {
 public:
  Executor(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry, const void* params);

  Report run();

  // Whether the running thread of a kernel has reached below its stack, at this address.
  static bool has_overflowed(const void* address);

  // For instructions, on the fiber of the thread that executes them.
  static Executor& current();
  static Executor* current_or_null();
  machine::Machine& machine() { return machine_; }
  machine::Thread& thread() { return *running_; }
  machine::SharedAddress address_of(const void* shared, CallSite site);
  void* pointer_to(machine::SharedAddress address);

  // Counts an instruction. `visible` ones may be preempted: other threads can tell when they happen.
  void count_instruction(bool visible, CallSite site) {
    if (is_turn_over(visible, site)) give_way();
  }
  void suspend() { dispatch(); }   // the machine has blocked this thread
  void give_way() { dispatch(); }  // let others go on, though this thread is not blocked
  bool wakes_early() { return strategy_->wakes_early(); }
  // The exception that is being handled: a mistake goes into the report, and anything else, such as memory that
  // there is none of, is what run() throws.
  void keep_exception() noexcept;
  [[noreturn]] void abandon() noexcept;  // ends the run; this fiber is never resumed

 private:
  // A resident thread and the stack that it runs on.
  struct Seat {
    Executor* executor = nullptr;
    machine::Thread* thread = nullptr;
    Fiber fiber;
  };

  static void thread_main(void* seat);
  bool run_thread(const Seat& seat) noexcept;  // false: the run is over
  void start_threads();
  bool is_turn_over(bool visible, CallSite site);
  void dispatch();  // leaves the running fiber for whatever goes next
  void end_run();
  void return_to_caller();

  KernelEntry entry_;
  const void* params_;
  std::deque<Seat> seats_;  // by thread slot
  Fiber caller_;
  Fiber* running_fiber_ = nullptr;
  bool ended_ = false;
  std::exception_ptr lost_;  // what ended the run, if it was no mistake
};

[[gnu::always_inline]] inline void Executor::dispatch() {
  machine::Thread* next = next_thread();
  ended_ = next == nullptr;
  Fiber* fiber = next == nullptr ? &caller_ : &seats_[next->slot].fiber;
  if (fiber == running_fiber_) return;
  running_ = next;
  std::exchange(running_fiber_, fiber)->switch_to(*fiber);
}

// What one instruction does: `body` runs on the machine; a mistake ends the run and never returns here. The
// fiber is left only after the handler, since a handler that never ends would keep its exception for ever.
template <class Body>
[[gnu::always_inline]] inline decltype(auto) instruct(bool visible, CallSite site, Body&& body) {
  Executor& executor = Executor::current();
  try {
    executor.count_instruction(visible, site);
    return body(executor, executor.machine(), executor.thread());
  } catch (...) {
    executor.keep_exception();
  }
  executor.abandon();
}

}  // namespace heddle::sim::frontend
