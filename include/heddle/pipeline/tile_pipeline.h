// SPDX-License-Identifier: Apache-2.0
//
// Tile pipelines: what carries tiles from the copy engine to the tensor cores (InputTilePipeline), and results
// from there to the epilogue (OutputTilePipeline). Each gives out stages in two forms: linear handles, which must
// be released, and scopes, which release at the end of their block.
#pragma once

#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/pipeline/output_tile_pipeline.h>
#include <heddle/pipeline/payload.h>
#include <heddle/pipeline/per_k.h>
