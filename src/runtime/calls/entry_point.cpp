// SPDX-License-Identifier: Apache-2.0
//
// Functions of the driver by name, for programs that do not link it.
#include "runtime/driver_call.h"
#include "runtime/options.h"
#include "runtime/refuse.h"
#include "runtime/version.h"

using namespace heddle::runtime;

namespace {

constexpr int kFound = 0;
constexpr int kNotFound = 1;

Error find(const char* name, int version, void** function, int* result) {
  if (name == nullptr || function == nullptr) return Error::kInvalidValue;
  *function = const_cast<void*>(find_call(name, version));
  if (result != nullptr) *result = *function != nullptr ? kFound : kNotFound;
  // Libraries look up dozens of calls of later versions, and do without those that are not there.
  if (*function == nullptr && options().says_calls) say(std::string(name) + " is no call of the driver");
  return Error::kSuccess;
}

}  // namespace

HEDDLE_CUDA_CALL int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long, int* result) {
  return call("cudaGetDriverEntryPoint", [&](State&) { return find(name, kDriverVersion, function, result); });
}

HEDDLE_CUDA_CALL int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                      unsigned long long, int* result) {
  return call("cudaGetDriverEntryPointByVersion",
              [&](State&) { return find(name, static_cast<int>(version), function, result); });
}

HEDDLE_CUDA_CALL int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t,
                                         int* result) {
  return driver_call("cuGetProcAddress", [&](State&) {
    const Error error = find(name, version, function, result);
    return error == Error::kSuccess && *function == nullptr ? Error::kSymbolNotFound : error;
  });
}

HEDDLE_CUDA_CALL int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
