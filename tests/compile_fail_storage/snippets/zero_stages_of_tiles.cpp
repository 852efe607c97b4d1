// SPDX-License-Identifier: Apache-2.0
// Tiles for no stage.
// expect: needs a tile: make its number of tiles .stages. 1 or more
#include <heddle/pipeline/pipeline_storage.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kStages = 0;
#else
constexpr std::uint32_t kStages = 1;
#endif
static_assert(sizeof(StandardTileStorage<bf16, bf16, StandardTileConfig{.a = {64, 64}, .b = {64, 64}}, kStages>) >
              0);
