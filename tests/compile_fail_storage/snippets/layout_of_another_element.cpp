// SPDX-License-Identifier: Apache-2.0
// A layout belongs to elements of one size.
// expect: elements of another size
#include <heddle/tile/tile_tensor.h>

using namespace heddle;

#ifdef MISUSE
using LayoutType = bf16;
#else
using LayoutType = tf32;
#endif
static_assert(sizeof(TileTensor<float, k_major_tile<LayoutType>(8, 64, Swizzle::k128B)>) > 0);
