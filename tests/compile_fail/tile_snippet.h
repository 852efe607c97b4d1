// SPDX-License-Identifier: Apache-2.0
//
// What snippets about tile pipelines and kernels start from.
#pragma once

#include "snippet.h"

#include <heddle/kernel/turns.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/pipeline/tile_pipeline.h>
#include <heddle/tile/layout.h>

using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {64, 64}, .b = {64, 64}}>;
using Input = ArrivingInputPipeline<Payload, 2, 2>;

using CTiles = OutputTileStorage<float, row_major<float>(32, 32), 2>::CTileArray;
inline constexpr OutputPipelineConfig output_config{.num_stages = 2};
using Output = OutputTilePipeline<output_config, SharedHome<CTiles>>;

// Storage of any kind, at an address that the compiler does not know.
template <class T>
HEDDLE_DEVICE T& storage_at(MbarPtr where) {
  return *reinterpret_cast<T*>(where);
}
