// SPDX-License-Identifier: Apache-2.0
//
// Loads the shared library while it runs, and calls it.
#include <dlfcn.h>

#include <cstdio>

int main() {
  void* const plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  auto* const wrong_elements = reinterpret_cast<int (*)()>(dlsym(plugin, "wrong_elements"));
  const int wrong = wrong_elements == nullptr ? -2 : wrong_elements();
  std::printf("%d elements are wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
