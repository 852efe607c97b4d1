// SPDX-License-Identifier: Apache-2.0
// Two accumulators of 256 columns leave no room for scale factors.
// expect: more tensor-memory columns than a CTA has
// expect: TmemColumns.*560.*512
#include <heddle/tile/scale_factors.h>
#include <heddle/tile/tmem_plan.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kN = 256;
#else
constexpr std::uint32_t kN = 224;
#endif
using Accumulator = TmemTensor<float, AccumulatorShape{.m = 128, .n = kN}>;
using Plan = TmemPlan<TmemRegion<"accumulators", Accumulator, 2>,
                      TmemRegion<"sfa", TmemScales<ScaleFactorShape{.rows = 128, .scales_per_row = 4}>, 4>,
                      TmemRegion<"sfb", TmemScales<ScaleFactorShape{.rows = kN, .scales_per_row = 4}>, 4>>;
static_assert(Plan::kAllocCols >= 512);
