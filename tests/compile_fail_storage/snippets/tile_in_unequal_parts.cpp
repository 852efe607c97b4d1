// SPDX-License-Identifier: Apache-2.0
// Two CTAs cannot load half a row each.
// expect: the CTAs that share a tile load equal parts of it
#include <heddle/tile/load_tile.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kRows = 17;
#else
constexpr std::uint32_t kRows = 18;
#endif
using Tile = TileTensor<bf16, k_major_tile<bf16>(kRows, 64, Swizzle::k128B)>;

HEDDLE_DEVICE void load(Tile tile, const isa::TensorMap* map, MbarPtr full) {
  load_tile_part<TileSharing{.sharers = 2}>(tile, map, {0, 0}, full, 0, 3);
}
