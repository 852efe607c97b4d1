// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps for convolutions. A copy takes pixels, each a run of channels, one after the other from a box of
// pixels that all of them are counted in; where a filter has them is an offset of the instruction.
//
// A map is that of a tile of one pixel, with what follows in words that such a map leaves empty.
// PTX: Tensor modes: im2col mode.
#pragma once

#include <heddle/isa/tensor_map.h>

#include <cstdint>
#include <optional>
#include <string>

namespace heddle::sim::machine {

struct Im2col {
  static constexpr std::uint32_t kMinRank = 3;
  static constexpr std::uint32_t kMaxRank = 5;
  static constexpr std::uint32_t kMaxPixels = 1024;

  // The first pixel of the box in each dimension but the outer two, and how far the last one is from the tensor's
  // last.
  std::int32_t lower[3] = {};
  std::int32_t upper[3] = {};
  std::uint32_t pixels = 0;  // of a copy
};

// What the rank allows for a corner; empty if all are fine.
std::string im2col_mistake(const TensorMapSpec& spec, const Im2col& pixels);

void encode_im2col(TensorMap& map, const TensorMapSpec& spec, const Im2col& pixels);
std::optional<Im2col> decode_im2col(const TensorMap& map);

}  // namespace heddle::sim::machine
