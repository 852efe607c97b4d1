// SPDX-License-Identifier: Apache-2.0
//
// The driver: memory. Its device pointers are integers.
#include "runtime/copy.h"
#include "runtime/driver_call.h"

#include <cstdint>
#include <cstring>

using namespace heddle::runtime;

namespace {

using DevicePointer = std::uint64_t;

void* pointer(DevicePointer address) { return reinterpret_cast<void*>(address); }

int allocate(const char* name, MemoryKind kind, void* result, std::size_t bytes) {
  return driver_call(name, [&](State& card) {
    if (result == nullptr || bytes == 0) return Error::kInvalidValue;
    std::byte* made = card.memory.allocate(kind, bytes);
    std::memcpy(result, &made, sizeof(made));
    return made == nullptr ? Error::kMemoryAllocation : Error::kSuccess;
  });
}

int release(const char* name, MemoryKind kind, const void* begin) {
  return driver_call(name, [&](State& card) {
    return begin == nullptr || card.memory.free(begin, kind) ? Error::kSuccess : Error::kInvalidValue;
  });
}

int copy_bytes(const char* name, void* to, const void* from, std::size_t bytes, int kind) {
  return driver_call(name, [&](State& card) { return copy(card, to, from, bytes, kind); });
}

template <class T>
int fill_words(const char* name, DevicePointer to, T value, std::size_t count) {
  return driver_call(name, [&](State& card) {
    if (!is_on_card(card, pointer(to), count * sizeof(T))) return Error::kInvalidValue;
    auto* words = static_cast<std::byte*>(pointer(to));
    for (std::size_t i = 0; i < count; ++i) std::memcpy(words + i * sizeof(T), &value, sizeof(T));
    return Error::kSuccess;
  });
}

}  // namespace

HEDDLE_CUDA_CALL int cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  return allocate("cuMemAlloc", MemoryKind::kDevice, address, bytes);
}

HEDDLE_CUDA_CALL int cuMemAllocAsync(DevicePointer* address, std::size_t bytes, void*) {
  return allocate("cuMemAllocAsync", MemoryKind::kDevice, address, bytes);
}

HEDDLE_CUDA_CALL int cuMemAllocManaged(DevicePointer* address, std::size_t bytes, unsigned) {
  return allocate("cuMemAllocManaged", MemoryKind::kManaged, address, bytes);
}

HEDDLE_CUDA_CALL int cuMemAllocHost_v2(void** address, std::size_t bytes) {
  return allocate("cuMemAllocHost", MemoryKind::kHost, address, bytes);
}

HEDDLE_CUDA_CALL int cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  return allocate("cuMemHostAlloc", MemoryKind::kHost, address, bytes);
}

HEDDLE_CUDA_CALL int cuMemFree_v2(DevicePointer address) {
  return release("cuMemFree", MemoryKind::kDevice, pointer(address));
}

HEDDLE_CUDA_CALL int cuMemFreeAsync(DevicePointer address, void*) {
  return release("cuMemFreeAsync", MemoryKind::kDevice, pointer(address));
}

HEDDLE_CUDA_CALL int cuMemFreeHost(void* address) { return release("cuMemFreeHost", MemoryKind::kHost, address); }

HEDDLE_CUDA_CALL int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return driver_call("cuMemGetInfo", [&](State& card) {
    *free = card.memory.free_bytes();
    *total = card.memory.total_bytes();
    return Error::kSuccess;
  });
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
    // As CUDA's headers number them.
    enum : int {
      kMemoryType = 2,
      kDevicePointer = 3,
      kHostPointer = 4,
      kIsManaged = 8,
      kOrdinal = 9,
      kStart = 11,
      kSize = 12
    };
    const Allocation* found = card.memory.find(pointer(address));
    if (result == nullptr || found == nullptr) return Error::kInvalidValue;
    const bool is_host = found->kind == MemoryKind::kHost || found->kind == MemoryKind::kRegistered;
    const auto give = [&](auto value) {
      std::memcpy(result, &value, sizeof(value));
      return Error::kSuccess;
    };
    switch (attribute) {
      case kMemoryType:
        return give(std::uint32_t{is_host ? 1u : 2u});
      case kDevicePointer:
      case kHostPointer:
        return give(address);
      case kIsManaged:
        return give(std::uint32_t{found->kind == MemoryKind::kManaged ? 1u : 0u});
      case kOrdinal:
        return give(std::int32_t{0});
      case kStart:
        return give(found->begin);
      case kSize:
        return give(found->bytes);
      default:
        return Error::kNotSupported;
    }
  });
}

HEDDLE_CUDA_CALL int cuMemHostRegister_v2(void* begin, std::size_t bytes, unsigned) {
  return driver_call("cuMemHostRegister", [&](State& card) {
    if (begin == nullptr || bytes == 0) return Error::kInvalidValue;
    if (card.memory.overlaps(begin, bytes)) return Error::kHostMemoryAlreadyRegistered;
    card.memory.add(MemoryKind::kRegistered, begin, bytes, "registered host memory", nullptr);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuMemHostUnregister(void* begin) {
  return driver_call("cuMemHostUnregister", [&](State& card) {
    const bool is_known = card.memory.remove(begin, MemoryKind::kRegistered);
    return is_known ? Error::kSuccess : Error::kHostMemoryNotRegistered;
  });
}

HEDDLE_CUDA_CALL int cuMemcpy(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return copy_bytes("cuMemcpy", pointer(to), pointer(from), bytes, kDefault);
}

HEDDLE_CUDA_CALL int cuMemcpyAsync(DevicePointer to, DevicePointer from, std::size_t bytes, void*) {
  return copy_bytes("cuMemcpyAsync", pointer(to), pointer(from), bytes, kDefault);
}

HEDDLE_CUDA_CALL int cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t bytes) {
  return copy_bytes("cuMemcpyHtoD", pointer(to), from, bytes, kHostToDevice);
}

HEDDLE_CUDA_CALL int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, void*) {
  return copy_bytes("cuMemcpyHtoDAsync", pointer(to), from, bytes, kHostToDevice);
}

HEDDLE_CUDA_CALL int cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t bytes) {
  return copy_bytes("cuMemcpyDtoH", to, pointer(from), bytes, kDeviceToHost);
}

HEDDLE_CUDA_CALL int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, void*) {
  return copy_bytes("cuMemcpyDtoHAsync", to, pointer(from), bytes, kDeviceToHost);
}

HEDDLE_CUDA_CALL int cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return copy_bytes("cuMemcpyDtoD", pointer(to), pointer(from), bytes, kDeviceToDevice);
}

HEDDLE_CUDA_CALL int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes, void*) {
  return copy_bytes("cuMemcpyDtoDAsync", pointer(to), pointer(from), bytes, kDeviceToDevice);
}

HEDDLE_CUDA_CALL int cuMemsetD8_v2(DevicePointer to, unsigned char value, std::size_t count) {
  return fill_words("cuMemsetD8", to, value, count);
}

HEDDLE_CUDA_CALL int cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t count, void*) {
  return fill_words("cuMemsetD8Async", to, value, count);
}

HEDDLE_CUDA_CALL int cuMemsetD16_v2(DevicePointer to, unsigned short value, std::size_t count) {
  return fill_words("cuMemsetD16", to, value, count);
}

HEDDLE_CUDA_CALL int cuMemsetD16Async(DevicePointer to, unsigned short value, std::size_t count, void*) {
  return fill_words("cuMemsetD16Async", to, value, count);
}

HEDDLE_CUDA_CALL int cuMemsetD32_v2(DevicePointer to, unsigned value, std::size_t count) {
  return fill_words("cuMemsetD32", to, value, count);
}

HEDDLE_CUDA_CALL int cuMemsetD32Async(DevicePointer to, unsigned value, std::size_t count, void*) {
  return fill_words("cuMemsetD32Async", to, value, count);
}
