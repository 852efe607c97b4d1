// SPDX-License-Identifier: Apache-2.0
// The load role claims a warp of the epilogue.
// expect: two roles share a warp
// expect: (3U?, 4U?|begins_at=3U, previous_ends_at=4U)
#include <heddle/kernel/roles.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kFirst = 3;
#else
constexpr std::uint32_t kFirst = 4;
#endif

using Roles = WarpRoles<Role<"epilogue", 4>, Role<"load", 1, kFirst>>;
static_assert(Roles::kThreads == 160);
