// SPDX-License-Identifier: Apache-2.0
// Tiles of A and B with another K each.
// expect: the operands differ in K: give both the same
#include <heddle/tile/smem_array.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kOfB = 128;
#else
constexpr std::uint32_t kOfB = 64;
#endif
using ATile = SMemTileArray2D<bf16, TileShape{64, 64}, 1>::Tile;
using BTile = SMemTileArray2D<bf16, TileShape{32, kOfB}, 1>::Tile;
HEDDLE_DEVICE void multiply(ATile a, BTile b) {
  WgmmaSumsOf<ATile, BTile> sums;
  auto pending = sums.multiply(a.operand(), b.operand());
  std::move(pending).wait();
}
