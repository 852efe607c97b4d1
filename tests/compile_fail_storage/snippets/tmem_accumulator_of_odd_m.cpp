// SPDX-License-Identifier: Apache-2.0
// A pair has M 128 or 256.
// expect: no tcgen05.mma has this accumulator
#include <heddle/tile/tmem_view.h>

using namespace heddle;

#ifdef MISUSE
constexpr AccumulatorShape kShape{.m = 64, .n = 64, .cta_group = 2};
#else
constexpr AccumulatorShape kShape{.m = 128, .n = 64, .cta_group = 2};
#endif
static_assert(TmemTensor<float, kShape>::cols() == 32);
