// SPDX-License-Identifier: Apache-2.0
// Rows of 20 bytes do not keep 16-byte accesses aligned.
// expect: do not start on multiples of 16 bytes
#include <heddle/tile/tile_tensor.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kCols = 5;
#else
constexpr std::uint32_t kCols = 8;
#endif
using Tile = TileTensor<float, row_major<float>(8, kCols)>;
HEDDLE_DEVICE isa::Bytes16 use(Tile tile) { return tile.load_bytes16(1, 0); }
