// SPDX-License-Identifier: Apache-2.0
// The memory of a tile of the ring as a tile that is larger.
// expect: this tile does not fit into those of the ring
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/smem_array.h>

using namespace heddle;

using Tiles = SMemTileArray2D<float, TileShape{16, 32}, 2>;
#ifdef MISUSE
constexpr std::uint32_t kRows = 32;
#else
constexpr std::uint32_t kRows = 16;
#endif
using Tile = TileTensor<bf16, k_major_tile<bf16>(kRows, 48, Swizzle::k128B)>;

HEDDLE_DEVICE void store(StoreTilePipeline<Tiles, 1>& stores) {
  auto stage = stores.acquire_as<Tile>();
  std::move(stage).release_without_store();
}
