// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps: what the copy engine (TMA) knows about a tensor in global memory and about the boxes that
// kernels ask for. A TensorMap is opaque and made on the host, by make_tensor_map of heddle/host/tensor_map.h
// from a TensorMapSpec; a kernel only takes its address. Here are the spec and the rules it must keep, in a
// form that can be asked at compile time and in kernels.
//
//   constexpr TensorMapSpec a{.type = TensorType::kBF16, .rank = 2,
//                             .dims = {4096, 1024}, .strides = {8192},       // innermost dimension first
//                             .box = {64, 128}, .swizzle = Swizzle::k128B};
//   static_assert(!check_shape(a));
#pragma once

#include <heddle/isa/target.h>
#include <heddle/tile/swizzle.h>

#include <cstdint>

namespace heddle::inline HEDDLE_TARGET {

// The object that the copy engine reads. On the GPU its bits are the driver's, in the simulated SM they are
// described in host/tensor_map_encode.h. Kernel parameters, constant and global memory may hold it.
struct alignas(128) TensorMap {
  std::uint64_t opaque[16];
};
static_assert(sizeof(TensorMap) == 128);

// Element types, numbered as the driver numbers them. 8-bit floats travel as kU8.
enum class TensorType : std::uint8_t {
  kU8,
  kU16,
  kU32,
  kI32,
  kU64,
  kI64,
  kF16,
  kF32,
  kF64,
  kBF16,
  kF32Ftz,
  kTF32,
  kTF32Ftz,
  kU4x16Align8B,   // sm_100: 4-bit elements, packed
  kU4x16Align16B,  // sm_100: 16 4-bit elements in 8 of 16 bytes of shared memory
  kU6x16Align16B,  // sm_100: 16 6-bit elements in 12 of 16 bytes of shared memory
};

enum class Interleave : std::uint8_t { kNone, k16B, k32B };

// How much L2 fetches at a time. A hint: no effect on results.
enum class L2Promotion : std::uint8_t { kNone, k64B, k128B, k256B };

// What elements outside the tensor read as.
enum class OobFill : std::uint8_t { kZeros, kNan };

// What a tensor map says. Dimension 0 is the contiguous one; only the first `rank` entries of an array
// count, and `rank - 1` of `strides`.
struct TensorMapSpec {
  TensorType type = TensorType::kU8;
  std::uint32_t rank = 0;
  const void* address = nullptr;
  std::uint64_t dims[5] = {};                          // elements
  std::uint64_t strides[4] = {};                       // bytes from one index to the next, of dimensions 1 up
  std::uint32_t box[5] = {};                           // elements
  std::uint32_t element_strides[5] = {1, 1, 1, 1, 1};  // every n-th element of the box is copied
  Interleave interleave = Interleave::kNone;
  Swizzle swizzle = Swizzle::kNone;
  L2Promotion l2_promotion = L2Promotion::kNone;
  OobFill fill = OobFill::kZeros;

  friend constexpr bool operator==(const TensorMapSpec&, const TensorMapSpec&) = default;
};

// The rules, in the order in which check() asks them.
enum class TensorMapRule : std::uint8_t {
  kNone,
  kType,               // one of TensorType
  kTypeNeedsSm100,     // types below a byte exist from sm_100 on
  kRank,               // 1 to 5
  kInterleave,         // one of Interleave
  kInterleaveRank,     // an interleaved tensor has at least 3 dimensions
  kSwizzle,            // one of Swizzle
  kSwizzleNeedsSm100,  // 32-byte atoms exist from sm_100 on
  kPackedInterleave,   // padded types are not interleaved
  kPackedSwizzle,      // padded types take no swizzle or one of 128 bytes
  kL2Promotion,        // one of L2Promotion
  kFill,               // one of OobFill
  kFillType,           // NaN fills floating-point types only
  kNullAddress,
  kAddressAlignment,  // 16 bytes; 32 for interleave 32B and padded types
  kDim,               // 1 to 2^32
  kDimMultiple,       // dimension 0 of a sub-byte type: multiple of 2, of 128 for padded types
  kStrideRange,       // below 2^40
  kStrideAlignment,   // multiple of 16 bytes; 32 for interleave 32B and padded types
  kBox,               // 1 to 256
  kPackedBox,         // dimension 0 of a padded type: 128
  kInnerBoxMultiple,  // dimension 0 of the box: a multiple of 16 bytes
  kInnerBoxSwizzle,   // dimension 0 of the box: not wider than the swizzle span
  kElementStride,     // 1 to 8
  kBoxBytes,          // what one box copies fits the shared memory of an SM
};

// The first broken rule. `value` is what was given, `limit` what the rule compares it with, `nearest` the
// closest value that passes, each in the unit of the field; where a field is an enumeration, its number.
// kInnerBoxMultiple and kInnerBoxSwizzle give `value` and `nearest` in elements and `limit` in bytes.
struct TensorMapFault {
  TensorMapRule rule = TensorMapRule::kNone;
  int dimension = -1;  // -1: the rule is not about one dimension
  std::uint64_t value = 0;
  std::uint64_t limit = 0;
  std::uint64_t nearest = 0;

  HEDDLE_HOST_DEVICE constexpr explicit operator bool() const { return rule != TensorMapRule::kNone; }
};

HEDDLE_HOST_DEVICE constexpr std::uint32_t bits_per_element(TensorType type);
HEDDLE_HOST_DEVICE constexpr bool is_floating(TensorType type);
HEDDLE_HOST_DEVICE constexpr bool is_sub_byte(TensorType type);

// Types whose shared-memory image has gaps.
HEDDLE_HOST_DEVICE constexpr bool is_padded(TensorType type);

// Every rule but those about the address. `sm` is the architecture, 90 or 100.
HEDDLE_HOST_DEVICE constexpr TensorMapFault check_shape(const TensorMapSpec& spec, std::uint32_t sm = 100);

// Every rule. In a constant expression an address has no number yet, so its alignment is not looked at.
HEDDLE_HOST_DEVICE constexpr TensorMapFault check(const TensorMapSpec& spec, std::uint32_t sm = 100);

namespace isa {
using ::heddle::HEDDLE_TARGET::TensorMap;
}

HEDDLE_HOST_DEVICE constexpr std::uint32_t bits_per_element(TensorType type) {
  switch (type) {
    case TensorType::kU8: return 8;
    case TensorType::kU16:
    case TensorType::kF16:
    case TensorType::kBF16: return 16;
    case TensorType::kU32:
    case TensorType::kI32:
    case TensorType::kF32:
    case TensorType::kF32Ftz:
    case TensorType::kTF32:
    case TensorType::kTF32Ftz: return 32;
    case TensorType::kU64:
    case TensorType::kI64:
    case TensorType::kF64: return 64;
    case TensorType::kU4x16Align8B:
    case TensorType::kU4x16Align16B: return 4;
    case TensorType::kU6x16Align16B: return 6;
  }
  return 0;
}

HEDDLE_HOST_DEVICE constexpr bool is_floating(TensorType type) {
  return type >= TensorType::kF16 && type <= TensorType::kTF32Ftz;
}

HEDDLE_HOST_DEVICE constexpr bool is_sub_byte(TensorType type) {
  return type >= TensorType::kU4x16Align8B && type <= TensorType::kU6x16Align16B;
}

HEDDLE_HOST_DEVICE constexpr bool is_padded(TensorType type) {
  return type == TensorType::kU4x16Align16B || type == TensorType::kU6x16Align16B;
}

namespace detail::tensor_map_rules {

inline constexpr std::uint32_t max_rank = 5;
inline constexpr std::uint64_t max_dim = std::uint64_t{1} << 32;
inline constexpr std::uint64_t stride_end = std::uint64_t{1} << 40;
inline constexpr std::uint32_t max_box = 256;
inline constexpr std::uint32_t max_element_stride = 8;
inline constexpr std::uint32_t inner_box_bytes = 16;  // the inner box is a multiple of it
inline constexpr std::uint32_t padded_box = 128;
inline constexpr std::uint32_t max_box_bytes = 228 * 1024;  // not documented: what the driver for an H200 takes

HEDDLE_HOST_DEVICE constexpr std::uint64_t clamp(std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  return value < low ? low : value > high ? high : value;
}

HEDDLE_HOST_DEVICE constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// What the address and the strides must be multiples of.
HEDDLE_HOST_DEVICE constexpr std::uint32_t global_alignment(const TensorMapSpec& spec) {
  return spec.interleave == Interleave::k32B || is_padded(spec.type) ? 32 : 16;
}

// PTX: Tensor. The limits themselves are in the driver's description of cuTensorMapEncodeTiled.
// The driver does not keep all it documents: interleave 32B is taken with any swizzle, though the description
// asks for 32B, and so it is here.
// Unverified: the rules for types below a byte.
HEDDLE_HOST_DEVICE constexpr TensorMapFault check_kinds(const TensorMapSpec& spec, std::uint32_t sm) {
  using Rule = TensorMapRule;
  const auto type = static_cast<std::uint64_t>(spec.type);
  const auto interleave = static_cast<std::uint64_t>(spec.interleave);
  const auto swizzle = static_cast<std::uint64_t>(spec.swizzle);
  if (bits_per_element(spec.type) == 0) return {Rule::kType, -1, type, 15, 15};
  if (is_sub_byte(spec.type) && sm < 100) return {Rule::kTypeNeedsSm100, -1, type, 100, 0};
  if (spec.rank < 1 || spec.rank > max_rank) {
    return {Rule::kRank, -1, spec.rank, max_rank, clamp(spec.rank, 1, max_rank)};
  }
  if (interleave > 2) return {Rule::kInterleave, -1, interleave, 2, 2};
  if (interleave != 0 && spec.rank < 3) return {Rule::kInterleaveRank, -1, spec.rank, 3, 3};
  if (swizzle > 4) return {Rule::kSwizzle, -1, swizzle, 4, 4};
  if (spec.swizzle == Swizzle::k128BAtom32B && sm < 100) {
    return {Rule::kSwizzleNeedsSm100, -1, swizzle, 100, tma_code(Swizzle::k128B)};
  }
  if (spec.type == TensorType::kU6x16Align16B && interleave != 0) {
    return {Rule::kPackedInterleave, -1, interleave, 0, 0};
  }
  if (is_padded(spec.type) && spec.swizzle != Swizzle::kNone && span_bytes(spec.swizzle) != 128) {
    return {Rule::kPackedSwizzle, -1, swizzle, 128, tma_code(Swizzle::k128B)};
  }
  const auto l2_promotion = static_cast<std::uint64_t>(spec.l2_promotion);
  if (l2_promotion > 3) return {Rule::kL2Promotion, -1, l2_promotion, 3, 3};
  const auto fill = static_cast<std::uint64_t>(spec.fill);
  if (fill > 1) return {Rule::kFill, -1, fill, 1, 1};
  if (spec.fill == OobFill::kNan && !is_floating(spec.type)) return {Rule::kFillType, -1, type, 0, 0};
  return {};
}

HEDDLE_HOST_DEVICE constexpr TensorMapFault check_tensor(const TensorMapSpec& spec) {
  using Rule = TensorMapRule;
  for (std::uint32_t d = 0; d < spec.rank; ++d) {
    const int dimension = static_cast<int>(d);
    const std::uint64_t dim = spec.dims[d];
    const std::uint64_t multiple = d != 0                   ? 1
                                   : is_padded(spec.type)   ? padded_box
                                   : is_sub_byte(spec.type) ? 2
                                                            : 1;
    if (dim < 1 || dim > max_dim) {
      return {Rule::kDim, dimension, dim, max_dim, round_up(clamp(dim, 1, max_dim), multiple)};
    }
    if (dim % multiple != 0) {
      return {Rule::kDimMultiple, dimension, dim, multiple, round_up(dim, multiple)};
    }
  }
  const std::uint64_t alignment = global_alignment(spec);
  for (std::uint32_t d = 1; d < spec.rank; ++d) {
    const int dimension = static_cast<int>(d);
    const std::uint64_t stride = spec.strides[d - 1];
    if (stride >= stride_end) return {Rule::kStrideRange, dimension, stride, stride_end, stride_end - alignment};
    if (stride % alignment != 0) {
      return {Rule::kStrideAlignment, dimension, stride, alignment,
              clamp(round_up(stride, alignment), 0, stride_end - alignment)};
    }
  }
  return {};
}

// The widest box[0] and what it must be a multiple of, in elements.
HEDDLE_HOST_DEVICE constexpr std::uint64_t inner_box_limit(const TensorMapSpec& spec) {
  if (is_padded(spec.type)) return padded_box;
  const bool is_swizzled = spec.interleave == Interleave::kNone && spec.swizzle != Swizzle::kNone;
  const std::uint64_t span = 8 * span_bytes(spec.swizzle) / bits_per_element(spec.type);
  return is_swizzled && span < max_box ? span : max_box;
}

HEDDLE_HOST_DEVICE constexpr std::uint64_t inner_box_step(const TensorMapSpec& spec) {
  if (is_padded(spec.type)) return padded_box;
  return 8 * inner_box_bytes / bits_per_element(spec.type);
}

HEDDLE_HOST_DEVICE constexpr TensorMapFault check_box(const TensorMapSpec& spec) {
  using Rule = TensorMapRule;
  const std::uint64_t inner_limit = inner_box_limit(spec);
  const std::uint64_t inner_step = inner_box_step(spec);
  for (std::uint32_t d = 0; d < spec.rank; ++d) {
    const std::uint64_t box = spec.box[d];
    if (box < 1 || box > max_box) {
      return {Rule::kBox, static_cast<int>(d), box, max_box,
              d == 0 ? clamp(box, inner_step, inner_limit) : clamp(box, 1, max_box)};
    }
  }
  const std::uint64_t box = spec.box[0];
  if (is_padded(spec.type) && box != padded_box) return {Rule::kPackedBox, 0, box, padded_box, padded_box};
  if (box % inner_step != 0) {
    return {Rule::kInnerBoxMultiple, 0, box, inner_box_bytes,
            clamp(round_up(box, inner_step), inner_step, inner_limit)};
  }
  if (box > inner_limit) return {Rule::kInnerBoxSwizzle, 0, box, span_bytes(spec.swizzle), inner_limit};
  for (std::uint32_t d = 0; d < spec.rank; ++d) {
    const std::uint64_t stride = spec.element_strides[d];
    if (stride < 1 || stride > max_element_stride) {
      return {Rule::kElementStride, static_cast<int>(d), stride, max_element_stride,
              clamp(stride, 1, max_element_stride)};
    }
  }
  std::uint64_t bits = bits_per_element(spec.type);
  // As the driver counts: rounded down, and by the stride of dimension 0 too, which a copy ignores.
  for (std::uint32_t d = 0; d < spec.rank; ++d) bits *= spec.box[d] / spec.element_strides[d];
  if (bits / 8 > max_box_bytes) return {Rule::kBoxBytes, -1, bits / 8, max_box_bytes, max_box_bytes};
  return {};
}

HEDDLE_HOST_DEVICE constexpr TensorMapFault check_address(const TensorMapSpec& spec) {
  if (spec.address == nullptr) return {TensorMapRule::kNullAddress};
  if (__builtin_is_constant_evaluated()) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(spec.address);
  const std::uint64_t alignment = global_alignment(spec);
  if (address % alignment != 0) {
    return {TensorMapRule::kAddressAlignment, -1, address, alignment, address / alignment * alignment};
  }
  return {};
}

}  // namespace detail::tensor_map_rules

HEDDLE_HOST_DEVICE constexpr TensorMapFault check_shape(const TensorMapSpec& spec, std::uint32_t sm) {
  if (const TensorMapFault fault = detail::tensor_map_rules::check_kinds(spec, sm)) return fault;
  if (const TensorMapFault fault = detail::tensor_map_rules::check_tensor(spec)) return fault;
  return detail::tensor_map_rules::check_box(spec);
}

HEDDLE_HOST_DEVICE constexpr TensorMapFault check(const TensorMapSpec& spec, std::uint32_t sm) {
  if (const TensorMapFault fault = detail::tensor_map_rules::check_kinds(spec, sm)) return fault;
  if (const TensorMapFault fault = detail::tensor_map_rules::check_address(spec)) return fault;
  if (const TensorMapFault fault = detail::tensor_map_rules::check_tensor(spec)) return fault;
  return detail::tensor_map_rules::check_box(spec);
}

}  // namespace heddle::inline HEDDLE_TARGET
