// SPDX-License-Identifier: Apache-2.0
#include "runtime/refuse.h"

#include "runtime/state.h"

#include <algorithm>
#include <iterator>
#include <string_view>

// The linker's names for the ends of the section that refusals are in.
extern "C" __attribute__((visibility("hidden"))) const char __start_heddle_refusals[];
extern "C" __attribute__((visibility("hidden"))) const char __stop_heddle_refusals[];

namespace heddle::runtime {

namespace {

// The version of CUDA that a call came with. All others with a suffix are older than any program that can be run.
int first_version(const std::string& exact) {
  struct Since {
    std::string_view name;
    int version;
  };
  constexpr Since kCalls[] = {
      // A place in memory, in place of a device's number.
      {"cuMemAdvise_v2", 12020},
      {"cuMemPrefetchAsync_v2", 12020},
      // With the data of edges.
      {"cuGraphAddDependencies_v2", 12030},
      {"cuGraphAddNode_v2", 12030},
      {"cuGraphGetEdges_v2", 12030},
      {"cuGraphNodeGetDependencies_v2", 12030},
      {"cuGraphNodeGetDependentNodes_v2", 12030},
      {"cuGraphRemoveDependencies_v2", 12030},
      {"cuStreamGetCaptureInfo_v3", 12030},
      {"cuStreamUpdateCaptureDependencies_v2", 12030},
  };
  const Since* found =
      std::find_if(std::begin(kCalls), std::end(kCalls), [&](const Since& one) { return one.name == exact; });
  return found == std::end(kCalls) ? 0 : found->version;
}

}  // namespace

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

const void* find_call(const std::string& name, int version) {
  if (name == "cuGraphInstantiate" && version >= 12000) return find_call("cuGraphInstantiateWithFlags", version);
  const auto find = [](const std::string& exact) -> const void* {
    const KnownCall* end = kKnownCalls + kKnownCallCount;
    const KnownCall* found = std::find_if(kKnownCalls, end, [&](const KnownCall& c) { return exact == c.name; });
    return found == end ? nullptr : found->function;
  };
  const void* refused = nullptr;
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    const std::string exact = name + suffix;
    if (version < first_version(exact)) continue;
    const void* function = find(exact);
    if (function == nullptr) continue;
    if (!is_refusal(function)) return function;
    refused = function;
  }
  return refused;
}

}  // namespace heddle::runtime
