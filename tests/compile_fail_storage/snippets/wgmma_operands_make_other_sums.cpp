// SPDX-License-Identifier: Apache-2.0
// B is taken for one with K along its rows, as the sums do not have it.
// expect: these operands make other sums
#include <heddle/tile/smem_array.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

using namespace heddle;

using Tile = SMemTileArray2D<bf16, TileShape{64, 64}, 1>::Tile;
HEDDLE_DEVICE void multiply(Tile a, Tile b) {
  WgmmaSumsOf<Tile, Tile> sums;
#ifdef MISUSE
  auto pending = sums.multiply(a.operand(), b.operand<Major::kMN>());
#else
  auto pending = sums.multiply(a.operand(), b.operand());
#endif
  std::move(pending).wait();
}
