// SPDX-License-Identifier: Apache-2.0
// Four warps that write a tile together, and no barrier for them to meet on.
// expect: several warps write a tile together, and meet on a named barrier
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/smem_array.h>

using namespace heddle;

using Tiles = SMemTileArray2D<float, TileShape{64, 32}, 2>;

HEDDLE_DEVICE void store(Tiles& tiles) {
#ifdef MISUSE
  StoreTilePipeline<Tiles, 4> stores(tiles);
#else
  StoreTilePipeline<Tiles, 4> stores(tiles, 1);
#endif
  stores.drain();
}
