// SPDX-License-Identifier: Apache-2.0
// A ring whose stages a role empties that the kernel does not have.
// expect: a ring leads from one role of the kernel to another
#include <heddle/kernel/barriers.h>

using namespace heddle;

using Load = Role<"load", 1>;
using Math = Role<"math", 4>;
#ifdef MISUSE
using Roles = WarpRoles<Role<"multiply", 4>, Load>;
#else
using Roles = WarpRoles<Math, Load>;
#endif
static_assert(RingCounts<Roles, OneThread<Load>, EachWarp<Math>>::empty == 4);
