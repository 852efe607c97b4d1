// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/tcgen05.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::sim::machine {

namespace {

const char* name_of(MmaKind kind) {
  constexpr const char* kNames[] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  return kNames[static_cast<int>(kind)];
}

const char* name_of(OperandType type) {
  constexpr const char* kNames[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "u8", "s8"};
  return kNames[static_cast<int>(type)];
}

bool is_below_a_byte(OperandType type) {
  return type == OperandType::kE2m3 || type == OperandType::kE3m2 || type == OperandType::kE2m1;
}

std::string instruction_of(const Tcgen05Operands& operands) {
  return fmt::format("tcgen05.mma.kind::{}", name_of(operands.kind));
}

// PTX: Shapes of the tcgen05.mma kinds.
Tcgen05Fault check_shape(const Tcgen05Operands& operands, const Tcgen05Fields& fields) {
  const std::string what = fmt::format("{} with cta_group::{}", instruction_of(operands), operands.cta_group);
  const bool is_pair = operands.cta_group == 2;
  const bool is_scaled = is_block_scaled(operands.kind);
  const bool has_m =
      is_pair ? fields.m == 128 || fields.m == 256 : fields.m == 128 || (fields.m == 64 && !is_scaled);
  if (!has_m) {
    return {FaultCode::kBadShape,
            fmt::format("{} and M = {}; M is {}", what, fields.m,
                        is_pair     ? "128 or 256"
                        : is_scaled ? "128"
                                    : "64 or 128"),
            ""};
  }
  if (is_scaled && is_pair && fields.m == 128) {
    return {FaultCode::kUnsupported, fmt::format("{} and M = 128 is not modelled; M = 256 is", what), ""};
  }
  std::uint32_t step = is_pair ? 16 : 8;
  const char* why = "";
  if ((operands.kind == MmaKind::kF8f6f4 || operands.kind == MmaKind::kMxf8f6f4) &&
      fields.b_major == Major::kMN) {
    step *= 2;
    why = " where B has 8 bits and is MN-major";
  }
  if (operands.kind == MmaKind::kI8 && (fields.m != 64 || fields.n > 32)) {
    step = is_pair ? 32 : 16;
    why = is_pair ? " for integers" : fields.m == 64 ? " above 32 for integers" : " for integers and M = 128";
  }
  if (fields.n == 0 || fields.n > 256 || fields.n % step != 0) {
    return {FaultCode::kBadShape,
            fmt::format("{} and N = {}; N is {} to 256, a multiple of {}{}", what, fields.n, step, step, why),
            ""};
  }
  if (operands.kind == MmaKind::kF16 && fields.a_type != fields.b_type) {
    return {FaultCode::kBadShape,
            fmt::format("{}: A is {} and B is {}; they are of one type", what, name_of(fields.a_type),
                        name_of(fields.b_type)),
            ""};
  }
  if (operands.kind == MmaKind::kF16 && fields.a_type == OperandType::kBf16 &&
      fields.d_type != AccumulatorType::kF32) {
    return {FaultCode::kBadShape,
            fmt::format("{}: D is f16 and A is bf16; D is f32, or f16 for f16 operands", what), ""};
  }
  return {};
}

// PTX: tcgen05.mma.ws.
Tcgen05Fault check_stationary_shape(const Tcgen05Operands& operands, const Tcgen05Fields& fields) {
  const std::string what = fmt::format("tcgen05.mma.ws.kind::{}", name_of(operands.kind));
  if (fields.m != 32 && fields.m != 64 && fields.m != 128) {
    return {FaultCode::kBadShape, fmt::format("{} with M = {}; M is 32, 64 or 128", what, fields.m), ""};
  }
  if (fields.n != 64 && fields.n != 128 && fields.n != 256) {
    return {FaultCode::kBadShape, fmt::format("{} with N = {}; N is 64, 128 or 256", what, fields.n), ""};
  }
  return {};
}

Tcgen05Fault check_sparsity(const Tcgen05Operands& operands, const Tcgen05Fields& fields) {
  if (!operands.is_sparse) return {};
  const std::string what = fmt::format("{} with a sparse A", instruction_of(operands));
  if (fields.m / static_cast<std::uint32_t>(operands.cta_group) != 128 || operands.is_weight_stationary) {
    return {FaultCode::kUnsupported,
            fmt::format("{} and M = {} is not modelled; 128 rows for each CTA are", what, fields.m), ""};
  }
  const std::uint32_t most = stored_bytes(fields.a_type) == 1 ? 0 : 1;
  if (fields.sparsity_selector > most) {
    return {FaultCode::kUnsupported,
            fmt::format("{} and the sparsity selector {} is not modelled; 0{} is", what, fields.sparsity_selector,
                        most == 0 ? "" : " or 1"),
            ""};
  }
  return {};
}

Tcgen05Fault check_instruction_descriptor(const Tcgen05Operands& operands) {
  const std::uint32_t word = operands.instruction_descriptor;
  const bool is_scaled = is_block_scaled(operands.kind);
  const auto plain = decode_instruction_descriptor(operands.kind, word);
  const auto scaled = decode_block_scaled_instruction_descriptor(operands.kind, word);
  const std::string what =
      fmt::format("{} with the instruction descriptor {:#010x}", instruction_of(operands), word);
  if (const std::uint32_t wrong = is_scaled ? scaled.wrong_bits : plain.wrong_bits; wrong != 0) {
    return {FaultCode::kBadDescriptor,
            fmt::format("{}: the bits {:#x} are reserved, or have no meaning for the kind", what, wrong),
            word == ~0u ? "it was built from a field that does not fit: M is a multiple of 16, N of 8"
                        : "it was built for another kind"};
  }
  if (const bool says_sparse = is_scaled ? scaled.fields.is_sparse : plain.fields.is_sparse;
      says_sparse != operands.is_sparse) {
    return {FaultCode::kBadDescriptor,
            fmt::format("{}: bit 2 says that A is {}, and the instruction is tcgen05.mma{}", what,
                        says_sparse ? "sparse" : "dense", operands.is_sparse ? ".sp" : ""),
            ""};
  }
  if (!is_scaled && plain.fields.max_b_shift != 0 && !operands.is_weight_stationary) {
    return {FaultCode::kBadDescriptor,
            fmt::format("{}: bits 30-31 are {}; they are for tcgen05.mma.ws, and 0 here", what, word >> 30), ""};
  }
  const Tcgen05Fields fields = fields_of(operands);
  if (operands.scale_vec == 4 && (fields.sfa_id != 0 || fields.sfb_id != 0)) {
    return {FaultCode::kBadDescriptor,
            fmt::format("{}: the scales start at byte {} and {}; 4 scales fill a column, and start at 0", what,
                        fields.sfa_id, fields.sfb_id),
            ""};
  }
  if (operands.kind == MmaKind::kMxf4nvf4 && operands.scale_vec == 2 && fields.scale_type != ScaleType::kUe8m0) {
    return {
        FaultCode::kBadDescriptor,
        fmt::format("{}: scale_vec::2X with ue4m3 scales (bit 23 is 0); 2X has ue8m0, and ue4m3 is for 4X", what),
        ""};
  }
  if (Tcgen05Fault fault = check_sparsity(operands, fields); fault.code) return fault;
  return operands.is_weight_stationary ? check_stationary_shape(operands, fields) : check_shape(operands, fields);
}

Tcgen05Fault check_smem_descriptor(const std::string& what, std::uint64_t descriptor,
                                   bool ignores_base_offset = false) {
  const DecodedSmemDescriptor decoded = decode_tcgen05_descriptor(descriptor);
  if (!decoded.is_well_formed()) {
    return {
        FaultCode::kBadDescriptor,
        fmt::format("{}: the bits {:#x} are not as they must be; bits 14-15, 30-31 and 52-60 are 0, bits 46-48 "
                    "are 0b001, and bits 61-63 are 0, 1, 2, 4 or 6",
                    what, decoded.wrong_bits),
        descriptor == ~std::uint64_t{0}
            ? "it was built from a field that does not fit: addresses and offsets are multiples of 16 below 2^18"
        : decode_wgmma_descriptor(descriptor).is_well_formed() ? "it is a wgmma descriptor"
                                                               : "a byte count was not divided by 16"};
  }
  if (decoded.fields.base_offset != 0 && !ignores_base_offset) {
    return {FaultCode::kUnsupported,
            fmt::format(
                "{}: base offset {}; only 0 is modelled, for tiles that start where their swizzle pattern does",
                what, decoded.fields.base_offset),
            ""};
  }
  return {};
}

Tcgen05Fault check_operand(char operand, std::uint64_t descriptor, Major major, OperandType type) {
  const std::string what = fmt::format("tcgen05.mma with the descriptor {:#018x} of {}", descriptor, operand);
  if (Tcgen05Fault fault = check_smem_descriptor(what, descriptor); fault.code) return fault;
  const Swizzle swizzle = decode_tcgen05_descriptor(descriptor).fields.swizzle;
  const bool has_wide_atoms = swizzle == Swizzle::k128BAtom32B;
  if (type == OperandType::kTf32 && (major == Major::kMN) != has_wide_atoms) {
    return {
        FaultCode::kBadDescriptor,
        fmt::format("{}: tf32 that is {}-major, with {} swizzle; MN-major tf32 takes the 128-byte swizzle with "
                    "32-byte atoms, and nothing else does",
                    what, major == Major::kMN ? "MN" : "K", has_wide_atoms ? "that" : "another"),
        ""};
  }
  if (type != OperandType::kTf32 && has_wide_atoms) {
    return {FaultCode::kBadDescriptor,
            fmt::format("{}: the 128-byte swizzle with 32-byte atoms is for MN-major tf32; the operand is {}",
                        what, name_of(type)),
            ""};
  }
  if (is_below_a_byte(type) && major == Major::kMN) {
    return {FaultCode::kUnsupported,
            fmt::format("{}: MN-major {} is not modelled; K-major is", what, name_of(type)), ""};
  }
  return {};
}

}  // namespace

const char* name_of(TmemCopyShape shape) {
  constexpr const char* kNames[] = {
      "128x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23", "32x128b.warpx4", "4x256b"};
  return kNames[static_cast<int>(shape)];
}

Tcgen05Fields fields_of(const Tcgen05Operands& operands) {
  const auto common = [](const auto& fields) {
    return Tcgen05Fields{.m = fields.m,
                         .n = fields.n,
                         .a_type = fields.a_type,
                         .b_type = fields.b_type,
                         .a_major = fields.a_major,
                         .b_major = fields.b_major,
                         .negate_a = fields.negate_a,
                         .negate_b = fields.negate_b};
  };
  if (!is_block_scaled(operands.kind)) {
    const auto plain = decode_instruction_descriptor(operands.kind, operands.instruction_descriptor).fields;
    Tcgen05Fields fields = common(plain);
    fields.d_type = plain.d_type;
    fields.saturates = plain.saturates;
    fields.sparsity_selector = plain.sparsity_selector;
    return fields;
  }
  const auto scaled =
      decode_block_scaled_instruction_descriptor(operands.kind, operands.instruction_descriptor).fields;
  Tcgen05Fields fields = common(scaled);
  fields.scale_type = scaled.scale_type;
  fields.sfa_id = scaled.sfa_id;
  fields.sfb_id = scaled.sfb_id;
  return fields;
}

Tcgen05Layout layout_of(const Tcgen05Operands& operands, const Tcgen05Fields& fields) {
  if (operands.is_weight_stationary) {
    return {.rows = fields.m, .n = fields.n, .parts = 128 / fields.m, .is_spread = false};
  }
  return {.rows = fields.m / static_cast<std::uint32_t>(operands.cta_group),
          .n = fields.n,
          .parts = operands.cta_group == 2 && fields.m == 128 ? 2u : 1u,
          .is_spread = operands.cta_group == 1 && fields.m == 64};
}

std::uint32_t metadata_cols(const Tcgen05Fields& fields) { return stored_bytes(fields.a_type) == 1 ? 2 : 1; }

std::uint32_t lane_groups(const Tcgen05Layout& layout, std::uint32_t first_lane) {
  return layout.is_spread ? 0x55u << first_lane / 16 : 0xFFu;
}

std::string text_of(const Tcgen05Operands& operands) {
  const Tcgen05Fields fields = fields_of(operands);
  return fmt::format("tcgen05.mma m{}n{}.{}.{}.{}", fields.m, fields.n,
                     fields.d_type == AccumulatorType::kF16   ? "f16"
                     : fields.d_type == AccumulatorType::kS32 ? "s32"
                                                              : "f32",
                     name_of(fields.a_type), name_of(fields.b_type));
}

std::uint32_t Tcgen05Copy::rows() const {
  switch (shape) {
    case TmemCopyShape::k128x256b:
    case TmemCopyShape::k128x128b: return 128;
    case TmemCopyShape::k64x128bWarpx2_02_13:
    case TmemCopyShape::k64x128bWarpx2_01_23: return 64;
    case TmemCopyShape::k32x128bWarpx4: return 32;
    case TmemCopyShape::k4x256b: return 4;
  }
  return 0;
}

std::uint32_t Tcgen05Copy::row_bytes() const {
  return shape == TmemCopyShape::k128x256b || shape == TmemCopyShape::k4x256b ? 32 : 16;
}

std::vector<std::uint32_t> Tcgen05Copy::lanes_of(std::uint32_t row) const {
  switch (shape) {
    case TmemCopyShape::k128x256b:
    case TmemCopyShape::k128x128b: return {row};
    case TmemCopyShape::k64x128bWarpx2_02_13: return {row, row + 64};
    case TmemCopyShape::k64x128bWarpx2_01_23:
      return {row % 32 + 64 * (row / 32), row % 32 + 64 * (row / 32) + 32};
    case TmemCopyShape::k32x128bWarpx4: return {row, row + 32, row + 64, row + 96};
    case TmemCopyShape::k4x256b: return {32 * row + tmem_lane(taddr)};
  }
  return {};
}

// PTX: Matrix-Descriptor of tcgen05.cp: rows are read as those of a K-major operand.
std::vector<SharedRange> copy_ranges(const Tcgen05Copy& copy) {
  const SmemDescriptor fields = decode_tcgen05_descriptor(copy.descriptor).fields;
  std::vector<SharedRange> ranges;
  for (std::uint32_t row = 0; row < copy.rows(); ++row) {
    for (std::uint32_t byte = 0; byte < copy.row_bytes(); byte += 16) {
      ranges.push_back({operand_address(fields, Major::kK, 8, row, byte), 16});
    }
  }
  return ranges;
}

Tcgen05Fault check(const Tcgen05Copy& copy) {
  const std::string what =
      fmt::format("tcgen05.cp.{} with the descriptor {:#018x}", name_of(copy.shape), copy.descriptor);
  const Swizzle swizzle = decode_tcgen05_descriptor(copy.descriptor).fields.swizzle;
  // The base offset shifts the swizzle pattern. Triton's descriptors of scales have one where there is no
  // pattern.
  if (Tcgen05Fault fault = check_smem_descriptor(what, copy.descriptor, swizzle == Swizzle::kNone); fault.code) {
    return fault;
  }
  if (swizzle == Swizzle::k128BAtom32B) {
    return {FaultCode::kUnsupported,
            fmt::format("{}: the 128-byte swizzle with 32-byte atoms is not modelled here", what), ""};
  }
  const std::uint32_t lane = tmem_lane(copy.taddr);
  if (copy.shape == TmemCopyShape::k4x256b ? lane >= 32 : lane != 0) {
    return {FaultCode::kTmemLane,
            fmt::format("tcgen05.cp.{} at {:#010x}: the lane is {}; it is {}", name_of(copy.shape), copy.taddr,
                        lane, copy.shape == TmemCopyShape::k4x256b ? "0 to 31" : "0"),
            ""};
  }
  return {};
}

Tcgen05Fault check(const Tcgen05Operands& operands) {
  if (Tcgen05Fault fault = check_instruction_descriptor(operands); fault.code) return fault;
  const Tcgen05Fields fields = fields_of(operands);
  if (operands.a_in_tmem) {
    if (fields.a_major != Major::kK) {
      return {FaultCode::kBadDescriptor,
              fmt::format("{} with A in tensor memory and MN-major (bit 15); it is K-major there",
                          instruction_of(operands)),
              ""};
    }
    if (is_below_a_byte(fields.a_type)) {
      return {FaultCode::kUnsupported,
              fmt::format("{}: {} in tensor memory is not modelled", instruction_of(operands),
                          name_of(fields.a_type)),
              ""};
    }
  } else if (Tcgen05Fault fault = check_operand('A', operands.a_descriptor, fields.a_major, fields.a_type);
             fault.code) {
    return fault;
  }
  return check_operand('B', operands.b_descriptor, fields.b_major, fields.b_type);
}

}  // namespace heddle::sim::machine
