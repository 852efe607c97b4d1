// SPDX-License-Identifier: Apache-2.0
// A tile of A for two warpgroups, as the operand of one.
// expect: a warpgroup multiplies 64 rows of A
#include <heddle/tile/smem_array.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

using namespace heddle;

using ATile = SMemTileArray2D<bf16, TileShape{128, 64}, 1>::Tile;
using BTile = SMemTileArray2D<bf16, TileShape{32, 64}, 1>::Tile;
HEDDLE_DEVICE void multiply(ATile a, BTile b) {
  WgmmaSumsOf<ATile, BTile> sums;
#ifdef MISUSE
  auto pending = sums.multiply(a.operand(), b.operand());
#else
  auto pending = sums.multiply(a.slice<64, 64>(1).operand(), b.operand());
#endif
  std::move(pending).wait();
}
