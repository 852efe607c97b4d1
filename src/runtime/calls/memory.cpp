// SPDX-License-Identifier: Apache-2.0
//
// Memory: taking and giving back, copies, fills, and what a pointer is.
#include "runtime/copy.h"
#include "runtime/copy_layouts.h"
#include "runtime/host_pages.h"
#include "runtime/host_work.h"
#include "runtime/quiet_free.h"
#include "runtime/state.h"

#include <array>
#include <cstdint>

using namespace heddle::runtime;

namespace {

Error allocate(State& card, MemoryKind kind, void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return Error::kInvalidValue;
  *pointer = nullptr;
  if (const Error error = card.captures.admit_memory(card.stream); error != Error::kSuccess) return error;
  if (bytes == 0) return Error::kSuccess;
  *pointer = card.memory.allocate(kind, bytes, card.stream.has_value());
  return *pointer == nullptr ? Error::kMemoryAllocation : order_allocation(card, *pointer);
}

// For a program without its cache: memory that is taken while a stream captures is the graph's.
Error allocate_as_a_cache(State& card, void** pointer, std::size_t bytes) {
  Graph* graph = card.captures.graph_of_thread();
  if (graph == nullptr) return allocate(card, MemoryKind::kDevice, pointer, bytes);
  if (pointer == nullptr) return Error::kInvalidValue;
  *pointer = bytes == 0 ? nullptr : card.memory.allocate(MemoryKind::kDevice, bytes);
  if (bytes == 0) return Error::kSuccess;
  if (*pointer == nullptr) return Error::kMemoryAllocation;
  if (graph->memory == nullptr) graph->memory = std::make_shared<GraphMemory>(card.memory);
  card.graph_memories.take(*pointer, graph->memory);
  return Error::kSuccess;
}

Error release(State& card, MemoryKind kind, const void* pointer) {
  if (const Error error = card.captures.admit_memory(card.stream); error != Error::kSuccess) return error;
  show_printed(card);
  if (const Error error = order_release(card, pointer); error != Error::kSuccess) return error;
  if (pointer == nullptr || card.memory.free(pointer, kind)) return Error::kSuccess;
  return Error::kInvalidValue;
}

// In a stream. What a capture takes itself is not there, so that it has nothing to give back.
Error release_in_order(State& card, const void* pointer) {
  if (card.captures.is_captured(*card.stream)) return Error::kInvalidValue;
  const Allocation* found = card.memory.find(pointer);
  if (found != nullptr && found->kind == MemoryKind::kManaged) return Error::kNotSupported;
  return release(card, MemoryKind::kDevice, pointer);
}

// Memory that has one address on both sides.
bool is_of_host(State& card, const void* address) {
  const Allocation* found = card.memory.find(address);
  return found != nullptr && !card.memory.is_card_address(address);
}

// There is one device, so that a copy between two is one within it.
Error copy_between(State& card, void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  if (to_device != 0 || from_device != 0) return Error::kInvalidDevice;
  return copy(card, to, from, bytes, kDeviceToDevice);
}

constexpr std::size_t kPitchAlignment = 512;

// As CUDA's headers lay it out.
struct PointerAttributes {
  int type;  // 0: not registered, 1: host, 2: device, 3: managed
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];
};
static_assert(sizeof(PointerAttributes) == 88);

Error copy_3d(State& card, const Copy3D& copy) {
  CopyWork work;
  const Error error = work_of(copy, work);
  return error != Error::kSuccess ? error : copy_box(card, work.to, work.from, work.extent, work.kind);
}

Error fill_3d(State& card, const PitchedPointer& to, int value, const Extent& extent) {
  Box box;
  if (!box_at(to, {}, box)) return Error::kInvalidValue;
  const std::array byte = {static_cast<std::byte>(value)};
  return fill_box(card, box, byte, extent);
}

Error fill_2d(State& card, void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  const std::array byte = {static_cast<std::byte>(value)};
  // Not the code that a copy has for it.
  if (height != 0 && width > pitch) return Error::kInvalidValue;
  return fill_box(card, {.begin = to, .pitch = pitch}, byte, {.width = width, .height = height});
}

Error copy_2d(State& card, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
              std::size_t width, std::size_t height, int kind) {
  return copy_box(card, {.begin = to, .pitch = to_pitch}, {.begin = const_cast<void*>(from), .pitch = from_pitch},
                  {.width = width, .height = height}, kind);
}

// Rows of a pitch that suits the card.
Error allocate_rows(State& card, void** pointer, std::size_t* pitch, std::size_t width, std::size_t rows) {
  std::size_t padded = 0;
  std::size_t bytes = 0;
  if (!add(width, kPitchAlignment - 1, padded)) return Error::kInvalidValue;
  padded = padded / kPitchAlignment * kPitchAlignment;
  if (!multiply(padded, rows, bytes)) return Error::kInvalidValue;
  *pitch = padded;
  return allocate(card, MemoryKind::kDevice, pointer, bytes);
}

}  // namespace

HEDDLE_CUDA_CALL int cudaMalloc(void** pointer, std::size_t bytes) {
  return call("cudaMalloc", [&](State& card) {
    return frees_quietly ? allocate_as_a_cache(card, pointer, bytes)
                         : allocate(card, MemoryKind::kDevice, pointer, bytes);
  });
}

HEDDLE_CUDA_CALL int cudaMallocAsync(void** pointer, std::size_t bytes, void* stream) {
  return call_on("cudaMallocAsync", stream,
                 [&](State& card) { return allocate(card, MemoryKind::kDevice, pointer, bytes); });
}

HEDDLE_CUDA_CALL int cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, void* pool, void* stream) {
  return call_on("cudaMallocFromPoolAsync", stream, [&](State& card) {
    if (card.pools.find(pool) == nullptr) return Error::kInvalidValue;
    return allocate(card, MemoryKind::kDevice, pointer, bytes);
  });
}

HEDDLE_CUDA_CALL int cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  return call("cudaMallocManaged", [&](State& card) {
    // Attached to all streams, or to the host.
    if (flags != 1 && flags != 2) return Error::kInvalidValue;
    return allocate(card, MemoryKind::kManaged, pointer, bytes);
  });
}

HEDDLE_CUDA_CALL int cudaMallocHost(void** pointer, std::size_t bytes) {
  return call("cudaMallocHost", [&](State& card) { return allocate(card, MemoryKind::kHost, pointer, bytes); });
}

HEDDLE_CUDA_CALL int cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kAllFlags = 7;  // portable, mapped, write-combined
  return call("cudaHostAlloc", [&](State& card) {
    if ((flags & ~kAllFlags) != 0) return Error::kInvalidValue;
    return allocate(card, MemoryKind::kHost, pointer, bytes);
  });
}

HEDDLE_CUDA_CALL int cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return call_with(
      "cudaMallocPitch", [&](State& card) { return allocate_rows(card, pointer, pitch, width, height); }, pointer,
      pitch);
}

HEDDLE_CUDA_CALL int cudaMalloc3D(PitchedPointer* pointer, Extent extent) {
  return call_with(
      "cudaMalloc3D",
      [&](State& card) {
        std::size_t rows = 0;
        if (!multiply(extent.height, extent.depth, rows)) return Error::kInvalidValue;
        PitchedPointer made{nullptr, 0, extent.width, extent.height};
        const Error error = allocate_rows(card, &made.begin, &made.pitch, extent.width, rows);
        if (error == Error::kSuccess) *pointer = made;
        return error;
      },
      pointer);
}

HEDDLE_CUDA_CALL int cudaFree(void* pointer) {
  bool is_freed = false;
  if (frees_quietly) {
    guard("cudaFree", [&](State& card) {
      is_freed = card.graph_memories.give_back(pointer) || card.memory.free(pointer, MemoryKind::kDevice);
    });
  }
  if (is_freed) return 0;
  return call("cudaFree", [&](State& card) { return release(card, MemoryKind::kDevice, pointer); });
}

HEDDLE_CUDA_CALL int cudaFreeAsync(void* pointer, void* stream) {
  return call_on("cudaFreeAsync", stream, [&](State& card) { return release_in_order(card, pointer); });
}

HEDDLE_CUDA_CALL int cudaFreeHost(void* pointer) {
  return call("cudaFreeHost", [&](State& card) { return release(card, MemoryKind::kHost, pointer); });
}

HEDDLE_CUDA_CALL int cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return call("cudaHostRegister", [&](State& card) { return register_host(card, pointer, bytes, flags); });
}

HEDDLE_CUDA_CALL int cudaHostUnregister(void* pointer) {
  return call("cudaHostUnregister", [&](State& card) { return unregister_host(card, pointer); });
}

HEDDLE_CUDA_CALL int cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return call_with(
      "cudaHostGetDevicePointer",
      [&](State& card) {
        if (!is_of_host(card, host) || flags != 0) return Error::kInvalidValue;
        *device = host;
        return Error::kSuccess;
      },
      device);
}

HEDDLE_CUDA_CALL int cudaHostGetFlags(unsigned* flags, void* host) {
  return call_with(
      "cudaHostGetFlags",
      [&](State& card) {
        if (!is_of_host(card, host)) return Error::kInvalidValue;
        *flags = 3;  // portable, mapped
        return Error::kSuccess;
      },
      flags);
}

HEDDLE_CUDA_CALL int cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  return call_with(
      "cudaPointerGetAttributes",
      [&](State& card) {
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
      },
      attributes);
}

HEDDLE_CUDA_CALL int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call("cudaMemGetInfo", [&](State& card) {
    if (free != nullptr) *free = card.memory.free_bytes();
    if (total != nullptr) *total = card.memory.total_bytes();
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return call("cudaMemcpy", [&](State& card) { return copy(card, to, from, bytes, kind); });
}

HEDDLE_CUDA_CALL int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return call_on("cudaMemcpyAsync", stream, [&](State& card) { return copy(card, to, from, bytes, kind); });
}

HEDDLE_CUDA_CALL int cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                                    std::size_t bytes) {
  return call("cudaMemcpyPeer",
              [&](State& card) { return copy_between(card, to, to_device, from, from_device, bytes); });
}

HEDDLE_CUDA_CALL int cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                         std::size_t bytes, void* stream) {
  return call_on("cudaMemcpyPeerAsync", stream,
                 [&](State& card) { return copy_between(card, to, to_device, from, from_device, bytes); });
}

HEDDLE_CUDA_CALL int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                  std::size_t width, std::size_t height, int kind) {
  return call("cudaMemcpy2D",
              [&](State& card) { return copy_2d(card, to, to_pitch, from, from_pitch, width, height, kind); });
}

HEDDLE_CUDA_CALL int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                       std::size_t width, std::size_t height, int kind, void* stream) {
  return call_on("cudaMemcpy2DAsync", stream,
                 [&](State& card) { return copy_2d(card, to, to_pitch, from, from_pitch, width, height, kind); });
}

HEDDLE_CUDA_CALL int cudaMemcpy3D(const Copy3D* copy) {
  return call_with(
      "cudaMemcpy3D", [&](State& card) { return copy_3d(card, *copy); }, copy);
}

HEDDLE_CUDA_CALL int cudaMemcpy3DAsync(const Copy3D* copy, void* stream) {
  return call_on("cudaMemcpy3DAsync", stream,
                 [&](State& card) { return copy == nullptr ? Error::kInvalidValue : copy_3d(card, *copy); });
}

HEDDLE_CUDA_CALL int cudaMemset(void* to, int value, std::size_t bytes) {
  return call("cudaMemset", [&](State& card) { return fill(card, to, value, bytes); });
}

HEDDLE_CUDA_CALL int cudaMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  return call_on("cudaMemsetAsync", stream, [&](State& card) { return fill(card, to, value, bytes); });
}

HEDDLE_CUDA_CALL int cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return call("cudaMemset2D", [&](State& card) { return fill_2d(card, to, pitch, value, width, height); });
}

HEDDLE_CUDA_CALL int cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                                       std::size_t height, void* stream) {
  return call_on("cudaMemset2DAsync", stream,
                 [&](State& card) { return fill_2d(card, to, pitch, value, width, height); });
}

HEDDLE_CUDA_CALL int cudaMemset3D(PitchedPointer to, int value, Extent extent) {
  return call("cudaMemset3D", [&](State& card) { return fill_3d(card, to, value, extent); });
}

HEDDLE_CUDA_CALL int cudaMemset3DAsync(PitchedPointer to, int value, Extent extent, void* stream) {
  return call_on("cudaMemset3DAsync", stream, [&](State& card) { return fill_3d(card, to, value, extent); });
}
