// SPDX-License-Identifier: Apache-2.0
//
// The kernel of examples/attention.h in the simulated SM, under several schedules.
#include <heddle/host/tile_map.h>
#include <heddle/sim/launch.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "../../examples/attention.h"
#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using attention::Attention;
using attention::kDim;

struct Problem {
  std::uint32_t heads;
  std::uint32_t queries;
  std::uint32_t keys;
};

// Small whole numbers, the same in bf16.
std::vector<bf16> numbers(std::uint32_t rows, std::uint32_t step, std::uint32_t most) {
  std::vector<bf16> made(rows * kDim);
  for (std::uint32_t i = 0; i < made.size(); ++i) {
    const std::uint32_t hashed = (i + 1) * step * 2654435761u >> 8;
    made[i] = bf16::from_float(static_cast<float>(hashed % (2 * most + 1)) - static_cast<float>(most));
  }
  return made;
}

// How far the kernel's output may be from the true one: each power of two is rounded to bf16, by at most 2^-9 of
// itself, before it weighs rows of V, and the weights add up to 1. A sixteenth more for sums and approximations
// in float.
constexpr double kMaxV = 4;
constexpr double kBound = kMaxV / 512 * 17 / 16;

double largest_error(const Problem& problem, const sim::Schedule& schedule, sim::Report& report) {
  const auto [heads, queries, keys] = problem;
  std::vector<bf16> q = numbers(heads * queries, 3, 2);
  std::vector<bf16> k = numbers(heads * keys, 5, 2);
  std::vector<bf16> v = numbers(heads * keys, 7, 4);
  std::vector<float> o(heads * queries * kDim, -77.0f);
  sim::GlobalMemory memory;
  memory.add("q", q.data(), q.size() * sizeof(bf16));
  memory.add("k", k.data(), k.size() * sizeof(bf16));
  memory.add("v", v.data(), v.size() * sizeof(bf16));
  memory.add("o", o.data(), o.size() * sizeof(float));
  const float scale = 0.125f;
  using attention::Payload;
  const Attention::Params params{
      .q = tensor_map_for<attention::QTile>(
          {.address = q.data(), .rows = queries, .cols = kDim, .batches = heads}),
      .k = tensor_map_for<Payload::ATile>({.address = k.data(), .rows = keys, .cols = kDim, .batches = heads}),
      .v = tensor_map_for<Payload::BTile>({.address = v.data(), .rows = keys, .cols = kDim, .batches = heads}),
      .o = o.data(),
      .queries = queries,
      .keys = keys,
      .scale = scale};
  report = sim::launch<Attention>({.memory = &memory, .schedule = schedule, .kernel = "attention"},
                                  {.grid = {(queries + attention::kQueries - 1) / attention::kQueries, heads}},
                                  params);
  double worst = 0;
  std::vector<double> weight(keys);
  for (std::uint32_t row = 0; row < heads * queries; ++row) {
    const std::uint32_t first_key = row / queries * keys;
    double sum = 0;
    for (std::uint32_t key = 0; key < keys; ++key) {
      double score = 0;
      for (std::uint32_t d = 0; d < kDim; ++d) {
        score += double{q[row * kDim + d].to_float()} * double{k[(first_key + key) * kDim + d].to_float()};
      }
      weight[key] = std::exp(score * double{scale});
      sum += weight[key];
    }
    for (std::uint32_t d = 0; d < kDim; ++d) {
      double expected = 0;
      for (std::uint32_t key = 0; key < keys; ++key) {
        expected += weight[key] / sum * double{v[(first_key + key) * kDim + d].to_float()};
      }
      worst = std::max(worst, std::abs(expected - double{o[row * kDim + d]}));
    }
  }
  return worst;
}

TEST(Attention, IsRightUnderTwentySchedules) {
  for (const sim::Schedule& schedule : test::some_schedules(19)) {
    sim::Report report;
    EXPECT_LE(largest_error({.heads = 1, .queries = 128, .keys = 200}, schedule, report), kBound);
    EXPECT_TRUE(test::is_silent(report));
  }
}

TEST(Attention, OfSeveralHeadsAndOfShapesThatTilesDoNotDivide) {
  for (const Problem& problem : {Problem{2, 200, 136}, Problem{3, 8, 1}, Problem{1, 129, 64}}) {
    sim::Report report;
    EXPECT_LE(largest_error(problem, sim::Schedule::random(5), report), kBound);
    EXPECT_TRUE(test::is_silent(report));
  }
}

}  // namespace
}  // namespace heddle
