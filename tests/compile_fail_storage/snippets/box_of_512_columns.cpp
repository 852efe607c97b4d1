// SPDX-License-Identifier: Apache-2.0
// Nothing cuts the rows of an unswizzled tile into boxes.
// expect: at most 256 columns
#include <heddle/tile/smem_array.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kCols = 512;
#else
constexpr std::uint32_t kCols = 256;
#endif
static_assert(sizeof(SMemTileArray2DRowMajor<bf16, TileShape{8, kCols}, 1>) > 0);
