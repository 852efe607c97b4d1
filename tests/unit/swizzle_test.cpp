// SPDX-License-Identifier: Apache-2.0
#include <heddle/tile/swizzle.h>

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace heddle {
namespace {

constexpr Swizzle modes[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B, Swizzle::k128BAtom32B};

// The formulas of the manual's table, written out bit by bit.
std::uint32_t by_the_table(Swizzle swizzle, std::uint32_t a) {
  switch (swizzle) {
    case Swizzle::kNone: return a;
    case Swizzle::k32B: return a ^ (((a >> 7) & 1U) << 4);
    case Swizzle::k64B: return a ^ (((a >> 7) & 3U) << 4);
    case Swizzle::k128B: return a ^ (((a >> 7) & 7U) << 4);
    case Swizzle::k128BAtom32B: return a ^ (((a >> 7) & 3U) << 5);
  }
  return ~0U;
}

TEST(Swizzle, MatchesTheFormulasAtEveryAddress) {
  for (const Swizzle swizzle : modes) {
    for (const std::uint32_t base : {0U, 0x38000U, 0x0100'0400U}) {  // the last lies in the CTA of rank 1
      for (std::uint32_t offset = 0; offset < 8192; ++offset) {
        ASSERT_EQ(swizzled(swizzle, base + offset), by_the_table(swizzle, base + offset));
      }
    }
  }
}

TEST(Swizzle, MatchesWorkedAddresses) {
  static_assert(swizzled(Swizzle::k128B, 0x080) == 0x090);
  static_assert(swizzled(Swizzle::k128B, 0x100) == 0x120);
  static_assert(swizzled(Swizzle::k128B, 0x3F0) == 0x380);
  static_assert(swizzled(Swizzle::k128B, 0x430) == 0x430);
  static_assert(swizzled(Swizzle::k128B, 0x84A8) == 0x84B8);
  SUCCEED();
}

TEST(Swizzle, HasTheSpansAndRepeatsOfTheTable) {
  EXPECT_EQ(span_bytes(Swizzle::k32B), 32U);
  EXPECT_EQ(span_bytes(Swizzle::k64B), 64U);
  EXPECT_EQ(span_bytes(Swizzle::k128B), 128U);
  EXPECT_EQ(span_bytes(Swizzle::k128BAtom32B), 128U);
  EXPECT_EQ(repeat_bytes(Swizzle::k32B), 256U);
  EXPECT_EQ(repeat_bytes(Swizzle::k64B), 512U);
  EXPECT_EQ(repeat_bytes(Swizzle::k128B), 1024U);
  EXPECT_EQ(repeat_bytes(Swizzle::k128BAtom32B), 512U);
  EXPECT_EQ(repeat_bytes(Swizzle::kNone), 16U);
}

TEST(Swizzle, IsItsOwnInverseAndStaysInItsSpan) {
  for (const Swizzle swizzle : modes) {
    for (std::uint32_t a = 0; a < 4096; ++a) {
      const std::uint32_t b = swizzled(swizzle, a);
      ASSERT_EQ(swizzled(swizzle, b), a);
      ASSERT_EQ(a / span_bytes(swizzle), b / span_bytes(swizzle));
      ASSERT_EQ(a % atom_bytes(swizzle), b % atom_bytes(swizzle));
    }
  }
}

TEST(Swizzle, RepeatsAtItsRepeatAndNoEarlier) {
  for (const Swizzle swizzle : modes) {
    const std::uint32_t repeat = repeat_bytes(swizzle);
    const auto repeats_at = [swizzle](std::uint32_t distance) {
      for (std::uint32_t a = 0; a < 2048; ++a) {
        if (swizzled(swizzle, a + distance) != swizzled(swizzle, a) + distance) {
          return false;
        }
      }
      return true;
    };
    EXPECT_TRUE(repeats_at(repeat));
    EXPECT_EQ(repeats_at(repeat / 2), swizzle == Swizzle::kNone);
  }
}

TEST(Swizzle, SpreadsAColumnOverAllChunksOfALine) {
  std::set<std::uint32_t> chunks;
  for (std::uint32_t row = 0; row < 8; ++row) {
    chunks.insert(swizzled(Swizzle::k128B, row * 128) % 128 / 16);
  }
  EXPECT_EQ(chunks.size(), 8U);
}

TEST(Swizzle, StartsItsPatternOnTheLineOfTheBaseOffset) {
  for (const Swizzle swizzle : modes) {
    for (std::uint32_t line = 0; line < 8; ++line) {
      const std::uint32_t start = line * 128;
      for (std::uint32_t offset = 0; offset < 2048; ++offset) {
        ASSERT_EQ(swizzled(swizzle, start + offset, line), start + swizzled(swizzle, offset));
      }
    }
  }
}

TEST(Swizzle, HasTheCodesOfTheTensorMap) {
  EXPECT_EQ(tma_code(Swizzle::kNone), 0U);
  EXPECT_EQ(tma_code(Swizzle::k32B), 1U);
  EXPECT_EQ(tma_code(Swizzle::k64B), 2U);
  EXPECT_EQ(tma_code(Swizzle::k128B), 3U);
  EXPECT_EQ(tma_code(Swizzle::k128BAtom32B), 4U);
}

}  // namespace
}  // namespace heddle
