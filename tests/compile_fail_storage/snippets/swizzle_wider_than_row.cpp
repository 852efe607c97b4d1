// SPDX-License-Identifier: Apache-2.0
// Rows of 64 bytes cannot have a swizzle that spans 128.
// expect: swizzle is wider than a row
#include <heddle/tile/smem_array.h>

using namespace heddle;

#ifdef MISUSE
constexpr Swizzle kSwizzle = Swizzle::k128B;
#else
constexpr Swizzle kSwizzle = Swizzle::k64B;
#endif
static_assert(sizeof(SMemTileArray2D<bf16, TileShape{64, 32}, 2, kSwizzle>) > 0);
