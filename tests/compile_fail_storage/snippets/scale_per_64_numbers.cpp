// SPDX-License-Identifier: Apache-2.0
// Block scaling knows vectors of 16 and 32.
// expect: set scale_vector_elems to 16 or 32
#include <heddle/pipeline/pipeline_storage.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kVector = 64;
#else
constexpr std::uint32_t kVector = 32;
#endif
constexpr BlockScaledTileConfig kConfig{.a = {128, 128}, .b = {128, 128}, .scale_vector_elems = kVector};
static_assert(sizeof(BlockScaledTileStorage<e4m3, e4m3, kConfig, 1>) > 0);
