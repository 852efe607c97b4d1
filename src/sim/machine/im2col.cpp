// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/im2col.h"

#include <heddle/host/tensor_map_encode.h>

#include <fmt/format.h>

namespace heddle::sim::machine {

namespace {

constexpr int kPixelWord = 12;  // the pixels of a copy; 0: a map of tiles
constexpr int kLowerWord = 13;  // 16 bits for each dimension
constexpr int kUpperWord = 14;

}  // namespace

std::string im2col_mistake(const TensorMapSpec& spec, const Im2col& pixels) {
  if (spec.rank < Im2col::kMinRank || spec.rank > Im2col::kMaxRank) {
    return fmt::format("a tensor of rank {}; {} to {} have pixels", spec.rank, Im2col::kMinRank,
                       Im2col::kMaxRank);
  }
  if (pixels.pixels == 0 || pixels.pixels > Im2col::kMaxPixels) {
    return fmt::format("{} pixels per column; 1 to {}", pixels.pixels, Im2col::kMaxPixels);
  }
  const std::int32_t limit = spec.rank == 3 ? 1 << 15 : spec.rank == 4 ? 1 << 7 : 1 << 4;
  for (std::uint32_t d = 0; d < spec.rank - 2; ++d) {
    for (const std::int32_t corner : {pixels.lower[d], pixels.upper[d]}) {
      if (corner >= -limit && corner < limit) continue;
      return fmt::format("a corner of the pixel box at {} in dimension {}; {} to {} with rank {}", corner, d + 1,
                         -limit, limit - 1, spec.rank);
    }
    // As the driver for an H200 has it.
    const std::int64_t end = static_cast<std::int64_t>(spec.dims[d + 1]) + pixels.upper[d];
    if (pixels.lower[d] >= end) {
      return fmt::format("a pixel box from {} to {} in dimension {}; it has at least one pixel", pixels.lower[d],
                         end - 1, d + 1);
    }
  }
  return {};
}

void encode_im2col(TensorMap& map, const TensorMapSpec& spec, const Im2col& pixels) {
  isa::tensor_map_encode_tiled(map, spec);
  map.opaque[kPixelWord] = pixels.pixels;
  for (int d = 0; d < 3; ++d) {
    map.opaque[kLowerWord] |= std::uint64_t{static_cast<std::uint16_t>(pixels.lower[d])} << 16 * d;
    map.opaque[kUpperWord] |= std::uint64_t{static_cast<std::uint16_t>(pixels.upper[d])} << 16 * d;
  }
  map.opaque[15] = isa::detail::tensor_map_checksum(map);
}

std::optional<Im2col> decode_im2col(const TensorMap& map) {
  // A map in the hardware's bits has anything there.
  if (isa::tensor_map_decode(map).state != isa::TensorMapState::kFine) return std::nullopt;
  if (map.opaque[kPixelWord] == 0) return std::nullopt;
  Im2col pixels;
  pixels.pixels = static_cast<std::uint32_t>(map.opaque[kPixelWord]);
  for (int d = 0; d < 3; ++d) {
    pixels.lower[d] = static_cast<std::int16_t>(map.opaque[kLowerWord] >> 16 * d);
    pixels.upper[d] = static_cast<std::int16_t>(map.opaque[kUpperWord] >> 16 * d);
  }
  return pixels;
}

}  // namespace heddle::sim::machine
