// SPDX-License-Identifier: Apache-2.0
// The limit of sm_100, and one byte more.
// expect: larger than the architecture allows
// expect: BytesAskedFor<232449
// expect: BytesAvailable<232448
// expect: BytesOfPadding<0
// expect: [.:]tiles[)]*}, 232449[U>]
#include <heddle/kernel/shared_memory.h>

using namespace heddle;

struct Shared {
#ifdef MISUSE
  unsigned char tiles[232449];
#else
  unsigned char tiles[232448];
#endif
};
static_assert(check_shared_memory<Shared, Arch::kSm100>());
