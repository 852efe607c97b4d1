// SPDX-License-Identifier: Apache-2.0
// Memory aligned for its elements only cannot hold a swizzled tile.
// expect: not aligned as the tile needs
#include <heddle/tile/smem_array.h>

using namespace heddle;

constexpr Layout kLayout = k_major_tile<bf16>(8, 64, Swizzle::k128B);
#ifdef MISUSE
using Array = SMemArray<bf16, 512, 128>;
#else
using Array = SMemArray<bf16, 512, 1024>;
#endif
void use(Array& array) { static_cast<void>(array.tile<kLayout>()); }
