// SPDX-License-Identifier: Apache-2.0
//
// Advice about managed memory, prefetches of it, and what a program asks about a range of it.
#include "runtime/driver_call.h"
#include "runtime/version.h"

#include <cstring>
#include <utility>

using namespace heddle::runtime;

namespace {

using Location = Advice::Location;

// As both sets of headers number them.
enum Attribute : int {
  kReadMostly = 1,
  kPreferred,
  kAccessedBy,
  kLastPrefetch,
  kPreferredType,
  kPreferredId,
  kLastPrefetchType,
  kLastPrefetchId
};
enum Advised : int {
  kSetReadMostly = 1,
  kUnsetReadMostly,
  kSetPreferred,
  kUnsetPreferred,
  kSetAccessedBy,
  kUnsetAccessedBy
};

// Calls of CUDA 12 give a number: of a device, or -1 for the host.
Location location_of_number(int number) {
  return number == Location::kCpu ? Location{Location::kHost, 0} : Location{Location::kDevice, number};
}

Error check_location(const Location& location) {
  if (location.type < Location::kDevice || location.type > Location::kHostNuma + 1) return Error::kInvalidValue;
  return location.type == Location::kDevice && location.id != 0 ? Error::kInvalidDevice : Error::kSuccess;
}

// Whether a range lies in one allocation of managed memory.
bool is_managed(const State& card, const void* begin, std::size_t bytes) {
  const Allocation* found = card.memory.find(begin);
  if (found == nullptr || found->kind != MemoryKind::kManaged || bytes == 0) return false;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(begin) - found->begin);
  return bytes <= found->bytes - offset;
}

template <class Change>
Error change(State& card, const void* begin, std::size_t bytes, Change&& by) {
  if (!is_managed(card, begin, bytes)) return Error::kInvalidValue;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  card.memory.advice.change(address, address + bytes, std::forward<Change>(by));
  return Error::kSuccess;
}

Error advise(State& card, const void* begin, std::size_t bytes, int advised, const Location& location) {
  if (advised < kSetReadMostly || advised > kUnsetAccessedBy) return Error::kInvalidValue;
  const bool has_location = advised == kSetPreferred || advised == kSetAccessedBy || advised == kUnsetAccessedBy;
  if (has_location) {
    if (const Error error = check_location(location); error != Error::kSuccess) return error;
  }
  const bool is_card = location.type == Location::kDevice;
  return change(card, begin, bytes, [&](Advice& advice) {
    switch (advised) {
      case kSetReadMostly:
      case kUnsetReadMostly: advice.is_read_mostly = advised == kSetReadMostly; break;
      case kSetPreferred: advice.preferred = location; break;
      case kUnsetPreferred: advice.preferred = {}; break;
      case kSetAccessedBy: advice.is_accessed_by_card |= is_card; break;
      case kUnsetAccessedBy: advice.is_accessed_by_card &= !is_card; break;
      default: break;
    }
  });
}

Error prefetch(State& card, const void* begin, std::size_t bytes, const Location& to) {
  if (const Error error = check_location(to); error != Error::kSuccess) return error;
  return change(card, begin, bytes, [&](Advice& advice) { advice.prefetched = to; });
}

Error get_attribute(const State& card, void* result, std::size_t result_bytes, int attribute, const void* begin,
                    std::size_t bytes) {
  if (result == nullptr || result_bytes % sizeof(int) != 0 || result_bytes == 0) return Error::kInvalidValue;
  if (attribute != kAccessedBy && result_bytes != sizeof(int)) return Error::kInvalidValue;
  if (!is_managed(card, begin, bytes)) return Error::kInvalidValue;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const Advice advice = card.memory.advice.common(address, address + bytes);
  int value = 0;
  switch (attribute) {
    case kReadMostly: value = advice.is_read_mostly ? 1 : 0; break;
    case kPreferred: value = advice.preferred.number(); break;
    case kAccessedBy: value = advice.is_accessed_by_card ? 0 : Location::kNoId; break;
    case kLastPrefetch: value = advice.prefetched.number(); break;
    case kPreferredType: value = advice.preferred.type; break;
    case kPreferredId: value = advice.preferred.id; break;
    case kLastPrefetchType: value = advice.prefetched.type; break;
    case kLastPrefetchId: value = advice.prefetched.id; break;
    default: return Error::kInvalidValue;
  }
  // Of a list of devices the rest is none.
  auto* numbers = static_cast<std::byte*>(result);
  for (std::size_t at = 0; at < result_bytes; at += sizeof(int)) {
    std::memcpy(numbers + at, &value, sizeof(int));
    value = Location::kNoId;
  }
  return Error::kSuccess;
}

Error get_attributes(const State& card, void** results, const std::size_t* result_bytes, const int* attributes,
                     std::size_t count, const void* begin, std::size_t bytes) {
  if (!all_set(results, result_bytes, attributes) || count == 0) return Error::kInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    const Error error = get_attribute(card, results[i], result_bytes[i], attributes[i], begin, bytes);
    if (error != Error::kSuccess) return error;
  }
  return Error::kSuccess;
}

const void* pointer(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

}  // namespace

HEDDLE_CUDA_CALL int cudaMemAdvise_v2(const void* begin, std::size_t bytes, int advised, Location location) {
  return call("cudaMemAdvise", [&](State& card) { return advise(card, begin, bytes, advised, location); });
}

// Both versions pass it in one register, of which an int is the lower half.
HEDDLE_CUDA_CALL int cudaMemAdvise(const void* begin, std::size_t bytes, int advised, Location location) {
  return cudaMemAdvise_v2(begin, bytes, advised,
                          cudart_major() == 12 ? location_of_number(location.type) : location);
}

HEDDLE_CUDA_CALL int cudaMemPrefetchAsync_v2(const void* begin, std::size_t bytes, Location to, unsigned flags,
                                             void* stream) {
  return call_on("cudaMemPrefetchAsync", stream, [&](State& card) {
    return flags != 0 ? Error::kInvalidValue : prefetch(card, begin, bytes, to);
  });
}

HEDDLE_CUDA_CALL int cudaMemPrefetchAsync(const void* begin, std::size_t bytes, Location to, void* flags,
                                          void* stream) {
  if (cudart_major() == 12) return cudaMemPrefetchAsync_v2(begin, bytes, location_of_number(to.type), 0, flags);
  return cudaMemPrefetchAsync_v2(begin, bytes, to, static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(flags)),
                                 stream);
}

HEDDLE_CUDA_CALL int cudaMemRangeGetAttribute(void* result, std::size_t result_bytes, int attribute,
                                              const void* begin, std::size_t bytes) {
  return call("cudaMemRangeGetAttribute",
              [&](State& card) { return get_attribute(card, result, result_bytes, attribute, begin, bytes); });
}

HEDDLE_CUDA_CALL int cudaMemRangeGetAttributes(void** results, std::size_t* result_bytes, const int* attributes,
                                               std::size_t count, const void* begin, std::size_t bytes) {
  return call("cudaMemRangeGetAttributes", [&](State& card) {
    return get_attributes(card, results, result_bytes, attributes, count, begin, bytes);
  });
}

HEDDLE_CUDA_CALL int cuMemAdvise_v2(std::uint64_t begin, std::size_t bytes, int advised, Location location) {
  return driver_call("cuMemAdvise",
                     [&](State& card) { return advise(card, pointer(begin), bytes, advised, location); });
}

HEDDLE_CUDA_CALL int cuMemAdvise(std::uint64_t begin, std::size_t bytes, int advised, int device) {
  return cuMemAdvise_v2(begin, bytes, advised, location_of_number(device));
}

HEDDLE_CUDA_CALL int cuMemPrefetchAsync_v2(std::uint64_t begin, std::size_t bytes, Location to, unsigned flags,
                                           void* stream) {
  return driver_call_on("cuMemPrefetchAsync", stream, [&](State& card) {
    return flags != 0 ? Error::kInvalidValue : prefetch(card, pointer(begin), bytes, to);
  });
}

HEDDLE_CUDA_CALL int cuMemPrefetchAsync(std::uint64_t begin, std::size_t bytes, int device, void* stream) {
  return cuMemPrefetchAsync_v2(begin, bytes, location_of_number(device), 0, stream);
}

HEDDLE_CUDA_CALL int cuMemRangeGetAttribute(void* result, std::size_t result_bytes, int attribute,
                                            std::uint64_t begin, std::size_t bytes) {
  return driver_call("cuMemRangeGetAttribute", [&](State& card) {
    return get_attribute(card, result, result_bytes, attribute, pointer(begin), bytes);
  });
}

HEDDLE_CUDA_CALL int cuMemRangeGetAttributes(void** results, std::size_t* result_bytes, const int* attributes,
                                             std::size_t count, std::uint64_t begin, std::size_t bytes) {
  return driver_call("cuMemRangeGetAttributes", [&](State& card) {
    return get_attributes(card, results, result_bytes, attributes, count, pointer(begin), bytes);
  });
}
