// SPDX-License-Identifier: Apache-2.0
// A named barrier under a name that the list does not have.
// expect: no_use_of_named_barriers_has_this_name
#include <heddle/kernel/named_barriers.h>

using namespace heddle;

using Barriers = NamedBarriers<BarrierUse<"turns", 2>, BarrierUse<"workers", 2>>;

HEDDLE_DEVICE void meet(std::uint32_t worker) {
#ifdef MISUSE
  Barriers::sync<"worker">(128, worker);
#else
  Barriers::sync<"workers">(128, worker);
#endif
}
