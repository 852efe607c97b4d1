// SPDX-License-Identifier: Apache-2.0
//
// Turns a TensorMapSpec into the 128 bytes that the copy engine reads. Host code; make_tensor_map of
// heddle/host/tensor_map.h is the call to use, this is the part of it that differs between the targets.
//
// On the GPU the driver writes the bits, and their layout is not public. The simulated SM has a layout of
// its own, 16 little-endian words:
//
//   0      magic number
//   1      version (bits 0-15), type (16-23), rank (24-31), interleave (32-39), swizzle (40-47),
//          L2 promotion (48-55), fill (56-63)
//   2      address
//   3-5    dims - 1, two to a word
//   6-9    strides
//   10-11  box, four to a word; element strides in bytes 2-6 of word 11
//   12-14  zero
//   15     checksum of words 0-14
//
// Memory that does not hold a map, and a map that was overwritten in part, is therefore told apart from a
// map. A map of the one target is none on the other.
#pragma once

#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map.h>

#if HEDDLE_ON_CUDA
#include <cuda_runtime_api.h>
#endif

namespace heddle::inline HEDDLE_TARGET::isa {

// Why no map was made: the call that failed, its code and the code's name. All null and 0 when one was made.
struct TensorMapRefusal {
  const char* call = nullptr;
  int code = 0;
  const char* name = nullptr;

  explicit operator bool() const { return call != nullptr; }
};

#if HEDDLE_ON_CUDA

namespace detail {

// Codes of the driver (CUresult). cuda.h is not included for them: it is longer than all of isa/, and every file
// that makes a map would read it. tests/conformance/tensor_map_driver_test.cu compares.
enum class DriverCode : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kInvalidContext = 201,
  kNotSupported = 801,
};

inline const char* driver_error_name(DriverCode code) {
  switch (code) {
    case DriverCode::kInvalidValue: return "CUDA_ERROR_INVALID_VALUE";
    case DriverCode::kNotInitialized: return "CUDA_ERROR_NOT_INITIALIZED";
    case DriverCode::kDeinitialized: return "CUDA_ERROR_DEINITIALIZED";
    case DriverCode::kInvalidContext: return "CUDA_ERROR_INVALID_CONTEXT";
    case DriverCode::kNotSupported: return "CUDA_ERROR_NOT_SUPPORTED";
    default: return "a code that cuda.h names";
  }
}

// cuTensorMapEncodeTiled, whose enumerations are ints to the calling convention.
using EncodeTiled = DriverCode (*)(void* map, int type, std::uint32_t rank, void* address,
                                   const std::uint64_t* dims, const std::uint64_t* strides,
                                   const std::uint32_t* box, const std::uint32_t* element_strides, int interleave,
                                   int swizzle, int l2_promotion, int fill);

struct TensorMapEncoder {
  EncodeTiled function = nullptr;
  TensorMapRefusal refusal;
};

// The driver's function by way of the runtime, so that programs need not link libcuda. cuTensorMapEncodeTiled
// came with CUDA 12.0, hence the version.
inline TensorMapEncoder find_tensor_map_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  if (error != cudaSuccess) {
    return {nullptr, {"cudaGetDriverEntryPointByVersion", static_cast<int>(error), cudaGetErrorName(error)}};
  }
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    return {nullptr,
            {"cudaGetDriverEntryPointByVersion", static_cast<int>(found),
             "the driver has no cuTensorMapEncodeTiled; it came with CUDA 12.0"}};
  }
  return {reinterpret_cast<EncodeTiled>(function), {}};
}

}  // namespace detail

// The architecture that maps are made for: the current device's, such as 90 or 100; 0 when there is none.
inline std::uint32_t tensor_map_sm() {
  int device = 0;
  int major = 0;
  int minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
    return 0;
  }
  return static_cast<std::uint32_t>(10 * major + minor);
}

// Writes the map for a spec. Asks the driver and nothing else, so that the two can be compared.
inline TensorMapRefusal tensor_map_encode_tiled(TensorMap& map, const TensorMapSpec& spec) {
  static const detail::TensorMapEncoder encoder = detail::find_tensor_map_encoder();
  if (encoder.function == nullptr) return encoder.refusal;
  static_assert(sizeof(TensorMap) == 128 && alignof(TensorMap) >= 64);
  const detail::DriverCode code = encoder.function(
      &map, static_cast<int>(spec.type), spec.rank, const_cast<void*>(spec.address), spec.dims, spec.strides,
      spec.box, spec.element_strides, static_cast<int>(spec.interleave), static_cast<int>(tma_code(spec.swizzle)),
      static_cast<int>(spec.l2_promotion), static_cast<int>(spec.fill));
  if (code == detail::DriverCode::kSuccess) return {};
  return {"cuTensorMapEncodeTiled", static_cast<int>(code), detail::driver_error_name(code)};
}

#else

// What is wrong with the bytes of a map.
enum class TensorMapState : std::uint8_t {
  kFine,
  kNotATensorMap,  // the magic number is missing
  kOtherVersion,   // written by another version of heddle
  kDamaged,        // the checksum does not fit
};

struct DecodedTensorMap {
  TensorMapState state = TensorMapState::kNotATensorMap;
  TensorMapSpec spec;
};

namespace detail {

inline constexpr std::uint64_t tensor_map_magic = 0x5041'4D54'4C44'4548;  // "HEDLTMAP"
inline constexpr std::uint64_t tensor_map_version = 1;

constexpr std::uint64_t tensor_map_checksum(const TensorMap& map) {
  std::uint64_t sum = 0xCBF2'9CE4'8422'2325;
  for (int word = 0; word < 15; ++word) {
    sum = (sum ^ map.opaque[word]) * 0x9E37'79B9'7F4A'7C15;
    sum ^= sum >> 32;
  }
  return sum;
}

template <class T>
constexpr T tensor_map_byte(std::uint64_t word, unsigned bit) {
  return static_cast<T>(word >> bit & 0xFF);
}

}  // namespace detail

// The newest architecture that the simulated SM models. Whether the machine that runs a kernel can use a
// map is asked again at the copy.
constexpr std::uint32_t tensor_map_sm() { return 100; }

// Writes the map for a spec that check() has passed. Never refuses.
inline TensorMapRefusal tensor_map_encode_tiled(TensorMap& map, const TensorMapSpec& spec) {
  map = {};
  std::uint64_t* words = map.opaque;
  words[0] = detail::tensor_map_magic;
  words[1] = detail::tensor_map_version | static_cast<std::uint64_t>(spec.type) << 16 |
             std::uint64_t{spec.rank} << 24 | static_cast<std::uint64_t>(spec.interleave) << 32 |
             static_cast<std::uint64_t>(spec.swizzle) << 40 |
             static_cast<std::uint64_t>(spec.l2_promotion) << 48 | static_cast<std::uint64_t>(spec.fill) << 56;
  words[2] = reinterpret_cast<std::uintptr_t>(spec.address);
  for (std::uint32_t d = 0; d < spec.rank; ++d) {
    words[3 + d / 2] |= (spec.dims[d] - 1) << 32 * (d % 2);
    words[10 + d / 4] |= std::uint64_t{spec.box[d]} << 16 * (d % 4);
    words[11] |= std::uint64_t{spec.element_strides[d]} << (16 + 8 * d);
  }
  for (std::uint32_t d = 1; d < spec.rank; ++d) words[5 + d] = spec.strides[d - 1];
  words[15] = detail::tensor_map_checksum(map);
  return {};
}

// Reads a map back. Entries past the rank come out as a default TensorMapSpec has them.
inline DecodedTensorMap tensor_map_decode(const TensorMap& map) {
  const std::uint64_t* words = map.opaque;
  if (words[0] != detail::tensor_map_magic) return {TensorMapState::kNotATensorMap, {}};
  if ((words[1] & 0xFFFF) != detail::tensor_map_version) return {TensorMapState::kOtherVersion, {}};
  if (words[15] != detail::tensor_map_checksum(map)) return {TensorMapState::kDamaged, {}};
  TensorMapSpec spec;
  spec.type = detail::tensor_map_byte<TensorType>(words[1], 16);
  spec.rank = detail::tensor_map_byte<std::uint32_t>(words[1], 24);
  spec.interleave = detail::tensor_map_byte<Interleave>(words[1], 32);
  spec.swizzle = detail::tensor_map_byte<Swizzle>(words[1], 40);
  spec.l2_promotion = detail::tensor_map_byte<L2Promotion>(words[1], 48);
  spec.fill = detail::tensor_map_byte<OobFill>(words[1], 56);
  spec.address = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(words[2]));
  for (std::uint32_t d = 0; d < spec.rank && d < 5; ++d) {
    spec.dims[d] = (words[3 + d / 2] >> 32 * (d % 2) & 0xFFFF'FFFF) + 1;
    spec.box[d] = static_cast<std::uint32_t>(words[10 + d / 4] >> 16 * (d % 4) & 0xFFFF);
    spec.element_strides[d] = detail::tensor_map_byte<std::uint32_t>(words[11], 16 + 8 * d);
  }
  for (std::uint32_t d = 1; d < spec.rank && d < 5; ++d) spec.strides[d - 1] = words[5 + d];
  return {TensorMapState::kFine, spec};
}

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
