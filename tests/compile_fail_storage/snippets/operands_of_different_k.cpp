// SPDX-License-Identifier: Apache-2.0
// A has 64 numbers along K and B 128.
// expect: the operands differ in K
#include <heddle/tile/smem_array.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

using namespace heddle;

using ATile = SMemTileArray2D<bf16, TileShape{64, 64}, 1>::Tile;
#ifdef MISUSE
using BTile = SMemTileArray2D<bf16, TileShape{32, 128}, 1>::Tile;
#else
using BTile = SMemTileArray2D<bf16, TileShape{32, 64}, 1>::Tile;
#endif
HEDDLE_DEVICE void multiply(ATile a, BTile b) {
  WgmmaSumsOf<ATile, BTile> sums;
  auto pending = sums.multiply(a.operand(), b.operand());
  std::move(pending).wait();
}
