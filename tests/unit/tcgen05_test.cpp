// SPDX-License-Identifier: Apache-2.0
//
// tcgen05.mma in the simulated SM: what it computes, from which bytes, into which cells, and which operands it
// refuses.
#include "tcgen05_tiles.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle {
namespace {

using tcgen05_test::expect_exact;
using tcgen05_test::prepare;
using tcgen05_test::Prepared;
using tcgen05_test::Problem;
using tcgen05_test::run;
using tcgen05_test::Words;
using tcgen05_test::words_of;

constexpr MmaKind kF16 = MmaKind::kF16;
constexpr OperandType kBf16 = OperandType::kBf16;

InstructionDescriptor bf16_of(std::uint32_t m, std::uint32_t n) {
  return {.m = m, .n = n, .a_type = kBf16, .b_type = kBf16};
}

TEST(Tcgen05, MultipliesIntoTheLanesOfItsLayout) {
  for (const std::uint32_t n : {8u, 24u, 64u, 136u, 256u}) {
    SCOPED_TRACE(testing::Message() << "N " << n);
    expect_exact<kF16, 1>({.fields = bf16_of(128, n), .steps = 2});
    expect_exact<kF16, 1>({.fields = bf16_of(64, n), .steps = 2});
    expect_exact<kF16, 1>({.fields = bf16_of(64, n), .steps = 2, .d_lane = 16});
  }
  for (const std::uint32_t n : {16u, 48u, 128u, 256u}) {
    SCOPED_TRACE(testing::Message() << "pair, N " << n);
    expect_exact<kF16, 2>({.fields = bf16_of(256, n), .steps = 2});
    expect_exact<kF16, 2>({.fields = bf16_of(128, n), .steps = 2});
  }
}

TEST(Tcgen05, AddsToWhatTensorMemoryHolds) {
  expect_exact<kF16, 1>({.fields = bf16_of(128, 64), .steps = 2, .has_d = true, .d_column = 40});
  expect_exact<kF16, 1>({.fields = bf16_of(64, 64), .steps = 2, .has_d = true, .d_lane = 16});
  expect_exact<kF16, 2>({.fields = bf16_of(256, 64), .steps = 2, .has_d = true});
  expect_exact<kF16, 2>({.fields = bf16_of(128, 64), .steps = 2, .has_d = true, .d_column = 3});
}

TEST(Tcgen05, MultipliesF16IntoEitherAccumulator) {
  for (const AccumulatorType d : {AccumulatorType::kF32, AccumulatorType::kF16}) {
    const InstructionDescriptor fields{.m = 128, .n = 32, .d_type = d};
    expect_exact<kF16, 1>({.fields = fields, .steps = 2, .has_d = true});
    expect_exact<kF16, 1>({.fields = fields, .steps = 2});
  }
}

TEST(Tcgen05, NegatesOperands) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      InstructionDescriptor fields = bf16_of(128, 16);
      fields.negate_a = a;
      fields.negate_b = b;
      expect_exact<kF16, 1>({.fields = fields, .has_d = true});
    }
  }
}

constexpr Swizzle kSwizzles[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B};

TEST(Tcgen05, ReadsBothMajorsOf16BitTypesInEverySwizzle) {
  for (const Major a_major : {Major::kK, Major::kMN}) {
    for (const Major b_major : {Major::kK, Major::kMN}) {
      for (const Swizzle a_swizzle : kSwizzles) {
        for (const Swizzle b_swizzle : kSwizzles) {
          const auto steps_in = [](Major major, Swizzle swizzle) {
            return major == Major::kK && swizzle != Swizzle::kNone ? span_bytes(swizzle) / 32 : 3u;
          };
          InstructionDescriptor fields = bf16_of(128, 80);
          fields.a_major = a_major;
          fields.b_major = b_major;
          SCOPED_TRACE(testing::Message()
                       << "swizzles " << static_cast<int>(a_swizzle) << " and " << static_cast<int>(b_swizzle)
                       << ", majors " << static_cast<int>(a_major) << " and " << static_cast<int>(b_major));
          expect_exact<kF16, 1>({.fields = fields,
                                 .a_swizzle = a_swizzle,
                                 .b_swizzle = b_swizzle,
                                 .steps = std::min(steps_in(a_major, a_swizzle), steps_in(b_major, b_swizzle)),
                                 .gap = 1024});
        }
      }
    }
  }
}

TEST(Tcgen05, ReadsMNMajorOperandsOfAPair) {
  InstructionDescriptor fields = bf16_of(256, 128);
  fields.a_major = Major::kMN;
  fields.b_major = Major::kMN;
  expect_exact<kF16, 2>({.fields = fields, .steps = 2, .gap = 1024});
}

TEST(Tcgen05, ReadsMNMajorOperandsOf8BitsInEverySwizzleAndMix) {
  for (const Swizzle a_swizzle : kSwizzles) {
    for (const Swizzle b_swizzle : kSwizzles) {
      const InstructionDescriptor fields{.m = 128,
                                         .n = 80,
                                         .a_type = OperandType::kE5m2,
                                         .b_type = OperandType::kE4m3,
                                         .a_major = Major::kMN,
                                         .b_major = Major::kMN};
      expect_exact<MmaKind::kF8f6f4, 1>(
          {.fields = fields, .a_swizzle = a_swizzle, .b_swizzle = b_swizzle, .steps = 2, .gap = 1024});
    }
  }
}

TEST(Tcgen05, GivesTheSameResultUnderEverySchedule) {
  for (const sim::Schedule& schedule : test::some_schedules(20)) {
    expect_exact<kF16, 1>({.fields = bf16_of(128, 32), .steps = 4, .has_d = true}, schedule);
    expect_exact<kF16, 2>({.fields = bf16_of(256, 32), .steps = 4, .has_d = true}, schedule);
  }
}

// Other kinds.

TEST(Tcgen05, MultipliesTf32) {
  const InstructionDescriptor fields{
      .m = 128, .n = 40, .a_type = OperandType::kTf32, .b_type = OperandType::kTf32};
  for (const Swizzle swizzle : kSwizzles) {
    expect_exact<MmaKind::kTf32, 1>(
        {.fields = fields, .a_swizzle = swizzle, .b_swizzle = Swizzle::k32B, .gap = 1024});
  }
  InstructionDescriptor transposed = fields;
  transposed.a_major = Major::kMN;
  transposed.b_major = Major::kMN;
  expect_exact<MmaKind::kTf32, 1>({.fields = transposed,
                                   .a_swizzle = Swizzle::k128BAtom32B,
                                   .b_swizzle = Swizzle::k128BAtom32B,
                                   .steps = 3,
                                   .gap = 1024});
  InstructionDescriptor pair = fields;
  pair.m = 256;
  pair.n = 48;
  expect_exact<MmaKind::kTf32, 2>({.fields = pair, .steps = 4, .has_d = true});
}

TEST(Tcgen05, MultipliesEveryMixOfTypesOf8And6And4Bits) {
  constexpr OperandType kTypes[] = {OperandType::kE4m3, OperandType::kE5m2, OperandType::kE2m3,
                                    OperandType::kE3m2, OperandType::kE2m1};
  for (const OperandType a : kTypes) {
    for (const OperandType b : kTypes) {
      for (const AccumulatorType d : {AccumulatorType::kF32, AccumulatorType::kF16}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(a) << " x " << static_cast<int>(b));
        const InstructionDescriptor fields{.m = 128, .n = 24, .d_type = d, .a_type = a, .b_type = b};
        expect_exact<MmaKind::kF8f6f4, 1>({.fields = fields, .steps = 2, .has_d = d == AccumulatorType::kF16});
      }
    }
  }
  expect_exact<MmaKind::kF8f6f4, 2>(
      {.fields = {.m = 256, .n = 64, .a_type = OperandType::kE4m3, .b_type = OperandType::kE5m2}, .steps = 4});
}

TEST(Tcgen05, ReadsMNMajorOperandsOf8Bits) {
  expect_exact<MmaKind::kF8f6f4, 1>({.fields = {.m = 128,
                                                .n = 48,
                                                .a_type = OperandType::kE4m3,
                                                .b_type = OperandType::kE5m2,
                                                .a_major = Major::kMN,
                                                .b_major = Major::kMN},
                                     .a_swizzle = Swizzle::k128B,
                                     .b_swizzle = Swizzle::k64B,
                                     .gap = 1024});
}

TEST(Tcgen05, TakesAFromTensorMemory) {
  expect_exact<kF16, 1>({.fields = bf16_of(128, 64), .steps = 3, .a_in_tmem = true});
  expect_exact<kF16, 1>({.fields = bf16_of(64, 64), .steps = 3, .has_d = true, .d_lane = 16, .a_in_tmem = true});
  expect_exact<kF16, 2>({.fields = bf16_of(256, 64), .steps = 3, .a_in_tmem = true});
  expect_exact<kF16, 2>({.fields = bf16_of(128, 64), .steps = 3, .a_in_tmem = true});
  expect_exact<MmaKind::kF8f6f4, 1>(
      {.fields = {.m = 128, .n = 16, .a_type = OperandType::kE5m2, .b_type = OperandType::kE2m1},
       .steps = 2,
       .a_in_tmem = true});
  expect_exact<MmaKind::kTf32, 2>(
      {.fields = {.m = 256, .n = 16, .a_type = OperandType::kTf32, .b_type = OperandType::kTf32},
       .steps = 2,
       .a_in_tmem = true});
}

// What it refuses.

// The first line of the report on words that differ from the right ones.
template <int cta_group = 1, class Change>
std::string refused(Problem problem, const Change& change) {
  problem.cta_group = cta_group;
  const Prepared prepared = prepare(problem);
  Words words = words_of(problem, prepared);
  change(words);
  const auto outcome = run<kF16, cta_group>(problem, prepared, words);
  return test::first_line(outcome.report);
}

Problem small(std::uint32_t m = 128, std::uint32_t n = 32) { return {.fields = bf16_of(m, n)}; }

std::string shape_line(std::uint32_t m, std::uint32_t n) {
  return refused(small(), [&](Words& words) { words.instruction = instruction_descriptor(bf16_of(m, n)); });
}

TEST(Tcgen05, RefusesShapesThatItDoesNotHave) {
  const std::string one = "[bad_shape] tcgen05.mma.kind::f16 with cta_group::1 and ";
  EXPECT_EQ(shape_line(256, 32), one + "M = 256; M is 64 or 128");
  EXPECT_EQ(shape_line(32, 32), one + "M = 32; M is 64 or 128");
  EXPECT_EQ(shape_line(128, 0), one + "N = 0; N is 8 to 256, a multiple of 8");
  EXPECT_EQ(shape_line(128, 264), one + "N = 264; N is 8 to 256, a multiple of 8");
  const std::string pair = "[bad_shape] tcgen05.mma.kind::f16 with cta_group::2 and ";
  const auto pair_line = [&](std::uint32_t m, std::uint32_t n) {
    return refused<2>(small(256, 32),
                      [&](Words& words) { words.instruction = instruction_descriptor(bf16_of(m, n)); });
  };
  EXPECT_EQ(pair_line(64, 32), pair + "M = 64; M is 128 or 256");
  EXPECT_EQ(pair_line(256, 24), pair + "N = 24; N is 16 to 256, a multiple of 16");
}

TEST(Tcgen05, RefusesTypesThatDoNotGoTogether) {
  EXPECT_EQ(refused(small(),
                    [](Words& words) {
                      words.instruction = instruction_descriptor(
                          InstructionDescriptor{.m = 128, .n = 32, .a_type = kBf16, .b_type = OperandType::kF16});
                    }),
            "[bad_shape] tcgen05.mma.kind::f16 with cta_group::1: A is bf16 and B is f16; they are of one type");
  EXPECT_EQ(
      refused(small(), [](Words& words) { words.instruction &= ~0x30u; }),
      "[bad_shape] tcgen05.mma.kind::f16 with cta_group::1: D is f16 and A is bf16; D is f32, or f16 for f16 "
      "operands");
}

TEST(Tcgen05, RefusesBitsOfTheInstructionDescriptorThatMeanNothing) {
  EXPECT_EQ(refused(small(), [](Words& words) { words.instruction |= 1u << 29; }),
            "[bad_descriptor] tcgen05.mma.kind::f16 with the instruction descriptor 0x28080490: the bits "
            "0x20000000 are "
            "reserved, or have no meaning for the kind");
  EXPECT_EQ(
      refused(small(), [](Words& words) { words.instruction |= 1u << 30; }),
      "[bad_descriptor] tcgen05.mma.kind::f16 with the instruction descriptor 0x48080490: bits 30-31 are 1; they "
      "are for tcgen05.mma.ws, and 0 here");
  EXPECT_EQ(
      refused(small(), [](Words& words) { words.instruction |= 1u << 2; }),
      "[bad_descriptor] tcgen05.mma.kind::f16 with the instruction descriptor 0x08080494: bit 2 says that A "
      "is sparse, and the instruction is tcgen05.mma");
}

TEST(Tcgen05, RefusesSharedMemoryDescriptorsThatMeanNothing) {
  const auto line = [](auto&& change) { return refused(small(), change); };
  EXPECT_NE(line([](Words& words) { words.a ^= std::uint64_t{1} << 46; }).find("bits 46-48 are 0b001"),
            std::string::npos);
  EXPECT_NE(line([](Words& words) { words.b |= std::uint64_t{1} << 63 | std::uint64_t{1} << 61; }).find("of B"),
            std::string::npos);
  EXPECT_EQ(line([](Words& words) { words.a |= std::uint64_t{1} << 49; }).substr(0, 13), "[unsupported]");
  EXPECT_EQ(line([](Words& words) { words.a |= std::uint64_t{0x3FFF} << 32; }).substr(0, 16), "[bad_descriptor]");
  EXPECT_EQ(line([](Words& words) { words.b -= 1 << 12; }).substr(0, 16), "[bad_descriptor]");
}

TEST(Tcgen05, RefusesLanesAndColumnsThatDMayNotHave) {
  const auto line = [](std::uint32_t m, std::uint32_t lane, std::uint32_t column) {
    Problem problem = small(m, 64);
    problem.d_lane = lane;
    problem.d_column = column;
    return refused(problem, [](Words&) {});
  };
  EXPECT_EQ(line(128, 16, 0),
            "[tmem_lane] tcgen05.mma m128n64.f32.bf16.bf16 with D at 0x00100000: the lane is 16; it is 0");
  EXPECT_EQ(line(64, 32, 0),
            "[tmem_lane] tcgen05.mma m64n64.f32.bf16.bf16 with D at 0x00200000: the lane is 32; it is 0 or 16");
  EXPECT_EQ(line(128, 0, 450),
            "[tmem_out_of_bounds] tcgen05.mma m128n64.f32.bf16.bf16 touches columns 450 to 513, which are not "
            "within an "
            "allocation");
}

TEST(Tcgen05, ExistsOnSm100Only) {
  struct Bar {
    SharedMemBarrier bar;
  };
  const test::TinyLaunch sm90{.threads = 32, .arch = Arch::kSm90};
  EXPECT_EQ(
      test::first_line(test::run_kernel<Bar>(sm90, [](Bar& s) { isa::tcgen05_commit<1>(&s.bar); })),
      "[unsupported] tcgen05.commit on sm_90; the instruction exists on sm_100a only, and wgmma takes its place");
  EXPECT_EQ(
      test::first_line(test::run_kernel<Bar>(sm90, [](Bar&) { isa::tcgen05_mma<kF16, 1>(0, 0, 0, 0, false); })),
      "[unsupported] tcgen05.mma on sm_90; the instruction exists on sm_100a only, and wgmma takes its place");
}

}  // namespace
}  // namespace heddle
