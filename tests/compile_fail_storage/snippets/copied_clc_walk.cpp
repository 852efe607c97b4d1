// SPDX-License-Identifier: Apache-2.0
// A copy of a walk would take answers from it.
// expect: deleted
#include <heddle/kernel/clc_scheduler.h>

using namespace heddle;

using Roles = WarpRoles<Role<"epilogue", 4>, Role<"scheduler", 1>, Role<"load", 1>, Role<"mma", 1>>;
using Scheduler = ClcTileScheduler<TileSchedulerConfig{}, Roles, 2>;

HEDDLE_DEVICE std::uint32_t first_row(Scheduler& scheduler) {
  auto range = scheduler.tiles();
  auto first = range.begin();
#ifdef MISUSE
  auto second = first;
  return (*second).m;
#else
  return (*first).m;
#endif
}
