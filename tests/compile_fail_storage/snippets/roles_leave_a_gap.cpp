// SPDX-License-Identifier: Apache-2.0
// Nobody has warp 4.
// expect: a warp has no role
// expect: (5U?, 4U?|begins_at=5U, previous_ends_at=4U)
#include <heddle/kernel/roles.h>

using namespace heddle;

#ifdef MISUSE
using Roles = WarpRoles<Role<"epilogue", 4>, Role<"load", 1, 5>>;
#else
using Roles = WarpRoles<Role<"epilogue", 4>, Role<"scheduler", 1>, Role<"load", 1, 5>>;
#endif
static_assert(Roles::kThreads >= 160);
