// SPDX-License-Identifier: Apache-2.0
//
// The driver: set-up, the device, contexts, errors. There is one device and one context.
#include "runtime/device.h"
#include "runtime/driver_call.h"
#include "runtime/stream_work.h"
#include "runtime/version.h"

#include <algorithm>
#include <cstring>

using namespace heddle::runtime;

namespace {

char the_context;

// Fails with the code of a broken card, as all that needs the context does.
template <class T>
int give_checked(const char* name, T* result, T value) {
  return driver_call(name, [&](State&) {
    if (result == nullptr) return Error::kInvalidValue;
    *result = value;
    return Error::kSuccess;
  });
}

int code_of_device(int device) { return device == 0 ? 0 : driver_code(Error::kInvalidDevice); }

int code_of_context(const void* context) {
  if (context == nullptr) return driver_code(Error::kInvalidValue);
  return context == &the_context ? 0 : driver_code(Error::kInvalidContext);
}

int push_context(const void* context) {
  const int code = code_of_context(context);
  if (code == 0) ++contexts_of_thread();
  return code;
}

int give_context(const char* name, void** context) { return give_checked<void*>(name, context, &the_context); }

}  // namespace

HEDDLE_CUDA_CALL int cuInit(unsigned flags) { return flags == 0 ? 0 : driver_code(Error::kInvalidValue); }

HEDDLE_CUDA_CALL int cuDriverGetVersion(int* version) {
  return give_checked("cuDriverGetVersion", version, kDriverVersion);
}

HEDDLE_CUDA_CALL int cuDeviceGetCount(int* count) { return give_checked("cuDeviceGetCount", count, 1); }

HEDDLE_CUDA_CALL int cuDeviceGet(int* device, int ordinal) {
  if (ordinal != 0) return driver_code(Error::kInvalidDevice);
  return give_checked("cuDeviceGet", device, 0);
}

HEDDLE_CUDA_CALL int cuDeviceGetName(char* name, int length, int device) {
  return driver_call("cuDeviceGetName", [&](State&) {
    if (device != 0) return Error::kInvalidDevice;
    if (name == nullptr || length <= 0) return Error::kInvalidValue;
    // No more of the place than the name takes, whatever it is said to have.
    const std::size_t letters = std::min(std::strlen(device_name()), static_cast<std::size_t>(length) - 1);
    std::memcpy(name, device_name(), letters);
    name[letters] = '\0';
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return driver_call("cuDeviceGetAttribute", [&](State&) {
    if (value == nullptr) return Error::kInvalidValue;
    if (device != 0) return Error::kInvalidDevice;
    return device_attribute(attribute, *value) ? Error::kSuccess : Error::kInvalidValue;
  });
}

HEDDLE_CUDA_CALL int cuDeviceComputeCapability(int* major, int* minor, int device) {
  if (!all_set(major, minor)) return driver_code(Error::kInvalidValue);
  if (device != 0) return driver_code(Error::kInvalidDevice);
  constexpr int kMajor = 75;
  constexpr int kMinor = 76;
  return device_attribute(kMajor, *major) && device_attribute(kMinor, *minor) ? 0 : 1;
}

HEDDLE_CUDA_CALL int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return driver_call("cuDeviceTotalMem", [&](State& card) {
    if (bytes == nullptr) return Error::kInvalidValue;
    if (device != 0) return Error::kInvalidDevice;
    *bytes = card.memory.total_bytes();
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuDeviceGetUuid_v2(void* uuid, int device) {
  if (uuid == nullptr) return driver_code(Error::kInvalidValue);
  if (device != 0) return driver_code(Error::kInvalidDevice);
  std::memcpy(uuid, "heddle simulated", 16);
  return 0;
}

HEDDLE_CUDA_CALL int cuDeviceGetUuid(void* uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

HEDDLE_CUDA_CALL int cuDevicePrimaryCtxRetain(void** context, int device) {
  return device == 0 ? give_context("cuDevicePrimaryCtxRetain", context) : driver_code(Error::kInvalidDevice);
}

HEDDLE_CUDA_CALL int cuDevicePrimaryCtxRelease_v2(int device) { return code_of_device(device); }

HEDDLE_CUDA_CALL int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned) { return code_of_device(device); }

HEDDLE_CUDA_CALL int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (device != 0) return driver_code(Error::kInvalidDevice);
  if (!all_set(flags, active)) return driver_code(Error::kInvalidValue);
  *flags = 0;
  *active = 1;
  return 0;
}

HEDDLE_CUDA_CALL int cuCtxCreate_v2(void** context, unsigned, int device) {
  if (device != 0) return driver_code(Error::kInvalidDevice);
  const int code = give_context("cuCtxCreate", context);
  return code != 0 ? code : push_context(&the_context);
}

HEDDLE_CUDA_CALL int cuCtxCreate_v4(void** context, void*, unsigned flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}

HEDDLE_CUDA_CALL int cuCtxDestroy_v2(void* context) {
  const int code = code_of_context(context);
  if (code == 0) contexts_of_thread() = std::max(contexts_of_thread() - 1, 0);
  return code;
}

HEDDLE_CUDA_CALL int cuCtxGetCurrent(void** context) {
  void* const current = contexts_of_thread() == 0 ? nullptr : &the_context;
  return give_checked<void*>("cuCtxGetCurrent", context, current);
}

// It takes the place of the one on top; null takes that away.
HEDDLE_CUDA_CALL int cuCtxSetCurrent(void* context) {
  int& contexts = contexts_of_thread();
  if (context == nullptr) {
    contexts = std::max(contexts - 1, 0);
    return 0;
  }
  const int code = code_of_context(context);
  if (code == 0) contexts = std::max(contexts, 1);
  return code;
}

HEDDLE_CUDA_CALL int cuCtxPushCurrent_v2(void* context) { return push_context(context); }

HEDDLE_CUDA_CALL int cuCtxPopCurrent_v2(void** context) {
  if (contexts_of_thread() == 0) return driver_code(Error::kInvalidContext);
  if (context != nullptr) *context = &the_context;
  --contexts_of_thread();
  return 0;
}

HEDDLE_CUDA_CALL int cuCtxGetDevice(int* device) { return give_checked("cuCtxGetDevice", device, 0); }

HEDDLE_CUDA_CALL int cuCtxSynchronize() {
  return driver_call("cuCtxSynchronize", [](State& card) { return wait_for_all(card); });
}

HEDDLE_CUDA_CALL int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return 0;
}

HEDDLE_CUDA_CALL int cuProfilerStart() { return 0; }

HEDDLE_CUDA_CALL int cuProfilerStop() { return 0; }

HEDDLE_CUDA_CALL int cuGetErrorName(int code, const char** text) {
  if (text == nullptr) return driver_code(Error::kInvalidValue);
  *text = driver_name_of(code);
  return *text != nullptr ? 0 : driver_code(Error::kInvalidValue);
}

HEDDLE_CUDA_CALL int cuGetErrorString(int code, const char** text) {
  if (text == nullptr) return driver_code(Error::kInvalidValue);
  *text = driver_name_of(code) != nullptr ? text_of(code) : nullptr;
  return *text != nullptr ? 0 : driver_code(Error::kInvalidValue);
}
