// SPDX-License-Identifier: Apache-2.0
// The tile would reach beyond the array.
// expect: tile is larger than the array
#include <heddle/tile/smem_array.h>

using namespace heddle;

constexpr Layout kLayout = k_major_tile<bf16>(8, 64, Swizzle::k128B);
#ifdef MISUSE
using Array = SMemArray<bf16, 511, 1024>;
#else
using Array = SMemArray<bf16, 512, 1024>;
#endif
void use(Array& array) { static_cast<void>(array.tile<kLayout>()); }
