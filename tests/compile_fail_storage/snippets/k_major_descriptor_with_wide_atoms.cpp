// SPDX-License-Identifier: Apache-2.0
// Atoms of 32 bytes are for MN-major operands.
// expect: for MN-major operands
#include <heddle/tile/tile_tensor.h>

using namespace heddle;

using Tile = TileTensor<tf32, k_major_tile<tf32>(64, 32, Swizzle::k128BAtom32B)>;
#ifdef MISUSE
constexpr Major kMajor = Major::kK;
#else
constexpr Major kMajor = Major::kMN;
#endif
static_assert(Tile::smem_descriptor<kMajor>(1024).start_address == 1024);
