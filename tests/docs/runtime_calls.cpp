// SPDX-License-Identifier: Apache-2.0
//
// The table of CUDA calls in docs/exec.md: `runtime_calls FILE` says whether it is that of the runtime,
// `runtime_calls --write FILE` makes it so.
#include "generated_table.h"

#include "runtime/refuse.h"
#include "runtime/version.h"

#include <string>
#include <string_view>

namespace {

using namespace heddle::runtime;

constexpr std::string_view kBegin = "<!-- calls: made by runtime_calls --write -->\n";
constexpr std::string_view kEnd = "<!-- end of calls -->\n";

// `heading`, then all calls with the prefix that are there, or are not.
std::string list(const char* heading, std::string_view prefix, bool are_there) {
  std::string names;
  unsigned count = 0;
  for (unsigned c = 0; c < kKnownCallCount; ++c) {
    const KnownCall& known = kKnownCalls[c];
    const bool is_runtime = std::string_view(known.name).starts_with("cuda");
    if (!std::string_view(known.name).starts_with(prefix) || (prefix == "cu" && is_runtime)) continue;
    if (is_refusal(known.function) == are_there) continue;
    names += std::string(count++ == 0 ? "`" : ", `") + known.name + "`";
  }
  return "\n" + std::string(heading) + " (" + std::to_string(count) + "): " + names + ".\n";
}

std::string table() {
  return "\n### Runtime\n" + list("There", "cuda", true) + list("Not there", "cuda", false) + "\n### Driver\n" +
         list("There", "cu", true) + list("Not there", "cu", false) + "\n";
}

}  // namespace

int heddle::runtime::cudart_major() { return 13; }

int main(int argc, char** argv) {
  return heddle::test::keep_table({.program = "runtime_calls", .begin = kBegin, .end = kEnd, .text = table()},
                                  argc, argv);
}
