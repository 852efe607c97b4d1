// SPDX-License-Identifier: Apache-2.0
//
// Rows of tensor memory in the registers of a thread, and their softmax.
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/row_softmax.h>
#include <heddle/tile/smem_array.h>
#include <heddle/tile/store_to.h>
#include <heddle/tile/tmem_rows.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;

constexpr std::uint32_t kCols = 96;
using Sums = TmemTensor<float, AccumulatorShape{.m = 128, .n = kCols}>;

float number_at(std::uint32_t row, std::uint32_t col) {
  return static_cast<float>((row * 7 + col * 5) % 101) - 50.0f;
}

struct Shared {
  std::uint32_t base;
};

// Two warpgroups, of which the second has the accumulator: thread i of it has row i.
TEST(TmemRows, AreLoadedWholeAndMultipliedWhereTheyLie) {
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Shared>({.threads = 256, .arch = Arch::kSm100}, [&](Shared& shared) {
    TmemAllocation<1> mine;
    if (isa::warp_idx() == 0) mine = TmemAllocation<1>::allocate(&shared.base, 128);
    isa::syncthreads();
    const Sums sums(TmemAllocation<1>::from_shared(&shared.base, 128).address());
    if (isa::tid_x() >= 128) {
      const std::uint32_t own = isa::tid_x() - 128;
      for (std::uint32_t col = 0; col < kCols; col += 8) {
        TmemFragment<float, 8> part;
        for (std::uint32_t i = 0; i < 8; ++i) {
          part.words[i] = __builtin_bit_cast(std::uint32_t, number_at(own, col + i));
        }
        sums.store(part, col);
      }
      isa::tcgen05_wait_st();
      TmemRow<kCols> row;
      load_row(sums, row);
      float largest = -1000.0f;
      float sum = 0.0f;  // of whole numbers, so that their order does not matter
      for (std::uint32_t i = 0; i < kCols; ++i) {
        wrong += row[i] != number_at(own, i) || row.row(i) != own || row.col(i) != i;
        largest = std::fmax(largest, number_at(own, i));
        sum += number_at(own, i);
      }
      wrong += row_max(row) != largest || row_sum(row) != sum;
      const float factor = static_cast<float>(own % 3) + 0.5f;
      scale_rows(sums, factor);
      load_row(sums, row);
      for (std::uint32_t i = 0; i < kCols; ++i) wrong += row[i] != number_at(own, i) * factor;
      isa::tcgen05_fence_before_thread_sync();
    }
    isa::syncthreads();
    if (isa::warp_idx() == 0) mine.deallocate();
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

// A row in each thread to a tile, and to an operand in tensor memory.
struct Stored {
  SMemTileArray2D<bf16, TileShape{128, kCols}, 1, Swizzle::k64B> tile;
  std::uint32_t base;
};

TEST(StoreTo, RowsToATileAndToAnOperand) {
  constexpr std::uint32_t words = 32;
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Stored>({.threads = 128, .arch = Arch::kSm100}, [&](Stored& shared) {
    TmemAllocation<1> mine;
    if (isa::warp_idx() == 0) mine = TmemAllocation<1>::allocate(&shared.base, 32);
    isa::syncthreads();
    const PackedTmem<bf16, 2 * words> operand(TmemAllocation<1>::from_shared(&shared.base, 32).address());
    TmemRow<kCols> row;
    for (std::uint32_t i = 0; i < kCols; ++i) row[i] = number_at(row.row(i), row.col(i));
    store_to(shared.tile[0], row);
    TmemRow<2 * words> part;
    for (std::uint32_t i = 0; i < 2 * words; ++i) part[i] = row[i];
    store_to(operand, part);
    isa::tcgen05_wait_st();
    std::uint32_t pairs[words];
    operand.load(pairs, 0);
    isa::tcgen05_wait_ld();
    for (std::uint32_t i = 0; i < 2 * words; ++i) wrong += element_of<bf16>(pairs[i / 2], i % 2) != row[i];
    isa::tcgen05_fence_before_thread_sync();
    isa::syncthreads();
    for (std::uint32_t i = 0; i < kCols; ++i) {
      wrong += shared.tile[0].load(127 - isa::tid_x(), i).to_float() != number_at(127 - isa::tid_x(), i);
    }
    if (isa::warp_idx() == 0) mine.deallocate();
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

constexpr float kFactor = 0.5f;

struct Weighed {
  std::vector<double> weights;  // of the sum
  RowSoftmax::End end;
};

// Piece by piece, as the scores of attention come.
Weighed weigh(const std::vector<std::vector<float>>& pieces, float also = -__builtin_huge_valf()) {
  Weighed result;
  const auto report = test::run_kernel<test::NoShared>({.threads = 32}, [&](test::NoShared&) {
    RowSoftmax softmax;
    std::vector<double> weights;
    for (const std::vector<float>& scores : pieces) {
      float largest = scores[0];
      for (const float score : scores) largest = std::fmax(largest, score);
      const double rescaling = double{softmax.follow(largest, kFactor)};
      for (double& weight : weights) weight *= rescaling;
      for (const float score : scores) weights.push_back(double{softmax.weigh(score, kFactor)});
    }
    const RowSoftmax::End end = softmax.end(kFactor, also);
    for (double& weight : weights) weight *= double{end.inverse};
    if (isa::laneid() == 5) result = {weights, end};
  });
  EXPECT_TRUE(is_silent(report));
  return result;
}

void expect_softmax(const std::vector<std::vector<float>>& pieces, double also) {
  const Weighed weighed = weigh(pieces, static_cast<float>(also));
  double sum = std::exp2(also);
  std::vector<double> expected;
  for (const auto& scores : pieces) {
    for (const float score : scores) {
      expected.push_back(std::exp2(double{score} * double{kFactor}));
      sum += expected.back();
    }
  }
  EXPECT_NEAR(double{weighed.end.log2_sum}, std::log2(sum), 1e-5);
  ASSERT_EQ(weighed.weights.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(weighed.weights[i], expected[i] / sum, 1e-6) << i;
}

constexpr double kNone = -__builtin_huge_val();

TEST(RowSoftmax, PiecesGiveTheSoftmaxOfTheWholeRow) {
  expect_softmax({{1.0f, 4.0f, -2.0f}, {3.0f, 5.0f}}, kNone);             // near: the reference stays
  expect_softmax({{1.0f, 4.0f}, {60.0f, 58.0f}, {59.0f, -3.0f}}, kNone);  // far above
  expect_softmax({{-80.0f, -81.0f}, {-20.0f, -22.0f}, {-100.0f, 0.0f}}, kNone);
  expect_softmax({{1.0f, 2.0f}, {19.0f, 3.0f}}, kNone);  // times the factor 8.5: just past what is left as it is
}

TEST(RowSoftmax, WithAScoreThatHasNoValue) {
  expect_softmax({{1.0f, 4.0f}, {2.0f, 3.0f}}, 1.5);
  expect_softmax({{-40.0f, -41.0f}}, -19.0);
  expect_softmax({{-40.0f, -41.0f}}, 150.0);  // so far above that 2^distance is infinite
}

TEST(RowSoftmax, RowWithoutAScoreHasNoWeights) {
  const float none = -__builtin_huge_valf();
  const Weighed empty = weigh({{none, none}, {none}});
  EXPECT_EQ(empty.end.inverse, 0.0f);
  EXPECT_EQ(empty.end.log2_sum, none);
  const Weighed only_also = weigh({{none, none}}, 3.0f);
  EXPECT_EQ(only_also.end.inverse, 1.0f);
  EXPECT_EQ(only_also.end.log2_sum, 3.0f);
}

TEST(RowSoftmax, ScoreThatIsNoNumberMakesTheSumNone) {
  const Weighed weighed = weigh({{1.0f, 2.0f}, {std::nanf(""), 3.0f}}, 2.0f);
  EXPECT_NE(weighed.end.inverse, weighed.end.inverse);
  EXPECT_NE(weighed.end.log2_sum, weighed.end.log2_sum);
  for (const float score : {1.0f, -__builtin_huge_valf()}) {
    const Weighed also = weigh({{score}}, std::nanf(""));
    EXPECT_NE(also.end.inverse, also.end.inverse) << score;
    EXPECT_NE(also.end.log2_sum, also.end.log2_sum) << score;
  }
}

}  // namespace
}  // namespace heddle
