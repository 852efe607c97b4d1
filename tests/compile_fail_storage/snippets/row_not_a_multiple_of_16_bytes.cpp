// SPDX-License-Identifier: Apache-2.0
// TMA moves rows in units of 16 bytes.
// expect: multiple of 16 bytes
#include <heddle/tile/smem_array.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kCols = 20;
#else
constexpr std::uint32_t kCols = 24;
#endif
static_assert(sizeof(SMemTileArray2DRowMajor<bf16, TileShape{64, kCols}, 2>) > 0);
