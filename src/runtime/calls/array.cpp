// SPDX-License-Identifier: Apache-2.0
//
// CUDA arrays, of the runtime and of the driver: taking, giving back, asking, and copies of the calls that name
// them.
#include "runtime/arrays.h"
#include "runtime/copy.h"
#include "runtime/driver_call.h"

#include <cstdint>

using namespace heddle::runtime;

namespace {

Error create(State& card, const ChannelFormat& format, const Extent& extent, unsigned flags, void** array) {
  if (const Error error = card.captures.admit_memory(card.stream); error != Error::kSuccess) return error;
  return card.arrays.create(card.memory, format, extent, flags, array);
}

Error destroy(State& card, const void* array) {
  if (const Error error = card.captures.admit_memory(card.stream); error != Error::kSuccess) return error;
  card.streams.order.host_waits_for_all();
  return card.arrays.destroy(card.memory, array);
}

// Between memory of any kind and the bytes of an array from x on in row y.
Error copy_to(State& card, const void* array, std::size_t x, std::size_t y, const Box& from, const Extent& extent,
              int kind) {
  const Array* to = card.arrays.find(array);
  if (to == nullptr) return Error::kInvalidHandle;
  Box box;
  return to->box_at(x, y, 0, extent, box) ? copy_box(card, box, from, extent, kind) : Error::kInvalidValue;
}

Error copy_from(State& card, const Box& to, const void* array, std::size_t x, std::size_t y, const Extent& extent,
                int kind) {
  const Array* from = card.arrays.find(array);
  if (from == nullptr) return Error::kInvalidHandle;
  Box box;
  return from->box_at(x, y, 0, extent, box) ? copy_box(card, to, box, extent, kind) : Error::kInvalidValue;
}

Box rows(const void* begin, std::size_t pitch) { return {.begin = const_cast<void*>(begin), .pitch = pitch}; }

// Bytes in the order of the rows of the array's first slice.
Error copy_line(State& card, const void* array, std::size_t x, std::size_t y, void* other, std::size_t bytes,
                int kind, bool to_array) {
  const Array* found = card.arrays.find(array);
  if (found == nullptr) return Error::kInvalidHandle;
  Box box;
  if (!found->box_at(x, y, 0, {.width = 0, .height = 0}, box)) return Error::kInvalidValue;
  const std::size_t offset = y * found->row_bytes() + x;
  if (offset > box.slice || bytes > box.slice - offset) return Error::kInvalidValue;
  return to_array ? copy(card, box.begin, other, bytes, kind) : copy(card, other, box.begin, bytes, kind);
}

// CUDA_ARRAY3D_DESCRIPTOR; that of two dimensions has neither depth nor flags.
struct DriverArray {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  int format;
  unsigned channels;
  unsigned flags;
};
struct DriverFlatArray {
  std::size_t width;
  std::size_t height;
  int format;
  unsigned channels;
};

Error create(State& card, const DriverArray& wanted, void** array) {
  ChannelFormat format = {};
  if (!format_of(wanted.format, wanted.channels, format)) return Error::kInvalidValue;
  return create(card, format, {wanted.width, wanted.height, wanted.depth}, wanted.flags, array);
}

Error describe(State& card, const void* array, DriverArray& result) {
  const Array* found = card.arrays.find(array);
  if (found == nullptr) return Error::kInvalidHandle;
  unsigned channels = 0;
  const int format = driver_format(found->format, channels);
  result = {found->extent.width, found->extent.height, found->extent.depth, format, channels, found->flags};
  return Error::kSuccess;
}

}  // namespace

HEDDLE_CUDA_CALL ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return {{x, y, z, w}, kind};
}

HEDDLE_CUDA_CALL int cudaMallocArray(void** array, const ChannelFormat* format, std::size_t width,
                                     std::size_t height, unsigned flags) {
  return call_with(
      "cudaMallocArray",
      [&](State& card) {
        return create(card, *format, {width, height, 0}, flags, array);
      },
      array, format);
}

HEDDLE_CUDA_CALL int cudaMalloc3DArray(void** array, const ChannelFormat* format, Extent extent, unsigned flags) {
  return call_with(
      "cudaMalloc3DArray", [&](State& card) { return create(card, *format, extent, flags, array); }, array,
      format);
}

HEDDLE_CUDA_CALL int cudaFreeArray(void* array) {
  return call("cudaFreeArray",
              [&](State& card) { return array == nullptr ? Error::kSuccess : destroy(card, array); });
}

HEDDLE_CUDA_CALL int cudaArrayGetInfo(ChannelFormat* format, Extent* extent, unsigned* flags, void* array) {
  return call("cudaArrayGetInfo", [&](State& card) {
    const Array* found = card.arrays.find(array);
    if (found == nullptr) return Error::kInvalidHandle;
    if (format != nullptr) *format = found->format;
    if (extent != nullptr) *extent = found->extent;
    if (flags != nullptr) *flags = found->flags;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaGetChannelDesc(ChannelFormat* format, const void* array) {
  return call_with(
      "cudaGetChannelDesc",
      [&](State& card) {
        const Array* found = card.arrays.find(array);
        if (found == nullptr) return Error::kInvalidHandle;
        *format = found->format;
        return Error::kSuccess;
      },
      format);
}

HEDDLE_CUDA_CALL int cudaMemcpy2DToArray(void* array, std::size_t x, std::size_t y, const void* from,
                                         std::size_t pitch, std::size_t width, std::size_t height, int kind) {
  return call("cudaMemcpy2DToArray", [&](State& card) {
    return copy_to(card, array, x, y, rows(from, pitch), {.width = width, .height = height}, kind);
  });
}

HEDDLE_CUDA_CALL int cudaMemcpy2DToArrayAsync(void* array, std::size_t x, std::size_t y, const void* from,
                                              std::size_t pitch, std::size_t width, std::size_t height, int kind,
                                              void* stream) {
  return call_on("cudaMemcpy2DToArrayAsync", stream, [&](State& card) {
    return copy_to(card, array, x, y, rows(from, pitch), {.width = width, .height = height}, kind);
  });
}

HEDDLE_CUDA_CALL int cudaMemcpy2DFromArray(void* to, std::size_t pitch, const void* array, std::size_t x,
                                           std::size_t y, std::size_t width, std::size_t height, int kind) {
  return call("cudaMemcpy2DFromArray", [&](State& card) {
    return copy_from(card, rows(to, pitch), array, x, y, {.width = width, .height = height}, kind);
  });
}

HEDDLE_CUDA_CALL int cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, const void* array, std::size_t x,
                                                std::size_t y, std::size_t width, std::size_t height, int kind,
                                                void* stream) {
  return call_on("cudaMemcpy2DFromArrayAsync", stream, [&](State& card) {
    return copy_from(card, rows(to, pitch), array, x, y, {.width = width, .height = height}, kind);
  });
}

HEDDLE_CUDA_CALL int cudaMemcpyToArray(void* array, std::size_t x, std::size_t y, const void* from,
                                       std::size_t bytes, int kind) {
  return call("cudaMemcpyToArray", [&](State& card) {
    return copy_line(card, array, x, y, const_cast<void*>(from), bytes, kind, true);
  });
}

HEDDLE_CUDA_CALL int cudaMemcpyToArrayAsync(void* array, std::size_t x, std::size_t y, const void* from,
                                            std::size_t bytes, int kind, void* stream) {
  return call_on("cudaMemcpyToArrayAsync", stream, [&](State& card) {
    return copy_line(card, array, x, y, const_cast<void*>(from), bytes, kind, true);
  });
}

HEDDLE_CUDA_CALL int cudaMemcpyFromArray(void* to, const void* array, std::size_t x, std::size_t y,
                                         std::size_t bytes, int kind) {
  return call("cudaMemcpyFromArray",
              [&](State& card) { return copy_line(card, array, x, y, to, bytes, kind, false); });
}

HEDDLE_CUDA_CALL int cudaMemcpyFromArrayAsync(void* to, const void* array, std::size_t x, std::size_t y,
                                              std::size_t bytes, int kind, void* stream) {
  return call_on("cudaMemcpyFromArrayAsync", stream,
                 [&](State& card) { return copy_line(card, array, x, y, to, bytes, kind, false); });
}

HEDDLE_CUDA_CALL int cuArrayCreate_v2(void** array, const DriverFlatArray* wanted) {
  return driver_call_with(
      "cuArrayCreate",
      [&](State& card) {
        return create(card, {wanted->width, wanted->height, 0, wanted->format, wanted->channels, 0}, array);
      },
      array, wanted);
}

HEDDLE_CUDA_CALL int cuArray3DCreate_v2(void** array, const DriverArray* wanted) {
  return driver_call_with(
      "cuArray3DCreate", [&](State& card) { return create(card, *wanted, array); }, array, wanted);
}

HEDDLE_CUDA_CALL int cuArrayDestroy(void* array) {
  return driver_call("cuArrayDestroy", [&](State& card) { return destroy(card, array); });
}

HEDDLE_CUDA_CALL int cuArrayGetDescriptor_v2(DriverFlatArray* result, void* array) {
  return driver_call_with(
      "cuArrayGetDescriptor",
      [&](State& card) {
        DriverArray all = {};
        const Error error = describe(card, array, all);
        if (error == Error::kSuccess) *result = {all.width, all.height, all.format, all.channels};
        return error;
      },
      result);
}

HEDDLE_CUDA_CALL int cuArray3DGetDescriptor_v2(DriverArray* result, void* array) {
  return driver_call_with(
      "cuArray3DGetDescriptor", [&](State& card) { return describe(card, array, *result); }, result);
}
