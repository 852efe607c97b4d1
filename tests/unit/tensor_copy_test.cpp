// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/tensor_copy.h"

#include <heddle/isa/tensor_map.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <tuple>

#include "../support/schedule_share.h"
#include "tensor_copy_reference.h"

namespace heddle::sim::machine {
namespace {

using isa::ReduceOp;

TEST(BoxCopy, LoadsAsTheReferenceDoesInThousandsOfBoxes) {
  Random random(20261115);
  std::set<std::tuple<std::uint32_t, std::uint32_t, Swizzle>> seen;
  int with_outside = 0;
  for (int i = 0; i < static_cast<int>(test::schedule_share(6500)); ++i) {
    const Case test = random_case(random, kByteTypes[i % 13], Reach::kAnywhere);
    ASSERT_FALSE(check(test.map)) << test;
    seen.emplace(test.map.rank, size_of(test.map.type), test.map.swizzle);
    Memory memory(random.bytes(test.memory_bytes));
    // Half of the time nothing but elements may be read, which also takes the way of single rows.
    if (random.chance(50)) memory.is_open = bytes_of_tensor(test);
    Bytes shared = random.bytes(test.shared_size);
    Bytes expected = shared;
    with_outside += load_by_hand(test, memory.content, expected);

    const BoxCopy copy = test.copy();
    for (const auto& [first, count] : random_runs(random, copy.rows())) {
      ASSERT_FALSE(copy.load_rows(first, count, memory, shared)) << test;
    }
    ASSERT_TRUE(same(shared, expected)) << test;
  }
  if (!test::is_whole()) return;
  EXPECT_EQ(seen.size(), 5u * 4 * 5) << "ranks x element sizes x swizzles";
  EXPECT_GT(with_outside, 100000);
}

TEST(BoxCopy, StoresAsTheReferenceDoesAndTouchesNothingElse) {
  Random random(20261116);
  std::set<std::tuple<std::uint32_t, std::uint32_t, Swizzle>> seen;
  for (int i = 0; i < static_cast<int>(test::schedule_share(5200)); ++i) {
    const Case test = random_case(random, kByteTypes[i % 13], Reach::kNotNegative);
    seen.emplace(test.map.rank, size_of(test.map.type), test.map.swizzle);
    Memory memory(random.bytes(test.memory_bytes));
    const Bytes shared = random.bytes(test.shared_size);
    Bytes expected = memory.content;
    store_by_hand(test, shared, expected);
    if (random.chance(50)) {
      // Only what the store may write is open.
      memory.is_open.assign(memory.is_open.size(), false);
      for_each_element(test, [&](const ElementOfBox& element) {
        for (std::uint32_t byte = 0; byte < size_of(test.map.type) && is_stored(test, element); ++byte) {
          memory.is_open[element.at + byte] = true;
        }
      });
    }
    const BoxCopy copy = test.copy();
    for (const auto& [first, count] : random_runs(random, copy.rows())) {
      ASSERT_FALSE(copy.store_rows(first, count, shared, memory)) << test;
    }
    ASSERT_TRUE(same(memory.content, expected)) << test;
  }
  if (test::is_whole()) {
    EXPECT_EQ(seen.size(), 5u * 4 * 5) << "ranks x element sizes x swizzles";
  }
}

TEST(BoxCopy, PackedHalvesOfBytesLoadAsTheirBytesDo) {
  Random random(20261118);
  for (int i = 0; i < static_cast<int>(test::schedule_share(500)); ++i) {
    const Case bytes = random_case(random, TensorType::kU8, Reach::kAnywhere);
    if (bytes.coords[0] < -(1 << 30) || bytes.coords[0] >= 1 << 30) continue;  // no coordinate for its half
    Case halves = bytes;
    halves.map.type = TensorType::kU4x16Align8B;
    halves.map.dims[0] *= 2;
    halves.map.box[0] *= 2;
    halves.coords[0] *= 2;
    const Memory memory(random.bytes(bytes.memory_bytes));
    Bytes expected = random.bytes(bytes.shared_size);
    Bytes shared = expected;
    ASSERT_FALSE(bytes.copy().load_rows(0, bytes.copy().rows(), memory, expected)) << bytes;
    ASSERT_FALSE(halves.copy().load_rows(0, bytes.copy().rows(), memory, shared)) << bytes;
    ASSERT_TRUE(same(shared, expected)) << bytes;
    halves.coords[0] += 16;  // half of 16 bytes
    EXPECT_EQ(halves.copy().load_fault(halves.shared_size).kind, CopyFaultKind::kCoordinateMisaligned) << bytes;
  }
}

// The number of `bits` that begins at bit `first`.
unsigned number_at(const Bytes& bytes, std::size_t first, std::size_t bits) {
  unsigned value = 0;
  for (std::size_t b = 0; b < bits; ++b) {
    const auto byte = static_cast<unsigned>(bytes[(first + b) / 8]);
    value |= (byte >> (first + b) % 8 & 1) << b;
  }
  return value;
}

// PTX: Padding and alignment of the sub-byte types. 16 numbers lie at the start of 16 bytes; the barrier is told
// of their bits alone, as CUTLASS and Triton count them.
TEST(BoxCopy, PaddedNumbersLoadToTheStartOf16Bytes) {
  Random random(20261119);
  constexpr std::uint32_t kColumns = 384, kRows = 10, kBoxRows = 4;
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t bits = random.chance(50) ? 4 : 6;
    const bool is_swizzled = random.chance(50);
    Case test;
    test.map = {.type = bits == 4 ? TensorType::kU4x16Align16B : TensorType::kU6x16Align16B,
                .rank = 2,
                .address = reinterpret_cast<const void*>(kBase + kMargin),
                .dims = {kColumns, kRows},
                .strides = {kColumns * bits / 8 + 32},
                .box = {128, kBoxRows},
                .element_strides = {1, 1},
                .swizzle = is_swizzled ? Swizzle::k128B : Swizzle::kNone};
    ASSERT_FALSE(check(test.map, 100));
    const auto column = static_cast<std::int32_t>(128 * random.pick(0, 2));
    const auto row = static_cast<std::int32_t>(random.pick(-3, kRows));
    test.coords = {column, row};
    test.shared_address = 1024 + 128 * static_cast<std::uint32_t>(random.pick(0, 7));
    const Memory memory(random.bytes(kMargin + kRows * test.map.strides[0] + kMargin));
    Bytes shared = random.bytes(8192);
    const BoxCopy copy = test.copy();
    EXPECT_EQ(copy.bytes(), kBoxRows * 128 * bits / 8);
    EXPECT_EQ(copy.shared_bytes(), kBoxRows * 128);
    ASSERT_FALSE(copy.load_rows(0, copy.rows(), memory, shared));
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(kBoxRows); ++r) {
      const bool is_inside = row + r >= 0 && row + r < static_cast<std::int32_t>(kRows);
      for (std::uint32_t e = 0; e < 128; ++e) {
        std::uint32_t at = test.shared_address + static_cast<std::uint32_t>(r) * 128 + e / 16 * 16;
        if (is_swizzled) at ^= at / 128 % 8 * 16;
        const unsigned loaded = number_at(shared, at * 8 + e % 16 * bits, bits);
        const std::size_t from =
            (kMargin + static_cast<std::size_t>(is_inside ? row + r : 0) * test.map.strides[0]) * 8 +
            (static_cast<std::size_t>(column) + e) * bits;
        ASSERT_EQ(loaded, is_inside ? number_at(memory.content, from, bits) : 0) << bits << " " << r << " " << e;
      }
    }
    test.coords[0] += 64;
    EXPECT_EQ(test.copy().load_fault(8192).kind, CopyFaultKind::kCoordinateMisaligned);
  }
}

TEST(BoxCopy, LoadedBoxIsStoredUnchanged) {
  Random random(20261117);
  for (int i = 0; i < static_cast<int>(test::schedule_share(1300)); ++i) {
    const Case test = random_case(random, kByteTypes[i % 13], Reach::kNotNegative);
    const Memory source(random.bytes(test.memory_bytes));
    Memory target(Bytes(test.memory_bytes));
    Bytes shared(test.shared_size);
    const BoxCopy copy = test.copy();
    ASSERT_FALSE(copy.load_rows(0, copy.rows(), source, shared));
    ASSERT_FALSE(copy.store_rows(0, copy.rows(), shared, target));
    for_each_element(test, [&](const ElementOfBox& element) {
      if (!element.is_inside) return;
      const auto loaded = as_loaded(test.map.type, &source.content[element.at]);
      for (std::uint32_t byte = 0; byte < size_of(test.map.type); ++byte) {
        ASSERT_EQ(target.content[element.at + byte], loaded[byte]) << test;
      }
    });
  }
}

TEST(BoxCopy, ALoadThroughAMapOfTf32RoundsToTheNearest) {
  const std::uint32_t given[] = {0x3f801000, 0x3f803000, 0x3f801001, 0xbf800fff,
                                 0x7f7fffff, 0x7f800000, 0x7f801234, 0x00001000};
  const std::uint32_t tf32s[] = {0x3f800000, 0x3f804000, 0x3f802000, 0xbf800000,
                                 0x7f800000, 0x7f800000, 0x7fffe000, 0x00000000};
  for (const TensorType type : {TensorType::kF32, TensorType::kTF32}) {
    Case test;
    test.map = {.type = type,
                .rank = 1,
                .address = reinterpret_cast<const void*>(kBase + kMargin),
                .dims = {8},
                .box = {8},
                .element_strides = {1}};
    test.coords = {0};
    test.shared_address = 1024;
    Memory memory(Bytes(2 * kMargin + sizeof(given)));
    std::memcpy(memory.content.data() + kMargin, given, sizeof(given));
    Bytes shared(1024 + sizeof(given));
    ASSERT_FALSE(test.copy().load_rows(0, 1, memory, shared));
    std::uint32_t loaded[8];
    std::memcpy(loaded, shared.data() + 1024, sizeof(loaded));
    for (int e = 0; e < 8; ++e) EXPECT_EQ(loaded[e], type == TensorType::kTF32 ? tf32s[e] : given[e]) << e;
  }
}

// A row-major bf16 matrix of 100 x 40 elements with a tile of 16 x 64.
Case matrix_case() {
  Case test;
  test.map = {.type = TensorType::kBF16,
              .rank = 2,
              .address = reinterpret_cast<const void*>(kBase + kMargin),
              .dims = {100, 40},
              .strides = {208},
              .box = {64, 16},
              .swizzle = Swizzle::k128B};
  test.coords = {0, 0};
  test.shared_address = 1024;
  test.memory_bytes = kMargin + 40 * 208 + kMargin;
  test.shared_size = 1024 + 16 * 128;
  return test;
}

TEST(BoxCopy, PutsTheWorkedExampleWhereTheManualDoes) {
  Case test = matrix_case();
  test.shared_address = 0x8000;
  Memory memory{Bytes(test.memory_bytes)};
  memory.content[kMargin + 9 * 208 + 20 * 2] = std::byte{0xAB};
  Bytes shared(0x8000 + 2048);
  const BoxCopy copy = test.copy();
  ASSERT_FALSE(copy.load_rows(0, copy.rows(), memory, shared));
  EXPECT_EQ(shared[0x84B8], std::byte{0xAB});
}

TEST(BoxCopy, CountsWholeBoxesWhereverTheyAre) {
  Case test = matrix_case();
  EXPECT_EQ(test.copy().bytes(), 2048u);
  EXPECT_EQ(test.copy().rows(), 16u);
  test.coords = {-800, 5000};
  EXPECT_EQ(test.copy().bytes(), 2048u);
  test.map.box[0] = 24;
  EXPECT_EQ(test.copy().bytes(), 16u * 48);
  EXPECT_EQ(test.copy().shared_bytes(), 16u * 128) << "a swizzled row is as long as the span";
  test.map.element_strides[1] = 3;
  EXPECT_EQ(test.copy().rows(), 6u);
  EXPECT_EQ(test.copy().bytes(), 6u * 48);
}

TEST(BoxCopy, LoadsABoxOutsideTheTensorWithoutReading) {
  Case test = matrix_case();
  test.map.fill = OobFill::kNan;
  test.coords = {104, 0};
  Memory memory{Bytes(test.memory_bytes)};
  memory.is_open.assign(memory.is_open.size(), false);
  Bytes shared(test.shared_size);
  ASSERT_FALSE(test.copy().load_rows(0, 16, memory, shared));
  for (std::size_t i = 1024; i < shared.size(); i += 2) {
    ASSERT_EQ(shared[i], std::byte{0xF7});
    ASSERT_EQ(shared[i + 1], std::byte{0x7F});
  }
}

TEST(BoxCopy, TakesCoordinatesAtBothEndsOfTheirRange) {
  Case test = matrix_case();
  test.coords = {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  Memory memory{Bytes(test.memory_bytes, std::byte{1})};
  Bytes shared(test.shared_size, std::byte{2});
  ASSERT_FALSE(test.copy().load_rows(0, 16, memory, shared));
  EXPECT_EQ(std::count(shared.begin(), shared.end(), std::byte{0}), 2048);
}

// Each fault below has a twin beside it, one number away, that is none.
CopyFault load_fault(const Case& test) { return test.copy().load_fault(test.shared_size); }
CopyFault store_fault(const Case& test) { return test.copy().store_fault(test.shared_size); }

void expect_fault(const CopyFault& fault, CopyFaultKind kind, int dimension, std::int64_t value,
                  std::uint64_t limit) {
  EXPECT_EQ(fault.kind, kind);
  EXPECT_EQ(fault.dimension, dimension);
  EXPECT_EQ(fault.value, value);
  EXPECT_EQ(fault.limit, limit);
}

TEST(BoxCopyFault, IsGivenForASharedAddressThatIsNotAMultipleOf128) {
  Case test = matrix_case();
  for (const Swizzle swizzle : {Swizzle::kNone, Swizzle::k128B}) {
    test.map.swizzle = swizzle;
    test.shared_address = 960;
    expect_fault(load_fault(test), CopyFaultKind::kSharedMisaligned, -1, 960, 128);
    expect_fault(store_fault(test), CopyFaultKind::kSharedMisaligned, -1, 960, 128);
    test.shared_address = 896;
    EXPECT_FALSE(load_fault(test));
    EXPECT_FALSE(store_fault(test));
  }
}

TEST(BoxCopyFault, IsGivenForAFirstCoordinateThatIsNotAMultipleOf16Bytes) {
  Case test = matrix_case();
  for (const std::int32_t coord : {4, -4, 1}) {
    test.coords[0] = coord;
    expect_fault(load_fault(test), CopyFaultKind::kCoordinateMisaligned, 0, coord, 8);
  }
  for (const std::int32_t coord : {8, -8, 0}) {
    test.coords[0] = coord;
    EXPECT_FALSE(load_fault(test));
  }
  test.coords = {0, 3};
  EXPECT_FALSE(load_fault(test));
}

TEST(BoxCopyFault, IsGivenForANegativeCoordinateOfAStoreButNotOfALoad) {
  for (int d = 0; d < 2; ++d) {
    Case test = matrix_case();
    test.coords[static_cast<std::size_t>(d)] = -8;
    EXPECT_FALSE(load_fault(test));
    expect_fault(store_fault(test), CopyFaultKind::kNegativeCoordinate, d, -8, 0);
    expect_fault(test.copy().reduce_fault(ReduceOp::kAdd, test.shared_size), CopyFaultKind::kNegativeCoordinate,
                 d, -8, 0);
    test.coords[static_cast<std::size_t>(d)] = 8;
    EXPECT_FALSE(store_fault(test));
    EXPECT_FALSE(test.copy().reduce_fault(ReduceOp::kAdd, test.shared_size));
  }
}

TEST(BoxCopyFault, IsGivenForABoxPastTheEndOfSharedMemory) {
  Case test = matrix_case();
  EXPECT_FALSE(load_fault(test));
  test.shared_size -= 1;
  expect_fault(load_fault(test), CopyFaultKind::kSharedOutOfBounds, -1, 3072, 3071);
  expect_fault(store_fault(test), CopyFaultKind::kSharedOutOfBounds, -1, 3072, 3071);
  Memory memory{Bytes(test.memory_bytes)};
  Bytes shared(test.shared_size, std::byte{7});
  EXPECT_EQ(test.copy().load_rows(0, 16, memory, shared).kind, CopyFaultKind::kSharedOutOfBounds);
  EXPECT_EQ(shared, Bytes(test.shared_size, std::byte{7}));
}

TEST(BoxCopyFault, IsGivenForTheRowOutsideGlobalMemory) {
  const Case test = matrix_case();
  Memory memory{Bytes(test.memory_bytes)};
  Bytes shared(test.shared_size);
  const std::uint64_t row_5 = kMargin + 5 * 208;
  memory.is_open[row_5 - 1] = false;  // a gap between rows, which no copy touches
  memory.is_open[row_5 + 128] = false;
  EXPECT_FALSE(test.copy().load_rows(0, 16, memory, shared));
  EXPECT_FALSE(test.copy().store_rows(0, 16, shared, memory));
  memory.is_open[row_5 + 127] = false;
  expect_fault(test.copy().load_rows(0, 16, memory, shared), CopyFaultKind::kGlobalOutOfBounds, -1,
               static_cast<std::int64_t>(kBase + row_5), 128);
  expect_fault(test.copy().store_rows(0, 16, shared, memory), CopyFaultKind::kGlobalOutOfBounds, -1,
               static_cast<std::int64_t>(kBase + row_5), 128);
  EXPECT_FALSE(test.copy().load_rows(0, 5, memory, shared)) << "rows before it are fine";
}

TEST(BoxCopyFault, IsGivenForTheLastByteOfTheLastRow) {
  const Case test = matrix_case();
  const std::uint64_t last_row = kMargin + 15 * 208;
  Memory memory{Bytes(last_row + 128)};
  Bytes shared(test.shared_size);
  EXPECT_FALSE(test.copy().load_rows(0, 16, memory, shared));
  EXPECT_FALSE(test.copy().store_rows(0, 16, shared, memory));
  memory = Memory{Bytes(last_row + 127)};
  expect_fault(test.copy().load_rows(0, 16, memory, shared), CopyFaultKind::kGlobalOutOfBounds, -1,
               static_cast<std::int64_t>(kBase + last_row), 128);
  expect_fault(test.copy().store_rows(0, 16, shared, memory), CopyFaultKind::kGlobalOutOfBounds, -1,
               static_cast<std::int64_t>(kBase + last_row), 128);
}

TEST(BoxCopyFault, IsGivenForAStoreThatRoundsUpPastTheAllocation) {
  // 100 elements are 200 bytes; the store writes 208.
  Case test = matrix_case();
  test.coords = {64, 39};
  Memory memory{Bytes(kMargin + 39 * 208 + 200)};
  Bytes shared(test.shared_size);
  EXPECT_FALSE(test.copy().load_rows(0, 16, memory, shared));
  EXPECT_EQ(test.copy().store_rows(0, 16, shared, memory).kind, CopyFaultKind::kGlobalOutOfBounds);
  memory = Memory{Bytes(kMargin + 40 * 208)};
  EXPECT_FALSE(test.copy().store_rows(0, 16, shared, memory));
}

TEST(BoxCopyFault, IsGivenForAddressesBeyond64Bits) {
  Case test = matrix_case();
  test.map.dims[1] = 1ull << 32;
  test.map.strides[0] = (1ull << 40) - 16;
  test.coords = {0, std::numeric_limits<std::int32_t>::max()};
  EXPECT_EQ(load_fault(test).kind, CopyFaultKind::kGlobalOutOfBounds);
  test.coords = {0, 1 << 20};
  EXPECT_FALSE(load_fault(test));
}

TEST(BoxCopyFault, IsGivenForARankThatIsNotTheMaps) {
  Case test = matrix_case();
  test.coords = {0, 0, 0};
  expect_fault(load_fault(test), CopyFaultKind::kRankMismatch, -1, 3, 2);
  test.coords = {0};
  expect_fault(store_fault(test), CopyFaultKind::kRankMismatch, -1, 1, 2);
  test.coords = {0, 0};
  EXPECT_FALSE(load_fault(test));
}

TEST(BoxCopyFault, NamesWhatIsNotModelled) {
  Case test = matrix_case();
  test.map.interleave = Interleave::k16B;
  expect_fault(load_fault(test), CopyFaultKind::kUnsupportedInterleave, -1, 1, 0);
  test = matrix_case();
  test.map.type = TensorType::kU4x16Align16B;
  expect_fault(store_fault(test), CopyFaultKind::kUnsupportedType, -1, 4, 0);
  test = matrix_case();
  expect_fault(test.copy().reduce_fault(ReduceOp::kXor, test.shared_size), CopyFaultKind::kUnsupportedReduction,
               -1, 9, 7);
}

}  // namespace
}  // namespace heddle::sim::machine
