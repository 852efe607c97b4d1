// SPDX-License-Identifier: Apache-2.0
// Sums of 64 columns to a tile of 32.
// expect: the tile is not as large as what is stored to it
#include <heddle/tile/smem_array.h>
#include <heddle/tile/store_to.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kCols = 32;
#else
constexpr std::uint32_t kCols = 64;
#endif
using Tile = SMemTileArray2DRowMajor<float, TileShape{64, kCols}, 1>::Tile;

HEDDLE_DEVICE void store(Tile tile, const WgmmaValues<WgmmaShape{.n = 64}>& values) { store_to(tile, values); }
