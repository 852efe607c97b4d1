// SPDX-License-Identifier: Apache-2.0
// Sixty rows of 128 bytes leave the second stage off the 1024-byte repeat.
// expect: next stage.s tile would be misaligned
// expect: [<=]60
#include <heddle/tile/smem_array.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kRows = 60;
#else
constexpr std::uint32_t kRows = 64;
#endif
static_assert(sizeof(SMemTileArray2D<bf16, TileShape{kRows, 64}, 2, Swizzle::k128B>) > 0);
