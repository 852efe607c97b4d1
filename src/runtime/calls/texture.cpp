// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects, of the runtime and of the driver.
#include "runtime/arrays.h"
#include "runtime/driver_call.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

using namespace heddle;
using namespace heddle::runtime;

namespace {

enum : int { kOfArray, kOfMipmaps, kOfLine, kOfRows };

// cudaResourceDesc
struct Resource {
  int type;
  union {
    void* array;
    struct {
      void* memory;
      ChannelFormat format;
      std::size_t bytes;
    } line;
    struct {
      void* memory;
      ChannelFormat format;
      std::size_t width;
      std::size_t height;
      std::size_t pitch;
    } rows;
  };
};
static_assert(sizeof(Resource) == 64);

// CUDA_RESOURCE_DESC
struct DriverResource {
  int type;
  union {
    void* array;
    struct {
      void* memory;
      int format;
      unsigned channels;
      std::size_t bytes;
    } line;
    struct {
      void* memory;
      int format;
      unsigned channels;
      std::size_t width;
      std::size_t height;
      std::size_t pitch;
    } rows;
    int reserved[32];
  };
  unsigned flags;
};
static_assert(sizeof(DriverResource) == 144);

// cudaTextureDesc, as far as it is read
struct Sampling {
  int beyond[3];
  int filter;
  int gives_fractions;
  int is_srgb;
  float border[4];
  int has_unit_coords;
  unsigned anisotropy;
};

// CUDA_TEXTURE_DESC, likewise
struct DriverSampling {
  int beyond[3];
  int filter;
  unsigned flags;
  unsigned anisotropy;
  int mipmap_filter;
  float level_bias, least_level, most_level;
  float border[4];
};
enum : unsigned { kReadsIntegers = 1, kUnitCoords = 2, kSrgb = 16 };

Error refuse(const char* what) {
  say(std::string("a texture object: ") + what + " are not there");
  return Error::kNotSupported;
}

// No card has more along one dimension.
constexpr std::size_t kMostTexels = std::size_t{1} << 28;

// Rows that hold something, each within its pitch.
bool has_rows(const Resource& resource, std::size_t texel_bytes) {
  const auto& rows = resource.rows;
  return rows.width != 0 && rows.height != 0 && rows.width <= kMostTexels && rows.height <= kMostTexels &&
         rows.width * texel_bytes <= rows.pitch;
}

Error texture_of(State& card, const Resource& resource, sim::Texture& texture) {
  switch (resource.type) {
    case kOfArray: {
      const Array* array = card.arrays.find(resource.array);
      if (array == nullptr) return Error::kInvalidHandle;
      texture = runtime::texture_of(*array);
      return Error::kSuccess;
    }
    case kOfMipmaps: return refuse("mipmaps");
    case kOfLine:
      if (!set_format(texture, resource.line.format) || resource.line.memory == nullptr)
        return Error::kInvalidValue;
      if (resource.line.bytes / texture.texel_bytes() > kMostTexels) return Error::kInvalidValue;
      texture.address = reinterpret_cast<std::uint64_t>(resource.line.memory);
      texture.size[0] = static_cast<std::uint32_t>(resource.line.bytes / texture.texel_bytes());
      texture.row_bytes = texture.slice_bytes = resource.line.bytes;
      return Error::kSuccess;
    case kOfRows:
      if (!set_format(texture, resource.rows.format) || resource.rows.memory == nullptr)
        return Error::kInvalidValue;
      if (!has_rows(resource, texture.texel_bytes())) return Error::kInvalidValue;
      texture.address = reinterpret_cast<std::uint64_t>(resource.rows.memory);
      texture.size = {static_cast<std::uint32_t>(resource.rows.width),
                      static_cast<std::uint32_t>(resource.rows.height), 1};
      texture.row_bytes = resource.rows.pitch;
      texture.slice_bytes = resource.rows.pitch * resource.rows.height;
      return Error::kSuccess;
    default: return Error::kInvalidValue;
  }
}

Error create_texture(State& card, const Resource& resource, const Sampling& how, std::uint64_t* handle) {
  sim::Texture texture;
  if (const Error error = texture_of(card, resource, texture); error != Error::kSuccess) return error;
  if (how.is_srgb != 0) return refuse("sRGB numbers");
  for (std::size_t d = 0; d < 3; ++d) {
    if (how.beyond[d] < 0 || how.beyond[d] > 3) return Error::kInvalidValue;
    texture.beyond[d] = static_cast<sim::Texture::Beyond>(how.beyond[d]);
    // What is fetched beyond the end of memory in a line is zero.
    if (resource.type == kOfLine) texture.beyond[d] = sim::Texture::Beyond::kBorder;
  }
  const bool is_integer = texture.channel != sim::Texture::Channel::kFloat;
  if (how.gives_fractions != 0 && is_integer && texture.channel_bytes == 4) return Error::kInvalidValue;
  texture.is_filtered = how.filter == 1;
  texture.gives_fractions = how.gives_fractions != 0;
  if (texture.is_filtered && is_integer && !texture.gives_fractions) return Error::kInvalidFilterSetting;
  texture.has_unit_coords = how.has_unit_coords != 0;
  if (resource.type != kOfLine) std::copy(how.border, how.border + 4, texture.border.begin());
  *handle = card.arrays.add(texture);
  return Error::kSuccess;
}

Error create_surface(State& card, const Resource& resource, std::uint64_t* handle) {
  if (resource.type != kOfArray) return Error::kInvalidValue;
  sim::Texture surface;
  if (const Error error = texture_of(card, resource, surface); error != Error::kSuccess) return error;
  surface.is_surface = true;
  *handle = card.arrays.add(surface);
  return Error::kSuccess;
}

bool in_runtime(const DriverResource& driver, Resource& resource) {
  resource = {};
  resource.type = driver.type;
  if (driver.type == kOfLine) {
    resource.line.memory = driver.line.memory;
    resource.line.bytes = driver.line.bytes;
    return format_of(driver.line.format, driver.line.channels, resource.line.format);
  }
  if (driver.type == kOfRows) {
    resource.rows.memory = driver.rows.memory;
    resource.rows.width = driver.rows.width;
    resource.rows.height = driver.rows.height;
    resource.rows.pitch = driver.rows.pitch;
    return format_of(driver.rows.format, driver.rows.channels, resource.rows.format);
  }
  resource.array = driver.array;
  return true;
}

}  // namespace

HEDDLE_CUDA_CALL int cudaCreateTextureObject(std::uint64_t* handle, const Resource* resource, const Sampling* how,
                                             const void* view) {
  return call_with(
      "cudaCreateTextureObject",
      [&](State& card) {
        if (view != nullptr) return refuse("views of resources");
        return create_texture(card, *resource, *how, handle);
      },
      handle, resource, how);
}

HEDDLE_CUDA_CALL int cudaDestroyTextureObject(std::uint64_t handle) {
  return call("cudaDestroyTextureObject", [&](State& card) { return card.arrays.remove(handle, false); });
}

HEDDLE_CUDA_CALL int cudaCreateSurfaceObject(std::uint64_t* handle, const Resource* resource) {
  return call_with(
      "cudaCreateSurfaceObject", [&](State& card) { return create_surface(card, *resource, handle); }, handle,
      resource);
}

HEDDLE_CUDA_CALL int cudaDestroySurfaceObject(std::uint64_t handle) {
  return call("cudaDestroySurfaceObject", [&](State& card) { return card.arrays.remove(handle, true); });
}

HEDDLE_CUDA_CALL int cuTexObjectCreate(std::uint64_t* handle, const DriverResource* driver,
                                       const DriverSampling* how, const void* view) {
  return driver_call_with(
      "cuTexObjectCreate",
      [&](State& card) {
        Resource resource;
        if (view != nullptr) return refuse("views of resources");
        if (!in_runtime(*driver, resource)) return Error::kInvalidValue;
        Sampling sampling = {};
        std::copy(how->beyond, how->beyond + 3, sampling.beyond);
        std::copy(how->border, how->border + 4, sampling.border);
        sampling.filter = how->filter;
        sampling.has_unit_coords = (how->flags & kUnitCoords) != 0 ? 1 : 0;
        sampling.is_srgb = (how->flags & kSrgb) != 0 ? 1 : 0;
        sim::Texture texture;
        if (const Error error = texture_of(card, resource, texture); error != Error::kSuccess) return error;
        // The driver gives fractions of integers that have them unless told otherwise.
        const bool has_fractions = texture.channel != sim::Texture::Channel::kFloat && texture.channel_bytes < 4;
        sampling.gives_fractions = has_fractions && (how->flags & kReadsIntegers) == 0 ? 1 : 0;
        return create_texture(card, resource, sampling, handle);
      },
      handle, driver, how);
}

HEDDLE_CUDA_CALL int cuTexObjectDestroy(std::uint64_t handle) {
  return driver_call("cuTexObjectDestroy", [&](State& card) { return card.arrays.remove(handle, false); });
}

HEDDLE_CUDA_CALL int cuSurfObjectCreate(std::uint64_t* handle, const DriverResource* driver) {
  return driver_call_with(
      "cuSurfObjectCreate",
      [&](State& card) {
        Resource resource;
        return in_runtime(*driver, resource) ? create_surface(card, resource, handle) : Error::kInvalidValue;
      },
      handle, driver);
}

HEDDLE_CUDA_CALL int cuSurfObjectDestroy(std::uint64_t handle) {
  return driver_call("cuSurfObjectDestroy", [&](State& card) { return card.arrays.remove(handle, true); });
}
