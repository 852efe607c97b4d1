// SPDX-License-Identifier: Apache-2.0
#include "runtime/refuse.h"

#include "runtime/state.h"

#include <algorithm>

// The linker's names for the ends of the section that refusals are in.
extern "C" __attribute__((visibility("hidden"))) const char __start_heddle_refusals[];
extern "C" __attribute__((visibility("hidden"))) const char __stop_heddle_refusals[];

namespace heddle::runtime {

int refuse(const char* name) {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  say(std::string(name) + " is not there; docs/exec.md lists the calls that are");
  return remember(Error::kNotSupported);
}

bool is_refusal(const void* function) {
  const auto* address = static_cast<const char*>(function);
  return address >= __start_heddle_refusals && address < __stop_heddle_refusals;
}

const void* find_call(const std::string& name) {
  const auto find = [](const std::string& exact) -> const void* {
    const KnownCall* end = kKnownCalls + kKnownCallCount;
    const KnownCall* found = std::find_if(kKnownCalls, end, [&](const KnownCall& c) { return exact == c.name; });
    return found == end ? nullptr : found->function;
  };
  const void* refused = nullptr;
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    const void* function = find(name + suffix);
    if (function == nullptr) continue;
    if (!is_refusal(function)) return function;
    refused = function;
  }
  return refused;
}

}  // namespace heddle::runtime
