// SPDX-License-Identifier: Apache-2.0
//
// Which lines of a matrix are asked for early: each once, in the order that loads have them, and none outside.
#include <heddle/tile/early_rows.h>

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace heddle {
namespace {

std::vector<const char*> lines_of(const EarlyRows& matrix, std::uint32_t row, std::uint32_t byte,
                                  std::uint32_t count, std::uint32_t lines) {
  std::vector<const char*> all;
  for (std::uint32_t i = 0; i < count * lines; ++i) all.push_back(matrix.line(row, byte, count, i));
  return all;
}

TEST(EarlyRows, EveryRowHasALineBeforeAnyHasItsNext) {
  const std::vector<char> memory(10 * 512);
  const EarlyRows matrix{.address = memory.data(), .pitch = 512, .rows = 10, .row_bytes = 512};
  const char* const first = memory.data() + 3 * 512 + 128;
  EXPECT_EQ(lines_of(matrix, 3, 128, 2, 3),
            (std::vector<const char*>{first, first + 512, first + 128, first + 640, first + 256, first + 768}));
}

TEST(EarlyRows, NothingBehindTheMatrixIsAskedFor) {
  // Rows of 400 bytes, 480 apart: the last of them ends with the memory.
  const std::vector<char> memory(6 * 480 + 400);
  const EarlyRows matrix{.address = memory.data(), .pitch = 480, .rows = 7, .row_bytes = 400};
  const char* const end = memory.data() + memory.size();
  std::set<const char*> asked;
  for (const char* line : lines_of(matrix, 4, 0, 8, 5)) {
    if (line == nullptr) continue;
    EXPECT_LT(line, end);
    EXPECT_TRUE(asked.insert(line).second);
  }
  EXPECT_EQ(asked.size(), 3u * 4u);  // rows 4 to 6, at 0, 128, 256 and 384
}

}  // namespace
}  // namespace heddle
