// SPDX-License-Identifier: Apache-2.0
//
// The driver: what belongs to the one context: its number, limits, memory pool and streams; and the driver's log,
// in which nothing is ever written.
#include "runtime/driver_call.h"

#include <cstddef>

using namespace heddle::runtime;

extern "C" int cuCtxGetCurrent(void** context);
extern "C" int cudaDeviceGetMemPool(void** pool, int device);
extern "C" int cudaDeviceGetLimit(std::size_t* value, int limit);

HEDDLE_CUDA_CALL int cuCtxGetId(void*, unsigned long long* id) {
  return driver_call("cuCtxGetId", [&](State&) {
    if (id == nullptr) return Error::kInvalidValue;
    *id = 1;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuCtxGetApiVersion(void*, unsigned* version) {
  return driver_call("cuCtxGetApiVersion", [&](State&) {
    if (version == nullptr) return Error::kInvalidValue;
    *version = 3020;  // that of every context since CUDA 3.2
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuCtxGetLimit(std::size_t* value, int limit) { return cudaDeviceGetLimit(value, limit); }

HEDDLE_CUDA_CALL int cuStreamGetCtx(void* stream, void** context) {
  const int code = driver_call("cuStreamGetCtx", [&](State& card) {
    return card.streams.is_known(stream) ? Error::kSuccess : Error::kInvalidHandle;
  });
  return code != 0 ? code : cuCtxGetCurrent(context);
}

HEDDLE_CUDA_CALL int cuStreamGetCtx_v2(void* stream, void** context, void** green) {
  if (green != nullptr) *green = nullptr;
  return cuStreamGetCtx(stream, context);
}

HEDDLE_CUDA_CALL int cuDeviceGetMemPool(void** pool, int device) {
  return device == 0 ? cudaDeviceGetMemPool(pool, device) : driver_code(Error::kInvalidDevice);
}

HEDDLE_CUDA_CALL int cuDeviceGetDefaultMemPool(void** pool, int device) {
  return cuDeviceGetMemPool(pool, device);
}

HEDDLE_CUDA_CALL int cuLogsRegisterCallback(const void* function, void*, void** handle) {
  return driver_call("cuLogsRegisterCallback", [&](State& card) {
    if (function == nullptr) return Error::kInvalidValue;
    if (handle != nullptr) *handle = &card;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuLogsUnregisterCallback(void* handle) {
  return driver_call("cuLogsUnregisterCallback",
                     [&](State& card) { return handle == &card ? Error::kSuccess : Error::kInvalidHandle; });
}
