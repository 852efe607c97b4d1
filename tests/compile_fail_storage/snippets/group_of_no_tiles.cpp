// SPDX-License-Identifier: Apache-2.0
// A stage of an input ring carries at least one tile of each operand.
// expect: make k_group_size 1 or more
#include <heddle/pipeline/payload.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kGroup = 0;
#else
constexpr std::uint32_t kGroup = 1;
#endif
using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {64, 64}, .b = {64, 64}}>;
static_assert(sizeof(InputPipelineStorage<2, Payload, kGroup>) > 0);
