// SPDX-License-Identifier: Apache-2.0
//
// Tile pipelines: what carries tiles from the copy engine to the tensor cores, and results from there to the
// epilogue.
#pragma once

#include <heddle/pipeline/input_tile_pipeline.h>
