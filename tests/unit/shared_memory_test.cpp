// SPDX-License-Identifier: Apache-2.0
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/payload.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using namespace heddle;

using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {128, 64}, .b = {128, 64}}>;

struct Shared {
  InputPipelineStorage<4, Payload> input;
  OutputTileStorage<bf16, k_major_tile<bf16>(128, 64, Swizzle::k128B), 2> output_tiles;
  OutputPipelineStorage<2> output;
  ClcPipelineStorage<3> clc;
  TmemDeallocStorage tmem;
  SharedMemBarrier extra[3];
  std::uint32_t flag;
};
static_assert(check_shared_memory<Shared, Arch::kSm90>());
static_assert(check_shared_memory<Shared, Arch::kSm100>());

// As large as it may be.
struct Largest {
  unsigned char bytes[232448];
};
static_assert(check_shared_memory<Largest, Arch::kSm90>());

struct Nothing {};
static_assert(check_shared_memory<Nothing, Arch::kSm90>());

TEST(ArchLimits, BothArchitecturesGiveACta227KiB) {
  EXPECT_EQ(max_shared_bytes(Arch::kSm90), 227U * 1024);
  EXPECT_EQ(max_shared_bytes(Arch::kSm100), 232448U);
  EXPECT_EQ(limits_of(Arch::kSm100).name, "sm100");
}

TEST(MemoryMap, NamesEveryMemberInOrder) {
  const MemoryMap map = memory_map<Shared>();
  std::string names;
  for (const MemoryRange& range : map) names += std::string(range.name) + " ";
  EXPECT_EQ(names, "input output_tiles output clc tmem extra flag (padding) ");
}

TEST(MemoryMap, OffsetsAndBytesAreThoseOfTheStruct) {
  const MemoryMap map = memory_map<Shared>();
  ASSERT_EQ(map.size(), 8U);
  EXPECT_EQ(map[0].offset, offsetof(Shared, input));
  EXPECT_EQ(map[1].offset, offsetof(Shared, output_tiles));
  EXPECT_EQ(map[2].offset, offsetof(Shared, output));
  EXPECT_EQ(map[3].offset, offsetof(Shared, clc));
  EXPECT_EQ(map[4].offset, offsetof(Shared, tmem));
  EXPECT_EQ(map[5].offset, offsetof(Shared, extra));
  EXPECT_EQ(map[6].offset, offsetof(Shared, flag));
  EXPECT_EQ(map[0].bytes, sizeof(Shared::input));
  EXPECT_EQ(map[5].bytes, 3 * sizeof(SharedMemBarrier)) << "an array is one member";
  EXPECT_EQ(map[0].alignment, 1024U);
  EXPECT_EQ(map[6].type, "unsigned int");
}

TEST(MemoryMap, BytesAddUpToTheWholeStruct) {
  std::size_t end = 0;
  for (const MemoryRange& range : memory_map<Shared>()) {
    EXPECT_EQ(range.offset, end) << range.name;
    end += range.bytes;
  }
  EXPECT_EQ(end, sizeof(Shared));
}

struct WithGap {
  std::uint8_t flag;
  alignas(64) std::uint8_t aligned_by_hand;
  SMemArray<float, 3, 16> floats;
};

TEST(MemoryMap, ShowsTheGapsBetweenMembers) {
  const MemoryMap map = memory_map<WithGap>();
  ASSERT_EQ(map.size(), 6U);
  EXPECT_EQ(map[1].name, "(padding)");
  EXPECT_EQ(map[1].bytes, 63U);
  EXPECT_EQ(map[2].name, "aligned_by_hand");
  EXPECT_EQ(map[2].offset, 64U);
  EXPECT_EQ(map[3].bytes, 15U);
  EXPECT_EQ(map[4].offset, 80U);
  EXPECT_EQ(map[5].offset + map[5].bytes, sizeof(WithGap));
  // As the compile error of a struct that is too large says it.
  EXPECT_EQ(detail::padding_bytes<WithGap>(), map[1].bytes + map[3].bytes + map[5].bytes);
}

struct Sixteen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o;
  SMemArray<float, 3> last;
};

TEST(MemoryMap, TakesUpToSixteenMembers) {
  const MemoryMap map = memory_map<Sixteen>();
  ASSERT_EQ(map.size(), 16U);
  EXPECT_EQ(map[13].name, "n");
  EXPECT_EQ(map[15].name, "last");
  EXPECT_EQ(map[15].bytes, 12U);
}

TEST(MemoryMap, IsEmptyForAKernelWithoutSharedMemory) {
  // An empty struct still has a size of one.
  const MemoryMap map = memory_map<Nothing>();
  ASSERT_EQ(map.size(), 1U);
  EXPECT_EQ(map[0].name, "(padding)");
}

TEST(TypeText, IsTheTypeAndNothingAroundIt) {
  EXPECT_EQ(type_text<int>(), "int");
  EXPECT_NE(type_text<OutputPipelineStorage<2>>().find("OutputPipelineStorage<2"), std::string_view::npos);
  EXPECT_EQ(type_text<OutputPipelineStorage<2>>().back(), '>');
}

}  // namespace
