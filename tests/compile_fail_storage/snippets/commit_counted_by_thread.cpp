// SPDX-License-Identifier: Apache-2.0
// A stage that one commit empties, and 32 arrivals are waited for.
// expect: a release of this pipeline is a commit .*count OneThread
#include <heddle/kernel/barriers.h>
#include <heddle/pipeline/tile_pipeline.h>

using namespace heddle;

using Load = Role<"load", 1>;
using Mma = Role<"mma", 1>;
using Roles = WarpRoles<Load, Mma>;
using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {128, 64}, .b = {64, 64}}>;
#ifdef MISUSE
using Counts = RingCounts<Roles, OneThread<Load>, EachThread<Mma>>;
#else
using Counts = RingCounts<Roles, OneThread<Load>, OneThread<Mma>>;
#endif

HEDDLE_DEVICE void init(MbarPtr barriers) { InputTilePipeline<Payload, 4>::init_barriers<Counts>(barriers); }
