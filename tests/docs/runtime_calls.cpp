// SPDX-License-Identifier: Apache-2.0
//
// The table of CUDA calls in docs/exec.md: `runtime_calls FILE` says whether it is that of the runtime,
// `runtime_calls --write FILE` makes it so.
#include "runtime/refuse.h"
#include "runtime/version.h"

#include <cstdio>
#include <fstream>
#include <sstream>
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
  const bool writes = argc == 3 && std::string_view(argv[1]) == "--write";
  if (argc != 2 && !writes) {
    std::fputs("usage: runtime_calls [--write] FILE\n", stderr);
    return 2;
  }
  const char* path = argv[argc - 1];
  std::ifstream in(path);
  std::stringstream buffer;
  buffer << in.rdbuf();
  std::string text = buffer.str();
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::fprintf(stderr, "%s has no place for the table: '%s'\n", path, std::string(kBegin).c_str());
    return 1;
  }
  const std::size_t from = begin + kBegin.size();
  const std::string wanted = table();
  if (writes) {
    text.replace(from, end - from, wanted);
    std::ofstream(path) << text;
    return 0;
  }
  if (text.compare(from, end - from, wanted) == 0) return 0;
  std::fprintf(stderr, "the table in %s is not that of the runtime; run runtime_calls --write %s\n", path, path);
  return 1;
}
