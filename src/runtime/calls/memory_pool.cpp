// SPDX-License-Identifier: Apache-2.0
//
// Memory pools: there is one, and what it gives comes from the card at once.
#include "runtime/state.h"

#include <cstdint>
#include <cstring>

using namespace heddle::runtime;

namespace {

char the_pool;

Error give_pool(void** pool) {
  if (pool == nullptr) return Error::kInvalidValue;
  *pool = &the_pool;
  return Error::kSuccess;
}

}  // namespace

HEDDLE_CUDA_CALL int cudaDeviceGetDefaultMemPool(void** pool, int) {
  return call("cudaDeviceGetDefaultMemPool", [&](State&) { return give_pool(pool); });
}

HEDDLE_CUDA_CALL int cudaDeviceGetMemPool(void** pool, int) {
  return call("cudaDeviceGetMemPool", [&](State&) { return give_pool(pool); });
}

HEDDLE_CUDA_CALL int cudaDeviceSetMemPool(int, void*) { return 0; }

HEDDLE_CUDA_CALL int cudaMemPoolCreate(void** pool, const void*) {
  return call("cudaMemPoolCreate", [&](State&) { return give_pool(pool); });
}

HEDDLE_CUDA_CALL int cudaMemPoolDestroy(void*) { return 0; }

HEDDLE_CUDA_CALL int cudaMemPoolTrimTo(void*, std::size_t) { return 0; }

HEDDLE_CUDA_CALL int cudaMemPoolSetAttribute(void*, int, void*) { return 0; }

HEDDLE_CUDA_CALL int cudaMemPoolGetAttribute(void*, int attribute, void* value) {
  return call("cudaMemPoolGetAttribute", [&](State&) {
    if (value == nullptr || attribute < 1 || attribute > 8) return Error::kInvalidValue;
    constexpr int kLastFlag = 3;  // the first three are integers, the others 64-bit counts
    std::memset(value, 0, attribute <= kLastFlag ? sizeof(int) : sizeof(std::uint64_t));
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaMemPoolSetAccess(void*, const void*, std::size_t) { return 0; }
