// SPDX-License-Identifier: Apache-2.0
// One more than there are beside that of syncthreads().
// expect: a CTA has 15 named barriers
#include <heddle/kernel/named_barriers.h>

using namespace heddle;

#ifdef MISUSE
using Barriers = NamedBarriers<BarrierUse<"turns", 3>, BarrierUse<"rest", 13>>;
#else
using Barriers = NamedBarriers<BarrierUse<"turns", 3>, BarrierUse<"rest", 12>>;
#endif
static_assert(Barriers::first("rest") == 4);
