// SPDX-License-Identifier: Apache-2.0
// A TMA box has at most 256 rows.
// expect: 1 to 256 rows
// expect: [<=]264
#include <heddle/tile/smem_array.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kRows = 264;
#else
constexpr std::uint32_t kRows = 256;
#endif
static_assert(sizeof(SMemTileArray2D<bf16, TileShape{kRows, 64}, 1, Swizzle::k128B>) > 0);
