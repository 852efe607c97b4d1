// SPDX-License-Identifier: Apache-2.0
// Without a swizzle a stage still starts on 128 bytes, for TMA.
// expect: next stage.s tile would be misaligned
#include <heddle/tile/smem_array.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kRows = 3;
#else
constexpr std::uint32_t kRows = 4;
#endif
static_assert(sizeof(SMemTileArray2DRowMajor<float, TileShape{kRows, 8}, 2>) > 0);
