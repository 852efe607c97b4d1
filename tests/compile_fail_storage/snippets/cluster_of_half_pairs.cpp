// SPDX-License-Identifier: Apache-2.0
// Three CTAs along M are not pairs: the error states the cluster and the CTA group.
// expect: the cluster does not consist of CTA groups
// expect: CtasAlongM<3
// expect: CtasAlongN<2
// expect: CtaGroup<2
#include <heddle/kernel/barriers.h>

using namespace heddle;

#ifdef MISUSE
constexpr ClusterConfig kConfig{.cluster = {3, 2}, .cta_group = 2};
#else
constexpr ClusterConfig kConfig{.cluster = {4, 2}, .cta_group = 2};
#endif

using Roles = WarpRoles<Role<"epilogue", 4>, Role<"load", 1>, Role<"mma", 1>>;
static_assert(ArrivalCounts<kConfig, Roles>::output_empty == 256);
