// SPDX-License-Identifier: Apache-2.0
#include "runtime/message.h"

#include "runtime/json_lines.h"

#include <cxxabi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>

namespace heddle::runtime {

namespace {

// A damaged image can make a text of any length, and a program that runs for days any number of them.
constexpr std::size_t kMaxText = 4000;
constexpr std::size_t kMaxTexts = 10000;

// Whether it has not been said before.
bool is_new(std::string_view text) noexcept {
  try {
    // A child may be forked while another thread has it, which is not there to give it back.
    static std::timed_mutex& mutex = *new std::timed_mutex;
    static std::set<std::string, std::less<>>& said = *new std::set<std::string, std::less<>>;
    const std::unique_lock lock(mutex, std::chrono::seconds(1));
    if (!lock) return true;
    if (said.find(text) != said.end()) return false;
    if (said.size() < kMaxTexts) said.emplace(text);
  } catch (...) {
    // There is no memory to remember it: it is told again.
  }
  return true;
}

void print(std::string_view text) noexcept {
  std::fprintf(stderr, "heddle exec: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace

void say(std::string_view text) noexcept {
  text = text.substr(0, kMaxText);
  if (!is_new(text)) return;
  print(text);
  write_message(text);
}

void say_finding(std::string_view text) noexcept {
  text = text.substr(0, kMaxText);
  if (is_new(text)) print(text);
}

void say(const char* call, const char* what) noexcept {
  try {
    say(std::string(call) + ": " + what);
  } catch (...) {
    say(what);
  }
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
