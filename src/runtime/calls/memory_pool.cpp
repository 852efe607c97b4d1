// SPDX-License-Identifier: Apache-2.0
//
// Memory pools: what they give comes from the card at once, and goes back to it at once. So a pool is what it was
// told, and no more.
#include "runtime/pools.h"
#include "runtime/state.h"

#include <algorithm>
#include <cstring>

using namespace heddle::runtime;

namespace {

// As CUDA's headers lay it out, up to what is looked at.
struct Properties {
  int allocation;  // 1: pinned, 2: managed
  int handles;
  int location;  // 1: a device; from 2 on: the host
  int device;
};

// Who may reach the memory of a pool.
struct Access {
  int location;
  int device;
  int flags;  // 0: not at all, 1: reads, 3: reads and writes
};

enum : int { kLastFlag = 3, kThreshold = 4, kReservedHigh = 6, kUsedHigh = 8 };

Error give_pool(void** result, void* pool, int device) {
  if (result == nullptr) return Error::kInvalidValue;
  if (device != 0) return Error::kInvalidDevice;
  *result = pool;
  return Error::kSuccess;
}

// The flag of an attribute from 1 to kLastFlag.
int& flag_of(Pool& pool, int attribute) { return pool.flags[static_cast<std::size_t>(attribute - 1)]; }

// The attribute's bytes, or none.
Error set_attribute(Pool& pool, int attribute, const void* value) {
  if (attribute >= 1 && attribute <= kLastFlag) {
    std::memcpy(&flag_of(pool, attribute), value, sizeof(int));
    return Error::kSuccess;
  }
  std::uint64_t count = 0;
  std::memcpy(&count, value, sizeof(count));
  if (attribute == kThreshold) {
    pool.threshold = count;
    return Error::kSuccess;
  }
  // A high-water mark can only be set back.
  return (attribute == kReservedHigh || attribute == kUsedHigh) && count == 0 ? Error::kSuccess
                                                                              : Error::kInvalidValue;
}

Error get_attribute(Pool& pool, int attribute, void* value) {
  if (attribute < 1 || attribute > kUsedHigh) return Error::kInvalidValue;
  const std::uint64_t count = attribute == kThreshold ? pool.threshold : 0;
  if (attribute <= kLastFlag) {
    std::memcpy(value, &flag_of(pool, attribute), sizeof(int));
  } else {
    std::memcpy(value, &count, sizeof(count));
  }
  return Error::kSuccess;
}

// A call about a pool.
template <class Body>
int with_pool(const char* name, void* handle, Body&& body) {
  return call(name, [&](State& card) {
    Pool* pool = card.pools.find(handle);
    return pool == nullptr ? Error::kInvalidValue : body(card, *pool);
  });
}

}  // namespace

HEDDLE_CUDA_CALL int cudaDeviceGetDefaultMemPool(void** pool, int device) {
  return call("cudaDeviceGetDefaultMemPool",
              [&](State& card) { return give_pool(pool, card.pools.usual(), device); });
}

HEDDLE_CUDA_CALL int cudaDeviceGetMemPool(void** pool, int device) {
  return call("cudaDeviceGetMemPool", [&](State& card) {
    return device == 0 ? give_pool(pool, card.pools.current, device) : Error::kInvalidValue;  // as an H200 has it
  });
}

HEDDLE_CUDA_CALL int cudaDeviceSetMemPool(int device, void* pool) {
  return with_pool("cudaDeviceSetMemPool", pool, [&](State& card, Pool&) {
    if (device != 0) return Error::kInvalidValue;
    card.pools.current = pool;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaMemPoolCreate(void** pool, const Properties* properties) {
  return call_with(
      "cudaMemPoolCreate",
      [&](State& card) {
        const bool is_there = properties->location >= 1 && (properties->location != 1 || properties->device == 0);
        if (properties->allocation < 1 || properties->allocation > 2 || !is_there) return Error::kInvalidValue;
        *pool = card.pools.create(card.streams.next_handle());
        return Error::kSuccess;
      },
      pool, properties);
}

HEDDLE_CUDA_CALL int cudaMemPoolDestroy(void* pool) {
  return call("cudaMemPoolDestroy",
              [&](State& card) { return card.pools.destroy(pool) ? Error::kSuccess : Error::kInvalidValue; });
}

HEDDLE_CUDA_CALL int cudaMemPoolTrimTo(void* pool, std::size_t) {
  return with_pool("cudaMemPoolTrimTo", pool, [](State&, Pool&) { return Error::kSuccess; });
}

HEDDLE_CUDA_CALL int cudaMemPoolSetAttribute(void* pool, int attribute, void* value) {
  return with_pool("cudaMemPoolSetAttribute", pool, [&](State&, Pool& found) {
    return value == nullptr ? Error::kInvalidValue : set_attribute(found, attribute, value);
  });
}

HEDDLE_CUDA_CALL int cudaMemPoolGetAttribute(void* pool, int attribute, void* value) {
  return with_pool("cudaMemPoolGetAttribute", pool, [&](State&, Pool& found) {
    return value == nullptr ? Error::kInvalidValue : get_attribute(found, attribute, value);
  });
}

HEDDLE_CUDA_CALL int cudaMemPoolSetAccess(void* pool, const void* descriptions, std::size_t count) {
  return with_pool("cudaMemPoolSetAccess", pool, [&](State&, Pool&) {
    const auto* list = static_cast<const Access*>(descriptions);
    if (list == nullptr && count != 0) return Error::kInvalidValue;
    // The one device has all access to its own memory, which cannot be taken from it.
    const bool is_legal = std::all_of(list, list + count, [](const Access& one) {
      return one.location == 1 && one.device == 0 && one.flags == 3;
    });
    return is_legal ? Error::kSuccess : Error::kInvalidValue;
  });
}
