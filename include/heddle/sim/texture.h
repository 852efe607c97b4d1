// SPDX-License-Identifier: Apache-2.0
//
// Textures and surfaces: memory that kernels in PTX reach by a handle and by coordinates.
#pragma once

#include <array>
#include <cstdint>
#include <map>

namespace heddle::sim {

struct Texture {
  enum class Channel : std::uint8_t { kSigned, kUnsigned, kFloat };
  enum class Beyond : std::uint8_t { kWrap, kClamp, kMirror, kBorder };  // as CUDA numbers them

  std::uint64_t address = 0;                      // of the first texel, in global memory
  std::array<std::uint32_t, 3> size = {1, 1, 1};  // in texels; 1 where it has no such dimension
  std::uint32_t layers = 1;                       // those of a cube have six faces each
  std::uint64_t row_bytes = 0;                    // from one row to the next
  std::uint64_t slice_bytes = 0;                  // from one slice, or layer, to the next
  std::uint32_t channels = 1;
  std::uint32_t channel_bytes = 4;
  Channel channel = Channel::kFloat;
  std::array<Beyond, 3> beyond = {Beyond::kClamp, Beyond::kClamp, Beyond::kClamp};
  bool is_filtered = false;      // linearly
  bool has_unit_coords = false;  // from 0 to 1
  bool gives_fractions = false;  // integers of 8 and 16 bits as numbers up to 1
  std::array<float, 4> border = {};
  bool is_surface = false;

  std::uint32_t texel_bytes() const { return channels * channel_bytes; }
};

using TextureTable = std::map<std::uint64_t, Texture>;  // by handle

}  // namespace heddle::sim
