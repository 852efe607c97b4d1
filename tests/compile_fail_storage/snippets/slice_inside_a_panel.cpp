// SPDX-License-Identifier: Apache-2.0
// Half a panel is not a tile: the swizzle moves bytes across the cut.
// expect: takes whole panels
#include <heddle/tile/tile_tensor.h>

using namespace heddle;

using Tile = TileTensor<bf16, k_major_tile<bf16>(128, 128, Swizzle::k128B)>;
#ifdef MISUSE
constexpr std::uint32_t kCols = 32;
#else
constexpr std::uint32_t kCols = 64;
#endif
void use(Tile tile) { static_cast<void>(tile.slice<128, kCols>(0, 1)); }
