// SPDX-License-Identifier: Apache-2.0
// The kernel has no such role.
// expect: this role is not among those of the kernel
#include <heddle/kernel/roles.h>

using namespace heddle;

using Load = Role<"load", 1>;
using Mma = Role<"mma", 1>;
#ifdef MISUSE
using Roles = WarpRoles<Role<"epilogue", 4>, Load>;
#else
using Roles = WarpRoles<Role<"epilogue", 4>, Load, Mma>;
#endif
constexpr std::uint32_t kFirst = Roles::first_warp<Mma>;
static_assert(kFirst == 5);
