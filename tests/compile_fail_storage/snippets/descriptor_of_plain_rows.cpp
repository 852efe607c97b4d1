// SPDX-License-Identifier: Apache-2.0
// The tensor cores read swizzled rows or 8 x 16-byte cores, not plain rows.
// expect: tensor cores cannot read these rows
#include <heddle/tile/tile_tensor.h>

using namespace heddle;

#ifdef MISUSE
constexpr Layout kLayout = k_major_tile<bf16>(64, 64, Swizzle::kNone);
#else
constexpr Layout kLayout = core_matrix_tile<bf16>(64, 64);
#endif
static_assert(TileTensor<bf16, kLayout>::smem_descriptor(1024).start_address == 1024);
