// SPDX-License-Identifier: Apache-2.0
// A row is a whole number of swizzle spans.
// expect: whole number of swizzle spans
#include <heddle/tile/smem_array.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kCols = 96;
#else
constexpr std::uint32_t kCols = 128;
#endif
static_assert(sizeof(SMemTileArray2D<bf16, TileShape{64, kCols}, 2, Swizzle::k128B>) > 0);
