// SPDX-License-Identifier: Apache-2.0
// Members are listed up to sixteen.
// expect: more than 16 members: group some
#include <heddle/kernel/shared_memory.h>

using namespace heddle;

struct Shared {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
#ifdef MISUSE
  int q;
#endif
};
static_assert(check_shared_memory<Shared, Arch::kSm90>());
