// SPDX-License-Identifier: Apache-2.0
// Nobody would empty the accumulators.
// expect: the_kernel_has_no_role_of_this_name
#include <heddle/kernel/barriers.h>

using namespace heddle;

#ifdef MISUSE
using Roles = WarpRoles<Role<"load", 1>, Role<"mma", 1>>;
#else
using Roles = WarpRoles<Role<"epilogue", 4>, Role<"load", 1>, Role<"mma", 1>>;
#endif
static_assert(ArrivalCounts<ClusterConfig{}, Roles>::output_empty > 0);
