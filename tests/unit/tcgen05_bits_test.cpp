// SPDX-License-Identifier: Apache-2.0
//
// One wrong bit in a descriptor is reported, or changes the result: every bit of every word, on shared memory
// that holds different numbers everywhere. The bits that do neither are listed here and in docs/model.md, and
// nothing else is.
#include "../support/schedule_share.h"
#include "tcgen05_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace heddle {
namespace {

using tcgen05_test::Outcome;
using tcgen05_test::prepare;
using tcgen05_test::Prepared;
using tcgen05_test::Problem;
using tcgen05_test::run;
using tcgen05_test::Words;
using tcgen05_test::words_of;

constexpr std::uint32_t kNoiseBytes = 20 * 1024;

// Small integers of the type, also behind the operands; what lies further on is never written.
void fill_with_noise(const Problem& problem, Prepared& prepared) {
  std::mt19937 random(7);
  const std::uint32_t bytes = prepared.a.element_bytes;
  for (auto& image : prepared.images) {
    image.resize(std::max(image.size(), std::size_t{kNoiseBytes / 16}));
    auto* at = reinterpret_cast<std::byte*>(image.data());
    for (std::size_t i = 0; i < 16 * image.size(); i += bytes) {
      const auto value = static_cast<float>(static_cast<int>(random() % 17) - 8);
      const std::uint32_t bits = tcgen05_test::bits_of(problem.fields.a_type, value);
      std::memcpy(at + i, &bits, bytes);
    }
  }
}

// Those of the bits that this run flips.
std::string range(int first, int last) {
  std::string text;
  for (int bit = first; bit <= last; ++bit) {
    if (test::is_in_share(static_cast<std::uint64_t>(bit))) text += " " + std::to_string(bit);
  }
  return text;
}

// The bits of a word that may be flipped without anything happening.
template <MmaKind kind, int cta_group, class Flip>
std::string ignored(const Problem& problem, const Prepared& prepared, const Outcome& right, int bits,
                    const Flip& flip) {
  std::string text;
  for (int bit = 0; bit < bits; ++bit) {
    if (!test::is_in_share(static_cast<std::uint64_t>(bit))) continue;
    Words words = words_of(problem, prepared);
    flip(words, bit);
    const Outcome outcome = run<kind, cta_group>(problem, prepared, words);
    if (outcome.report.ok() && outcome.cells == right.cells) text += " " + std::to_string(bit);
  }
  return text;
}

struct Ignored {
  std::string a;
  std::string b;
};

template <MmaKind kind, int cta_group>
void expect_ignored(Problem problem, const Ignored& expected) {
  problem.fields.kind = kind;
  problem.cta_group = cta_group;
  problem.has_d = true;
  Prepared prepared = prepare(problem);
  fill_with_noise(problem, prepared);
  const Outcome right = run<kind, cta_group>(problem, prepared, words_of(problem, prepared));
  ASSERT_TRUE(test::is_silent(right.report));
  EXPECT_EQ((ignored<kind, cta_group>(problem, prepared, right, 64,
                                      [](Words& words, int bit) { words.a ^= std::uint64_t{1} << bit; })),
            expected.a)
      << "A";
  EXPECT_EQ((ignored<kind, cta_group>(problem, prepared, right, 64,
                                      [](Words& words, int bit) { words.b ^= std::uint64_t{1} << bit; })),
            expected.b)
      << "B";
  EXPECT_EQ((ignored<kind, cta_group>(problem, prepared, right, 32,
                                      [](Words& words, int bit) { words.instruction ^= 1u << bit; })),
            "")
      << "instruction descriptor";
}

InstructionDescriptor bf16_of(std::uint32_t m, std::uint32_t n, Major a = Major::kK, Major b = Major::kK) {
  return {.m = m, .n = n, .a_type = OperandType::kBf16, .b_type = OperandType::kBf16, .a_major = a, .b_major = b};
}

const std::string kLeading = range(16, 29);

TEST(Tcgen05Bits, OfKMajorSwizzledOperandsAllMatterButTheLeadingOffset) {
  for (const Swizzle swizzle : {Swizzle::k32B, Swizzle::k64B, Swizzle::k128B}) {
    expect_ignored<MmaKind::kF16, 1>({.fields = bf16_of(128, 32), .a_swizzle = swizzle, .b_swizzle = swizzle},
                                     {kLeading, kLeading});
  }
  expect_ignored<MmaKind::kF16, 2>({.fields = bf16_of(256, 64)}, {kLeading, kLeading});
  expect_ignored<MmaKind::kF16, 2>({.fields = bf16_of(128, 64)}, {kLeading, kLeading});
}

TEST(Tcgen05Bits, OfUnswizzledOperandsAllMatter) {
  expect_ignored<MmaKind::kF16, 1>(
      {.fields = bf16_of(128, 32), .a_swizzle = Swizzle::kNone, .b_swizzle = Swizzle::kNone}, {"", ""});
  expect_ignored<MmaKind::kF16, 1>({.fields = bf16_of(64, 32, Major::kMN, Major::kMN),
                                    .a_swizzle = Swizzle::kNone,
                                    .b_swizzle = Swizzle::kNone},
                                   {"", ""});
}

TEST(Tcgen05Bits, OfMNMajorOperandsTheLeadingOffsetMattersBeyondOneSpan) {
  // 128 rows of A are two spans of 128 bytes; 32 columns of B are half of one.
  expect_ignored<MmaKind::kF16, 1>({.fields = bf16_of(128, 32, Major::kMN, Major::kMN)}, {"", kLeading});
}

TEST(Tcgen05Bits, OfOtherKindsMatterToo) {
  expect_ignored<MmaKind::kTf32, 1>(
      {.fields = {.m = 128, .n = 32, .a_type = OperandType::kTf32, .b_type = OperandType::kTf32}},
      {kLeading, kLeading});
  expect_ignored<MmaKind::kF8f6f4, 1>(
      {.fields = {.m = 128, .n = 32, .a_type = OperandType::kE4m3, .b_type = OperandType::kE4m3}},
      {kLeading, kLeading});
}

// 128 rows of fp8 are one span of 128 bytes, of tf32 four.
TEST(Tcgen05Bits, OfMixedTypesAndOfTransposedOnesMatterToo) {
  InstructionDescriptor mixed{.m = 128, .n = 32, .a_type = OperandType::kE4m3, .b_type = OperandType::kE5m2};
  expect_ignored<MmaKind::kF8f6f4, 1>({.fields = mixed}, {kLeading, kLeading});
  mixed.a_major = Major::kMN;
  mixed.b_major = Major::kMN;
  expect_ignored<MmaKind::kF8f6f4, 1>({.fields = mixed}, {kLeading, kLeading});
  expect_ignored<MmaKind::kTf32, 1>({.fields = {.m = 128,
                                                .n = 32,
                                                .a_type = OperandType::kTf32,
                                                .b_type = OperandType::kTf32,
                                                .a_major = Major::kMN,
                                                .b_major = Major::kMN},
                                     .a_swizzle = Swizzle::k128BAtom32B,
                                     .b_swizzle = Swizzle::k128BAtom32B},
                                    {"", kLeading});
}

}  // namespace
}  // namespace heddle
