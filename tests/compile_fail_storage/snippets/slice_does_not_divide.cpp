// SPDX-License-Identifier: Apache-2.0
// Slices are equal.
// expect: must divide the tile.s rows
#include <heddle/tile/tile_tensor.h>

using namespace heddle;

using Tile = TileTensor<bf16, k_major_tile<bf16>(128, 128, Swizzle::k128B)>;
#ifdef MISUSE
constexpr std::uint32_t kRows = 48;
#else
constexpr std::uint32_t kRows = 64;
#endif
void use(Tile tile) { static_cast<void>(tile.slice<kRows, 128>(1)); }
