// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/hardware_tensor_map.h"

#include <cstdint>
#include <iterator>

namespace heddle::sim::machine {

namespace {

constexpr std::uint32_t bits(std::uint64_t word, unsigned low, unsigned count) {
  return static_cast<std::uint32_t>(word >> low & ((std::uint64_t{1} << count) - 1));
}

// By the hardware's number.
constexpr TensorType kTypes[] = {TensorType::kU8,  TensorType::kU16,  TensorType::kU32,
                                 TensorType::kI32, TensorType::kU64,  TensorType::kI64,
                                 TensorType::kF16, TensorType::kF32,  TensorType::kF32Ftz,
                                 TensorType::kF64, TensorType::kBF16, TensorType::kU4x16Align8B};
constexpr Swizzle kSwizzles[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B};

// TF32 is that of an F32 with a bit of its own.
std::optional<TensorType> type_of(std::uint32_t number, bool is_tf32) {
  if (number >= std::size(kTypes)) return std::nullopt;
  const TensorType type = kTypes[number];
  if (!is_tf32) return type;
  if (type == TensorType::kF32) return TensorType::kTF32;
  return type == TensorType::kF32Ftz ? std::optional(TensorType::kTF32Ftz) : std::nullopt;
}

}  // namespace

std::optional<TensorMapSpec> read_hardware_map(const TensorMap& map) {
  const std::uint64_t* words = map.opaque;
  constexpr std::uint32_t kTiledByDriver = 0;
  constexpr std::uint32_t kTiledByCute = 2;
  constexpr std::uint32_t kInterleaves = 3;
  const std::uint32_t mode = bits(words[1], 0, 4);
  if (words[0] == 0 || (mode != kTiledByDriver && mode != kTiledByCute) || bits(words[1], 24, 8) != 0) {
    return std::nullopt;
  }
  const std::optional<TensorType> type = type_of(bits(words[1], 7, 4), bits(words[1], 16, 1) != 0);
  TensorMapSpec spec;
  spec.rank = bits(words[1], 4, 3) + 1;
  if (!type || spec.rank > 5 || bits(words[1], 11, 2) >= kInterleaves) return std::nullopt;
  spec.type = *type;
  spec.interleave = static_cast<Interleave>(bits(words[1], 11, 2));
  spec.swizzle = kSwizzles[bits(words[1], 13, 2)];
  spec.fill = static_cast<OobFill>(bits(words[1], 15, 1));
  spec.l2_promotion = static_cast<L2Promotion>(bits(words[1], 17, 2));
  spec.address = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(words[0]));
  const std::uint32_t strides[] = {bits(words[1], 32, 32), bits(words[2], 0, 32), bits(words[2], 32, 32),
                                   bits(words[3], 0, 32)};
  const std::uint32_t extents[] = {bits(words[4], 0, 32), bits(words[4], 32, 32), bits(words[5], 0, 32),
                                   bits(words[5], 32, 32), bits(words[6], 0, 32)};
  for (std::uint32_t d = 0; d < spec.rank; ++d) {
    spec.dims[d] = std::uint64_t{extents[d]} + 1;
    spec.element_strides[d] = bits(words[6], 32 + 3 * d, 3) + 1;
    spec.box[d] = (d == 0 ? bits(words[6], 56, 8) : bits(words[7], 8 * (d - 1), 8)) + 1;
    if (d == 0) continue;
    const std::uint64_t high = bits(words[3], 32 + 4 * (d - 1), 4);
    spec.strides[d - 1] = (high << 32 | strides[d - 1]) * 16;
  }
  return spec;
}

isa::DecodedTensorMap decode_tensor_map(const TensorMap& map) {
  const isa::DecodedTensorMap own = isa::tensor_map_decode(map);
  if (own.state != isa::TensorMapState::kNotATensorMap) return own;
  const std::optional<TensorMapSpec> spec = read_hardware_map(map);
  return spec ? isa::DecodedTensorMap{isa::TensorMapState::kFine, *spec} : own;
}

}  // namespace heddle::sim::machine
