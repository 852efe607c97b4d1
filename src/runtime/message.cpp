// SPDX-License-Identifier: Apache-2.0
#include "runtime/message.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <set>

namespace heddle::runtime {

void say(std::string_view text) {
  static std::set<std::string>& said = *new std::set<std::string>;
  if (!said.emplace(text).second) return;
  std::fprintf(stderr, "heddle exec: %.*s\n", static_cast<int>(text.size()), text.data());
}

std::string readable(const std::string& mangled) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (demangled == nullptr) return mangled;
  std::string text;
  int depth = 0;
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  for (std::string_view rest = demangled; !rest.empty(); rest.remove_prefix(1)) {
    if (depth == 0 && rest.starts_with(kAnonymous)) {
      rest.remove_prefix(kAnonymous.size() - 1);
      text += "(anonymous)";
      continue;
    }
    if (rest.front() == '(' && depth == 0) break;
    if (rest.front() == '>') --depth;
    if (depth == 0) text += rest.front();
    if (rest.front() == '<' && depth++ == 0) text += "...";
  }
  std::free(demangled);
  if (text.starts_with("void ")) text.erase(0, 5);
  return text;
}

}  // namespace heddle::runtime
