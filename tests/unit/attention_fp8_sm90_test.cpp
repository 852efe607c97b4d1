// SPDX-License-Identifier: Apache-2.0
//
// Attention of e4m3 in the simulated SM against a reference in double, under schedules, and with mistakes
// planted.
#include "attention/attention_fp8_sm90.h"
#include "attention/attention_fp8_plan.h"
#include "attention/attention_fp8_sm90_host.h"
#include "attention/attention_reference.h"

#include <heddle/host/error.h>
#include <heddle/host/tensor_map.h>
#include <heddle/sim/launch.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace heddle {
namespace {

struct Case {
  AttentionProblem problem;
  std::vector<std::uint8_t> q, k, v;
  std::vector<std::uint16_t> o;
  std::vector<float> lse, q_scales, k_scales, v_scales;

  explicit Case(const AttentionProblem& p) : problem(p) {
    const AttentionPlan plan = plan_attention_fp8(p);
    std::mt19937 engine(3);
    std::normal_distribution<float> normal;
    const auto numbers = [&](std::size_t bytes) {
      std::vector<std::uint8_t> made(bytes);
      for (std::uint8_t& bits : made) bits = e4m3::from_float(normal(engine)).bits;
      return made;
    };
    q = numbers(plan.q.bytes);
    k = numbers(plan.k.bytes);
    v = numbers(plan.v.bytes);
    o.assign(plan.o.bytes / 2, 0x7fff);
    lse.assign(plan.lse_bytes / 4, std::nanf(""));
    for (std::uint64_t head = 0; head < plan.q.heads; ++head)
      q_scales.push_back(0.5f + static_cast<float>(head) / 4);
    for (std::uint64_t head = 0; head < plan.k.heads; ++head) {
      k_scales.push_back(1.25f - static_cast<float>(head) / 4);
      v_scales.push_back(2.0f + static_cast<float>(head));
    }
  }

  AttentionFp8Tensors tensors() {
    return {.q = q.data(),
            .k = k.data(),
            .v = v.data(),
            .o = o.data(),
            .lse = lse.data(),
            .q_scales = q_scales.data(),
            .k_scales = k_scales.data(),
            .v_scales = v_scales.data()};
  }
  RunOutcome run(const std::string& schedule = "rr") {
    return attention_fp8_sm90<Target::kSim>(problem, tensors(),
                                            {.kernel = "attention", .schedule = schedule, .sms = 2});
  }
};

// Numbers of e4m3 are numbers of bf16.
std::vector<std::uint16_t> widened(const std::uint8_t* from, std::size_t count) {
  std::vector<std::uint16_t> wide(count);
  for (std::size_t i = 0; i < count; ++i) wide[i] = bf16::from_float(e4m3{from[i]}.to_float()).bits;
  return wide;
}

void expect_right(const Case& c) {
  const AttentionPlan plan = plan_attention_fp8(c.problem);
  const std::size_t dim = plan.q.dim;
  const std::size_t keys = plan.k.rows;
  const std::size_t sharing = plan.q.heads / plan.k.heads;
  for (std::size_t i = 0; i < plan.q.batches * plan.q.heads; ++i) {
    const std::size_t head = i % plan.q.heads;
    const std::size_t key_head = head / sharing;
    const std::size_t at = i / plan.q.heads * plan.k.heads + key_head;
    const auto q = widened(&c.q[i * plan.q.head_stride], plan.q.head_stride);
    const auto k = widened(&c.k[at * plan.k.head_stride], plan.k.head_stride);
    const auto lying = widened(&c.v[at * plan.v.head_stride], plan.v.head_stride);
    std::vector<std::uint16_t> v(keys * dim);
    for (std::size_t j = 0; j < keys * dim; ++j) v[j] = lying[j % dim * plan.v.row_stride + j / dim];
    AttentionProblem one{.queries = c.problem.queries,
                         .keys = c.problem.keys,
                         .head_dim = c.problem.head_dim,
                         .is_causal = c.problem.is_causal,
                         .scale = plan.scale * c.q_scales[head] * c.k_scales[key_head]};
    const auto expected = reference::attention(one, {.q = q.data(), .k = k.data(), .v = v.data()});
    const double scale = double{c.v_scales[key_head]};
    double largest = 0;
    for (const std::uint16_t bits : v) largest = std::fmax(largest, std::fabs(double{bf16{bits}.to_float()}));
    for (std::size_t row = 0; row < plan.q.rows; ++row) {
      const double of_lse = double{c.lse[i * plan.q.rows + row]};
      if (of_lse != expected.lse[row]) {
        // Sums of products of 8 bits keep 13 bits after the point.
        ASSERT_NEAR(of_lse, expected.lse[row], 32 * expected.lse_bound[row]) << "head " << i << ", row " << row;
      }
      for (std::size_t d = 0; d < dim; ++d) {
        const double actual = double{bf16{c.o[(i * plan.q.rows + row) * dim + d]}.to_float()};
        // Weights are rounded to a sixteenth, where the reference's bound has a 256th; the smallest by
        // themselves.
        const double bound = 16 * expected.o_bound[row * dim + d] + 0x1p-14 * largest * static_cast<double>(keys);
        ASSERT_NEAR(actual, scale * expected.o[row * dim + d], scale * bound)
            << "head " << i << ", row " << row << ", column " << d;
      }
    }
  }
}

void run_and_check(const AttentionProblem& problem) {
  Case c(problem);
  const RunOutcome outcome = c.run();
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(outcome.remarks, "");
  expect_right(c);
}

TEST(AttentionFp8Sm90, EveryKeyIsSeenWithoutAMask) { run_and_check({.heads = 2, .queries = 256, .keys = 256}); }

TEST(AttentionFp8Sm90, ACausalMaskEndsAtTheQuery) {
  run_and_check({.heads = 3, .queries = 200, .keys = 300, .is_causal = true});
}

TEST(AttentionFp8Sm90, LengthsThatTilesDoNotDivideAndSharedHeads) {
  run_and_check({.batches = 2, .heads = 4, .key_heads = 2, .queries = 70, .keys = 139, .head_dim = 64});
}

// All weights equal: rounding has no part, and means of small numbers are exact.
TEST(AttentionFp8Sm90, EqualScoresGiveExactMeans) {
  Case c({.queries = 64, .keys = 256});
  std::fill(c.k.begin(), c.k.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < c.v.size(); ++i) {
    const float of_key = i % 2 == 0 ? 1.0f : 3.0f;
    c.v[i] = e4m3::from_float(static_cast<float>(i / 256 % 4) * of_key).bits;
  }
  ASSERT_TRUE(c.run().ok());
  for (std::size_t i = 0; i < c.o.size(); ++i) {
    ASSERT_EQ(bf16{c.o[i]}.to_float(), static_cast<float>(i % 128 % 4) * 2 * c.v_scales[0]) << i;
  }
}

TEST(AttentionFp8Sm90, TwentySchedulesGiveTheSameBits) {
  const AttentionProblem problem{.heads = 3, .queries = 64, .keys = 150};
  Case first(problem);
  ASSERT_TRUE(first.run().ok());
  for (int seed = 1; seed <= 20; ++seed) {
    Case other(problem);
    const RunOutcome outcome = other.run(std::to_string(seed));
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    ASSERT_EQ(first.o, other.o) << seed;
    ASSERT_EQ(std::memcmp(first.lse.data(), other.lse.data(), first.lse.size() * 4), 0) << seed;
  }
}

TEST(AttentionFp8Refusals, NameTheRule) {
  const auto message = [](AttentionProblem problem) {
    try {
      plan_attention_fp8(problem);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("it passed");
  };
  const AttentionProblem right{.queries = 8, .keys = 8};
  EXPECT_EQ(message(right), "it passed");
  AttentionProblem wrong = right;
  wrong.head_dim = 24;
  EXPECT_EQ(message(wrong),
            "attention_fp8: head_dim is 24; there are kernels for multiples of 16 from 16 to 128");
  wrong = right;
  wrong.soft_cap = 2;
  EXPECT_EQ(message(wrong), "attention_fp8: window is 0 and soft_cap 2; 0 would pass: e4m3 has neither");
  wrong = right;
  wrong.q_strides.row = 256;
  EXPECT_EQ(message(wrong), "attention_fp8: strides are not 0; tensors of e4m3 lie without gaps");
}

}  // namespace
}  // namespace heddle
