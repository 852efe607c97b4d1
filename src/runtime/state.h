// SPDX-License-Identifier: Apache-2.0
//
// The simulated card as one process sees it, and the frame of every call: one call at a time, errors as codes,
// and an error of a kernel that stays until the card is reset, as on hardware.
#pragma once

#include "runtime/error_code.h"
#include "runtime/memory.h"
#include "runtime/message.h"
#include "runtime/module.h"
#include "runtime/stream.h"

#include <heddle/host/error.h>
#include <heddle/sim/fault_code.h>

#include <cstdint>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>

namespace heddle::runtime {

// Findings that did not stop a launch.
struct Told {
  std::set<std::pair<sim::FaultCode, std::string>> places;  // that they were told for
  std::uint64_t times = 0;
};

struct State {
  std::recursive_mutex mutex;
  Memory memory;
  ModuleRegistry modules;
  Streams streams;
  Error failed = Error::kSuccess;  // a kernel broke the context: all that follows returns this
  std::string printed;             // by kernels, and not yet shown

  std::uint64_t launches = 0;
  std::uint64_t instructions = 0;
  Told formal;
  Told accepted;
  double seconds = 0;  // in launches
};

// Lives until the process ends: programs call the runtime from destructors of globals.
State& state();

// Shows what kernels have printed. On hardware, too, it appears when the host waits for the card.
void show_printed(State& state);

// The last error of this thread.
Error last_error();
Error take_last_error();
int remember(Error error);

// The body of a call that returns a code.
template <class Body>
int call(const char* name, Body&& body) {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  if (card.failed != Error::kSuccess) return remember(card.failed);
  try {
    return remember(std::forward<Body>(body)(card));
  } catch (const InputError& error) {
    say(std::string(name) + ": " + error.what());
    return remember(Error::kInvalidValue);
  } catch (const std::bad_alloc&) {
    return remember(Error::kMemoryAllocation);
  }
}

}  // namespace heddle::runtime

// A function that programs find by its name.
#define HEDDLE_CUDA_CALL extern "C" __attribute__((visibility("default")))
