// SPDX-License-Identifier: Apache-2.0
// An alignment is a power of two.
// expect: power of two
#include <heddle/tile/smem_array.h>

using namespace heddle;

#ifdef MISUSE
static_assert(sizeof(SMemArray<unsigned char, 6, 3>) > 0);
#else
static_assert(sizeof(SMemArray<unsigned char, 6, 2>) > 0);
#endif
