// SPDX-License-Identifier: Apache-2.0
// Two accumulators of 256 columns leave no room for scale factors.
// expect: more tensor-memory columns than a CTA has
// expect: TmemColumns.*560.*512
#include <heddle/tile/tmem_view.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kN = 256;
#else
constexpr std::uint32_t kN = 224;
#endif
constexpr BlockScaledTmemConfig kConfig{
    .accumulator = {.m = 128, .n = kN}, .num_accumulator_stages = 2, .num_input_stages = 4};
static_assert(BlockScaledTmemRegions<kConfig>::kAllocCols == 512);
