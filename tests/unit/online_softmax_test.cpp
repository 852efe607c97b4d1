// SPDX-License-Identifier: Apache-2.0
//
// The softmax of rows that come in two pieces, in the registers of a warpgroup.
#include <heddle/tile/online_softmax.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;

constexpr WgmmaShape kShape{.n = 16};
constexpr float kFactor = 0.5f;

// Scores of piece 0 or 1. Row 3 has none at all and row 4 none in the first piece; rows of the upper half have
// scores in the second piece that are far above those of the first, the others such that are near.
float score(std::uint32_t piece, std::uint32_t row, std::uint32_t col) {
  if (row == 3 || (row == 4 && piece == 0)) return -__builtin_huge_valf();
  const float base = static_cast<float>((row * 5 + col * 3 + piece) % 7);
  return piece == 1 && row >= 32 ? base + 40.0f : base;
}

// An output that knows its end.
struct Counted {
  static constexpr std::uint32_t count = 8;
  static std::uint32_t row_of_pair(std::uint32_t i) { return i / 2 % 2; }
  float& operator[](std::uint32_t i) {
    EXPECT_LT(i, count);
    return values[i % count];
  }
  float values[count] = {1, 1, 1, 1, 1, 1, 1, 1};
};

TEST(OnlineSoftmax, TwoPiecesGiveTheSoftmaxOfTheWholeRow) {
  std::vector<float> weights(2 * 64 * 16);
  std::vector<float> inverse(64);
  std::vector<float> logs(64);
  std::vector<int> moved(4);
  const auto report = test::run_kernel<test::NoShared>({.threads = 128}, [&](test::NoShared&) {
    OnlineSoftmax softmax;
    WgmmaSums<kShape> pieces[2];
    WgmmaSums<kShape> before;
    auto& scale = before.fill(1.0f);
    for (std::uint32_t piece = 0; piece < 2; ++piece) {
      auto& values = pieces[piece].fill(0.0f);
      for (std::uint32_t i = 0; i < values.count; ++i) values[i] = score(piece, values.row(i), values.col(i));
      const bool moves = softmax.weigh(values, kFactor);
      if (moves && piece == 1) {
        softmax.rescale(scale);
        Counted counted;
        softmax.rescale(counted);
        for (std::uint32_t i = 0; i < Counted::count; ++i) EXPECT_EQ(counted[i], scale[i]);
        moved[isa::tid_x() / 32] = 1;
      }
      for (std::uint32_t i = 0; i < values.count; ++i) {
        weights[(piece * 64 + values.row(i)) * 16 + values.col(i)] = values[i];
      }
    }
    const OnlineSoftmax::End end = softmax.end(kFactor);
    for (std::uint32_t i = 0; i < scale.count; ++i) {
      const std::uint32_t row = scale.row(i);
      weights[row * 16 + scale.col(i)] *= scale[i];
      inverse[row] = end.inverse[scale.row_of_pair(i)];
      logs[row] = end.log2_sum[scale.row_of_pair(i)];
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(moved, (std::vector<int>{1, 0, 1, 1})) << "warp 0 has row 4, warps 2 and 3 the upper half";
  for (std::uint32_t row = 0; row < 64; ++row) {
    double sum = 0;
    for (std::uint32_t i = 0; i < 32; ++i) sum += std::exp2(double{score(i / 16, row, i % 16)} * double{kFactor});
    if (row == 3) {
      EXPECT_EQ(inverse[row], 0.0f);
      EXPECT_EQ(logs[row], -__builtin_huge_valf());
      for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(weights[(i / 16 * 64 + row) * 16 + i % 16], 0.0f);
      continue;
    }
    EXPECT_NEAR(double{logs[row]}, std::log2(sum), 1e-5) << "row " << row;
    for (std::uint32_t i = 0; i < 32; ++i) {
      const double expected = std::exp2(double{score(i / 16, row, i % 16)} * double{kFactor}) / sum;
      const double actual = double{weights[(i / 16 * 64 + row) * 16 + i % 16]} * double{inverse[row]};
      EXPECT_NEAR(actual, expected, 1e-6) << "row " << row << ", score " << i;
    }
  }
}

// How far a reference is from a score counts times the factor: 9 times 0.5 is near, 17 times 0.5 is not; in
// either of a thread's two rows.
TEST(OnlineSoftmax, MovesForARowThatIsFarTimesTheFactor) {
  for (const std::uint32_t row : {0u, 8u}) {
    for (const float distance : {9.0f, 15.0f, 17.0f}) {
      std::vector<int> moved(4);
      const auto report = test::run_kernel<test::NoShared>({.threads = 128}, [&](test::NoShared&) {
        OnlineSoftmax softmax;
        WgmmaSums<kShape> first;
        WgmmaSums<kShape> second;
        softmax.weigh(first.fill(0.0f), kFactor);
        EXPECT_EQ(softmax.own_sum(), 8.0f);  // four weights of one in each of two rows
        auto& values = second.fill(0.0f);
        for (std::uint32_t i = 0; i < values.count; ++i) {
          if (values.row(i) == row && values.col(i) == 5) values[i] = distance;
        }
        if (softmax.weigh(values, kFactor)) moved[isa::tid_x() / 32] = 1;
      });
      EXPECT_TRUE(is_silent(report));
      EXPECT_EQ(moved, (std::vector<int>{distance > 16.0f, 0, 0, 0})) << "row " << row << ", " << distance;
    }
  }
}

}  // namespace
}  // namespace heddle
