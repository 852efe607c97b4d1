// SPDX-License-Identifier: Apache-2.0
//
// The driver: copies and fills of boxes, and copies between cards, of which there is one.
#include "runtime/copy.h"
#include "runtime/copy_layouts.h"
#include "runtime/driver_call.h"

#include <cstdint>
#include <span>

using namespace heddle::runtime;

extern "C" int cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height);

namespace {

using DevicePointer = std::uint64_t;

void* pointer(DevicePointer address) { return reinterpret_cast<void*>(address); }

// CUDA_MEMCPY2D
struct DriverCopy2D {
  struct Side {
    std::size_t x;
    std::size_t y;
    int memory_type;
    void* host;
    void* device;
    void* array;
    std::size_t pitch;
  };
  Side from;
  Side to;
  std::size_t width;
  std::size_t height;
};
static_assert(sizeof(DriverCopy2D) == 128);

DriverCopy3D::Side in_3d(const DriverCopy2D::Side& side) {
  DriverCopy3D::Side result = {};
  result.position = {side.x, side.y, 0};
  result.memory_type = side.memory_type;
  result.host = side.host;
  result.device = side.device;
  result.array = side.array;
  result.pitch = side.pitch;
  return result;
}

Error run(State& card, const DriverCopy3D& copy) {
  CopyWork work;
  const Error error = work_of(copy, work);
  return error == Error::kSuccess ? copy_box(card, work.to, work.from, work.extent, work.kind) : error;
}

Error run(State& card, const DriverCopy2D* copy) {
  if (copy == nullptr) return Error::kInvalidValue;
  DriverCopy3D box = {};
  box.from = in_3d(copy->from);
  box.to = in_3d(copy->to);
  box.extent = {copy->width, copy->height, 1};
  return run(card, box);
}

template <class T>
Error fill_2d(State& card, DevicePointer to, std::size_t pitch, T value, std::size_t width, std::size_t height) {
  Extent extent = {.width = 0, .height = height, .depth = 1};
  if (!multiply(width, sizeof(T), extent.width)) return Error::kInvalidValue;
  return fill_box(card, {.begin = pointer(to), .pitch = pitch}, std::as_bytes(std::span(&value, 1)), extent);
}

}  // namespace

HEDDLE_CUDA_CALL int cuMemAllocPitch_v2(DevicePointer* address, std::size_t* pitch, std::size_t width,
                                        std::size_t height, unsigned element_bytes) {
  if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16) return driver_code(Error::kInvalidValue);
  return driver_code(
      static_cast<Error>(cudaMallocPitch(reinterpret_cast<void**>(address), pitch, width, height)));
}

HEDDLE_CUDA_CALL int cuMemcpy2D_v2(const DriverCopy2D* copy) {
  return driver_call("cuMemcpy2D", [&](State& card) { return run(card, copy); });
}

HEDDLE_CUDA_CALL int cuMemcpy2DUnaligned_v2(const DriverCopy2D* copy) { return cuMemcpy2D_v2(copy); }

HEDDLE_CUDA_CALL int cuMemcpy2DAsync_v2(const DriverCopy2D* copy, void* stream) {
  return driver_call_on("cuMemcpy2DAsync", stream, [&](State& card) { return run(card, copy); });
}

HEDDLE_CUDA_CALL int cuMemcpy3D_v2(const DriverCopy3D* copy) {
  return driver_call_with(
      "cuMemcpy3D", [&](State& card) { return run(card, *copy); }, copy);
}

HEDDLE_CUDA_CALL int cuMemcpy3DAsync_v2(const DriverCopy3D* copy, void* stream) {
  return driver_call_on("cuMemcpy3DAsync", stream,
                        [&](State& card) { return copy == nullptr ? Error::kInvalidValue : run(card, *copy); });
}

HEDDLE_CUDA_CALL int cuMemcpyPeer(DevicePointer to, void*, DevicePointer from, void*, std::size_t bytes) {
  return driver_call("cuMemcpyPeer",
                     [&](State& card) { return copy(card, pointer(to), pointer(from), bytes, kDeviceToDevice); });
}

HEDDLE_CUDA_CALL int cuMemcpyPeerAsync(DevicePointer to, void*, DevicePointer from, void*, std::size_t bytes,
                                       void* stream) {
  return driver_call_on("cuMemcpyPeerAsync", stream, [&](State& card) {
    return copy(card, pointer(to), pointer(from), bytes, kDeviceToDevice);
  });
}

#define HEDDLE_FILL_2D(bits, type)                                                                      \
  HEDDLE_CUDA_CALL int cuMemsetD2D##bits##_v2(DevicePointer to, std::size_t pitch, type value,          \
                                              std::size_t width, std::size_t height) {                  \
    return driver_call("cuMemsetD2D" #bits,                                                             \
                       [&](State& card) { return fill_2d(card, to, pitch, value, width, height); });    \
  }                                                                                                     \
  HEDDLE_CUDA_CALL int cuMemsetD2D##bits##Async(DevicePointer to, std::size_t pitch, type value,        \
                                                std::size_t width, std::size_t height, void* stream) {  \
    return driver_call_on("cuMemsetD2D" #bits "Async", stream,                                          \
                          [&](State& card) { return fill_2d(card, to, pitch, value, width, height); }); \
  }
HEDDLE_FILL_2D(8, unsigned char)
HEDDLE_FILL_2D(16, unsigned short)
HEDDLE_FILL_2D(32, unsigned)
