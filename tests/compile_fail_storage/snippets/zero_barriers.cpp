// SPDX-License-Identifier: Apache-2.0
// Barrier storage without a barrier.
// expect: make its count 1 or more
#include <heddle/pipeline/pipeline_storage.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kBarriers = 0;
#else
constexpr std::uint32_t kBarriers = 1;
#endif
static_assert(sizeof(RawBarrierStorage<kBarriers>) > 0);
