// SPDX-License-Identifier: Apache-2.0
//
// The card itself: there is one, number 0.
#include "runtime/device.h"

#include "runtime/device_properties.h"
#include "runtime/stream_work.h"
#include "runtime/version.h"

#include <algorithm>
#include <cstring>

using namespace heddle::runtime;

namespace {

Error check_device(int device) { return device == 0 ? Error::kSuccess : Error::kInvalidDevice; }

Error properties(State& card, void* result, int device, int version) {
  if (result == nullptr) return Error::kInvalidValue;
  if (device != 0) return Error::kInvalidDevice;
  write_properties(result, version, card.memory.total_bytes());
  return Error::kSuccess;
}

template <class T>
Error give_to(T* result, T value) {
  if (result == nullptr) return Error::kInvalidValue;
  *result = value;
  return Error::kSuccess;
}

template <class T>
int give(const char* name, T* result, T value) {
  return call(name, [&](State&) { return give_to(result, value); });
}

// As cudaDeviceSetLimit numbers them: stack, printf buffer, malloc heap, and so on.
constexpr int kLimits = 7;
constexpr int kStack = 0;
constexpr int kMallocHeap = 2;
constexpr std::size_t kMostStack = std::size_t{512} << 10;  // CUDA: local memory of a thread
std::size_t limits[kLimits] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 128};

}  // namespace

HEDDLE_CUDA_CALL int cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [](State& card) { return wait_for_all(card); });
}

HEDDLE_CUDA_CALL int cudaThreadSynchronize() { return cudaDeviceSynchronize(); }

// Gives everything back, a broken context included.
HEDDLE_CUDA_CALL int cudaDeviceReset() {
  if (InHostFunction::is_here()) return remember(refuse_in_host_function("cudaDeviceReset"));
  guard("cudaDeviceReset", [](State& card) {
    show_printed(card);
    card.memory.free_all();
    card.arrays.clear();
    card.heap.clear();
    card.captures.clear();
    card.graphs = {};
    card.streams.clear();
    card.pools.clear();
    ++card.resets;
    card.failed = Error::kSuccess;
  });
  take_last_error();
  return 0;
}

HEDDLE_CUDA_CALL int cudaGetDeviceCount(int* count) { return give("cudaGetDeviceCount", count, 1); }

HEDDLE_CUDA_CALL int cudaGetDevice(int* device) { return give("cudaGetDevice", device, 0); }

HEDDLE_CUDA_CALL int cudaSetDevice(int device) {
  return call("cudaSetDevice", [&](State&) { return check_device(device); });
}

HEDDLE_CUDA_CALL int cudaInitDevice(int device, unsigned, unsigned flags) {
  constexpr unsigned kFlagsAreValid = 1;
  return call("cudaInitDevice",
              [&](State&) { return flags > kFlagsAreValid ? Error::kInvalidValue : check_device(device); });
}

HEDDLE_CUDA_CALL int cudaSetValidDevices(const int* devices, int count) {
  return call("cudaSetValidDevices", [&](State&) {
    if (count < 0 || (devices == nullptr && count != 0)) return Error::kInvalidValue;
    return std::all_of(devices, devices + count, [](int device) { return device == 0; }) ? Error::kSuccess
                                                                                         : Error::kInvalidDevice;
  });
}

HEDDLE_CUDA_CALL int cudaChooseDevice(int* device, const void* wanted) {
  return call_with(
      "cudaChooseDevice",
      [&](State&) {
        *device = 0;
        return Error::kSuccess;
      },
      device, static_cast<const char*>(wanted));
}

HEDDLE_CUDA_CALL int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return call("cudaDeviceGetAttribute", [&](State&) {
    if (value == nullptr) return Error::kInvalidValue;
    if (device != 0) return Error::kInvalidDevice;
    return device_attribute(attribute, *value) ? Error::kSuccess : Error::kInvalidValue;
  });
}

// Programs of CUDA 12 ask for the second form of the call and expect its structure; those of 13 have one form
// again.
HEDDLE_CUDA_CALL int cudaGetDeviceProperties_v2(void* result, int device) {
  return call_anywhere("cudaGetDeviceProperties",
                       [&](State& card) { return properties(card, result, device, 12); });
}

HEDDLE_CUDA_CALL int cudaGetDeviceProperties(void* result, int device) {
  return call_anywhere("cudaGetDeviceProperties",
                       [&](State& card) { return properties(card, result, device, cudart_major()); });
}

HEDDLE_CUDA_CALL int cudaRuntimeGetVersion(int* version) {
  return call_anywhere("cudaRuntimeGetVersion",
                       [&](State&) { return give_to(version, cudart_major() == 12 ? 12080 : 13000); });
}

HEDDLE_CUDA_CALL int cudaDriverGetVersion(int* version) {
  return call_anywhere("cudaDriverGetVersion", [&](State&) { return give_to(version, kDriverVersion); });
}

HEDDLE_CUDA_CALL int cudaDeviceGetLimit(std::size_t* value, int limit) {
  return call("cudaDeviceGetLimit", [&](State&) {
    if (value == nullptr || limit < 0 || limit >= kLimits) return Error::kInvalidValue;
    *value = limits[limit];
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaDeviceSetLimit(int limit, std::size_t value) {
  return call("cudaDeviceSetLimit", [&](State& card) {
    if (limit < 0 || limit >= kLimits) return Error::kInvalidValue;
    if (limit == kStack && value > kMostStack) return Error::kInvalidValue;
    if (limit != kStack && value > card.memory.total_bytes()) return Error::kMemoryAllocation;
    limits[limit] = value;
    if (limit == kMallocHeap) card.heap.set_limit(value);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaGetDeviceFlags(unsigned* flags) {
  constexpr unsigned kMapsHostMemory = 8;
  return give("cudaGetDeviceFlags", flags, kMapsHostMemory);
}

HEDDLE_CUDA_CALL int cudaSetDeviceFlags(unsigned flags) {
  constexpr unsigned kAllFlags = 0xFF;
  // How to wait: spinning, yielding, blocking, or as CUDA likes.
  const unsigned wait = flags & 7;
  const bool is_legal = (flags & ~kAllFlags) == 0 && (wait & (wait - 1)) == 0;
  return call("cudaSetDeviceFlags", [&](State&) { return is_legal ? Error::kSuccess : Error::kInvalidValue; });
}

HEDDLE_CUDA_CALL int cudaDeviceGetCacheConfig(int* config) { return give("cudaDeviceGetCacheConfig", config, 0); }

HEDDLE_CUDA_CALL int cudaDeviceSetCacheConfig(int config) {
  return call("cudaDeviceSetCacheConfig", [&](State&) { return check_cache_config(config); });
}

HEDDLE_CUDA_CALL int cudaDeviceGetSharedMemConfig(int* config) {
  constexpr int kBanksOfFourBytes = 1;
  return give("cudaDeviceGetSharedMemConfig", config, kBanksOfFourBytes);
}

HEDDLE_CUDA_CALL int cudaDeviceSetSharedMemConfig(int) { return 0; }

HEDDLE_CUDA_CALL int cudaCtxResetPersistingL2Cache() { return 0; }

HEDDLE_CUDA_CALL int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return 0;
}

HEDDLE_CUDA_CALL int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call("cudaDeviceCanAccessPeer", [&](State&) {
    if (can == nullptr) return Error::kInvalidValue;
    *can = 0;
    return device == 0 && peer == 0 ? Error::kSuccess : Error::kInvalidDevice;
  });
}

HEDDLE_CUDA_CALL int cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return call("cudaDeviceGetPCIBusId", [&](State&) {
    constexpr const char* kBus = "0000:00:00.0";
    if (device != 0) return Error::kInvalidDevice;
    if (text == nullptr || length < 13) return Error::kInvalidValue;
    std::strcpy(text, kBus);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaProfilerStart() { return 0; }

HEDDLE_CUDA_CALL int cudaProfilerStop() { return 0; }
