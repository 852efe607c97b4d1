// SPDX-License-Identifier: Apache-2.0
// Shared memory is not initialised, so its struct has no constructor.
// expect: must be a plain struct
#include <heddle/kernel/shared_memory.h>

using namespace heddle;

struct Shared {
#ifdef MISUSE
  Shared() : flag(0) {}
#endif
  int flag;
};
static_assert(check_shared_memory<Shared, Arch::kSm90>());
