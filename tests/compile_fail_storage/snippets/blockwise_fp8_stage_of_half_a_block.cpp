// SPDX-License-Identifier: Apache-2.0
// A stage holds whole scale blocks.
// expect: multiple of 128
#include <heddle/pipeline/pipeline_storage.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kCols = 64;
#else
constexpr std::uint32_t kCols = 128;
#endif
constexpr BlockwiseFP8TileConfig kConfig{
    .a = {128, kCols}, .b = {128, kCols}, .a_swizzle = Swizzle::k64B, .b_swizzle = Swizzle::k64B};
static_assert(sizeof(BlockwiseFP8TileStorage<e4m3, e4m3, kConfig, 1>) > 0);
