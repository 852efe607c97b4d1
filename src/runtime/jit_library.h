// SPDX-License-Identifier: Apache-2.0
//
// Libraries that compile or link device code inside a program (NVRTC, nvJitLink), where they hand out machine
// code: a few of their functions are replaced by ones that hand out the PTX, which the simulated card takes. The
// libraries themselves are those that the program brings along, possibly several versions of one.
//
// A program that looks a function up with dlsym finds the replacement, because dlsym itself is replaced; one that
// was linked against the library finds it because heddle's runtime was loaded first.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::runtime {

// A library that a program has opened, as dlsym knows it.
class JitLibrary {
 public:
  // What the handle does not have is looked for in the first of these files that is loaded.
  explicit JitLibrary(void* handle = nullptr, std::vector<const char*> files = {})
      : handle_(handle), files_(std::move(files)) {}

  // What the library's own function returns; `missing` if it has none of this name.
  template <class Function, class... Arguments>
  int call(int missing, const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<Function*>(look_up(name));
    return function == nullptr ? missing : function(arguments...);
  }

 private:
  void* look_up(const char* name) const;

  void* handle_;
  std::vector<const char*> files_;
};

// Replacements cannot be told for which library they are called, so that there is a set of them for each, as many
// as this. The others are for programs that were linked against one.
inline constexpr int kMostJitLibraries = 8;
inline constexpr int kLinkedNvrtc = kMostJitLibraries;
inline constexpr int kLinkedJitLink12 = kMostJitLibraries + 1;
inline constexpr int kLinkedJitLink13 = kMostJitLibraries + 2;

const JitLibrary& jit_library(int which);

// A function to be replaced, and what replaces it for each library.
struct Replacement {
  std::string_view name;
  std::array<void*, kMostJitLibraries> functions;
};

// Of the libraries' files: the first name that fits; null if there is none.
const Replacement* nvrtc_replacement(std::string_view name);
const Replacement* nvjitlink_replacement(std::string_view name);

// { name, {function<0>, function<1>, ...} }
#define HEDDLE_REPLACEMENT(name, function)                                                      \
  Replacement {                                                                                 \
    name, []<int... which>(std::integer_sequence<int, which...>) {                              \
      return std::array<void*, sizeof...(which)>{reinterpret_cast<void*>(&function<which>)...}; \
    }                                                                                           \
    (std::make_integer_sequence<int, kMostJitLibraries>())                                      \
  }

}  // namespace heddle::runtime
