// SPDX-License-Identifier: Apache-2.0
// No GPU has clusters of 32.
// expect: a cluster has 1 to 16 CTAs
// expect: CtasAlongM<8
// expect: CtasAlongN<4
#include <heddle/kernel/context.h>

using namespace heddle;

#ifdef MISUSE
constexpr ClusterConfig kConfig{.cluster = {8, 4}};
#else
constexpr ClusterConfig kConfig{.cluster = {8, 2}};
#endif

static_assert(KernelContext<kConfig>(9).a_multicast_mask() == 0b0000'0010'0000'0010);
