// SPDX-License-Identifier: Apache-2.0
//
// The driver: memory. Its device pointers are integers.
#include "runtime/copy.h"
#include "runtime/driver_call.h"
#include "runtime/host_pages.h"
#include "runtime/host_work.h"

#include <cstdint>
#include <cstring>
#include <span>

using namespace heddle::runtime;

extern "C" int cuCtxGetCurrent(void** context);

namespace {

using DevicePointer = std::uint64_t;

void* pointer(DevicePointer address) { return reinterpret_cast<void*>(address); }

Error allocate(State& card, MemoryKind kind, void* result, std::size_t bytes) {
  if (result == nullptr || bytes == 0) return Error::kInvalidValue;
  if (const Error error = card.captures.admit_memory(card.stream); error != Error::kSuccess) return error;
  std::byte* made = card.memory.allocate(kind, bytes, card.stream.has_value());
  std::memcpy(result, &made, sizeof(made));
  return made == nullptr ? Error::kMemoryAllocation : order_allocation(card, made);
}

Error release(State& card, MemoryKind kind, const void* begin) {
  if (const Error error = card.captures.admit_memory(card.stream); error != Error::kSuccess) return error;
  show_printed(card);
  if (const Error error = order_release(card, begin); error != Error::kSuccess) return error;
  return begin == nullptr || card.memory.free(begin, kind) ? Error::kSuccess : Error::kInvalidValue;
}

template <class T>
Error fill_words(State& card, DevicePointer to, T value, std::size_t count) {
  std::size_t bytes = 0;
  if (!multiply(count, sizeof(T), bytes)) return Error::kInvalidValue;
  return fill_box(card, {.begin = pointer(to)}, std::as_bytes(std::span(&value, 1)), {.width = bytes});
}

// As CUDA's headers number them.
enum PointerAttribute : int {
  kContext = 1,
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kSyncs = 6,
  kBufferId = 7,
  kIsManaged = 8,
  kOrdinal = 9,
  kStart = 11,
  kSize = 12,
  kMapped = 13,
  kLast = 22
};

bool is_of_host(const Allocation& one) {
  return one.kind == MemoryKind::kHost || one.kind == MemoryKind::kRegistered;
}

Error pointer_attribute(const Allocation& found, DevicePointer address, int attribute, void* result) {
  const bool is_device = found.kind == MemoryKind::kDevice || found.kind == MemoryKind::kVariable;
  const auto give = [&](auto value) {
    std::memcpy(result, &value, sizeof(value));
    return Error::kSuccess;
  };
  switch (attribute) {
    case kContext: {
      void* context = nullptr;
      cuCtxGetCurrent(&context);
      return give(context);
    }
    case kMemoryType: return give(std::uint32_t{is_of_host(found) ? 1u : 2u});
    case kDevicePointer: return give(address);
    case kHostPointer: return is_device ? Error::kInvalidValue : give(address);
    case kSyncs: return give(std::uint32_t{0});
    case kBufferId: return give(reinterpret_cast<std::uint64_t>(found.begin));
    case kIsManaged: return give(std::uint32_t{found.kind == MemoryKind::kManaged ? 1u : 0u});
    case kOrdinal: return give(std::int32_t{0});
    case kStart: return give(found.begin);
    case kSize: return give(found.bytes);
    case kMapped: return give(std::uint32_t{1});
    default: return attribute < kContext || attribute > kLast ? Error::kInvalidValue : Error::kNotSupported;
  }
}

void clear_attribute(int attribute, void* result) {
  constexpr std::int32_t kNoDevice = -2;
  const bool is_word =
      attribute == kMemoryType || attribute == kSyncs || attribute == kIsManaged || attribute == kMapped;
  if (attribute == kOrdinal) {
    std::memcpy(result, &kNoDevice, sizeof(kNoDevice));
  } else {
    std::memset(result, 0, is_word ? sizeof(std::uint32_t) : sizeof(std::uint64_t));
  }
}

}  // namespace

HEDDLE_CUDA_CALL int cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  return driver_call("cuMemAlloc",
                     [&](State& card) { return allocate(card, MemoryKind::kDevice, address, bytes); });
}

HEDDLE_CUDA_CALL int cuMemAllocAsync(DevicePointer* address, std::size_t bytes, void* stream) {
  return driver_call_on("cuMemAllocAsync", stream,
                        [&](State& card) { return allocate(card, MemoryKind::kDevice, address, bytes); });
}

HEDDLE_CUDA_CALL int cuMemAllocManaged(DevicePointer* address, std::size_t bytes, unsigned flags) {
  return driver_call("cuMemAllocManaged", [&](State& card) {
    if (flags != 1 && flags != 2) return Error::kInvalidValue;  // attached to all streams, or to the host
    return allocate(card, MemoryKind::kManaged, address, bytes);
  });
}

HEDDLE_CUDA_CALL int cuMemAllocHost_v2(void** address, std::size_t bytes) {
  return driver_call("cuMemAllocHost",
                     [&](State& card) { return allocate(card, MemoryKind::kHost, address, bytes); });
}

HEDDLE_CUDA_CALL int cuMemHostAlloc(void** address, std::size_t bytes, unsigned flags) {
  constexpr unsigned kAllFlags = 7;  // portable, mapped, write-combined
  return (flags & ~kAllFlags) != 0 ? driver_code(Error::kInvalidValue) : cuMemAllocHost_v2(address, bytes);
}

HEDDLE_CUDA_CALL int cuMemFree_v2(DevicePointer address) {
  return driver_call("cuMemFree",
                     [&](State& card) { return release(card, MemoryKind::kDevice, pointer(address)); });
}

HEDDLE_CUDA_CALL int cuMemFreeAsync(DevicePointer address, void* stream) {
  return driver_call_on("cuMemFreeAsync", stream,
                        [&](State& card) { return release(card, MemoryKind::kDevice, pointer(address)); });
}

HEDDLE_CUDA_CALL int cuMemFreeHost(void* address) {
  return driver_call("cuMemFreeHost", [&](State& card) { return release(card, MemoryKind::kHost, address); });
}

HEDDLE_CUDA_CALL int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return driver_call_with(
      "cuMemGetInfo",
      [&](State& card) {
        *free = card.memory.free_bytes();
        *total = card.memory.total_bytes();
        return Error::kSuccess;
      },
      free, total);
}

HEDDLE_CUDA_CALL int cuMemGetAddressRange_v2(DevicePointer* begin, std::size_t* bytes, DevicePointer address) {
  return driver_call("cuMemGetAddressRange", [&](State& card) {
    const Allocation* found = card.memory.find(pointer(address));
    if (found == nullptr) return Error::kSymbolNotFound;
    if (begin != nullptr) *begin = reinterpret_cast<DevicePointer>(found->begin);
    if (bytes != nullptr) *bytes = found->bytes;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuPointerGetAttribute(void* result, int attribute, DevicePointer address) {
  return driver_call("cuPointerGetAttribute", [&](State& card) {
    const Allocation* found = card.memory.find(pointer(address));
    if (result == nullptr || found == nullptr) return Error::kInvalidValue;
    return pointer_attribute(*found, address, attribute, result);
  });
}

// Of an address that is none of the card's, every answer is zero, and the device is none.
HEDDLE_CUDA_CALL int cuPointerGetAttributes(unsigned count, const int* attributes, void** results,
                                            DevicePointer address) {
  return driver_call_with(
      "cuPointerGetAttributes",
      [&](State& card) {
        const Allocation* found = card.memory.find(pointer(address));
        for (unsigned a = 0; a < count; ++a) {
          if (results[a] == nullptr) return Error::kInvalidValue;
          const bool is_answered = found != nullptr && pointer_attribute(*found, address, attributes[a],
                                                                         results[a]) == Error::kSuccess;
          if (!is_answered) clear_attribute(attributes[a], results[a]);
        }
        return Error::kSuccess;
      },
      attributes, results);
}

HEDDLE_CUDA_CALL int cuMemHostRegister_v2(void* begin, std::size_t bytes, unsigned flags) {
  return driver_call("cuMemHostRegister", [&](State& card) { return register_host(card, begin, bytes, flags); });
}

HEDDLE_CUDA_CALL int cuMemHostUnregister(void* begin) {
  return driver_call("cuMemHostUnregister", [&](State& card) { return unregister_host(card, begin); });
}

HEDDLE_CUDA_CALL int cuMemcpy(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return driver_call("cuMemcpy",
                     [&](State& card) { return copy(card, pointer(to), pointer(from), bytes, kDefault); });
}

HEDDLE_CUDA_CALL int cuMemcpyAsync(DevicePointer to, DevicePointer from, std::size_t bytes, void* stream) {
  return driver_call_on("cuMemcpyAsync", stream,
                        [&](State& card) { return copy(card, pointer(to), pointer(from), bytes, kDefault); });
}

HEDDLE_CUDA_CALL int cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t bytes) {
  return driver_call("cuMemcpyHtoD",
                     [&](State& card) { return copy(card, pointer(to), from, bytes, kHostToDevice); });
}

HEDDLE_CUDA_CALL int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, void* stream) {
  return driver_call_on("cuMemcpyHtoDAsync", stream,
                        [&](State& card) { return copy(card, pointer(to), from, bytes, kHostToDevice); });
}

HEDDLE_CUDA_CALL int cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t bytes) {
  return driver_call("cuMemcpyDtoH",
                     [&](State& card) { return copy(card, to, pointer(from), bytes, kDeviceToHost); });
}

HEDDLE_CUDA_CALL int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, void* stream) {
  return driver_call_on("cuMemcpyDtoHAsync", stream,
                        [&](State& card) { return copy(card, to, pointer(from), bytes, kDeviceToHost); });
}

HEDDLE_CUDA_CALL int cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return driver_call("cuMemcpyDtoD",
                     [&](State& card) { return copy(card, pointer(to), pointer(from), bytes, kDeviceToDevice); });
}

HEDDLE_CUDA_CALL int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes, void* stream) {
  return driver_call_on("cuMemcpyDtoDAsync", stream, [&](State& card) {
    return copy(card, pointer(to), pointer(from), bytes, kDeviceToDevice);
  });
}

HEDDLE_CUDA_CALL int cuMemsetD8_v2(DevicePointer to, unsigned char value, std::size_t count) {
  return driver_call("cuMemsetD8", [&](State& card) { return fill_words(card, to, value, count); });
}

HEDDLE_CUDA_CALL int cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t count, void* stream) {
  return driver_call_on("cuMemsetD8Async", stream,
                        [&](State& card) { return fill_words(card, to, value, count); });
}

HEDDLE_CUDA_CALL int cuMemsetD16_v2(DevicePointer to, unsigned short value, std::size_t count) {
  return driver_call("cuMemsetD16", [&](State& card) { return fill_words(card, to, value, count); });
}

HEDDLE_CUDA_CALL int cuMemsetD16Async(DevicePointer to, unsigned short value, std::size_t count, void* stream) {
  return driver_call_on("cuMemsetD16Async", stream,
                        [&](State& card) { return fill_words(card, to, value, count); });
}

HEDDLE_CUDA_CALL int cuMemsetD32_v2(DevicePointer to, unsigned value, std::size_t count) {
  return driver_call("cuMemsetD32", [&](State& card) { return fill_words(card, to, value, count); });
}

HEDDLE_CUDA_CALL int cuMemsetD32Async(DevicePointer to, unsigned value, std::size_t count, void* stream) {
  return driver_call_on("cuMemsetD32Async", stream,
                        [&](State& card) { return fill_words(card, to, value, count); });
}
