// SPDX-License-Identifier: Apache-2.0
// Blockwise FP8 is for 8-bit types.
// expect: e4m3 and e5m2 only
#include <heddle/pipeline/pipeline_storage.h>

using namespace heddle;

#ifdef MISUSE
using AType = bf16;
#else
using AType = e4m3;
#endif
constexpr BlockwiseFP8TileConfig kConfig{.a = {128, 128}, .b = {128, 128}};
static_assert(sizeof(BlockwiseFP8TileStorage<AType, e4m3, kConfig, 1>) > 0);
