// SPDX-License-Identifier: Apache-2.0
// An operand in registers that ends before the product that reads it.
// expect: give it a name
#include <heddle/tile/smem_array.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

using namespace heddle;

using Tile = SMemTileArray2D<bf16, TileShape{64, 64}, 1>::Tile;
HEDDLE_DEVICE void multiply(Tile q, Tile k, Tile v) {
  WgmmaSumsOf<Tile, Tile> scores;
  auto pending = scores.multiply(q.operand(), k.operand());
  auto& values = std::move(pending).wait();
  WgmmaSumsOf<Tile, Tile, Major::kK, Major::kMN> sums;
#ifdef MISUSE
  auto next = sums.multiply(to_operand<bf16>(values), v.operand<Major::kMN>());
#else
  const auto p = to_operand<bf16>(values);
  auto next = sums.multiply(p, v.operand<Major::kMN>());
#endif
  std::move(next).wait();
}
