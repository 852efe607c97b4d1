// SPDX-License-Identifier: Apache-2.0
#include "runtime/refuse.h"

#include "runtime/state.h"

#include <algorithm>
#include <string_view>

// The linker's names for the ends of the section that refusals are in.
extern "C" __attribute__((visibility("hidden"))) const char __start_heddle_refusals[];
extern "C" __attribute__((visibility("hidden"))) const char __stop_heddle_refusals[];

namespace heddle::runtime {

// The driver has no last error. A question that is not answered leaves none either: on a card it would have been
// answered, and the program goes on by the code alone. Work that was not done does.
int refuse(const char* name) noexcept {
  try {
    say(std::string(name) + " is not there; docs/exec.md lists the calls that are");
  } catch (...) {
    say(name);
  }
  const std::string_view text = name;
  const bool leaves_error = text.starts_with("cuda") && text.find("Get") == text.npos;
  return leaves_error ? remember(Error::kNotSupported) : static_cast<int>(Error::kNotSupported);
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
