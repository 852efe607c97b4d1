// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps in the bits of the hardware, from tools that write them without the driver (CuTe DSL). The layout
// is not documented; it was measured on an H200, field by field. Sixteen 64-bit words:
//
//   0      address
//   1      mode (bits 0-3; tiled is 0 from the driver, 2 from CuTe DSL), rank - 1 (4-6), element (7-10),
//          interleave (11-12), swizzle (13-14), fill (15), tf32 (16), L2 promotion (17-18), bits without effect
//          (19-23), stride of dimension 1 in units of 16 bytes (32-63)
//   2, 3   strides of dimensions 2, 3 and 4 likewise; bits 32-47 of word 3 are four more bits of each of the four
//   4-6    extents - 1, 32 bits each; above bit 32 of word 6 the element strides - 1, 3 bits each; box of
//          dimension 0 minus 1 (56-63)
//   7      box of dimensions 1 to 4 minus 1, 8 bits each
//   8, 9   bytes of a box, alignment in shared memory; from here on CuTe DSL leaves what was there
//
// Bits 19-23 of word 1: the driver leaves them 0, CuTe DSL sets 21 in maps of stores. On an H200 each of them was
// set in turn, with no swizzle and those of 64 and 128 bytes: loads and stores moved the same bytes. Unverified:
// what they say to Blackwell.
//
// Unverified: the number of packed types of 4 bits is CuTe DSL's for Blackwell, whose extents, pitch and box
// agree with it. Those of padded types, and of swizzles with other atoms, which an H200 does not have, are not
// known. A map with any bit that is not known here is none.
#pragma once

#include <heddle/host/tensor_map_encode.h>

#include <optional>

namespace heddle::sim::machine {

// Of a tiled map; nothing if the bytes are none.
std::optional<TensorMapSpec> read_hardware_map(const TensorMap& map);

// A map of either format.
isa::DecodedTensorMap decode_tensor_map(const TensorMap& map);

}  // namespace heddle::sim::machine
