// SPDX-License-Identifier: Apache-2.0
// A payload whose A tile leaves the next stage off the repeat of its swizzle.
// expect: next stage.s tile would be misaligned
#include <heddle/pipeline/payload.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kRows = 12;
#else
constexpr std::uint32_t kRows = 16;
#endif
using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {kRows, 64}, .b = {64, 64}}>;
static_assert(sizeof(InputPipelineStorage<2, Payload>) > 0);
