// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps, by heddle's own encoder.
#include "runtime/driver_call.h"
#include "runtime/options.h"

#include "sim/machine/hardware_tensor_map.h"
#include "sim/machine/im2col.h"

#include <heddle/host/tensor_map.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

using namespace heddle;
using namespace heddle::runtime;

namespace {

using sim::machine::decode_im2col;
using sim::machine::encode_im2col;
using sim::machine::Im2col;

// The driver's numbers beyond those that the simulated copy engine has.
constexpr int kLastSwizzle = 4;

// The driver takes null: CUTLASS's grouped kernels make maps of no tensor, whose addresses the card replaces.
// Unverified: no card has been asked; a copy through such a map is reported.
Error write_map(void* map, const TensorMapSpec& spec, const std::optional<Im2col>& pixels = {}) {
  alignas(128) static std::byte any_place;
  TensorMapSpec placed = spec;
  if (spec.address == nullptr) placed.address = &any_place;
  if (const TensorMapFault fault = check(placed, options().sm())) {
    say(message(fault, spec));
    return Error::kInvalidValue;
  }
  TensorMap made;
  if (pixels) {
    if (const std::string mistake = im2col_mistake(spec, *pixels); !mistake.empty()) {
      say("cuTensorMapEncodeIm2col: " + mistake);
      return Error::kInvalidValue;
    }
    encode_im2col(made, spec, *pixels);
  } else {
    isa::tensor_map_encode_tiled(made, spec);
  }
  std::memcpy(map, &made, sizeof(made));
  return Error::kSuccess;
}

}  // namespace

HEDDLE_CUDA_CALL int cuTensorMapEncodeTiled(void* map, int type, std::uint32_t rank, void* address,
                                            const std::uint64_t* dims, const std::uint64_t* strides,
                                            const std::uint32_t* box, const std::uint32_t* element_strides,
                                            int interleave, int swizzle, int l2_promotion, int fill) {
  return driver_call("cuTensorMapEncodeTiled", [&](State&) {
    if (map == nullptr || dims == nullptr || box == nullptr || element_strides == nullptr ||
        (rank > 1 && strides == nullptr)) {
      return Error::kInvalidValue;
    }
    if (swizzle < 0 || swizzle > kLastSwizzle) {
      say(fmt::format("cuTensorMapEncodeTiled: swizzle number {} is not there; 0 to {} are", swizzle,
                      kLastSwizzle));
      return Error::kNotSupported;
    }
    TensorMapSpec spec;
    spec.type = static_cast<TensorType>(type);
    spec.rank = rank;
    spec.address = address;
    for (std::uint32_t d = 0; d < std::min(rank, 5u); ++d) {
      spec.dims[d] = dims[d];
      spec.box[d] = box[d];
      spec.element_strides[d] = element_strides[d];
      if (d > 0) spec.strides[d - 1] = strides[d - 1];
    }
    spec.interleave = static_cast<Interleave>(interleave);
    spec.swizzle = static_cast<Swizzle>(swizzle);
    spec.l2_promotion = static_cast<L2Promotion>(l2_promotion);
    spec.fill = static_cast<OobFill>(fill);
    return write_map(map, spec);
  });
}

// A tile of one pixel, and the box that pixels are counted in.
HEDDLE_CUDA_CALL int cuTensorMapEncodeIm2col(void* map, int type, std::uint32_t rank, void* address,
                                             const std::uint64_t* dims, const std::uint64_t* strides,
                                             const int* lower, const int* upper, std::uint32_t channels,
                                             std::uint32_t column, const std::uint32_t* element_strides,
                                             int interleave, int swizzle, int l2_promotion, int fill) {
  return driver_call("cuTensorMapEncodeIm2col", [&](State&) {
    if (!all_set(static_cast<const void*>(map), dims, strides, lower, upper, element_strides)) {
      return Error::kInvalidValue;
    }
    if (rank < Im2col::kMinRank || rank > Im2col::kMaxRank || swizzle < 0 || swizzle > kLastSwizzle) {
      return Error::kInvalidValue;
    }
    TensorMapSpec spec;
    spec.type = static_cast<TensorType>(type);
    spec.rank = rank;
    spec.address = address;
    for (std::uint32_t d = 0; d < rank; ++d) {
      spec.dims[d] = dims[d];
      spec.box[d] = d == 0 ? channels : 1;
      spec.element_strides[d] = element_strides[d];
      if (d > 0) spec.strides[d - 1] = strides[d - 1];
    }
    spec.interleave = static_cast<Interleave>(interleave);
    spec.swizzle = static_cast<Swizzle>(swizzle);
    spec.l2_promotion = static_cast<L2Promotion>(l2_promotion);
    spec.fill = static_cast<OobFill>(fill);
    Im2col pixels;
    std::copy(lower, lower + rank - 2, pixels.lower);
    std::copy(upper, upper + rank - 2, pixels.upper);
    pixels.pixels = column;
    return write_map(map, spec, pixels);
  });
}

HEDDLE_CUDA_CALL int cuTensorMapReplaceAddress(void* map, void* address) {
  return driver_call("cuTensorMapReplaceAddress", [&](State&) {
    if (map == nullptr) return Error::kInvalidValue;
    TensorMap old;
    std::memcpy(&old, map, sizeof(old));
    isa::DecodedTensorMap decoded = heddle::sim::machine::decode_tensor_map(old);
    if (decoded.state != isa::TensorMapState::kFine) return Error::kInvalidValue;
    decoded.spec.address = address;
    return write_map(map, decoded.spec, decode_im2col(old));
  });
}
