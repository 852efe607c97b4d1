// SPDX-License-Identifier: Apache-2.0
//
// Functions of the driver by name, for programs that do not link it.
#include "runtime/driver_call.h"
#include "runtime/options.h"
#include "runtime/refuse.h"
#include "runtime/version.h"

#include <cstdint>
#include <string>
#include <string_view>

using namespace heddle::runtime;

namespace {

constexpr int kFound = 0;
constexpr int kNotFound = 1;

// The driver's, by the names of the manual: no call of the runtime, and none with the suffix of a version.
bool is_name(std::string_view name) {
  const std::size_t end = name.rfind("_v");
  const bool has_suffix = end != name.npos && end + 3 == name.size() && name.back() >= '0' && name.back() <= '9';
  return name.starts_with("cu") && !name.starts_with("cuda") && !has_suffix;
}

Error find(const char* name, int version, std::uint64_t flags, void** function, int* result) {
  constexpr std::uint64_t kLastFlag = 2;  // the default stream of each thread
  if (name == nullptr || function == nullptr || version > kDriverVersion || flags > kLastFlag)
    return Error::kInvalidValue;
  *function = is_name(name) ? const_cast<void*>(find_call(name, version)) : nullptr;
  if (result != nullptr) *result = *function != nullptr ? kFound : kNotFound;
  // Libraries look up dozens of calls of later versions, and do without those that are not there.
  if (*function == nullptr && options().says_calls) say(std::string(name) + " is no call of the driver");
  return Error::kSuccess;
}

}  // namespace

// These two give no context to the thread.
HEDDLE_CUDA_CALL int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                             int* result) {
  return remember(guarded("cudaGetDriverEntryPoint",
                          [&](State&) { return find(name, kDriverVersion, flags, function, result); }));
}

HEDDLE_CUDA_CALL int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                      unsigned long long flags, int* result) {
  return remember(guarded("cudaGetDriverEntryPointByVersion", [&](State&) {
    return find(name, static_cast<int>(version), flags, function, result);
  }));
}

HEDDLE_CUDA_CALL int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                                         int* result) {
  return driver_call("cuGetProcAddress", [&](State&) {
    const Error error = find(name, version, flags, function, result);
    // Who asks for the result is told by it.
    return error == Error::kSuccess && *function == nullptr && result == nullptr ? Error::kSymbolNotFound : error;
  });
}

HEDDLE_CUDA_CALL int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
