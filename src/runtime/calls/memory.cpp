// SPDX-License-Identifier: Apache-2.0
//
// Memory: taking and giving back, copies, fills, and what a pointer is.
#include "runtime/copy.h"
#include "runtime/state.h"

#include <cstdint>

using namespace heddle::runtime;

namespace {

Error allocate(State& card, MemoryKind kind, void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return Error::kInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return Error::kSuccess;
  *pointer = card.memory.allocate(kind, bytes);
  return *pointer == nullptr ? Error::kMemoryAllocation : Error::kSuccess;
}

Error release(State& card, MemoryKind kind, const void* pointer) {
  show_printed(card);
  if (pointer == nullptr || card.memory.free(pointer, kind)) return Error::kSuccess;
  return Error::kInvalidValue;
}

constexpr std::size_t kPitchAlignment = 512;

std::size_t pitch_of(std::size_t width) {
  return (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
}

// As CUDA's headers lay them out.
struct PitchedPointer {
  void* begin;
  std::size_t pitch;
  std::size_t width;
  std::size_t height;
};

struct Extent {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
};

struct Position {
  std::size_t x;
  std::size_t y;
  std::size_t z;
};

struct Copy3D {
  void* from_array;
  Position from_position;
  PitchedPointer from;
  void* to_array;
  Position to_position;
  PitchedPointer to;
  Extent extent;
  int kind;
};
static_assert(sizeof(Copy3D) == 160);

struct PointerAttributes {
  int type;  // 0: not registered, 1: host, 2: device, 3: managed
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];
};
static_assert(sizeof(PointerAttributes) == 88);

std::byte* slice_begin(const PitchedPointer& pointer, const Position& position, std::size_t slice) {
  const std::size_t row = (position.z + slice) * pointer.height + position.y;
  return static_cast<std::byte*>(pointer.begin) + row * pointer.pitch + position.x;
}

Error copy_3d(State& card, const Copy3D* copy) {
  if (copy == nullptr) return Error::kInvalidValue;
  if (copy->from_array != nullptr || copy->to_array != nullptr) {
    say("cudaMemcpy3D: CUDA arrays are not there");
    return Error::kNotSupported;
  }
  for (std::size_t z = 0; z < copy->extent.depth; ++z) {
    const Error error = copy_rows(card, {slice_begin(copy->to, copy->to_position, z), copy->to.pitch},
                                  {slice_begin(copy->from, copy->from_position, z), copy->from.pitch},
                                  copy->extent.width, copy->extent.height, copy->kind);
    if (error != Error::kSuccess) return error;
  }
  return Error::kSuccess;
}

Error fill_3d(State& card, const PitchedPointer& to, int value, const Extent& extent) {
  for (std::size_t z = 0; z < extent.depth; ++z) {
    const Error error = fill(card, slice_begin(to, {}, z), to.pitch, value, extent.width, extent.height);
    if (error != Error::kSuccess) return error;
  }
  return Error::kSuccess;
}

}  // namespace

HEDDLE_CUDA_CALL int cudaMalloc(void** pointer, std::size_t bytes) {
  return call("cudaMalloc", [&](State& card) { return allocate(card, MemoryKind::kDevice, pointer, bytes); });
}

HEDDLE_CUDA_CALL int cudaMallocAsync(void** pointer, std::size_t bytes, void*) {
  return call("cudaMallocAsync",
              [&](State& card) { return allocate(card, MemoryKind::kDevice, pointer, bytes); });
}

HEDDLE_CUDA_CALL int cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, void*, void*) {
  return call("cudaMallocFromPoolAsync",
              [&](State& card) { return allocate(card, MemoryKind::kDevice, pointer, bytes); });
}

HEDDLE_CUDA_CALL int cudaMallocManaged(void** pointer, std::size_t bytes, unsigned) {
  return call("cudaMallocManaged",
              [&](State& card) { return allocate(card, MemoryKind::kManaged, pointer, bytes); });
}

HEDDLE_CUDA_CALL int cudaMallocHost(void** pointer, std::size_t bytes) {
  return call("cudaMallocHost", [&](State& card) { return allocate(card, MemoryKind::kHost, pointer, bytes); });
}

HEDDLE_CUDA_CALL int cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return call("cudaHostAlloc", [&](State& card) { return allocate(card, MemoryKind::kHost, pointer, bytes); });
}

HEDDLE_CUDA_CALL int cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return call("cudaMallocPitch", [&](State& card) {
    if (pitch == nullptr) return Error::kInvalidValue;
    *pitch = pitch_of(width);
    return allocate(card, MemoryKind::kDevice, pointer, *pitch * height);
  });
}

HEDDLE_CUDA_CALL int cudaMalloc3D(PitchedPointer* pointer, Extent extent) {
  return call("cudaMalloc3D", [&](State& card) {
    if (pointer == nullptr) return Error::kInvalidValue;
    *pointer = {nullptr, pitch_of(extent.width), extent.width, extent.height};
    return allocate(card, MemoryKind::kDevice, &pointer->begin, pointer->pitch * extent.height * extent.depth);
  });
}

HEDDLE_CUDA_CALL int cudaFree(void* pointer) {
  return call("cudaFree", [&](State& card) { return release(card, MemoryKind::kDevice, pointer); });
}

HEDDLE_CUDA_CALL int cudaFreeAsync(void* pointer, void*) {
  return call("cudaFreeAsync", [&](State& card) { return release(card, MemoryKind::kDevice, pointer); });
}

HEDDLE_CUDA_CALL int cudaFreeHost(void* pointer) {
  return call("cudaFreeHost", [&](State& card) { return release(card, MemoryKind::kHost, pointer); });
}

HEDDLE_CUDA_CALL int cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
  return call("cudaHostRegister", [&](State& card) {
    if (pointer == nullptr || bytes == 0) return Error::kInvalidValue;
    if (card.memory.overlaps(pointer, bytes)) return Error::kHostMemoryAlreadyRegistered;
    card.memory.add(MemoryKind::kRegistered, pointer, bytes, "registered host memory", nullptr);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaHostUnregister(void* pointer) {
  return call("cudaHostUnregister", [&](State& card) {
    return card.memory.remove(pointer, MemoryKind::kRegistered) ? Error::kSuccess
                                                                : Error::kHostMemoryNotRegistered;
  });
}

HEDDLE_CUDA_CALL int cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return call("cudaHostGetDevicePointer", [&](State& card) {
    if (card.memory.find(host) == nullptr) return Error::kInvalidValue;
    *device = host;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaHostGetFlags(unsigned* flags, void* host) {
  return call("cudaHostGetFlags", [&](State& card) {
    if (card.memory.find(host) == nullptr) return Error::kInvalidValue;
    *flags = 3;  // portable, mapped
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  return call("cudaPointerGetAttributes", [&](State& card) {
    if (attributes == nullptr) return Error::kInvalidValue;
    *attributes = {};
    attributes->device = -2;
    attributes->host_pointer = const_cast<void*>(pointer);
    const Allocation* found = card.memory.find(pointer);
    if (found == nullptr) return Error::kSuccess;
    const bool is_host = found->kind == MemoryKind::kHost || found->kind == MemoryKind::kRegistered;
    const bool is_managed = found->kind == MemoryKind::kManaged;
    attributes->type = is_host ? 1 : is_managed ? 3 : 2;
    attributes->device = 0;
    attributes->device_pointer = const_cast<void*>(pointer);
    attributes->host_pointer = is_host || is_managed ? const_cast<void*>(pointer) : nullptr;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call("cudaMemGetInfo", [&](State& card) {
    *free = card.memory.free_bytes();
    *total = card.memory.total_bytes();
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return call("cudaMemcpy", [&](State& card) { return copy(card, to, from, bytes, kind); });
}

HEDDLE_CUDA_CALL int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void*) {
  return call("cudaMemcpyAsync", [&](State& card) { return copy(card, to, from, bytes, kind); });
}

HEDDLE_CUDA_CALL int cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  return call("cudaMemcpyPeer", [&](State& card) { return copy(card, to, from, bytes, kDeviceToDevice); });
}

HEDDLE_CUDA_CALL int cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, void*) {
  return call("cudaMemcpyPeerAsync", [&](State& card) { return copy(card, to, from, bytes, kDeviceToDevice); });
}

HEDDLE_CUDA_CALL int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                  std::size_t width, std::size_t height, int kind) {
  return call("cudaMemcpy2D", [&](State& card) {
    return copy_rows(card, {static_cast<std::byte*>(to), to_pitch},
                     {static_cast<std::byte*>(const_cast<void*>(from)), from_pitch}, width, height, kind);
  });
}

HEDDLE_CUDA_CALL int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                       std::size_t width, std::size_t height, int kind, void*) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

HEDDLE_CUDA_CALL int cudaMemcpy3D(const Copy3D* copy) {
  return call("cudaMemcpy3D", [&](State& card) { return copy_3d(card, copy); });
}

HEDDLE_CUDA_CALL int cudaMemcpy3DAsync(const Copy3D* copy, void*) {
  return call("cudaMemcpy3DAsync", [&](State& card) { return copy_3d(card, copy); });
}

HEDDLE_CUDA_CALL int cudaMemset(void* to, int value, std::size_t bytes) {
  return call("cudaMemset", [&](State& card) { return fill(card, to, bytes, value, bytes, 1); });
}

HEDDLE_CUDA_CALL int cudaMemsetAsync(void* to, int value, std::size_t bytes, void*) {
  return call("cudaMemsetAsync", [&](State& card) { return fill(card, to, bytes, value, bytes, 1); });
}

HEDDLE_CUDA_CALL int cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return call("cudaMemset2D", [&](State& card) { return fill(card, to, pitch, value, width, height); });
}

HEDDLE_CUDA_CALL int cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                                       std::size_t height, void*) {
  return cudaMemset2D(to, pitch, value, width, height);
}

HEDDLE_CUDA_CALL int cudaMemset3D(PitchedPointer to, int value, Extent extent) {
  return call("cudaMemset3D", [&](State& card) { return fill_3d(card, to, value, extent); });
}

HEDDLE_CUDA_CALL int cudaMemset3DAsync(PitchedPointer to, int value, Extent extent, void*) {
  return call("cudaMemset3DAsync", [&](State& card) { return fill_3d(card, to, value, extent); });
}

// Where memory lies makes no difference here.
HEDDLE_CUDA_CALL int cudaMemPrefetchAsync() { return 0; }

HEDDLE_CUDA_CALL int cudaMemPrefetchAsync_v2() { return 0; }

HEDDLE_CUDA_CALL int cudaMemAdvise() { return 0; }

HEDDLE_CUDA_CALL int cudaMemAdvise_v2() { return 0; }
