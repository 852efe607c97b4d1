// SPDX-License-Identifier: Apache-2.0
//
// Descriptors against words that CUTLASS's own constructors give, and addresses against the manual's
// canonical layouts, one formula per row of the table.
#include <heddle/isa/descriptor.h>

#include <cstdint>
#include <random>
#include <type_traits>

#include <gtest/gtest.h>

#include <heddle/tile/element.h>

namespace heddle {
namespace {

constexpr Swizzle wgmma_modes[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B};
constexpr Swizzle tcgen05_modes[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B,
                                     Swizzle::k128BAtom32B};

constexpr SmemDescriptor smem(Swizzle swizzle, std::uint32_t leading_bytes, std::uint32_t stride_bytes) {
  return {.start_address = 0, .leading_bytes = leading_bytes, .stride_bytes = stride_bytes, .swizzle = swizzle};
}

SmemDescriptor random_smem(std::mt19937& random, Swizzle swizzle) {
  const auto bytes = [&random] { return static_cast<std::uint32_t>(random() % 0x4000) * 16; };
  return {.start_address = bytes(),
          .leading_bytes = bytes(),
          .stride_bytes = bytes(),
          .swizzle = swizzle,
          .base_offset = static_cast<std::uint32_t>(random() % 8)};
}

TEST(Tcgen05Descriptor, EqualsTheGoldenWords) {
  EXPECT_EQ(tcgen05_descriptor(smem(Swizzle::k128B, 16, 1024)), 0x4000404000010000U);
  EXPECT_EQ(tcgen05_descriptor(smem(Swizzle::k64B, 16, 512)), 0x8000402000010000U);
  EXPECT_EQ(tcgen05_descriptor(smem(Swizzle::k32B, 16, 256)), 0xC000401000010000U);
  EXPECT_EQ(tcgen05_descriptor(smem(Swizzle::kNone, 2048, 128)), 0x0000400800800000U);
  EXPECT_EQ(tcgen05_descriptor(smem(Swizzle::k128B, 1024, 2048)), 0x4000408000400000U);
  EXPECT_EQ(tcgen05_descriptor(smem(Swizzle::k128B, 8192, 1024)), 0x4000404002000000U);
  EXPECT_EQ(tcgen05_descriptor(smem(Swizzle::k64B, 512, 2048)), 0x8000408000200000U);
  EXPECT_EQ(tcgen05_descriptor(smem(Swizzle::k128BAtom32B, 512, 2048)), 0x2000408000200000U);
  EXPECT_EQ(tcgen05_descriptor(smem(Swizzle::kNone, 0, 128)), 0x0000400800000000U);
}

TEST(Tcgen05Descriptor, StepsThroughKByItsStartAddress) {
  constexpr SmemDescriptor tile{
      .start_address = 0x8000, .leading_bytes = 16, .stride_bytes = 1024, .swizzle = Swizzle::k128B};
  constexpr std::uint64_t first = tcgen05_descriptor(tile);
  EXPECT_EQ(first, 0x4000404000010800U);
  EXPECT_EQ(advanced_descriptor(first, 32), 0x4000404000010802U);
  EXPECT_EQ(advanced_descriptor(first, 96), 0x4000404000010806U);
  EXPECT_EQ(decode_tcgen05_descriptor(advanced_descriptor(first, 96)).fields.start_address, 0x8060U);
}

TEST(WgmmaDescriptor, PutsEveryFieldWhereTheTableHasIt) {
  EXPECT_EQ(wgmma_descriptor({.start_address = 0x3FFF0}), 0x3FFFU);
  EXPECT_EQ(wgmma_descriptor({.leading_bytes = 0x3FFF0}), 0x3FFF'0000U);
  EXPECT_EQ(wgmma_descriptor({.stride_bytes = 0x3FFF0}), 0x3FFF'0000'0000U);
  EXPECT_EQ(wgmma_descriptor({.base_offset = 7}), std::uint64_t{7} << 49);
  EXPECT_EQ(wgmma_descriptor({.swizzle = Swizzle::kNone}), 0U);
  EXPECT_EQ(wgmma_descriptor({.swizzle = Swizzle::k128B}), std::uint64_t{1} << 62);
  EXPECT_EQ(wgmma_descriptor({.swizzle = Swizzle::k64B}), std::uint64_t{2} << 62);
  EXPECT_EQ(wgmma_descriptor({.swizzle = Swizzle::k32B}), std::uint64_t{3} << 62);
}

TEST(WgmmaDescriptor, EncodesTheTypicalTilesOfBf16) {
  // K-major rows x 64: SBO 1024 B is code 64. MN-major, 64 deep: LBO 8192 B is code 512.
  EXPECT_EQ(wgmma_descriptor(smem(Swizzle::k128B, 0, 1024)), 0x4000'0040'0000'0000U);
  EXPECT_EQ(wgmma_descriptor(smem(Swizzle::k128B, 8192, 1024)), 0x4000'0040'0200'0000U);
  EXPECT_EQ(advanced_descriptor(0x4000'0040'0000'0000U, 32), 0x4000'0040'0000'0002U);
  EXPECT_EQ(advanced_descriptor(0x4000'0040'0200'0000U, 2048), 0x4000'0040'0200'0080U);
}

TEST(SmemDescriptor, DropsTheCtaRankOfItsStartAddress) {
  const SmemDescriptor local{.start_address = 0x8000, .stride_bytes = 1024, .swizzle = Swizzle::k128B};
  SmemDescriptor in_peer = local;
  in_peer.start_address |= 3U << 24;
  EXPECT_EQ(wgmma_descriptor(in_peer), wgmma_descriptor(local));
  EXPECT_EQ(tcgen05_descriptor(in_peer), tcgen05_descriptor(local));
}

TEST(SmemDescriptor, ComesBackFromBothWords) {
  std::mt19937 random(90);
  for (int i = 0; i < 10'000; ++i) {
    for (const Swizzle swizzle : wgmma_modes) {
      const SmemDescriptor fields = random_smem(random, swizzle);
      const DecodedSmemDescriptor decoded = decode_wgmma_descriptor(wgmma_descriptor(fields));
      ASSERT_EQ(decoded.fields, fields);
      ASSERT_TRUE(decoded.is_well_formed());
    }
    for (const Swizzle swizzle : tcgen05_modes) {
      const SmemDescriptor fields = random_smem(random, swizzle);
      const DecodedSmemDescriptor decoded = decode_tcgen05_descriptor(tcgen05_descriptor(fields));
      ASSERT_EQ(decoded.fields, fields);
      ASSERT_TRUE(decoded.is_well_formed());
    }
  }
}

// A flipped bit must either be named as wrong or change a field.
TEST(WgmmaDescriptor, ReportsEveryFlippedReservedBitAndNoOther) {
  const auto is_reserved = [](int bit) {
    return bit == 14 || bit == 15 || bit == 30 || bit == 31 || (bit >= 46 && bit <= 48) ||
           (bit >= 52 && bit <= 61);
  };
  std::mt19937 random(91);
  for (const Swizzle swizzle : wgmma_modes) {
    const SmemDescriptor fields = random_smem(random, swizzle);
    for (int bit = 0; bit < 64; ++bit) {
      const std::uint64_t flip = std::uint64_t{1} << bit;
      const DecodedSmemDescriptor decoded = decode_wgmma_descriptor(wgmma_descriptor(fields) ^ flip);
      EXPECT_EQ(decoded.wrong_bits, is_reserved(bit) ? flip : 0U) << "bit " << bit;
      EXPECT_EQ(decoded.fields == fields, is_reserved(bit)) << "bit " << bit;
    }
  }
}

TEST(Tcgen05Descriptor, ReportsEveryFlippedReservedOrConstantBit) {
  const auto is_reserved = [](int bit) {
    return bit == 14 || bit == 15 || bit == 30 || bit == 31 || (bit >= 46 && bit <= 48) ||
           (bit >= 52 && bit <= 60);
  };
  constexpr std::uint64_t swizzle_bits = std::uint64_t{7} << 61;
  std::mt19937 random(100);
  for (const Swizzle swizzle : tcgen05_modes) {
    const SmemDescriptor fields = random_smem(random, swizzle);
    for (int bit = 0; bit < 64; ++bit) {
      const std::uint64_t flip = std::uint64_t{1} << bit;
      const DecodedSmemDescriptor decoded = decode_tcgen05_descriptor(tcgen05_descriptor(fields) ^ flip);
      if (bit < 61) {
        EXPECT_EQ(decoded.wrong_bits, is_reserved(bit) ? flip : 0U) << "bit " << bit;
        EXPECT_EQ(decoded.fields == fields, is_reserved(bit)) << "bit " << bit;
      } else if (decoded.is_well_formed()) {
        EXPECT_NE(decoded.fields.swizzle, swizzle) << "bit " << bit;
      } else {
        EXPECT_EQ(decoded.wrong_bits, swizzle_bits) << "bit " << bit;
      }
    }
  }
}

TEST(Tcgen05Descriptor, RefusesSwizzleCodesWithoutMeaning) {
  for (std::uint64_t code = 0; code < 8; ++code) {
    const std::uint64_t word = std::uint64_t{1} << 46 | code << 61;
    const bool is_valid = code != 3 && code != 5 && code != 7;
    EXPECT_EQ(decode_tcgen05_descriptor(word).is_well_formed(), is_valid) << code;
  }
}

TEST(SmemDescriptor, IsRefusedByTheDecodersWhenAFieldDoesNotFit) {
  SmemDescriptor fits{
      .start_address = 1024, .leading_bytes = 16, .stride_bytes = 1024, .swizzle = Swizzle::k128B};
  EXPECT_TRUE(decode_wgmma_descriptor(wgmma_descriptor(fits)).is_well_formed());
  EXPECT_TRUE(decode_tcgen05_descriptor(tcgen05_descriptor(fits)).is_well_formed());

  const auto is_refused = [&fits](auto change) {
    SmemDescriptor fields = fits;
    change(fields);
    return !decode_wgmma_descriptor(wgmma_descriptor(fields)).is_well_formed() &&
           !decode_tcgen05_descriptor(tcgen05_descriptor(fields)).is_well_formed();
  };
  EXPECT_TRUE(is_refused([](SmemDescriptor& d) { d.start_address += 8; }));
  EXPECT_TRUE(is_refused([](SmemDescriptor& d) { d.leading_bytes = 24; }));
  EXPECT_TRUE(is_refused([](SmemDescriptor& d) { d.leading_bytes = 0x40000; }));
  EXPECT_TRUE(is_refused([](SmemDescriptor& d) { d.stride_bytes = 1025; }));
  EXPECT_TRUE(is_refused([](SmemDescriptor& d) { d.stride_bytes = 0x40000; }));
  EXPECT_TRUE(is_refused([](SmemDescriptor& d) { d.base_offset = 8; }));
  EXPECT_FALSE(is_refused([](SmemDescriptor& d) { d.base_offset = 7; }));

  SmemDescriptor atoms_of_32 = fits;
  atoms_of_32.swizzle = Swizzle::k128BAtom32B;
  EXPECT_FALSE(decode_wgmma_descriptor(wgmma_descriptor(atoms_of_32)).is_well_formed());
  EXPECT_TRUE(decode_tcgen05_descriptor(tcgen05_descriptor(atoms_of_32)).is_well_formed());
}

template <std::uint32_t stride_bytes>
concept StrideCompiles = requires {
  typename std::integral_constant<std::uint64_t, wgmma_descriptor({.stride_bytes = stride_bytes})>;
};
template <std::uint32_t m>
concept HeightCompiles = requires {
  typename std::integral_constant<std::uint32_t, instruction_descriptor(InstructionDescriptor{.m = m, .n = 8})>;
};

TEST(Descriptors, DoNotCompileWhenAConstantFieldDoesNotFit) {
  EXPECT_TRUE(StrideCompiles<1024>);
  EXPECT_FALSE(StrideCompiles<1032>);
  EXPECT_TRUE(HeightCompiles<128>);
  EXPECT_FALSE(HeightCompiles<100>);
}

// The canonical layouts: the linear address, before the swizzle.
std::uint32_t canonical(const SmemDescriptor& d, Major major, std::uint32_t es, std::uint32_t r,
                        std::uint32_t k) {
  const std::uint32_t T = 16 / es;
  const std::uint32_t S = span_bytes(d.swizzle);
  const std::uint32_t W = S / es;
  const std::uint32_t LBO = d.leading_bytes;
  const std::uint32_t SBO = d.stride_bytes;
  if (major == Major::kK) {
    if (d.swizzle == Swizzle::kNone) {
      return d.start_address + (r % 8) * 16 + (r / 8) * SBO + (k / T) * LBO + (k % T) * es;
    }
    return d.start_address + (r % 8) * S + (r / 8) * SBO + k * es;
  }
  if (d.swizzle == Swizzle::kNone) {
    return d.start_address + (r % T) * es + (r / T) * SBO + (k % 8) * 16 + (k / 8) * LBO;
  }
  if (d.swizzle == Swizzle::k128BAtom32B) {
    return d.start_address + (r / 32) * LBO + (r % 32) * 4 + (k / 4) * SBO + (k % 4) * 128;
  }
  return d.start_address + (r % W) * es + (r / W) * LBO + (k % 8) * S + (k / 8) * SBO;
}

TEST(OperandAddress, FollowsTheCanonicalLayouts) {
  std::mt19937 random(33);
  int layouts = 0;
  for (const Major major : {Major::kK, Major::kMN}) {
    for (const Swizzle swizzle : tcgen05_modes) {
      for (const std::uint32_t es : {1U, 2U, 4U}) {
        if (!has_operand_layout(major, swizzle) || (swizzle == Swizzle::k128BAtom32B && es != 4)) {
          continue;
        }
        ++layouts;
        for (int repetition = 0; repetition < 4; ++repetition) {
          SmemDescriptor fields = random_smem(random, swizzle);
          fields.base_offset = 0;
          for (std::uint32_t r = 0; r < 256; ++r) {
            for (std::uint32_t k = 0; k < 32 / es; ++k) {
              ASSERT_EQ(operand_address(fields, major, 8 * es, r, k),
                        swizzled(swizzle, canonical(fields, major, es, r, k)));
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(layouts, 25);
}

TEST(OperandAddress, AgreesWithTheWorkedExample) {
  constexpr SmemDescriptor tile{
      .start_address = 0x8000, .leading_bytes = 16, .stride_bytes = 1024, .swizzle = Swizzle::k128B};
  static_assert(operand_address(tile, Major::kK, element_bits<bf16>, 9, 20) == 0x84B8);
  SUCCEED();
}

TEST(OperandAddress, FindsTheSameByteAfterAKStep) {
  const SmemDescriptor tile{.start_address = 0x8000, .stride_bytes = 1024, .swizzle = Swizzle::k128B};
  for (std::uint32_t step = 0; step < 4; ++step) {
    const DecodedSmemDescriptor stepped =
        decode_wgmma_descriptor(advanced_descriptor(wgmma_descriptor(tile), 32 * step));
    for (std::uint32_t r = 0; r < 64; ++r) {
      for (std::uint32_t k = 0; k < 16; ++k) {
        ASSERT_EQ(operand_address(stepped.fields, Major::kK, 16, r, k),
                  operand_address(tile, Major::kK, 16, r, 16 * step + k));
      }
    }
  }
}

TEST(OperandAddress, PacksTwoFp4IntoAByte) {
  const SmemDescriptor packed{.start_address = 0x400, .stride_bytes = 1024, .swizzle = Swizzle::k128B};
  for (std::uint32_t r = 0; r < 16; ++r) {
    for (std::uint32_t k = 0; k < 64; ++k) {
      ASSERT_EQ(operand_address(packed, Major::kK, element_bits<e2m1x2>, r, k),
                swizzled(Swizzle::k128B, 0x400 + r / 8 * 1024 + r % 8 * 128 + k / 2));
    }
  }
  const SmemDescriptor unswizzled{.leading_bytes = 2048, .stride_bytes = 128};
  EXPECT_EQ(operand_address(unswizzled, Major::kK, 4, 9, 33), 2048U + 128U + 16U);
}

TEST(OperandAddress, UsesTheBaseOffsetForTilesOffThePattern) {
  // The same tile, moved by three lines together with its pattern.
  const SmemDescriptor aligned{.start_address = 0, .stride_bytes = 1024, .swizzle = Swizzle::k128B};
  SmemDescriptor moved = aligned;
  moved.start_address = 3 * 128;
  moved.base_offset = 3;
  for (std::uint32_t r = 0; r < 64; ++r) {
    for (std::uint32_t k = 0; k < 64; ++k) {
      ASSERT_EQ(operand_address(moved, Major::kK, 16, r, k),
                operand_address(aligned, Major::kK, 16, r, k) + 3 * 128);
    }
  }
}

TEST(OperandAddress, HasNoKMajorLayoutWithAtomsOf32Bytes) {
  EXPECT_FALSE(has_operand_layout(Major::kK, Swizzle::k128BAtom32B));
  EXPECT_TRUE(has_operand_layout(Major::kMN, Swizzle::k128BAtom32B));
  EXPECT_TRUE(has_operand_layout(Major::kK, Swizzle::k128B));
}

TEST(InstructionDescriptor, EqualsTheGoldenWords) {
  using enum OperandType;
  using D = AccumulatorType;
  const auto word = [](const InstructionDescriptor& fields) { return instruction_descriptor(fields); };
  EXPECT_EQ(word({.kind = MmaKind::kF16, .m = 128, .n = 256, .a_type = kBf16, .b_type = kBf16}), 0x08400490U);
  EXPECT_EQ(word({.kind = MmaKind::kF16, .m = 256, .n = 256, .a_type = kBf16, .b_type = kBf16}), 0x10400490U);
  EXPECT_EQ(word({.kind = MmaKind::kF16, .m = 128, .n = 256, .b_major = Major::kMN}), 0x08410010U);
  EXPECT_EQ(word({.kind = MmaKind::kF16, .m = 64, .n = 128, .d_type = D::kF16}), 0x04200000U);
  EXPECT_EQ(word({.kind = MmaKind::kF16,
                  .m = 128,
                  .n = 64,
                  .a_type = kBf16,
                  .b_type = kBf16,
                  .negate_a = true,
                  .negate_b = true}),
            0x08106490U);
  EXPECT_EQ(word({.kind = MmaKind::kTf32, .m = 128, .n = 128, .a_type = kTf32, .b_type = kTf32}), 0x08200910U);
  EXPECT_EQ(word({.kind = MmaKind::kI8, .m = 128, .n = 128, .d_type = D::kS32, .a_type = kS8, .b_type = kS8}),
            0x082004A0U);
  EXPECT_EQ(word({.kind = MmaKind::kI8,
                  .m = 128,
                  .n = 128,
                  .d_type = D::kS32,
                  .a_type = kU8,
                  .b_type = kU8,
                  .saturates = true}),
            0x08200028U);
  EXPECT_EQ(word({.kind = MmaKind::kF8f6f4, .m = 128, .n = 256, .a_type = kE4m3, .b_type = kE5m2}), 0x08400410U);
  EXPECT_EQ(word({.kind = MmaKind::kF8f6f4,
                  .m = 64,
                  .n = 64,
                  .d_type = D::kF16,
                  .a_type = kE4m3,
                  .b_type = kE4m3,
                  .a_major = Major::kMN}),
            0x04108000U);
  EXPECT_EQ(word({.kind = MmaKind::kF8f6f4, .m = 128, .n = 128, .a_type = kE2m1, .b_type = kE4m3}), 0x08200290U);
}

TEST(InstructionDescriptor, HasTheTypeCodesOfTheTable) {
  struct Code {
    MmaKind kind;
    OperandType type;
    AccumulatorType d_type;
    std::uint32_t code;
  };
  constexpr Code codes[] = {
      {MmaKind::kF16, OperandType::kF16, AccumulatorType::kF32, 0},
      {MmaKind::kF16, OperandType::kBf16, AccumulatorType::kF32, 1},
      {MmaKind::kTf32, OperandType::kTf32, AccumulatorType::kF32, 2},
      {MmaKind::kF8f6f4, OperandType::kE4m3, AccumulatorType::kF32, 0},
      {MmaKind::kF8f6f4, OperandType::kE5m2, AccumulatorType::kF32, 1},
      {MmaKind::kF8f6f4, OperandType::kE2m3, AccumulatorType::kF32, 3},
      {MmaKind::kF8f6f4, OperandType::kE3m2, AccumulatorType::kF32, 4},
      {MmaKind::kF8f6f4, OperandType::kE2m1, AccumulatorType::kF32, 5},
      {MmaKind::kI8, OperandType::kU8, AccumulatorType::kS32, 0},
      {MmaKind::kI8, OperandType::kS8, AccumulatorType::kS32, 1},
  };
  for (const Code& a : codes) {
    for (const Code& b : codes) {
      if (a.kind != b.kind) {
        continue;
      }
      const InstructionDescriptor fields{.kind = a.kind, .d_type = a.d_type, .a_type = a.type, .b_type = b.type};
      const std::uint32_t word = instruction_descriptor(fields);
      EXPECT_EQ(word, static_cast<std::uint32_t>(a.d_type) << 4 | a.code << 7 | b.code << 10);
      EXPECT_EQ(decode_instruction_descriptor(a.kind, word).fields, fields);
      if (a.kind == MmaKind::kF8f6f4) {
        const BlockScaledInstructionDescriptor scaled{
            .kind = MmaKind::kMxf8f6f4, .a_type = a.type, .b_type = b.type};
        const std::uint32_t scaled_word = instruction_descriptor(scaled);
        EXPECT_EQ(scaled_word, 1U << 23 | a.code << 7 | b.code << 10);
        EXPECT_EQ(decode_block_scaled_instruction_descriptor(scaled.kind, scaled_word).fields, scaled);
      }
    }
  }
}

TEST(InstructionDescriptor, PutsEveryFieldWhereTheTableHasIt) {
  const InstructionDescriptor zero{.kind = MmaKind::kF16, .d_type = AccumulatorType::kF16};
  const auto word_with = [&zero](auto change) {
    InstructionDescriptor fields = zero;
    change(fields);
    return instruction_descriptor(fields);
  };
  EXPECT_EQ(instruction_descriptor(zero), 0U);
  EXPECT_EQ(word_with([](auto& d) { d.is_sparse = true; }), 1U << 2);
  EXPECT_EQ(word_with([](auto& d) { d.is_sparse = true, d.sparsity_selector = 3; }), 7U);
  EXPECT_EQ(word_with([](auto& d) { d.negate_a = true; }), 1U << 13);
  EXPECT_EQ(word_with([](auto& d) { d.negate_b = true; }), 1U << 14);
  EXPECT_EQ(word_with([](auto& d) { d.a_major = Major::kMN; }), 1U << 15);
  EXPECT_EQ(word_with([](auto& d) { d.b_major = Major::kMN; }), 1U << 16);
  EXPECT_EQ(word_with([](auto& d) { d.n = 8; }), 1U << 17);
  EXPECT_EQ(word_with([](auto& d) { d.m = 64; }), 4U << 24);
  EXPECT_EQ(word_with([](auto& d) { d.max_b_shift = 8; }), 1U << 30);
  EXPECT_EQ(word_with([](auto& d) { d.max_b_shift = 16; }), 2U << 30);
  EXPECT_EQ(word_with([](auto& d) { d.max_b_shift = 32; }), 3U << 30);
}

TEST(BlockScaledInstructionDescriptor, EqualsTheGoldenWords) {
  using enum OperandType;
  const auto word = [](const BlockScaledInstructionDescriptor& fields) { return instruction_descriptor(fields); };
  EXPECT_EQ(word({.kind = MmaKind::kMxf8f6f4, .m = 128, .n = 128}), 0x08A00000U);
  EXPECT_EQ(word({.kind = MmaKind::kMxf8f6f4, .m = 128, .n = 128, .sfa_id = 3, .sfb_id = 1}), 0x68A00010U);
  EXPECT_EQ(word({.kind = MmaKind::kMxf8f6f4, .m = 256, .n = 256}), 0x10C00000U);
  EXPECT_EQ(word({.kind = MmaKind::kMxf4, .m = 128, .n = 256, .a_type = kE2m1, .b_type = kE2m1}), 0x08C00480U);
  EXPECT_EQ(word({.kind = MmaKind::kMxf4nvf4,
                  .m = 128,
                  .n = 256,
                  .a_type = kE2m1,
                  .b_type = kE2m1,
                  .scale_type = ScaleType::kUe4m3}),
            0x08400480U);
  EXPECT_EQ(word({.kind = MmaKind::kMxf4nvf4,
                  .m = 256,
                  .n = 128,
                  .a_type = kE2m1,
                  .b_type = kE2m1,
                  .scale_type = ScaleType::kUe4m3}),
            0x10200480U);
}

constexpr InstructionDescriptor plain_examples[] = {
    {.kind = MmaKind::kF16, .m = 128, .n = 256, .a_type = OperandType::kBf16, .b_type = OperandType::kBf16},
    {.kind = MmaKind::kTf32, .m = 128, .n = 128, .a_type = OperandType::kTf32, .b_type = OperandType::kTf32},
    {.kind = MmaKind::kF8f6f4, .m = 64, .n = 64, .a_type = OperandType::kE5m2, .b_type = OperandType::kE2m3},
    {.kind = MmaKind::kI8,
     .m = 128,
     .n = 32,
     .d_type = AccumulatorType::kS32,
     .a_type = OperandType::kS8,
     .b_type = OperandType::kU8},
};
constexpr BlockScaledInstructionDescriptor scaled_examples[] = {
    {.kind = MmaKind::kMxf8f6f4,
     .m = 128,
     .n = 128,
     .a_type = OperandType::kE3m2,
     .b_type = OperandType::kE4m3,
     .sfa_id = 1},
    {.kind = MmaKind::kMxf4,
     .m = 128,
     .n = 256,
     .a_type = OperandType::kE2m1,
     .b_type = OperandType::kE2m1,
     .sfb_id = 2},
    {.kind = MmaKind::kMxf4nvf4,
     .m = 256,
     .n = 128,
     .a_type = OperandType::kE2m1,
     .b_type = OperandType::kE2m1,
     .scale_type = ScaleType::kUe4m3},
};

// Words around a good one, about four bits away: each either decodes to fields that build the very same word,
// or is refused.
template <class Fields, class Decode>
void expect_decodes_exactly_what_can_be_built(const Fields& example, Decode decode) {
  std::mt19937 random(4);
  int well_formed = 0;
  int refused = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint32_t flips = static_cast<std::uint32_t>(random() & random() & random());
    const std::uint32_t word = instruction_descriptor(example) ^ flips;
    const auto decoded = decode(example.kind, word);
    const bool is_built = instruction_descriptor(decoded.fields) == word;
    ASSERT_EQ(decoded.is_well_formed(), is_built) << std::hex << word;
    ++(is_built ? well_formed : refused);
  }
  EXPECT_GT(well_formed, 10'000);
  EXPECT_GT(refused, 10'000);
}

TEST(InstructionDescriptor, DecodesExactlyTheWordsThatCanBeBuilt) {
  for (const InstructionDescriptor& example : plain_examples) {
    expect_decodes_exactly_what_can_be_built(example, decode_instruction_descriptor);
  }
}

TEST(BlockScaledInstructionDescriptor, DecodesExactlyTheWordsThatCanBeBuilt) {
  for (const BlockScaledInstructionDescriptor& example : scaled_examples) {
    expect_decodes_exactly_what_can_be_built(example, decode_block_scaled_instruction_descriptor);
  }
}

TEST(InstructionDescriptor, NamesEveryFlippedReservedBit) {
  for (const InstructionDescriptor& example : plain_examples) {
    const std::uint32_t word = instruction_descriptor(example);
    EXPECT_EQ(decode_instruction_descriptor(example.kind, word).fields, example);
    const bool is_i8 = example.kind == MmaKind::kI8;
    for (int bit = 0; bit < 32; ++bit) {
      const std::uint32_t flip = 1U << bit;
      const auto decoded = decode_instruction_descriptor(example.kind, word ^ flip);
      const bool must_be_zero = bit <= 1 || bit == 6 || bit == 23 || bit == 29 || (bit == 3 && !is_i8) ||
                                ((bit == 13 || bit == 14) && is_i8);
      if (must_be_zero) {
        EXPECT_EQ(decoded.wrong_bits, flip) << "bit " << bit;
      } else {
        EXPECT_TRUE(!decoded.is_well_formed() || decoded.fields != example) << "bit " << bit;
      }
    }
  }
}

TEST(BlockScaledInstructionDescriptor, NamesEveryFlippedReservedBit) {
  for (const BlockScaledInstructionDescriptor& example : scaled_examples) {
    const std::uint32_t word = instruction_descriptor(example);
    EXPECT_EQ(decode_block_scaled_instruction_descriptor(example.kind, word).fields, example);
    const bool is_fp4 = example.kind != MmaKind::kMxf8f6f4;
    for (int bit = 0; bit < 32; ++bit) {
      const std::uint32_t flip = 1U << bit;
      const auto decoded = decode_block_scaled_instruction_descriptor(example.kind, word ^ flip);
      const bool must_be_as_it_is = bit <= 1 || bit == 3 || bit == 6 || (bit >= 24 && bit <= 26) || bit == 31 ||
                                    (bit == 23 && example.kind != MmaKind::kMxf4nvf4) ||
                                    (is_fp4 && (bit == 4 || bit == 15 || bit == 16 || bit == 29));
      if (must_be_as_it_is) {
        EXPECT_EQ(decoded.wrong_bits, flip) << "bit " << bit;
      } else {
        EXPECT_TRUE(!decoded.is_well_formed() || decoded.fields != example) << "bit " << bit;
      }
    }
  }
}

TEST(InstructionDescriptor, IsRefusedByTheDecoderWhenAFieldDoesNotFit) {
  const auto is_refused = [](auto change) {
    InstructionDescriptor fields{.kind = MmaKind::kF16, .m = 128, .n = 256};
    change(fields);
    return !decode_instruction_descriptor(fields.kind, instruction_descriptor(fields)).is_well_formed();
  };
  EXPECT_FALSE(is_refused([](InstructionDescriptor&) {}));
  EXPECT_TRUE(is_refused([](InstructionDescriptor& d) { d.m = 100; }));
  EXPECT_TRUE(is_refused([](InstructionDescriptor& d) { d.m = 512; }));
  EXPECT_TRUE(is_refused([](InstructionDescriptor& d) { d.n = 12; }));
  EXPECT_TRUE(is_refused([](InstructionDescriptor& d) { d.n = 512; }));
  EXPECT_TRUE(is_refused([](InstructionDescriptor& d) { d.a_type = OperandType::kE4m3; }));
  EXPECT_TRUE(is_refused([](InstructionDescriptor& d) { d.d_type = AccumulatorType::kS32; }));
  EXPECT_TRUE(is_refused([](InstructionDescriptor& d) { d.saturates = true; }));
  EXPECT_TRUE(is_refused([](InstructionDescriptor& d) { d.sparsity_selector = 1; }));
  EXPECT_TRUE(is_refused([](InstructionDescriptor& d) { d.max_b_shift = 24; }));
  EXPECT_TRUE(is_refused([](InstructionDescriptor& d) { d.kind = MmaKind::kMxf4; }));
  EXPECT_FALSE(is_refused([](InstructionDescriptor& d) { d.max_b_shift = 32; }));
}

TEST(BlockScaledInstructionDescriptor, IsRefusedByTheDecoderWhenAFieldDoesNotFit) {
  const auto is_refused = [](auto change) {
    BlockScaledInstructionDescriptor fields = scaled_examples[1];
    change(fields);
    return !decode_block_scaled_instruction_descriptor(fields.kind, instruction_descriptor(fields))
                .is_well_formed();
  };
  EXPECT_FALSE(is_refused([](BlockScaledInstructionDescriptor&) {}));
  EXPECT_TRUE(is_refused([](BlockScaledInstructionDescriptor& d) { d.m = 64; }));
  EXPECT_TRUE(is_refused([](BlockScaledInstructionDescriptor& d) { d.n = 4; }));
  EXPECT_TRUE(is_refused([](BlockScaledInstructionDescriptor& d) { d.b_type = OperandType::kE4m3; }));
  EXPECT_TRUE(is_refused([](BlockScaledInstructionDescriptor& d) { d.scale_type = ScaleType::kUe4m3; }));
  EXPECT_TRUE(is_refused([](BlockScaledInstructionDescriptor& d) { d.a_major = Major::kMN; }));
  EXPECT_TRUE(is_refused([](BlockScaledInstructionDescriptor& d) { d.sfa_id = 1; }));
  EXPECT_TRUE(is_refused([](BlockScaledInstructionDescriptor& d) { d.sfb_id = 4; }));
  EXPECT_FALSE(is_refused([](BlockScaledInstructionDescriptor& d) { d.sfa_id = 2; }));
}

TEST(OperandType, FollowsTheElementType) {
  static_assert(operand_type<fp16>() == OperandType::kF16);
  static_assert(operand_type<bf16>() == OperandType::kBf16);
  static_assert(operand_type<tf32>() == OperandType::kTf32);
  static_assert(operand_type<e4m3>() == OperandType::kE4m3);
  static_assert(operand_type<e5m2>() == OperandType::kE5m2);
  static_assert(operand_type<e2m3>() == OperandType::kE2m3);
  static_assert(operand_type<e3m2>() == OperandType::kE3m2);
  static_assert(operand_type<e2m1x2>() == OperandType::kE2m1);
  static_assert(operand_type<std::int8_t>() == OperandType::kS8);
  static_assert(operand_type<std::uint8_t>() == OperandType::kU8);
  SUCCEED();
}

}  // namespace
}  // namespace heddle
