// SPDX-License-Identifier: Apache-2.0
// A stage that each warp of a warpgroup gives back once, and 128 arrivals are waited for.
// expect: one signal of a whole warp: count EachWarp
#include <heddle/kernel/barriers.h>
#include <heddle/pipeline/tile_pipeline.h>
#include <heddle/pipeline/wgmma_backend.h>

using namespace heddle;

using Load = Role<"load", 1>;
using Math = Role<"math", 4>;
using Roles = WarpRoles<Math, Load>;
using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {64, 64}, .b = {64, 64}}>;
using Input = InputTilePipeline<Payload, 4, 1, WgmmaInputBackend<4>>;
#ifdef MISUSE
using Counts = RingCounts<Roles, OneThread<Load>, EachThread<Math>>;
#else
using Counts = RingCounts<Roles, OneThread<Load>, EachWarp<Math>>;
#endif

HEDDLE_DEVICE void init(MbarPtr barriers) { Input::init_barriers<Counts>(barriers); }
