// SPDX-License-Identifier: Apache-2.0
//
// The 64-bit word that tells a tensor core where an operand lies in shared memory and how it is laid out:
// built from named fields in bytes, and taken apart again. wgmma (sm_90) and tcgen05 (sm_100) use different
// words for the same fields. Both are computed by the same code on both targets, and the simulated SM reads
// operands through `operand_address`, so a wrong bit shows on a CPU too.
//
//   // 128 x 64 bf16, K-major, written by a TMA box {64, 128} with the 128-byte swizzle:
//   constexpr SmemDescriptor a{.start_address = 0x8000, .leading_bytes = 16, .stride_bytes = 1024,
//                              .swizzle = Swizzle::k128B};
//   static_assert(tcgen05_descriptor(a) == 0x4000404000010800);
//   static_assert(operand_address(a, Major::kK, element_bits<bf16>, 9, 20) == 0x84B8);
#pragma once

#include <cstdint>

#include <heddle/isa/descriptor_bits.h>
#include <heddle/isa/target.h>
#include <heddle/tile/swizzle.h>

namespace heddle::inline HEDDLE_TARGET {

// All byte counts are multiples of 16, below 2^18.
struct SmemDescriptor {
  // A shared-memory address. Bits 18 and up are dropped (the CTA rank is among them): every CTA reads its
  // own shared memory.
  std::uint32_t start_address = 0;
  std::uint32_t leading_bytes = 0;  // the manual's leading dimension byte offset, LBO
  std::uint32_t stride_bytes = 0;   // the manual's stride dimension byte offset, SBO
  Swizzle swizzle = Swizzle::kNone;
  // The 128-byte line, 0 to 7, on which the swizzle pattern starts: 0 for tiles aligned to repeat_bytes().
  std::uint32_t base_offset = 0;

  bool operator==(const SmemDescriptor&) const = default;
};

struct DecodedSmemDescriptor {
  SmemDescriptor fields;
  // The bits that are not as they must be: reserved or constant bits with the wrong value, and fields whose
  // code has no meaning. 0 in a well-formed descriptor.
  std::uint64_t wrong_bits = 0;

  HEDDLE_HOST_DEVICE constexpr bool is_well_formed() const { return wrong_bits == 0; }
};

// PTX: Asynchronous Warpgroup Level Matrix Shared Memory Layout, Matrix Descriptor Format.
HEDDLE_HOST_DEVICE constexpr std::uint64_t wgmma_descriptor(const SmemDescriptor& fields);
HEDDLE_HOST_DEVICE constexpr DecodedSmemDescriptor decode_wgmma_descriptor(std::uint64_t descriptor);

// PTX: Tcgen05 Shared Memory Descriptor.
// Unverified: no sm_100 part has run these words; they equal the ones that CUTLASS builds.
HEDDLE_HOST_DEVICE constexpr std::uint64_t tcgen05_descriptor(const SmemDescriptor& fields);
HEDDLE_HOST_DEVICE constexpr DecodedSmemDescriptor decode_tcgen05_descriptor(std::uint64_t descriptor);

// The same operand `bytes` further on, a multiple of 16: how a K loop steps through a stage. Only the start
// address changes, in either kind of descriptor: the upper word stays, which saves the GPU a carry.
HEDDLE_HOST_DEVICE constexpr std::uint64_t advanced_descriptor(std::uint64_t descriptor, std::uint32_t bytes) {
  return descriptor >> 32 << 32 | (static_cast<std::uint32_t>(descriptor) + bytes / 16);
}

// Whether operands can be laid out like this at all: atoms of 32 bytes exist for MN-major operands only.
HEDDLE_HOST_DEVICE constexpr bool has_operand_layout(Major major, Swizzle swizzle) {
  return major == Major::kMN || swizzle != Swizzle::k128BAtom32B;
}

// The shared-memory address of the byte that holds element (row, k) of an operand, where `row` counts along
// M for A and along N for B. `stored_bits` is the room one element takes: 32, 16, 8, or 4 for fp4 packed
// two to a byte (the even k is the low nibble). 4- and 6-bit elements that share the tcgen05 kinds of fp8
// take 8: ask for the first of 16, which are packed from there on.
// PTX: Strides, Canonical Layouts.
// Unverified: k128BAtom32B, and every layout as tcgen05 reads it; wgmma on an H200 agrees with the rest.
HEDDLE_HOST_DEVICE constexpr std::uint32_t operand_address(const SmemDescriptor& fields, Major major,
                                                           std::uint32_t stored_bits, std::uint32_t row,
                                                           std::uint32_t k);

namespace detail::smem_bits {

using StartField = BitRange<13, 0>;
using LeadingField = BitRange<29, 16>;
using StrideField = BitRange<45, 32>;
using BaseOffsetField = BitRange<51, 49>;
using WgmmaSwizzleField = BitRange<63, 62>;
using Tcgen05ConstantField = BitRange<48, 46>;
inline constexpr std::uint64_t tcgen05_constant = 0b001;
using Tcgen05SwizzleField = BitRange<63, 61>;

inline constexpr std::uint64_t shared_descriptor_fields =
    StartField::mask | LeadingField::mask | StrideField::mask | BaseOffsetField::mask;
inline constexpr std::uint64_t wgmma_reserved_bits = ~(shared_descriptor_fields | WgmmaSwizzleField::mask);
inline constexpr std::uint64_t tcgen05_reserved_bits =
    ~(shared_descriptor_fields | Tcgen05ConstantField::mask | Tcgen05SwizzleField::mask);

inline constexpr std::uint32_t no_swizzle_code = ~0U;

HEDDLE_HOST_DEVICE constexpr std::uint32_t wgmma_swizzle_code(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::kNone: return 0;
    case Swizzle::k128B: return 1;
    case Swizzle::k64B: return 2;
    case Swizzle::k32B: return 3;
    case Swizzle::k128BAtom32B: break;
  }
  return no_swizzle_code;
}

HEDDLE_HOST_DEVICE constexpr std::uint32_t tcgen05_swizzle_code(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::kNone: return 0;
    case Swizzle::k128BAtom32B: return 1;
    case Swizzle::k128B: return 2;
    case Swizzle::k64B: return 4;
    case Swizzle::k32B: return 6;
  }
  return no_swizzle_code;
}

// The fields that both kinds of descriptor have in the same place.
HEDDLE_HOST_DEVICE constexpr std::uint64_t put_shared_fields(const SmemDescriptor& fields) {
  return StartField::put(fields.start_address / 16) | LeadingField::put(fields.leading_bytes / 16) |
         StrideField::put(fields.stride_bytes / 16) | BaseOffsetField::put(fields.base_offset);
}

HEDDLE_HOST_DEVICE constexpr bool shared_fields_fit(const SmemDescriptor& fields) {
  return fields.start_address % 16 == 0 && fields.leading_bytes % 16 == 0 && fields.stride_bytes % 16 == 0 &&
         LeadingField::holds(fields.leading_bytes / 16) && StrideField::holds(fields.stride_bytes / 16) &&
         BaseOffsetField::holds(fields.base_offset);
}

HEDDLE_HOST_DEVICE constexpr SmemDescriptor get_shared_fields(std::uint64_t descriptor) {
  return {.start_address = StartField::get(descriptor) * 16,
          .leading_bytes = LeadingField::get(descriptor) * 16,
          .stride_bytes = StrideField::get(descriptor) * 16,
          .swizzle = Swizzle::kNone,
          .base_offset = BaseOffsetField::get(descriptor)};
}

}  // namespace detail::smem_bits

HEDDLE_HOST_DEVICE constexpr std::uint64_t wgmma_descriptor(const SmemDescriptor& fields) {
  using namespace detail::smem_bits;
  const std::uint32_t swizzle_code = wgmma_swizzle_code(fields.swizzle);
  return detail::checked_descriptor<std::uint64_t>(
      put_shared_fields(fields) | WgmmaSwizzleField::put(swizzle_code),
      shared_fields_fit(fields) && swizzle_code != no_swizzle_code);
}

HEDDLE_HOST_DEVICE constexpr std::uint64_t tcgen05_descriptor(const SmemDescriptor& fields) {
  using namespace detail::smem_bits;
  return detail::checked_descriptor<std::uint64_t>(
      put_shared_fields(fields) | Tcgen05ConstantField::put(tcgen05_constant) |
          Tcgen05SwizzleField::put(tcgen05_swizzle_code(fields.swizzle)),
      shared_fields_fit(fields));
}

HEDDLE_HOST_DEVICE constexpr DecodedSmemDescriptor decode_wgmma_descriptor(std::uint64_t descriptor) {
  using namespace detail::smem_bits;
  DecodedSmemDescriptor decoded{.fields = get_shared_fields(descriptor),
                                .wrong_bits = descriptor & wgmma_reserved_bits};
  constexpr Swizzle by_code[4] = {Swizzle::kNone, Swizzle::k128B, Swizzle::k64B, Swizzle::k32B};
  decoded.fields.swizzle = by_code[WgmmaSwizzleField::get(descriptor)];
  return decoded;
}

HEDDLE_HOST_DEVICE constexpr DecodedSmemDescriptor decode_tcgen05_descriptor(std::uint64_t descriptor) {
  using namespace detail::smem_bits;
  const std::uint64_t constant_bits = descriptor ^ Tcgen05ConstantField::put(tcgen05_constant);
  DecodedSmemDescriptor decoded{
      .fields = get_shared_fields(descriptor),
      .wrong_bits = (descriptor & tcgen05_reserved_bits) | (constant_bits & Tcgen05ConstantField::mask)};
  const std::uint32_t swizzle_code = Tcgen05SwizzleField::get(descriptor);
  constexpr Swizzle modes[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B,
                               Swizzle::k128BAtom32B};
  bool is_known = false;
  for (const Swizzle swizzle : modes) {
    if (tcgen05_swizzle_code(swizzle) == swizzle_code) {
      decoded.fields.swizzle = swizzle;
      is_known = true;
    }
  }
  if (!is_known) {
    decoded.wrong_bits |= Tcgen05SwizzleField::mask;
  }
  return decoded;
}

HEDDLE_HOST_DEVICE constexpr std::uint32_t operand_address(const SmemDescriptor& fields, Major major,
                                                           std::uint32_t stored_bits, std::uint32_t row,
                                                           std::uint32_t k) {
  // An operand is made of blocks: `block_lines` lines of one span each. `along` counts within a line, in the
  // contiguous dimension, and `across` counts lines.
  const std::uint32_t along = major == Major::kK ? k : row;
  const std::uint32_t across = major == Major::kK ? row : k;
  const std::uint32_t block_lines = fields.swizzle == Swizzle::k128BAtom32B ? 4 : 8;
  const std::uint32_t span = span_bytes(fields.swizzle);
  const std::uint32_t span_elems = span * 8 / stored_bits;

  std::uint32_t along_block_bytes = fields.leading_bytes;
  std::uint32_t across_block_bytes = fields.stride_bytes;
  if (fields.swizzle != Swizzle::kNone && major == Major::kK) {
    // One span holds the K of an instruction: the hardware steps on along the line and ignores LBO.
    along_block_bytes = span;
  } else if (fields.swizzle == Swizzle::kNone && major == Major::kMN) {
    along_block_bytes = fields.stride_bytes;
    across_block_bytes = fields.leading_bytes;
  }
  const std::uint32_t linear = fields.start_address + across / block_lines * across_block_bytes +
                               across % block_lines * span + along / span_elems * along_block_bytes +
                               along % span_elems * stored_bits / 8;
  return swizzled(fields.swizzle, linear, fields.base_offset);
}

}  // namespace heddle::inline HEDDLE_TARGET
