// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit_library.h"

#include "runtime/message.h"

#include <fmt/format.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace heddle::runtime {

namespace {

using LookUp = void*(void* handle, const char* name);

// The C library's own dlsym.
LookUp* real_dlsym() {
  static LookUp* const found = [] {
    void* function = nullptr;
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
      if (function == nullptr) function = dlvsym(RTLD_NEXT, "dlsym", version);
    }
    return reinterpret_cast<LookUp*>(function);
  }();
  return found;
}

struct Handles {
  std::mutex mutex;
  std::array<void*, kMostJitLibraries> handles = {};
  std::array<JitLibrary, kMostJitLibraries> libraries;
  int count = 0;
};

Handles& handles() {
  static auto* all = new Handles;  // as long as the process
  return *all;
}

// The number of a library; -1 if there are too many.
int number_of(void* handle) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  const auto end = all.handles.begin() + all.count;
  const auto found = std::find(all.handles.begin(), end, handle);
  if (found != end) return static_cast<int>(found - all.handles.begin());
  if (all.count == kMostJitLibraries) return -1;
  all.handles[static_cast<std::size_t>(all.count)] = handle;
  all.libraries[static_cast<std::size_t>(all.count)] = JitLibrary(handle);
  return all.count++;
}

// The library that has the function, by one handle however it is found; it stays loaded.
void* library_of(const void* function) {
  Dl_info info = {};
  return dladdr(function, &info) == 0 ? nullptr : dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void* const kNotThere = reinterpret_cast<void*>(1);

// What dlsym gives for this name in place of the library's own function; null: nothing else; kNotThere: null.
void* replacement(void* handle, const char* name) noexcept {
  // Almost every look-up of a program is for something else.
  if (name == nullptr || (name[0] != 'n' && name[0] != '_')) return nullptr;
  const std::string_view wanted = name;
  if (wanted.find("nvrtc") == wanted.npos && wanted.find("nvJitLink") == wanted.npos) return nullptr;
  const Replacement* found = nvrtc_replacement(wanted);
  if (found == nullptr) found = nvjitlink_replacement(wanted);
  if (found == nullptr) return nullptr;
  // A look-up among all that is loaded would find the functions that this file has for linked programs.
  const bool is_for_all = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
  const void* function = real_dlsym()(is_for_all ? RTLD_NEXT : handle, name);
  if (function == nullptr) return kNotThere;
  void* library = library_of(function);
  const int number = library == nullptr ? -1 : number_of(library);
  if (number < 0) {
    say("a library that compiles device code cannot be told apart from eight others; it hands out machine code");
    return const_cast<void*>(function);
  }
  return found->functions[static_cast<std::size_t>(number)];
}

}  // namespace

void* JitLibrary::look_up(const char* name) const {
  void* found = real_dlsym()(handle_, name);
  for (const char* file : files_) {
    if (found != nullptr) break;
    void* library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    found = real_dlsym()(library, name);
    dlclose(library);
  }
  if (found == nullptr) say(name, "is in no library that is loaded");
  return found;
}

const JitLibrary& jit_library(int which) {
  // What a library brings along that was opened with RTLD_LOCAL is not found among all that is loaded.
  static const JitLibrary nvrtc(RTLD_NEXT, {"libnvrtc.so.13", "libnvrtc.so.12"});
  static const JitLibrary jit_link_12(RTLD_NEXT, {"libnvJitLink.so.12"});
  static const JitLibrary jit_link_13(RTLD_NEXT, {"libnvJitLink.so.13"});
  switch (which) {
    case kLinkedNvrtc: return nvrtc;
    case kLinkedJitLink12: return jit_link_12;
    case kLinkedJitLink13: return jit_link_13;
    default: return handles().libraries[static_cast<std::size_t>(which)];
  }
}

}  // namespace heddle::runtime

// For cudart/dlsym.cpp.
extern "C" __attribute__((visibility("hidden"), used)) void* heddle_replacement(void* handle, const char* name) {
  return heddle::runtime::replacement(handle, name);
}
extern "C" __attribute__((visibility("hidden"), used)) void* heddle_real_dlsym() {
  return reinterpret_cast<void*>(heddle::runtime::real_dlsym());
}
