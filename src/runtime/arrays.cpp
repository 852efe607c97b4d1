// SPDX-License-Identifier: Apache-2.0
#include "runtime/arrays.h"

#include "runtime/copy.h"
#include "runtime/memory.h"

#include <algorithm>
#include <utility>

namespace heddle::runtime {

namespace {

// CUarray_format
struct DriverFormat {
  int number;
  int bits;
  int kind;
};
constexpr DriverFormat kDriverFormats[] = {{1, 8, 1},  {2, 16, 1},  {3, 32, 1},  {8, 8, 0},
                                           {9, 16, 0}, {10, 32, 0}, {16, 16, 2}, {32, 32, 2}};

}  // namespace

bool format_of(int driver_format, unsigned channels, ChannelFormat& format) {
  for (const DriverFormat& known : kDriverFormats) {
    if (known.number != driver_format || channels == 0 || channels > 4) continue;
    format = {};
    std::fill_n(format.bits, channels, known.bits);
    format.kind = known.kind;
    return true;
  }
  return false;
}

int driver_format(const ChannelFormat& format, unsigned& channels) {
  channels =
      static_cast<unsigned>(std::count_if(format.bits, format.bits + 4, [](int bits) { return bits != 0; }));
  for (const DriverFormat& known : kDriverFormats) {
    if (known.bits == format.bits[0] && known.kind == format.kind) return known.number;
  }
  return 0;
}

bool Array::box_at(std::size_t x, std::size_t y, std::size_t z, const Extent& box_extent, Box& box) const {
  const auto fits = [](std::size_t at, std::size_t size, std::size_t end) {
    return at <= end && size <= end - at;
  };
  if (!fits(x, box_extent.width, row_bytes()) || !fits(y, box_extent.height, rows()) ||
      !fits(z, box_extent.depth, slices())) {
    return false;
  }
  box.pitch = row_bytes();
  box.slice = box.pitch * rows();
  box.begin = memory + z * box.slice + y * box.pitch + x;
  return true;
}

bool set_format(sim::Texture& texture, const ChannelFormat& format) {
  std::uint32_t channels = 0;
  while (channels < 4 && format.bits[channels] != 0) ++channels;
  const int bits = format.bits[0];
  for (std::uint32_t c = 0; c < 4; ++c) {
    if (format.bits[c] != (c < channels ? bits : 0)) return false;
  }
  const bool is_float = format.kind == 2;
  if (channels == 0 || channels == 3 || format.kind < 0 || format.kind > 2) return false;
  if (bits != 16 && bits != 32 && (bits != 8 || is_float)) return false;
  texture.channels = channels;
  texture.channel_bytes = static_cast<std::uint32_t>(bits / 8);
  texture.channel = static_cast<sim::Texture::Channel>(format.kind);
  return true;
}

sim::Texture texture_of(const Array& array) {
  sim::Texture texture;
  set_format(texture, array.format);
  texture.address = reinterpret_cast<std::uint64_t>(array.memory);
  texture.size = {static_cast<std::uint32_t>(array.extent.width), static_cast<std::uint32_t>(array.rows()), 1};
  const auto slices = static_cast<std::uint32_t>(array.slices());
  const bool has_layers = (array.flags & (Array::kLayered | Array::kCube)) != 0;
  (has_layers ? texture.layers : texture.size[2]) = slices;
  texture.row_bytes = array.row_bytes();
  texture.slice_bytes = array.row_bytes() * array.rows();
  return texture;
}

Error Arrays::create(Memory& memory, const ChannelFormat& format, const Extent& extent, unsigned flags,
                     void** array) {
  constexpr std::size_t kMostElements = std::size_t{1} << 17;
  constexpr unsigned kAllFlags = Array::kLayered | Array::kSurface | Array::kCube | Array::kGather;
  *array = nullptr;
  sim::Texture texture;
  if (!set_format(texture, format) || extent.width == 0 || (flags & ~kAllFlags) != 0) return Error::kInvalidValue;
  if (std::max({extent.width, extent.height, extent.depth}) > kMostElements) return Error::kInvalidValue;
  const bool is_cube = (flags & Array::kCube) != 0;
  const bool is_layered = (flags & Array::kLayered) != 0;
  if (is_cube && (extent.width != extent.height || (is_layered ? extent.depth % 6 != 0 : extent.depth != 6))) {
    return Error::kInvalidValue;
  }
  if (is_layered && extent.depth == 0) return Error::kInvalidValue;
  if (extent.depth != 0 && extent.height == 0 && !is_layered) return Error::kInvalidValue;
  auto made = std::make_unique<Array>(
      Array{.format = format, .extent = extent, .flags = flags, .element_bytes = texture.texel_bytes()});
  std::size_t bytes = 0;
  if (!multiply(made->row_bytes(), made->rows(), bytes) || !multiply(bytes, made->slices(), bytes)) {
    return Error::kInvalidValue;
  }
  made->memory = memory.allocate(MemoryKind::kDevice, bytes);
  if (made->memory == nullptr) return Error::kMemoryAllocation;
  *array = made.get();
  arrays_.emplace(made.get(), std::move(made));
  return Error::kSuccess;
}

Error Arrays::destroy(Memory& memory, const void* array) {
  const auto found = arrays_.find(array);
  if (found == arrays_.end()) return Error::kInvalidHandle;
  memory.free(found->second->memory, MemoryKind::kDevice);
  arrays_.erase(found);
  return Error::kSuccess;
}

const Array* Arrays::find(const void* array) const {
  const auto found = arrays_.find(array);
  return found == arrays_.end() ? nullptr : found->second.get();
}

std::uint64_t Arrays::add(const sim::Texture& texture) {
  table_.emplace(++handles_, texture);
  return handles_;
}

Error Arrays::remove(std::uint64_t handle, bool is_surface) {
  const auto found = table_.find(handle);
  if (found == table_.end() || found->second.is_surface != is_surface) return Error::kInvalidValue;
  table_.erase(found);
  return Error::kSuccess;
}

void Arrays::clear() {
  arrays_.clear();
  table_.clear();
}

}  // namespace heddle::runtime
