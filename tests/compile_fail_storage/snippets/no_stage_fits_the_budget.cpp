// SPDX-License-Identifier: Apache-2.0
// max_stages never answers zero.
// expect: not one stage fits the budget
// expect: StageBudget.*16384
#include <heddle/pipeline/payload.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kBudget = 16384;
#else
constexpr std::uint32_t kBudget = 17408;
#endif
using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {64, 64}, .b = {64, 64}}>;
static_assert(max_stages<Payload, kBudget> == 1);
