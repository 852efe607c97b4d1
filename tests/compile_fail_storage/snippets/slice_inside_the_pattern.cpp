// SPDX-License-Identifier: Apache-2.0
// Four rows are half a repeat of the 128-byte swizzle.
// expect: slice would start inside a repeat of the swizzle pattern
#include <heddle/tile/tile_tensor.h>

using namespace heddle;

using Tile = TileTensor<bf16, k_major_tile<bf16>(128, 128, Swizzle::k128B)>;
#ifdef MISUSE
constexpr std::uint32_t kRows = 4;
#else
constexpr std::uint32_t kRows = 8;
#endif
void use(Tile tile) { static_cast<void>(tile.slice<kRows, 128>(1)); }
