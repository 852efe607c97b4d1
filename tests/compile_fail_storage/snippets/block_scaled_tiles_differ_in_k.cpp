// SPDX-License-Identifier: Apache-2.0
// 128 bytes of packed fp4 are 256 numbers.
// expect: differ in K
#include <heddle/pipeline/pipeline_storage.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kColsOfB = 128;
#else
constexpr std::uint32_t kColsOfB = 256;
#endif
constexpr BlockScaledTileConfig kConfig{.a = {128, 128}, .b = {128, kColsOfB}};
static_assert(sizeof(BlockScaledTileStorage<e2m1x2, e4m3, kConfig, 1>) > 0);
