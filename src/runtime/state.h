// SPDX-License-Identifier: Apache-2.0
//
// The simulated card as one process sees it, and the frame of every call: one call at a time, errors as codes,
// and an error of a kernel that stays until the card is reset, as on hardware. The lock is never held while code
// of the program runs.
#pragma once

#include "c/report.h"
#include "runtime/arrays.h"
#include "runtime/capture.h"
#include "runtime/error_code.h"
#include "runtime/graph.h"
#include "runtime/memory.h"
#include "runtime/message.h"
#include "runtime/module.h"
#include "runtime/pools.h"
#include "runtime/stream.h"

#include "sim/explore/repeat.h"

#include <heddle/sim/device_heap.h>
#include <heddle/sim/fault_code.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace heddle::runtime {

// Findings that did not stop a launch.
struct Told {
  std::set<std::pair<sim::FaultCode, std::string>> places;  // that they were told for
  std::uint64_t times = 0;
};

// The launch for which PCT promises least.
struct PctBound {
  std::uint64_t actors = 0;
  std::uint64_t steps = 0;
  double bound = 2;

  void add(std::uint64_t launch_actors, std::uint64_t launch_steps, std::uint32_t depth);
};

// What became of the search of each launch.
struct Searches {
  std::uint64_t complete = 0;  // launches, as are the next two
  std::uint64_t limited = 0;   // by the number of executions
  std::uint64_t too_long = 0;  // not searched
  std::uint64_t executions = 0;
  std::uint64_t cut = 0;
  std::uint64_t depth = 0;
  std::string first_limited;  // "launch 3, kernel"
  std::string first_too_long;

  void add(const sim::explore::SearchedLaunch& searched, std::uint64_t launch, const std::string& kernel);
};

struct State {
  std::recursive_mutex mutex;
  Memory memory;
  ModuleRegistry modules;
  Streams streams;
  Graphs graphs;
  Captures captures;
  GraphMemories graph_memories;
  Pools pools;
  Arrays arrays;
  std::uint64_t resets = 0;  // how often all of these were given back
  // Nothing can be asked of it any more: it is of a child that was forked in the middle of a call (fork.h), or
  // the process ends while another thread is in one that does not come to its end.
  std::atomic<bool> is_lost = false;
  bool has_ended_for_others = false;  // the process ends, and only the thread that ends it still has the card
  pthread_t ending = {};
  Error failed = Error::kSuccess;     // a kernel broke the context: all that follows returns this
  sim::DeviceHeap heap;               // of malloc in kernels
  std::string printed;                // by kernels, and not yet shown
  const char* call = "";              // that goes on
  std::optional<const void*> stream;  // that it is on; none for a call that waits

  std::uint64_t launches = 0;
  std::uint64_t launches_of_parent = 0;  // among them, of a child that was forked: numbers go on in it
  std::uint64_t instructions = 0;
  Told formal;
  Told accepted;
  std::set<std::string> used_rules;  // that accepted something
  PctBound pct;
  Searches searches;
  double seconds = 0;            // in launches
  double processor_seconds = 0;  // likewise, of all threads of the process

  // The process that takes reports itself, in place of being told them. A child that it forks does not.
  pid_t reports_kept_by = 0;
  bool keeps_reports() const { return reports_kept_by == getpid(); }
  std::deque<std::unique_ptr<heddle_report>> reports;
};

// Lives until the process ends: programs call the runtime from destructors of globals.
State& state();

// How many contexts the thread has put upon one another, all of which are the one of the card. Each call of the
// runtime gives one to a thread that has none.
int& contexts_of_thread() noexcept;

// To be called by what makes other threads run kernels: from then on the process can end while one of them does.
void watch_exit();

// Shows what kernels have printed. On hardware, too, it appears when the host waits for the card.
void show_printed(State& state);

// The last error of this thread.
Error last_error();
Error take_last_error();
int remember(Error error) noexcept;

// For the exception that is being handled, which it tells: the code that a program gets for it.
Error code_of_exception(const char* name) noexcept;

// Whether a call was given all that it writes to, or reads from.
template <class... Pointers>
bool all_set(const Pointers*... pointers) {
  return (... && (pointers != nullptr));
}

// While it lives this thread runs a function of the program that a stream has come to. CUDA forbids it to call
// CUDA.
class InHostFunction {
 public:
  InHostFunction() { ++depth_; }
  ~InHostFunction() { --depth_; }
  InHostFunction(const InHostFunction&) = delete;
  InHostFunction& operator=(const InHostFunction&) = delete;

  static bool is_here() { return depth_ != 0; }

 private:
  static thread_local int depth_;
};
Error refuse_in_host_function(const char* name);

template <class Function>
void run_host_function(Function&& function) {
  const InHostFunction here;
  std::forward<Function>(function)();
}

// While it lives a thread that is cancelled goes on: what it does to the card must come to its end.
class CancelHeld {
 public:
  CancelHeld() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancelHeld() { pthread_setcancelstate(before_, nullptr); }
  CancelHeld(const CancelHeld&) = delete;
  CancelHeld& operator=(const CancelHeld&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// What every call runs in, of the runtime and of the driver: one at a time, and whatever is thrown becomes a
// code, because nothing may pass through a program that knows only of codes. A card that a kernel broke says so
// again. A few calls that ask for nothing of a stream's may be made by a function of the host, too.
template <bool may_be_in_host_function = false, class Body>
Error guarded(const char* name, Body&& body) noexcept {
  const CancelHeld held;
  try {
    State& card = state();
    if (card.is_lost) return Error::kNotInitialized;
    if (!may_be_in_host_function && InHostFunction::is_here()) return refuse_in_host_function(name);
    const std::lock_guard lock(card.mutex);
    if (card.has_ended_for_others && !pthread_equal(card.ending, pthread_self())) return Error::kUnloading;
    if (card.failed != Error::kSuccess) return card.failed;
    card.call = name;
    card.stream.reset();
    return std::forward<Body>(body)(card);
  } catch (...) {
    return code_of_exception(name);
  }
}

// The body of a call of the runtime, which returns a code and remembers it.
template <class Body>
int call(const char* name, Body&& body) noexcept {
  if (contexts_of_thread() == 0) contexts_of_thread() = 1;
  return remember(guarded(name, std::forward<Body>(body)));
}

// The same where a function of the host may ask as well.
template <class Body>
int call_anywhere(const char* name, Body&& body) noexcept {
  return remember(guarded<true>(name, std::forward<Body>(body)));
}

// The same for one that writes through `pointers`, or reads what they point to.
template <class Body, class... Pointers>
int call_with(const char* name, Body&& body, const Pointers*... pointers) noexcept {
  if (!all_set(pointers...)) return remember(Error::kInvalidValue);
  return call(name, std::forward<Body>(body));
}

template <class Body>
Error on_stream(State& card, const void* stream, Body&& body) {
  if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
  card.stream = stream;
  return body(card);
}

// A call on a stream.
template <class Body>
int call_on(const char* name, const void* stream, Body&& body) noexcept {
  return call(name, [&](State& card) { return on_stream(card, stream, body); });
}

// For what has no code to return: registration before main, and at exit.
template <class Body>
void guard(const char* name, Body&& body) noexcept {
  const CancelHeld held;
  try {
    State& card = state();
    if (card.is_lost) return;
    const std::lock_guard lock(card.mutex);
    std::forward<Body>(body)(card);
  } catch (...) {
    code_of_exception(name);
  }
}

}  // namespace heddle::runtime

// A function that programs find by its name.
#define HEDDLE_CUDA_CALL extern "C" __attribute__((visibility("default")))
