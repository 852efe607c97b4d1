// SPDX-License-Identifier: Apache-2.0
//
// Layouts against a copy engine of a few lines, which writes boxes row by row, and against the addresses at
// which an MMA looks for its operands.
#include <heddle/tile/layout.h>

#include <cstdint>
#include <set>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <heddle/isa/smem_descriptor.h>

namespace heddle {
namespace {

constexpr Swizzle modes[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B, Swizzle::k128BAtom32B};

// Copies box after box of a row-major matrix whose bytes are numbered (row, byte of the row), and returns
// what lies where: byte -> row * 65536 + byte of the row, or -1 where nothing was written.
std::vector<std::int64_t> copied_by_boxes(std::uint32_t rows, std::uint32_t row_bytes, std::uint32_t box_bytes,
                                          Swizzle swizzle, std::uint32_t boxes) {
  const std::uint32_t pitch = swizzle == Swizzle::kNone ? box_bytes : span_bytes(swizzle);
  std::vector<std::int64_t> memory(boxes * rows * pitch, -1);
  for (std::uint32_t box = 0; box < boxes; ++box) {
    for (std::uint32_t row = 0; row < rows; ++row) {
      for (std::uint32_t byte = 0; byte < box_bytes && box * box_bytes + byte < row_bytes; ++byte) {
        const std::uint32_t linear = (box * rows + row) * pitch + byte;
        memory[swizzled(swizzle, linear)] = std::int64_t{row} * 65536 + box * box_bytes + byte;
      }
    }
  }
  return memory;
}

template <class T>
void expect_tile_is_what_boxes_leave(const Layout& layout) {
  const std::uint32_t rows = layout.shape[0];
  const std::uint32_t cols = layout.shape[1];
  const TmaBox box = layout.box();
  ASSERT_EQ(box.rank, 2U);
  ASSERT_EQ(box.dims[1], rows);
  const std::vector<std::int64_t> memory =
      copied_by_boxes(rows, cols * sizeof(T), box.dims[0] * sizeof(T), layout.swizzle, layout.panels());
  ASSERT_EQ(layout.bytes(), memory.size());
  ASSERT_EQ(layout.tx_bytes(), rows * cols * sizeof(T));
  for (std::uint32_t i = 0; i < rows; ++i) {
    for (std::uint32_t j = 0; j < cols; ++j) {
      ASSERT_EQ(memory.at(layout.offset_bytes(i, j)),
                std::int64_t{i} * 65536 + std::int64_t{j} * layout.element_bytes)
          << i << ", " << j;
    }
  }
}

TEST(KMajorTile, IsWhatTmaBoxesLeaveInSharedMemory) {
  int tiles = 0;
  for (const Swizzle swizzle : modes) {
    for (const std::uint32_t rows : {8U, 64U, 128U, 256U}) {
      for (const std::uint32_t row_bytes : {16U, 32U, 64U, 128U, 256U, 512U}) {
        const bool is_whole = row_bytes < span_bytes(swizzle) || row_bytes % span_bytes(swizzle) == 0;
        if (!is_whole) {
          continue;
        }
        if (swizzle != Swizzle::kNone || row_bytes <= 256) {
          expect_tile_is_what_boxes_leave<e4m3>(k_major_tile<e4m3>(rows, row_bytes, swizzle));
        }
        expect_tile_is_what_boxes_leave<bf16>(k_major_tile<bf16>(rows, row_bytes / 2, swizzle));
        expect_tile_is_what_boxes_leave<float>(k_major_tile<float>(rows, row_bytes / 4, swizzle));
        ++tiles;
      }
    }
  }
  EXPECT_EQ(tiles, 120);
}

TEST(KMajorTile, HasTheFiguresOfAnOrdinaryOperand) {
  constexpr Layout tile = k_major_tile<bf16>(128, 64, Swizzle::k128B);
  EXPECT_EQ(tile.size(), 8192U);
  EXPECT_EQ(tile.bytes(), 16384U);
  EXPECT_EQ(tile.tx_bytes(), 16384U);
  EXPECT_EQ(tile.alignment(), 1024U);
  EXPECT_EQ(tile.panels(), 1U);
  EXPECT_EQ(tile.box(), (TmaBox{.rank = 2, .dims = {64, 128}}));
  EXPECT_EQ(tile.offset_bytes(9, 20), 0x4B8U);
  EXPECT_EQ(tile.linear_bytes(9, 20), 0x4A8U);
}

TEST(KMajorTile, PutsWideRowsIntoPanels) {
  constexpr Layout tile = k_major_tile<bf16>(128, 128, Swizzle::k128B);
  EXPECT_EQ(tile.panels(), 2U);
  EXPECT_EQ(tile.panel_stride_bytes, 16384U);
  EXPECT_EQ(tile.bytes(), 32768U);
  EXPECT_EQ(tile.box(), (TmaBox{.rank = 2, .dims = {64, 128}}));
  EXPECT_EQ(tile.offset_bytes(1, 64), 16384U + 128U + 16U);
}

TEST(KMajorTile, GivesNarrowRowsAWholeSpan) {
  constexpr Layout tile = k_major_tile<bf16>(64, 8, Swizzle::k128B);
  EXPECT_EQ(tile.bytes(), 64U * 128U);
  EXPECT_EQ(tile.tx_bytes(), 64U * 16U);
  EXPECT_EQ(tile.offset_bytes(7, 0), 7U * 128U + 7U * 16U);
}

TEST(KMajorTile, NeverPutsTwoElementsIntoOnePlace) {
  for (const Swizzle swizzle : modes) {
    const Layout tile = k_major_tile<bf16>(64, 128, swizzle);
    std::set<std::uint32_t> offsets;
    for (std::uint32_t i = 0; i < 64; ++i) {
      for (std::uint32_t j = 0; j < 128; ++j) {
        offsets.insert(tile.offset_bytes(i, j));
      }
    }
    EXPECT_EQ(offsets.size(), tile.size());
    EXPECT_LT(*offsets.rbegin(), tile.bytes());
  }
}

template <class T, std::uint32_t rows, std::uint32_t cols, Swizzle swizzle>
concept TileCompiles = requires {
  typename std::integral_constant<std::uint32_t, k_major_tile<T>(rows, cols, swizzle).rank>;
};

TEST(KMajorTile, RefusesWhatTmaCannotCopy) {
  EXPECT_TRUE((TileCompiles<bf16, 256, 64, Swizzle::k128B>));
  EXPECT_FALSE((TileCompiles<bf16, 257, 64, Swizzle::k128B>));
  EXPECT_FALSE((TileCompiles<bf16, 0, 64, Swizzle::k128B>));
  EXPECT_TRUE((TileCompiles<bf16, 64, 8, Swizzle::k128B>));
  EXPECT_FALSE((TileCompiles<bf16, 64, 4, Swizzle::k128B>));
  EXPECT_FALSE((TileCompiles<bf16, 64, 0, Swizzle::k128B>));
  EXPECT_FALSE((TileCompiles<bf16, 64, 0, Swizzle::kNone>));
  EXPECT_TRUE((TileCompiles<bf16, 64, 128, Swizzle::k128B>));
  EXPECT_FALSE((TileCompiles<bf16, 64, 96, Swizzle::k128B>));
  EXPECT_TRUE((TileCompiles<bf16, 64, 256, Swizzle::kNone>));
  EXPECT_FALSE((TileCompiles<bf16, 64, 264, Swizzle::kNone>));
  EXPECT_TRUE((TileCompiles<bf16, 4, 32, Swizzle::k32B>));
  EXPECT_FALSE((TileCompiles<bf16, 2, 32, Swizzle::k32B>));  // the second panel would start at 64 bytes
}

TEST(KMajorTile, HasRankZeroWhenRefusedAtRunTime) {
  EXPECT_EQ(k_major_tile<bf16>(257, 64, Swizzle::k128B).rank, 0U);
  EXPECT_EQ(k_major_tile<bf16>(64, 0, Swizzle::kNone).rank, 0U);
  EXPECT_EQ(row_major<float>(4, 0).rank, 0U);
}

// Both majors: an MMA finds each element where the layout has it.
template <class T>
void expect_operand_is_found(Swizzle swizzle) {
  constexpr std::uint32_t base = 0x8000;
  const std::uint32_t span_elems = span_bytes(swizzle) / sizeof(T);
  if (has_operand_layout(Major::kK, swizzle)) {
    const Layout layout = k_major_tile<T>(64, span_elems, swizzle);
    const SmemDescriptor operand{
        .start_address = base, .stride_bytes = 8 * span_bytes(swizzle), .swizzle = swizzle};
    for (std::uint32_t row = 0; row < 64; ++row) {
      for (std::uint32_t k = 0; k < span_elems; ++k) {
        ASSERT_EQ(operand_address(operand, Major::kK, 8 * sizeof(T), row, k), base + layout.offset_bytes(row, k));
      }
    }
  }
  const Layout layout = k_major_tile<T>(64, 4 * span_elems, swizzle);  // K is the rows
  const std::uint32_t lines = swizzle == Swizzle::k128BAtom32B ? 4 : 8;
  const SmemDescriptor operand{.start_address = base,
                               .leading_bytes = layout.panel_stride_bytes,
                               .stride_bytes = lines * span_bytes(swizzle),
                               .swizzle = swizzle};
  for (std::uint32_t row = 0; row < 4 * span_elems; ++row) {
    for (std::uint32_t k = 0; k < 64; ++k) {
      ASSERT_EQ(operand_address(operand, Major::kMN, 8 * sizeof(T), row, k), base + layout.offset_bytes(k, row));
    }
  }
}

TEST(KMajorTile, IsAnOperandOfBothMajors) {
  for (const Swizzle swizzle : {Swizzle::k32B, Swizzle::k64B, Swizzle::k128B}) {
    expect_operand_is_found<bf16>(swizzle);
    expect_operand_is_found<e4m3>(swizzle);
  }
  expect_operand_is_found<tf32>(Swizzle::k128BAtom32B);
}

TEST(CoreMatrixTile, IsTheUnswizzledOperand) {
  constexpr Layout layout = core_matrix_tile<bf16>(128, 16);
  static_assert(layout.panels() == 2 && layout.bytes() == 4096 && layout.alignment() == 128);
  static_assert(layout.box() == TmaBox{.rank = 2, .dims = {8, 128}});
  const SmemDescriptor operand{.start_address = 0, .leading_bytes = 2048, .stride_bytes = 128};
  for (std::uint32_t row = 0; row < 128; ++row) {
    for (std::uint32_t k = 0; k < 16; ++k) {
      ASSERT_EQ(operand_address(operand, Major::kK, 16, row, k), layout.offset_bytes(row, k));
    }
  }
  expect_tile_is_what_boxes_leave<bf16>(layout);
}

TEST(RowMajor, IsDenseInEveryRank) {
  constexpr Layout five = row_major<std::int32_t>(2, 3, 4, 5, 6);
  static_assert(five.rank == 5 && five.size() == 720 && five.bytes() == 2880 && five.alignment() == 128);
  std::uint32_t expected = 0;
  for (std::uint32_t a = 0; a < 2; ++a) {
    for (std::uint32_t b = 0; b < 3; ++b) {
      for (std::uint32_t c = 0; c < 4; ++c) {
        for (std::uint32_t d = 0; d < 5; ++d) {
          for (std::uint32_t e = 0; e < 6; ++e) {
            ASSERT_EQ(five.offset_bytes(a, b, c, d, e), expected);
            expected += 4;
          }
        }
      }
    }
  }
  EXPECT_EQ(five.box(), (TmaBox{.rank = 5, .dims = {6, 5, 4, 3, 2}}));
  static_assert(row_major<bf16>(1000).bytes() == 2000);
  static_assert(row_major<bf16>(1000).offset_bytes(999) == 1998);
  static_assert(row_major<float>(3, 7).offset_bytes(2, 6) == 80);
}

template <auto tile>
concept TakesOneIndex = requires {
  typename std::integral_constant<std::uint32_t, tile.offset_bytes(1)>;
};
template <auto tile>
concept TakesTwoIndices = requires {
  typename std::integral_constant<std::uint32_t, tile.offset_bytes(1, 1)>;
};

TEST(Layout, TakesAsManyIndicesAsItHasDimensions) {
  EXPECT_TRUE(TakesTwoIndices<row_major<float>(4, 4)>);
  EXPECT_FALSE(TakesOneIndex<row_major<float>(4, 4)>);
  EXPECT_TRUE(TakesOneIndex<row_major<float>(4)>);
}

template <Layout layout>
struct Tile {
  static constexpr std::uint32_t bytes = layout.bytes();
};

TEST(Layout, IsATemplateArgument) {
  using A = Tile<k_major_tile<bf16>(64, 64, Swizzle::k128B)>;
  using B = Tile<k_major_tile<bf16>(64, 64, Swizzle::k64B)>;
  EXPECT_EQ(A::bytes, 8192U);
  EXPECT_FALSE((std::is_same_v<A, B>));
  EXPECT_TRUE((std::is_same_v<A, Tile<k_major_tile<fp16>(64, 64, Swizzle::k128B)>>));
}

}  // namespace
}  // namespace heddle
