// SPDX-License-Identifier: Apache-2.0
//
// CUDA arrays, and the textures and surfaces that are made of them or of other memory. The bytes of an array lie
// in an allocation, row after row with nothing between.
#pragma once

#include "runtime/error_code.h"
#include "runtime/work.h"

#include <heddle/sim/texture.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace heddle::runtime {

class Memory;

// cudaChannelFormatDesc
struct ChannelFormat {
  int bits[4];
  int kind;  // 0: signed, 1: unsigned, 2: float
};
static_assert(sizeof(ChannelFormat) == 20);

// The driver's numbers of formats.
bool format_of(int driver_format, unsigned channels, ChannelFormat& format);
int driver_format(const ChannelFormat& format, unsigned& channels);

struct Array {
  enum Flags : unsigned { kLayered = 1, kSurface = 2, kCube = 4, kGather = 8 };

  ChannelFormat format = {};
  Extent extent = {};  // in elements, as the program gave it: 0 for dimensions that are not there
  unsigned flags = 0;
  std::size_t element_bytes = 0;
  std::byte* memory = nullptr;

  std::size_t row_bytes() const { return extent.width * element_bytes; }
  std::size_t rows() const { return extent.height == 0 ? 1 : extent.height; }
  std::size_t slices() const { return extent.depth == 0 ? 1 : extent.depth; }
  // The box whose first element lies at x, in bytes, and y, z; false if it reaches beyond a side of the array.
  bool box_at(std::size_t x, std::size_t y, std::size_t z, const Extent& box_extent, Box& box) const;
};

// Fills in what the format says; false for one that no card has.
bool set_format(sim::Texture& texture, const ChannelFormat& format);
sim::Texture texture_of(const Array& array);

class Arrays {
 public:
  Error create(Memory& memory, const ChannelFormat& format, const Extent& extent, unsigned flags, void** array);
  Error destroy(Memory& memory, const void* array);
  const Array* find(const void* array) const;  // null if it is none

  std::uint64_t add(const sim::Texture& texture);
  Error remove(std::uint64_t handle, bool is_surface);
  const sim::TextureTable& table() const { return table_; }

  void clear();  // the memory is given back by others

 private:
  std::map<const void*, std::unique_ptr<Array>> arrays_;
  sim::TextureTable table_;
  std::uint64_t handles_ = 0;
};

}  // namespace heddle::runtime
