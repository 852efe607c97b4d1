// SPDX-License-Identifier: Apache-2.0
//
// What a tile copy must give, element by element. Shares nothing with the kernel, the plan and the copy engine
// but the problem: strides, counts, clipping and swizzle are computed here.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tile_copy/tile_copy_host.h"

namespace heddle {

using Bytes = std::vector<unsigned char>;
using Index = std::array<std::int64_t, 5>;

// A tensor as the problem describes it: where its elements lie, and how many boxes there are.
struct Tensor {
  explicit Tensor(const TileCopyProblem& problem) : p(problem) {
    std::int64_t pitch = (extent(0) * p.element_bytes + 15) / 16 * 16;
    for (std::uint32_t d = 1; d < p.rank; ++d) {
      strides[d] = pitch;
      pitch *= extent(d);
    }
    bytes = static_cast<std::size_t>(pitch);
    for (std::uint32_t d = 0; d < p.rank; ++d) {
      for (std::int64_t at = p.start[d]; at < extent(d); at += p.box[d]) ++counts[d];
      boxes *= counts[d];
    }
  }

  std::int64_t extent(std::uint32_t d) const { return d < p.rank ? static_cast<std::int64_t>(p.dims[d]) : 1; }
  std::int64_t box_extent(std::uint32_t d) const { return d < p.rank ? p.box[d] : 1; }

  bool holds(const Index& at) const {
    for (std::uint32_t d = 0; d < 5; ++d) {
      if (at[d] < 0 || at[d] >= extent(d)) return false;
    }
    return true;
  }
  std::size_t offset(const Index& at) const {
    std::int64_t sum = at[0] * p.element_bytes;
    for (std::uint32_t d = 1; d < 5; ++d) sum += at[d] * strides[d];
    return static_cast<std::size_t>(sum);
  }

  TileCopyProblem p;
  Index strides{};
  std::size_t bytes = 0;
  Index counts{0, 0, 0, 0, 0};
  std::int64_t boxes = 1;
};

template <class Visit>
void for_each(const Index& counts, const Visit& visit) {
  Index i;
  for (i[4] = 0; i[4] < counts[4]; ++i[4])
    for (i[3] = 0; i[3] < counts[3]; ++i[3])
      for (i[2] = 0; i[2] < counts[2]; ++i[2])
        for (i[1] = 0; i[1] < counts[1]; ++i[1])
          for (i[0] = 0; i[0] < counts[0]; ++i[0]) visit(i);
}

// The copy: boxes cover the tensor from `start` on. Elements outside of it are zeros, and a row is written to the
// next multiple of 16 bytes.
inline Bytes copied(const Tensor& tensor, const Bytes& source) {
  Bytes output(tensor.bytes, kTileCopyPoison);
  const TileCopyProblem& p = tensor.p;
  Index padded;
  for (std::uint32_t d = 0; d < 5; ++d) padded[d] = tensor.extent(d);
  padded[0] = (padded[0] * p.element_bytes + 15) / 16 * 16 / p.element_bytes;
  for_each(padded, [&](const Index& at) {
    for (std::uint32_t d = 0; d < p.rank; ++d) {
      if (at[d] < p.start[d]) return;
    }
    for (std::uint32_t byte = 0; byte < p.element_bytes; ++byte) {
      output[tensor.offset(at) + byte] = tensor.holds(at) ? source[tensor.offset(at) + byte] : 0;
    }
  });
  return output;
}

// The tiles one after the other, each as it lies in shared memory, and which of their bytes a copy writes.
struct Image {
  Bytes bytes;
  std::vector<bool> is_written;
};

inline Image image_of(const Tensor& tensor, const Bytes& source) {
  const TileCopyProblem& p = tensor.p;
  const std::int64_t row_bytes = tensor.box_extent(0) * p.element_bytes;
  const std::int64_t pitch = std::max<std::int64_t>(row_bytes, p.swizzle_bytes);
  Index box_extents;
  std::int64_t rows = 1;
  for (std::uint32_t d = 0; d < 5; ++d) box_extents[d] = tensor.box_extent(d);
  for (std::uint32_t d = 1; d < 5; ++d) rows *= box_extents[d];
  const auto tile_bytes = static_cast<std::size_t>(rows * pitch);
  Image image{Bytes(tile_bytes * static_cast<std::size_t>(tensor.boxes)), {}};
  image.is_written.resize(image.bytes.size());
  Index counts = tensor.counts;
  for (std::uint32_t d = p.rank; d < 5; ++d) counts[d] = 1;
  std::size_t tile = 0;
  for_each(counts, [&](const Index& box) {
    std::size_t linear = 0;  // in the tile, by rows
    for_each(box_extents, [&](const Index& in_box) {
      Index at{};
      for (std::uint32_t d = 0; d < p.rank; ++d) at[d] = p.start[d] + box[d] * p.box[d] + in_box[d];
      const std::size_t row = linear / static_cast<std::size_t>(box_extents[0]);
      ++linear;
      for (std::uint32_t byte = 0; byte < p.element_bytes; ++byte) {
        const std::size_t a =
            row * static_cast<std::size_t>(pitch) + static_cast<std::size_t>(in_box[0]) * p.element_bytes + byte;
        // Sixteen bytes move together, by the number of the 128-byte line: 2, 4 or 8 patterns.
        const std::size_t patterns = p.swizzle_bytes / 16;
        const std::size_t physical = patterns == 0 ? a : a ^ (((a >> 7) & (patterns - 1)) << 4);
        image.bytes[tile + physical] = tensor.holds(at) ? source[tensor.offset(at) + byte] : 0;
        image.is_written[tile + physical] = true;
      }
    });
    tile += tile_bytes;
  });
  return image;
}

}  // namespace heddle
