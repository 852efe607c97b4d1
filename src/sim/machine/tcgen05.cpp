// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/tcgen05.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::sim::machine {

namespace {

const char* name_of(MmaKind kind) {
  switch (kind) {
    case MmaKind::kF16:
      return "f16";
    case MmaKind::kTf32:
      return "tf32";
    case MmaKind::kF8f6f4:
      return "f8f6f4";
    case MmaKind::kI8:
      return "i8";
    case MmaKind::kMxf8f6f4:
      return "mxf8f6f4";
    case MmaKind::kMxf4:
      return "mxf4";
    case MmaKind::kMxf4nvf4:
      return "mxf4nvf4";
  }
  return "";
}

const char* name_of(OperandType type) {
  constexpr const char* kNames[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "u8", "s8"};
  return kNames[static_cast<int>(type)];
}

bool is_below_a_byte(OperandType type) {
  return type == OperandType::kE2m3 || type == OperandType::kE3m2 || type == OperandType::kE2m1;
}

// PTX: Shapes of the tcgen05.mma kinds.
Tcgen05Fault check_shape(MmaKind kind, int cta_group, const InstructionDescriptor& fields) {
  const std::string what = fmt::format("tcgen05.mma.kind::{} with cta_group::{}", name_of(kind), cta_group);
  const bool is_pair = cta_group == 2;
  if (is_pair ? fields.m != 128 && fields.m != 256 : fields.m != 64 && fields.m != 128) {
    return {"bad_shape",
            fmt::format("{} and M = {}; M is {}", what, fields.m, is_pair ? "128 or 256" : "64 or 128"), ""};
  }
  std::uint32_t step = is_pair ? 16 : 8;
  const char* why = "";
  if (kind == MmaKind::kF8f6f4 && fields.b_major == Major::kMN) {
    step *= 2;
    why = " where B has 8 bits and is MN-major";
  }
  if (fields.n == 0 || fields.n > 256 || fields.n % step != 0) {
    return {"bad_shape",
            fmt::format("{} and N = {}; N is {} to 256, a multiple of {}{}", what, fields.n, step, step, why),
            ""};
  }
  if (kind == MmaKind::kF16 && fields.a_type != fields.b_type) {
    return {"bad_shape",
            fmt::format("{}: A is {} and B is {}; they are of one type", what, name_of(fields.a_type),
                        name_of(fields.b_type)),
            ""};
  }
  if (kind == MmaKind::kF16 && fields.a_type == OperandType::kBf16 && fields.d_type != AccumulatorType::kF32) {
    return {"bad_shape", fmt::format("{}: D is f16 and A is bf16; D is f32, or f16 for f16 operands", what), ""};
  }
  return {};
}

Tcgen05Fault check_instruction_descriptor(const Tcgen05Operands& operands) {
  const std::uint32_t word = operands.instruction_descriptor;
  const auto decoded = decode_instruction_descriptor(operands.kind, word);
  const std::string what =
      fmt::format("tcgen05.mma.kind::{} with the instruction descriptor {:#010x}", name_of(operands.kind), word);
  if (!decoded.is_well_formed()) {
    return {
        "bad_descriptor",
        fmt::format("{}: the bits {:#x} are reserved, or have no meaning for the kind", what, decoded.wrong_bits),
        word == ~0u ? "it was built from a field that does not fit: M is a multiple of 16, N of 8"
                    : "it was built for another kind"};
  }
  if (decoded.fields.is_sparse) {
    return {"unsupported", fmt::format("{}: sparse operands (bit 2) are not modelled", what), ""};
  }
  if (decoded.fields.max_b_shift != 0) {
    return {"bad_descriptor",
            fmt::format("{}: bits 30-31 are {}; they are for tcgen05.mma.ws, and 0 here", what, word >> 30), ""};
  }
  return check_shape(operands.kind, operands.cta_group, decoded.fields);
}

Tcgen05Fault check_smem_descriptor(char operand, std::uint64_t descriptor, Major major, OperandType type) {
  const DecodedSmemDescriptor decoded = decode_tcgen05_descriptor(descriptor);
  const SmemDescriptor& fields = decoded.fields;
  const std::string what = fmt::format("tcgen05.mma with the descriptor {:#018x} of {}", descriptor, operand);
  if (!decoded.is_well_formed()) {
    return {
        "bad_descriptor",
        fmt::format("{}: the bits {:#x} are not as they must be; bits 14-15, 30-31 and 52-60 are 0, bits 46-48 "
                    "are 0b001, and bits 61-63 are 0, 1, 2, 4 or 6",
                    what, decoded.wrong_bits),
        descriptor == ~std::uint64_t{0}
            ? "it was built from a field that does not fit: addresses and offsets are multiples of 16 below 2^18"
        : decode_wgmma_descriptor(descriptor).is_well_formed() ? "it is a wgmma descriptor"
                                                               : "a byte count was not divided by 16"};
  }
  if (fields.base_offset != 0) {
    return {"unsupported",
            fmt::format(
                "{}: base offset {}; only 0 is modelled, for tiles that start where their swizzle pattern does",
                what, fields.base_offset),
            ""};
  }
  const bool has_wide_atoms = fields.swizzle == Swizzle::k128BAtom32B;
  if (type == OperandType::kTf32 && (major == Major::kMN) != has_wide_atoms) {
    return {
        "bad_descriptor",
        fmt::format("{}: tf32 that is {}-major, with {} swizzle; MN-major tf32 takes the 128-byte swizzle with "
                    "32-byte atoms, and nothing else does",
                    what, major == Major::kMN ? "MN" : "K", has_wide_atoms ? "that" : "another"),
        ""};
  }
  if (type != OperandType::kTf32 && has_wide_atoms) {
    return {"bad_descriptor",
            fmt::format("{}: the 128-byte swizzle with 32-byte atoms is for MN-major tf32; the operand is {}",
                        what, name_of(type)),
            ""};
  }
  if (is_below_a_byte(type) && major == Major::kMN) {
    return {"unsupported", fmt::format("{}: MN-major {} is not modelled; K-major is", what, name_of(type)), ""};
  }
  return {};
}

}  // namespace

Tcgen05Layout layout_of(int cta_group, std::uint32_t m, std::uint32_t n) {
  const auto group = static_cast<std::uint32_t>(cta_group);
  return {.rows = m / group,
          .n = n,
          .halves = cta_group == 2 && m == 128 ? 2u : 1u,
          .is_spread = cta_group == 1 && m == 64};
}

std::uint32_t lane_groups(const Tcgen05Layout& layout, std::uint32_t first_lane) {
  return layout.is_spread ? 0x55u << first_lane / 16 : 0xFFu;
}

std::string text_of(MmaKind kind, std::uint32_t instruction_descriptor) {
  const InstructionDescriptor fields = decode_instruction_descriptor(kind, instruction_descriptor).fields;
  return fmt::format("m{}n{}.{}.{}.{}", fields.m, fields.n,
                     fields.d_type == AccumulatorType::kF16 ? "f16" : "f32", name_of(fields.a_type),
                     name_of(fields.b_type));
}

Tcgen05Fault check(const Tcgen05Operands& operands) {
  if (operands.kind == MmaKind::kI8) {
    return {"unsupported", "tcgen05.mma.kind::i8: integers are not modelled", ""};
  }
  if (Tcgen05Fault fault = check_instruction_descriptor(operands); !fault.code.empty()) return fault;
  const InstructionDescriptor fields = fields_of(operands);
  if (Tcgen05Fault fault = check_smem_descriptor('A', operands.a_descriptor, fields.a_major, fields.a_type);
      !fault.code.empty()) {
    return fault;
  }
  return check_smem_descriptor('B', operands.b_descriptor, fields.b_major, fields.b_type);
}

}  // namespace heddle::sim::machine
