// SPDX-License-Identifier: Apache-2.0
//
// Whether a tensor map is for the tile that is copied with it. Not an instruction: on the GPU it vanishes; the
// simulated SM reports a map whose box, elements or swizzle are others than the tile's.
#pragma once

#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/tile/swizzle.h>

namespace heddle::inline HEDDLE_TARGET::isa {

// What one copy of a tile moves: a box of so many dimensions, innermost first.
struct TileCopy {
  std::uint32_t box[5];
  std::uint32_t rank;
  std::uint32_t element_bytes;
  Swizzle swizzle;
  bool has_edge = false;  // boxes may have fewer rows
};

#if HEDDLE_ON_CUDA

HEDDLE_DEVICE void check_tensor_map(const TensorMap*, const TileCopy&, CallSite) {}

#else

// The box of the map has 1 in dimensions beyond the tile's.
void check_tensor_map(const TensorMap* map, const TileCopy& copy, CallSite site);

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
