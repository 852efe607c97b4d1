// SPDX-License-Identifier: Apache-2.0
//
// Makes tensor maps, for the GPU by the driver and for the simulated SM by heddle: one function for both.
// A spec that breaks a rule of the copy engine is refused with an InputError that says which rule, which
// value, and what would pass.
//
//   params.a_map = tensor_map_2d({.type = tensor_type<bf16>, .address = a, .rows = m, .cols = k,
//                                 .box_rows = 128, .box_cols = 64, .swizzle = Swizzle::k128B});
//
// Host code only.
#pragma once

#include <heddle/host/error.h>
#include <heddle/host/tensor_map_encode.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/tile/element.h>

#include <string>

namespace heddle::inline HEDDLE_TARGET {

// A row-major matrix and the tile that one copy moves, both in elements.
struct MatrixMapSpec {
  TensorType type = TensorType::kU8;
  const void* address = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t row_bytes = 0;  // from one row to the next; 0: rows follow one another without a gap
  std::uint32_t box_rows = 0;
  std::uint32_t box_cols = 0;
  Swizzle swizzle = Swizzle::kNone;
  L2Promotion l2_promotion = L2Promotion::k128B;
  OobFill fill = OobFill::kZeros;
};

// Throws InputError when the spec breaks a rule, DriverError when the driver refuses it or is missing.
inline TensorMap make_tensor_map(const TensorMapSpec& spec);

inline TensorMap tensor_map_2d(const MatrixMapSpec& matrix);

constexpr TensorMapSpec tensor_map_spec(const MatrixMapSpec& matrix) {
  const std::uint64_t packed = (matrix.cols * bits_per_element(matrix.type) + 7) / 8;
  return {.type = matrix.type,
          .rank = 2,
          .address = matrix.address,
          .dims = {matrix.cols, matrix.rows},
          .strides = {matrix.row_bytes != 0 ? matrix.row_bytes : packed},
          .box = {matrix.box_cols, matrix.box_rows},
          .swizzle = matrix.swizzle,
          .l2_promotion = matrix.l2_promotion,
          .fill = matrix.fill};
}

// The type under which the copy engine moves elements of type T. What it has no name for moves as bits.
template <Element T>
inline constexpr TensorType tensor_type = sizeof(T) == 1   ? TensorType::kU8
                                          : sizeof(T) == 2 ? TensorType::kU16
                                          : sizeof(T) == 4 ? TensorType::kU32
                                                           : TensorType::kU64;
template <>
inline constexpr TensorType tensor_type<std::int32_t> = TensorType::kI32;
template <>
inline constexpr TensorType tensor_type<std::int64_t> = TensorType::kI64;
template <>
inline constexpr TensorType tensor_type<fp16> = TensorType::kF16;
template <>
inline constexpr TensorType tensor_type<bf16> = TensorType::kBF16;
template <>
inline constexpr TensorType tensor_type<float> = TensorType::kF32;
template <>
inline constexpr TensorType tensor_type<tf32> = TensorType::kTF32;
template <>
inline constexpr TensorType tensor_type<double> = TensorType::kF64;

// What InputError says about a fault.
inline std::string message(const TensorMapFault& fault, const TensorMapSpec& spec);

namespace detail::tensor_map_text {

inline std::string hex(std::uint64_t value) {
  std::string text;
  do text.insert(text.begin(), "0123456789abcdef"[value % 16]);
  while ((value /= 16) != 0);
  return "0x" + text;
}

inline const char* name(TensorType type) {
  constexpr const char* names[] = {"u8",       "u16",   "u32",       "i32",      "u64",     "i64",
                                   "f16",      "f32",   "f64",       "bf16",     "f32_ftz", "tf32",
                                   "tf32_ftz", "u4x16", "u4x16_p64", "u6x16_p32"};
  return names[static_cast<int>(type)];
}

// "box[1]": the entry of a spec that a fault is about.
inline std::string entry(const char* array, int index) {
  return std::string(array) + "[" + std::to_string(index) + "]";
}

inline std::string swizzle_name(std::uint64_t code) {
  constexpr const char* names[] = {"none", "32B", "64B", "128B", "128B with 32-byte atoms"};
  return code < 5 ? names[code] : "number " + std::to_string(code);
}

// Why the alignment is 32 where it is.
inline std::string alignment_reason(const TensorMapSpec& spec) {
  if (is_padded(spec.type)) return std::string(" for ") + name(spec.type);
  return spec.interleave == Interleave::k32B ? " with interleave 32B" : "";
}

inline std::string not_an_enumerator(const char* field, const TensorMapFault& fault) {
  return std::string(field) + " is number " + std::to_string(fault.value) + "; the copy engine knows 0 to " +
         std::to_string(fault.limit) + ". Use one of the enumerators.";
}

}  // namespace detail::tensor_map_text

inline std::string message(const TensorMapFault& fault, const TensorMapSpec& spec) {
  namespace text = detail::tensor_map_text;
  const std::string value = std::to_string(fault.value);
  const std::string limit = std::to_string(fault.limit);
  const std::string nearest = std::to_string(fault.nearest);
  const auto inner_bytes = [&] { return std::to_string(fault.value * bits_per_element(spec.type) / 8); };
  const std::string what = [&]() -> std::string {
    switch (fault.rule) {
      case TensorMapRule::kNone: return "every rule is kept.";
      case TensorMapRule::kType: return text::not_an_enumerator("type", fault);
      case TensorMapRule::kTypeNeedsSm100:
        return std::string("type ") + text::name(spec.type) +
               " exists from sm_100 on, not on this device. Pack the elements yourself and use u8.";
      case TensorMapRule::kRank:
        return "rank is " + value + "; a tensor map has 1 to 5 dimensions. Use " + nearest +
               (fault.value > fault.limit ? " and fold the others into them." : ".");
      case TensorMapRule::kInterleave: return text::not_an_enumerator("interleave", fault);
      case TensorMapRule::kInterleaveRank:
        return "rank is " + value +
               "; an interleaved tensor has at least 3 dimensions. Use 3 or interleave none.";
      case TensorMapRule::kSwizzle: return text::not_an_enumerator("swizzle", fault);
      case TensorMapRule::kSwizzleNeedsSm100:
        return "swizzle " + text::swizzle_name(fault.value) + " exists from sm_100 on, not on this device. Use " +
               text::swizzle_name(fault.nearest) + ".";
      case TensorMapRule::kPackedInterleave:
        return std::string("interleave is ") + (fault.value == 1 ? "16B" : "32B") + "; type " +
               text::name(spec.type) + " cannot be interleaved. Use none.";
      case TensorMapRule::kPackedSwizzle:
        return "swizzle is " + text::swizzle_name(fault.value) + "; type " + text::name(spec.type) +
               " takes none or one of 128 bytes. Use " + text::swizzle_name(fault.nearest) + ".";
      case TensorMapRule::kL2Promotion: return text::not_an_enumerator("l2_promotion", fault);
      case TensorMapRule::kFill: return text::not_an_enumerator("fill", fault);
      case TensorMapRule::kFillType:
        return std::string("fill is NaN and the type is ") + text::name(spec.type) +
               "; NaN fills floating-point types only. Use zeros.";
      case TensorMapRule::kNullAddress:
        return "address is null. Give the address of the tensor in global memory.";
      case TensorMapRule::kAddressAlignment:
        return "address is " + text::hex(fault.value) + ", " + std::to_string(fault.value % fault.limit) +
               " bytes past a multiple of " + limit + "; the copy engine takes multiples of " + limit +
               text::alignment_reason(spec) + ". " + text::hex(fault.nearest) + " would pass.";
      case TensorMapRule::kDim:
        return text::entry("dims", fault.dimension) + " is " + value + " elements; the copy engine takes 1 to " +
               limit + ". Use " + nearest + ".";
      case TensorMapRule::kDimMultiple:
        return "dims[0] is " + value + " elements; type " + text::name(spec.type) + " takes multiples of " +
               limit + ". Use " + nearest + ".";
      case TensorMapRule::kStrideRange:
        return text::entry("strides", fault.dimension - 1) + " is " + value +
               " bytes; the copy engine takes less than " + limit + ". Use " + nearest + " at most.";
      case TensorMapRule::kStrideAlignment:
        return text::entry("strides", fault.dimension - 1) + " is " + value +
               " bytes; the copy engine takes multiples of " + limit + text::alignment_reason(spec) + ". Use " +
               nearest + ".";
      case TensorMapRule::kBox:
        return text::entry("box", fault.dimension) + " is " + value + " elements; the copy engine takes 1 to " +
               limit + ". Use " + nearest + (fault.value > fault.limit ? " or split the tile." : ".");
      case TensorMapRule::kPackedBox:
        return "box[0] is " + value + " elements; type " + text::name(spec.type) + " takes " + limit + ". Use " +
               nearest + ".";
      case TensorMapRule::kInnerBoxMultiple:
        return "box[0] is " + value + " elements of " + text::name(spec.type) + ", " + inner_bytes() +
               " bytes; the copy engine moves multiples of " + limit + " bytes. Use " + nearest + " elements.";
      case TensorMapRule::kInnerBoxSwizzle:
        return "box[0] is " + value + " elements of " + text::name(spec.type) + ", " + inner_bytes() +
               " bytes; swizzle " + text::swizzle_name(tma_code(spec.swizzle)) + " takes at most " + limit +
               " bytes. Use " + nearest + " elements, or a wider swizzle, or split the tile.";
      case TensorMapRule::kElementStride:
        return text::entry("element_strides", fault.dimension) + " is " + value +
               "; the copy engine takes 1 to " + limit + ". Use " + nearest + ".";
      case TensorMapRule::kBoxBytes:
        return "the box has " + value + " bytes; a box has at most " + limit +
               ", the shared memory of an SM. Split the tile.";
    }
    return "an unknown rule is broken.";
  }();
  return "tensor map: " + what;
}

inline TensorMap make_tensor_map(const TensorMapSpec& spec) {
  const std::uint32_t sm = isa::tensor_map_sm();
  // Without a device the encoder below is missing too, and says so.
  if (const TensorMapFault fault = check(spec, sm != 0 ? sm : 100)) throw InputError(message(fault, spec));
  TensorMap map;
  if (const isa::TensorMapRefusal refusal = isa::tensor_map_encode_tiled(map, spec)) {
    throw DriverError(std::string("tensor map: ") + refusal.call + " failed with code " +
                          std::to_string(refusal.code) + " (" + refusal.name +
                          "), though the spec breaks no rule that heddle knows.",
                      refusal.code);
  }
  return map;
}

inline TensorMap tensor_map_2d(const MatrixMapSpec& matrix) { return make_tensor_map(tensor_map_spec(matrix)); }

}  // namespace heddle::inline HEDDLE_TARGET
