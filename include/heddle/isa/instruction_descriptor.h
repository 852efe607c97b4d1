// SPDX-License-Identifier: Apache-2.0
//
// The 32-bit word that tells a tcgen05.mma which shape and types it multiplies. It has two forms: one for
// the plain kinds, one for the block-scaled kinds. Both are built from named fields and taken apart again.
// The same codes mean different types under different kinds, and the kind is part of the instruction, not
// of the word, so decoding needs it.
//
// Whether a shape exists for a kind and CTA group is not decided here.
//
//   constexpr std::uint32_t descriptor = instruction_descriptor(
//       InstructionDescriptor{.kind = MmaKind::kF16, .m = 128, .n = 256,
//                             .a_type = OperandType::kBf16, .b_type = OperandType::kBf16});
//   static_assert(descriptor == 0x08400490);
#pragma once

#include <concepts>
#include <cstdint>

#include <heddle/isa/descriptor_bits.h>
#include <heddle/isa/target.h>
#include <heddle/tile/element.h>

namespace heddle::inline HEDDLE_TARGET {

// The .kind of a tcgen05.mma.
enum class MmaKind : std::uint8_t { kF16, kTf32, kF8f6f4, kI8, kMxf8f6f4, kMxf4, kMxf4nvf4 };

HEDDLE_HOST_DEVICE constexpr bool is_block_scaled(MmaKind kind) {
  return kind == MmaKind::kMxf8f6f4 || kind == MmaKind::kMxf4 || kind == MmaKind::kMxf4nvf4;
}

// The element types that an MMA multiplies.
enum class OperandType : std::uint8_t { kF16, kBf16, kTf32, kE4m3, kE5m2, kE2m3, kE3m2, kE2m1, kU8, kS8 };

template <Element T>
HEDDLE_HOST_DEVICE constexpr OperandType operand_type();

enum class AccumulatorType : std::uint8_t { kF16 = 0, kF32 = 1, kS32 = 2 };

enum class ScaleType : std::uint8_t { kUe4m3 = 0, kUe8m0 = 1 };

// For the kinds f16, tf32, f8f6f4 and i8.
struct InstructionDescriptor {
  MmaKind kind = MmaKind::kF16;
  std::uint32_t m = 0;  // a multiple of 16
  std::uint32_t n = 0;  // a multiple of 8
  AccumulatorType d_type = AccumulatorType::kF32;
  OperandType a_type = OperandType::kF16;
  OperandType b_type = OperandType::kF16;
  Major a_major = Major::kK;
  Major b_major = Major::kK;
  bool negate_a = false;
  bool negate_b = false;
  bool saturates = false;  // kind i8: clamp to the range of s32
  bool is_sparse = false;
  std::uint32_t sparsity_selector = 0;  // 0 to 3; 0 when dense
  std::uint32_t max_b_shift = 0;        // 0, 8, 16 or 32: how far .ws may shift B for reuse

  bool operator==(const InstructionDescriptor&) const = default;
};

// For the kinds mxf8f6f4, mxf4 and mxf4nvf4. D is always f32.
struct BlockScaledInstructionDescriptor {
  MmaKind kind = MmaKind::kMxf8f6f4;
  std::uint32_t m = 0;  // a multiple of 128
  std::uint32_t n = 0;  // a multiple of 8
  OperandType a_type = OperandType::kE4m3;
  OperandType b_type = OperandType::kE4m3;
  ScaleType scale_type = ScaleType::kUe8m0;
  Major a_major = Major::kK;
  Major b_major = Major::kK;
  bool negate_a = false;
  bool negate_b = false;
  bool is_sparse = false;
  std::uint32_t sfa_id = 0;  // which byte of a column of A's scales: 0 to 3, or 0 and 2 for the fp4 kinds
  std::uint32_t sfb_id = 0;

  bool operator==(const BlockScaledInstructionDescriptor&) const = default;
};

template <class Fields>
struct DecodedInstructionDescriptor {
  Fields fields;
  // The bits that are not as they must be: reserved bits that are set, and fields whose code has no meaning
  // for the kind. 0 in a well-formed descriptor.
  std::uint32_t wrong_bits = 0;

  HEDDLE_HOST_DEVICE constexpr bool is_well_formed() const { return wrong_bits == 0; }
};

// PTX: Tcgen05 Instruction Descriptor.
// Unverified: no sm_100 part has run these words; they equal the ones that CUTLASS builds.
HEDDLE_HOST_DEVICE constexpr std::uint32_t instruction_descriptor(const InstructionDescriptor& fields);
HEDDLE_HOST_DEVICE constexpr std::uint32_t instruction_descriptor(const BlockScaledInstructionDescriptor& fields);

// `kind` must be of the form that is asked for.
HEDDLE_HOST_DEVICE constexpr DecodedInstructionDescriptor<InstructionDescriptor> decode_instruction_descriptor(
    MmaKind kind, std::uint32_t descriptor);
HEDDLE_HOST_DEVICE constexpr DecodedInstructionDescriptor<BlockScaledInstructionDescriptor>
decode_block_scaled_instruction_descriptor(MmaKind kind, std::uint32_t descriptor);

namespace detail::instruction_bits {

// Both forms.
using SparseField = BitRange<2, 2>;
using ATypeField = BitRange<9, 7>;
using BTypeField = BitRange<12, 10>;
using NegateAField = BitRange<13, 13>;
using NegateBField = BitRange<14, 14>;
using AMajorField = BitRange<15, 15>;
using BMajorField = BitRange<16, 16>;
using NField = BitRange<22, 17>;
// The plain form.
using SparsitySelectorField = BitRange<1, 0>;
using SaturateField = BitRange<3, 3>;
using DTypeField = BitRange<5, 4>;
using MField = BitRange<28, 24>;
using MaxBShiftField = BitRange<31, 30>;
// The block-scaled form.
using SfbIdField = BitRange<5, 4>;
using ScaleTypeField = BitRange<23, 23>;
using ScaledMField = BitRange<28, 27>;
using SfaIdField = BitRange<30, 29>;

inline constexpr std::uint64_t common_fields = SparseField::mask | ATypeField::mask | BTypeField::mask |
                                               NegateAField::mask | NegateBField::mask | AMajorField::mask |
                                               BMajorField::mask | NField::mask;
inline constexpr std::uint64_t plain_fields = common_fields | SparsitySelectorField::mask | SaturateField::mask |
                                              DTypeField::mask | MField::mask | MaxBShiftField::mask;
inline constexpr std::uint64_t block_scaled_fields =
    common_fields | SfbIdField::mask | ScaleTypeField::mask | ScaledMField::mask | SfaIdField::mask;

inline constexpr std::uint32_t no_type_code = ~0U;

HEDDLE_HOST_DEVICE constexpr std::uint32_t type_code(MmaKind kind, OperandType type) {
  switch (kind) {
    case MmaKind::kF16: return type == OperandType::kF16 ? 0 : type == OperandType::kBf16 ? 1 : no_type_code;
    case MmaKind::kTf32: return type == OperandType::kTf32 ? 2 : no_type_code;
    case MmaKind::kI8: return type == OperandType::kU8 ? 0 : type == OperandType::kS8 ? 1 : no_type_code;
    case MmaKind::kMxf4:
    case MmaKind::kMxf4nvf4: return type == OperandType::kE2m1 ? 1 : no_type_code;
    case MmaKind::kF8f6f4:
    case MmaKind::kMxf8f6f4: break;
  }
  switch (type) {
    case OperandType::kE4m3: return 0;
    case OperandType::kE5m2: return 1;
    case OperandType::kE2m3: return 3;
    case OperandType::kE3m2: return 4;
    case OperandType::kE2m1: return 5;
    default: return no_type_code;
  }
}

// Finds the type of a code; the field counts as wrong where the kind has no such code.
template <class Field>
HEDDLE_HOST_DEVICE constexpr OperandType type_of(MmaKind kind, std::uint32_t descriptor,
                                                 std::uint64_t& wrong_bits) {
  for (int i = 0; i <= static_cast<int>(OperandType::kS8); ++i) {
    const OperandType type = static_cast<OperandType>(i);
    if (type_code(kind, type) == Field::get(descriptor)) {
      return type;
    }
  }
  wrong_bits |= Field::mask;
  return OperandType::kF16;
}

HEDDLE_HOST_DEVICE constexpr bool has_accumulator(MmaKind kind, AccumulatorType type) {
  switch (kind) {
    case MmaKind::kF16:
    case MmaKind::kF8f6f4: return type == AccumulatorType::kF16 || type == AccumulatorType::kF32;
    case MmaKind::kI8: return type == AccumulatorType::kS32;
    default: return type == AccumulatorType::kF32;
  }
}

HEDDLE_HOST_DEVICE constexpr bool has_scale(MmaKind kind, ScaleType type) {
  return type == ScaleType::kUe8m0 || kind == MmaKind::kMxf4nvf4;
}

// Instructions on packed fp4 know K-major operands only, and scales that start on an even byte.
HEDDLE_HOST_DEVICE constexpr bool is_packed_fp4(MmaKind kind) {
  return kind == MmaKind::kMxf4 || kind == MmaKind::kMxf4nvf4;
}

// The fields that both forms have in the same place.
template <class Fields>
HEDDLE_HOST_DEVICE constexpr std::uint64_t put_common_fields(const Fields& fields) {
  return SparseField::put(fields.is_sparse) | ATypeField::put(type_code(fields.kind, fields.a_type)) |
         BTypeField::put(type_code(fields.kind, fields.b_type)) | NegateAField::put(fields.negate_a) |
         NegateBField::put(fields.negate_b) | AMajorField::put(static_cast<std::uint64_t>(fields.a_major)) |
         BMajorField::put(static_cast<std::uint64_t>(fields.b_major)) | NField::put(fields.n / 8);
}

template <class Fields>
HEDDLE_HOST_DEVICE constexpr bool common_fields_fit(const Fields& fields) {
  return type_code(fields.kind, fields.a_type) != no_type_code &&
         type_code(fields.kind, fields.b_type) != no_type_code && fields.n % 8 == 0 &&
         NField::holds(fields.n / 8);
}

template <class Fields>
HEDDLE_HOST_DEVICE constexpr void get_common_fields(std::uint32_t descriptor, Fields& fields,
                                                    std::uint64_t& wrong_bits) {
  fields.is_sparse = SparseField::get(descriptor) != 0;
  fields.a_type = type_of<ATypeField>(fields.kind, descriptor, wrong_bits);
  fields.b_type = type_of<BTypeField>(fields.kind, descriptor, wrong_bits);
  fields.negate_a = NegateAField::get(descriptor) != 0;
  fields.negate_b = NegateBField::get(descriptor) != 0;
  fields.a_major = static_cast<Major>(AMajorField::get(descriptor));
  fields.b_major = static_cast<Major>(BMajorField::get(descriptor));
  fields.n = NField::get(descriptor) * 8;
}

}  // namespace detail::instruction_bits

template <Element T>
HEDDLE_HOST_DEVICE constexpr OperandType operand_type() {
  if constexpr (std::same_as<T, fp16>) {
    return OperandType::kF16;
  } else if constexpr (std::same_as<T, bf16>) {
    return OperandType::kBf16;
  } else if constexpr (std::same_as<T, tf32>) {
    return OperandType::kTf32;
  } else if constexpr (std::same_as<T, e4m3>) {
    return OperandType::kE4m3;
  } else if constexpr (std::same_as<T, e5m2>) {
    return OperandType::kE5m2;
  } else if constexpr (std::same_as<T, e2m3>) {
    return OperandType::kE2m3;
  } else if constexpr (std::same_as<T, e3m2>) {
    return OperandType::kE3m2;
  } else if constexpr (std::same_as<T, e2m1> || std::same_as<T, e2m1x2>) {
    return OperandType::kE2m1;
  } else if constexpr (std::same_as<T, std::uint8_t>) {
    return OperandType::kU8;
  } else {
    static_assert(std::same_as<T, std::int8_t>,
                  "No MMA multiplies this type: use fp16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, "
                  "std::int8_t or std::uint8_t");
    return OperandType::kS8;
  }
}

HEDDLE_HOST_DEVICE constexpr std::uint32_t instruction_descriptor(const InstructionDescriptor& fields) {
  using namespace detail::instruction_bits;
  const bool is_i8 = fields.kind == MmaKind::kI8;
  const std::uint32_t max_b_shift_code = fields.max_b_shift == 32 ? 3 : fields.max_b_shift / 8;
  const std::uint64_t word = put_common_fields(fields) | SparsitySelectorField::put(fields.sparsity_selector) |
                             SaturateField::put(fields.saturates) |
                             DTypeField::put(static_cast<std::uint64_t>(fields.d_type)) |
                             MField::put(fields.m / 16) | MaxBShiftField::put(max_b_shift_code);
  const bool all_fields_fit = !is_block_scaled(fields.kind) && common_fields_fit(fields) &&
                              has_accumulator(fields.kind, fields.d_type) && fields.m % 16 == 0 &&
                              MField::holds(fields.m / 16) && (is_i8 || !fields.saturates) &&
                              (!is_i8 || (!fields.negate_a && !fields.negate_b)) &&
                              SparsitySelectorField::holds(fields.sparsity_selector) &&
                              (fields.is_sparse || fields.sparsity_selector == 0) &&
                              (fields.max_b_shift == 0 || fields.max_b_shift == 8 || fields.max_b_shift == 16 ||
                               fields.max_b_shift == 32);
  return detail::checked_descriptor<std::uint32_t>(word, all_fields_fit);
}

HEDDLE_HOST_DEVICE constexpr std::uint32_t instruction_descriptor(
    const BlockScaledInstructionDescriptor& fields) {
  using namespace detail::instruction_bits;
  const std::uint64_t word = put_common_fields(fields) | SfbIdField::put(fields.sfb_id) |
                             ScaleTypeField::put(static_cast<std::uint64_t>(fields.scale_type)) |
                             ScaledMField::put(fields.m / 128) | SfaIdField::put(fields.sfa_id);
  const bool fp4_rules_hold =
      !is_packed_fp4(fields.kind) || (fields.a_major == Major::kK && fields.b_major == Major::kK &&
                                      fields.sfa_id % 2 == 0 && fields.sfb_id % 2 == 0);
  const bool all_fields_fit = is_block_scaled(fields.kind) && common_fields_fit(fields) &&
                              has_scale(fields.kind, fields.scale_type) && fields.m % 128 == 0 &&
                              ScaledMField::holds(fields.m / 128) && SfaIdField::holds(fields.sfa_id) &&
                              SfbIdField::holds(fields.sfb_id) && fp4_rules_hold;
  return detail::checked_descriptor<std::uint32_t>(word, all_fields_fit);
}

HEDDLE_HOST_DEVICE constexpr DecodedInstructionDescriptor<InstructionDescriptor> decode_instruction_descriptor(
    MmaKind kind, std::uint32_t descriptor) {
  using namespace detail::instruction_bits;
  InstructionDescriptor fields{.kind = kind};
  std::uint64_t wrong_bits = descriptor & ~plain_fields;
  get_common_fields(descriptor, fields, wrong_bits);
  fields.m = MField::get(descriptor) * 16;
  fields.d_type = static_cast<AccumulatorType>(DTypeField::get(descriptor));
  fields.saturates = SaturateField::get(descriptor) != 0;
  fields.sparsity_selector = SparsitySelectorField::get(descriptor);
  const std::uint32_t max_b_shift_code = MaxBShiftField::get(descriptor);
  fields.max_b_shift = max_b_shift_code == 3 ? 32 : max_b_shift_code * 8;

  if (!has_accumulator(kind, fields.d_type)) {
    wrong_bits |= DTypeField::mask;
  }
  if (kind == MmaKind::kI8) {
    wrong_bits |= descriptor & (NegateAField::mask | NegateBField::mask);
  } else {
    wrong_bits |= descriptor & SaturateField::mask;
  }
  if (!fields.is_sparse) {
    wrong_bits |= descriptor & SparsitySelectorField::mask;
  }
  return {fields, static_cast<std::uint32_t>(wrong_bits)};
}

HEDDLE_HOST_DEVICE constexpr DecodedInstructionDescriptor<BlockScaledInstructionDescriptor>
decode_block_scaled_instruction_descriptor(MmaKind kind, std::uint32_t descriptor) {
  using namespace detail::instruction_bits;
  BlockScaledInstructionDescriptor fields{.kind = kind};
  std::uint64_t wrong_bits = descriptor & ~block_scaled_fields;
  get_common_fields(descriptor, fields, wrong_bits);
  fields.m = ScaledMField::get(descriptor) * 128;
  fields.scale_type = static_cast<ScaleType>(ScaleTypeField::get(descriptor));
  fields.sfa_id = SfaIdField::get(descriptor);
  fields.sfb_id = SfbIdField::get(descriptor);

  if (!has_scale(kind, fields.scale_type)) {
    wrong_bits |= ScaleTypeField::mask;
  }
  if (is_packed_fp4(kind)) {
    wrong_bits |= descriptor & (AMajorField::mask | BMajorField::mask);
    wrong_bits |= descriptor & (SfaIdField::put(1) | SfbIdField::put(1));
  }
  return {fields, static_cast<std::uint32_t>(wrong_bits)};
}

}  // namespace heddle::inline HEDDLE_TARGET
