// SPDX-License-Identifier: Apache-2.0
//
// What a thread has of an output, and matrices that are added to it, without a kernel around them.
#include <heddle/isa/sreg.h>
#include <heddle/isa/warp.h>
#include <heddle/sim/global_memory.h>
#include <heddle/tile/epilogue.h>

#include <gtest/gtest.h>

#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;

constexpr std::uint32_t kRows = 19;

float number_at(std::uint32_t row, std::uint32_t col) { return static_cast<float>((row * 7 + col * 3) % 61); }

// A matrix of `n` columns that lies `shift` numbers behind what 16 bytes divide, added to rows 3 and on, as a
// lane has them that reads tensor memory (16 numbers of one row) and as one of wgmma's has them (8 of two).
template <class T>
void expect_added(std::uint32_t n, std::uint32_t pitch, std::uint32_t shift, bool is_bias) {
  std::vector<T> matrix(kRows * 64 + 16);
  for (std::uint32_t i = 0; i < kRows * n; ++i) {
    const std::uint32_t row = i / n;
    if (!is_bias || row == 0) matrix[shift + row * pitch + i % n] = as_element<T>(number_at(row, i % n));
  }
  sim::GlobalMemory memory;
  memory.add("matrix", &matrix[shift], (std::size_t{is_bias ? 0 : kRows - 1} * pitch + n) * sizeof(T));
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<test::NoShared>({.threads = 32, .memory = &memory}, [&](test::NoShared&) {
    const auto check = [&](auto&& fragment) {
      for (std::uint32_t i = 0; i < fragment.count; ++i) fragment[i] = static_cast<float>(i);
      add_matrix<T>(&matrix[shift], is_bias ? 0 : pitch, 0.5f, fragment);
      for (std::uint32_t i = 0; i < fragment.count; ++i) {
        const bool has = fragment.row(i) < kRows && fragment.col(i) < n;
        wrong += fragment.has(i) != has;
        if (i % 2 == 0 && has) wrong += fragment.has_next(i) != (fragment.col(i) + 1 < n);
        const float added = has ? number_at(is_bias ? 0 : fragment.row(i), fragment.col(i)) : 0.0f;
        wrong += fragment[i] != static_cast<float>(i) + 0.5f * added;
      }
    };
    for (std::uint32_t col = 0; col < 48; col += 16) {
      float row[16];
      check(RowPart<16>(row, 3 + isa::laneid(), col, kRows, n));
      float sums[12];
      check(WgmmaPanel<4, 8, float[12]>(sums, 3 + isa::laneid() / 4, col + isa::laneid() % 4 * 2, kRows, n));
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u) << n << " columns, " << pitch << " apart, shifted by " << shift;
}

TEST(Fragment, GetsAMatrixWhereverItsRowsBegin) {
  for (const bool is_bias : {false, true}) {
    expect_added<bf16>(40, 48, 0, is_bias);  // neighbours are loaded together
    expect_added<bf16>(39, 48, 0, is_bias);
    expect_added<bf16>(40, 41, 0, is_bias);
    expect_added<bf16>(40, 48, 1, is_bias);
    expect_added<float>(40, 48, 0, is_bias);
    expect_added<float>(37, 37, 0, is_bias);
    expect_added<float>(40, 48, 1, is_bias);
  }
}

// The number of the lane in which it is the largest of the row.
template <class Fragment>
std::uint32_t wrong_joins(Fragment&& fragment, std::uint32_t lanes, std::uint32_t stride) {
  const std::uint32_t lane = isa::laneid();
  const auto larger = [](float a, float b) { return a > b ? a : b; };
  const float joined = fragment.join_row(static_cast<float>(lane * 5 % 32), larger);
  float expected = 0;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    const std::uint32_t other = stride == 1 ? lane / lanes * lanes + i : (lane + i * stride) % 32;
    expected = larger(expected, static_cast<float>(other * 5 % 32));
  }
  const bool is_first = stride == 1 ? lane % lanes == 0 : lane < stride;
  return (joined != expected) + (fragment.is_first_of_row() != is_first);
}

TEST(Fragment, JoinsWhatTheLanesOfARowHave) {
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<test::NoShared>({.threads = 32}, [&](test::NoShared&) {
    float values[8] = {};
    wrong += wrong_joins(WgmmaPanel<0, 8, float[8]>(values, 0, 0, 64, 64), 4, 1);
    wrong += wrong_joins(RowPart<8, 2>(values, 0, 0, 64, 64), 2, 16);
    wrong += wrong_joins(RowPart<8>(values, 0, 0, 64, 64), 1, 32);
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

// A row in one lane, in two, and in the four of wgmma's.
TEST(Fragment, IsQuantisedByTheLargestOfItsRow) {
  std::vector<float> scales(2 * 8, -1.0f);
  sim::GlobalMemory memory;
  memory.add("scales", scales.data(), scales.size() * sizeof(float));
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<test::NoShared>({.threads = 32, .memory = &memory}, [&](test::NoShared&) {
    float sums[64];
    WgmmaPanel<0, 64, float[64]> panel(sums, isa::laneid() / 4, isa::laneid() % 4 * 2 + 128, 13, 250);
    const auto sum_at = [&](std::uint32_t i) {
      return panel.row(i) == 5 ? 0.0f : -static_cast<float>(panel.row(i) + 1) * static_cast<float>(panel.col(i));
    };
    for (std::uint32_t i = 0; i < 64; ++i) sums[i] = sum_at(i);
    QuantiseRows<e4m3>::apply<e4m3>({.scales = scales.data(), .pitch = 1}, panel);
    for (std::uint32_t i = 0; i < 64; ++i) {
      // Columns from 250 on do not exist.
      const float largest = panel.row(i) == 5 ? 0.0f : static_cast<float>(panel.row(i) + 1) * 249.0f;
      const float scale = largest > 0.0f ? largest * (1.0f / 448.0f) : 1.0f;
      if (panel.has(i)) wrong += sums[i] != sum_at(i) * (1.0f / scale);
      if (panel.has(i) && panel.is_first_of_row()) wrong += isa::ld_global(&scales[panel.row(i) + 1]) != scale;
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
  for (std::uint32_t row = 0; row < scales.size() - 1; ++row) EXPECT_EQ(scales[row + 1] > 0.0f, row < 13) << row;
}

}  // namespace
}  // namespace heddle
