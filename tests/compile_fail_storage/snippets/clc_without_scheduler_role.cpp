// SPDX-License-Identifier: Apache-2.0
// Nobody would ask for clusters.
// expect: needs a role named .*scheduler.* of one warp
#include <heddle/kernel/clc_scheduler.h>

using namespace heddle;

#ifdef MISUSE
using Roles = WarpRoles<Role<"epilogue", 4>, Role<"load", 1>, Role<"mma", 1>>;
#else
using Roles = WarpRoles<Role<"epilogue", 4>, Role<"scheduler", 1>, Role<"load", 1>, Role<"mma", 1>>;
#endif
static_assert(sizeof(ClcTileScheduler<TileSchedulerConfig{}, Roles, 2>) > 0);
