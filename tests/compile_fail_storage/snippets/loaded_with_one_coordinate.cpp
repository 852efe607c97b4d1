// SPDX-License-Identifier: Apache-2.0
// A tile of rows and columns, and only one of the two says where it begins.
// expect: the tensor has fewer dimensions than the tile
#include <heddle/tile/load_tile.h>
#include <heddle/tile/smem_array.h>

using namespace heddle;

using Tile = SMemTileArray2D<bf16, TileShape{64, 64}, 1>::Tile;

HEDDLE_DEVICE void load(Tile tile, const isa::TensorMap& map, MbarPtr full) {
#ifdef MISUSE
  load_tile(tile, &map, {0}, full);
#else
  load_tile(tile, &map, {0, 64}, full);
#endif
}
