// SPDX-License-Identifier: Apache-2.0
// Two roles called load.
// expect: two roles have the same name
#include <heddle/kernel/roles.h>

using namespace heddle;

#ifdef MISUSE
using Roles = WarpRoles<Role<"load", 4>, Role<"load", 1>>;
#else
using Roles = WarpRoles<Role<"epilogue", 4>, Role<"load", 1>>;
#endif
static_assert(Roles::kThreads == 160);
