// SPDX-License-Identifier: Apache-2.0
// A tile whose columns nobody gave.
// expect: a row of a TMA tile is a multiple of 16 bytes
#include <heddle/tile/smem_array.h>

using namespace heddle;

#ifdef MISUSE
using Tiles = SMemTileArray2DRowMajor<float, TileShape{.rows = 8}, 2>;
#else
using Tiles = SMemTileArray2DRowMajor<float, TileShape{.rows = 8, .cols = 4}, 2>;
#endif
static_assert(sizeof(Tiles) > 0);
