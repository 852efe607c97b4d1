// SPDX-License-Identifier: Apache-2.0
//
// Attention of e4m3 in the simulated SM against a reference in double, under schedules, and with mistakes
// planted.
#include "attention/attention_fp8_sm90.h"
#include "attention/attention_device.h"
#include "attention/attention_fp8_plan.h"
#include "attention/attention_fp8_sm90_host.h"
#include "attention/attention_reference.h"

#include <heddle/host/error.h>
#include <heddle/sim/launch.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

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

// Taken apart, as the tensor cores have them.
struct Numbers {
  std::vector<double> value;
  std::vector<int> exponent;  // of subnormals that of the smallest normal number; of zeros below all others

  Numbers(const std::uint8_t* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      value.push_back(double{e4m3{from[i]}.to_float()});
      exponent.push_back((from[i] & 0x7f) == 0 ? -1000 : std::max(from[i] >> 3 & 15, 1) - 7);
    }
  }
};

// A score as Hopper sums it: 32 products and the sum so far at a time, each cut off 13 bits below the largest
// exponent among them, where a product's is the sum of its factors'; the result keeps 13 bits after its first.
double score_of(const Numbers& q, std::size_t q_at, const Numbers& k, std::size_t k_at, std::size_t dim) {
  const auto exponent_of = [](double number) { return number == 0 ? -133 : std::ilogb(number); };
  double sum = 0;
  for (std::size_t first = 0; first < dim; first += 32) {
    const std::size_t end = std::min(first + 32, dim);
    int largest = exponent_of(sum);
    for (std::size_t d = first; d < end; ++d) {
      largest = std::max(largest, q.exponent[q_at + d] + k.exponent[k_at + d]);
    }
    const double unit = std::ldexp(1.0, largest - 13);
    double units = std::trunc(sum / unit);
    for (std::size_t d = first; d < end; ++d) units += std::trunc(q.value[q_at + d] * k.value[k_at + d] / unit);
    const double last_bit = std::ldexp(1.0, exponent_of(units * unit) - 13);
    sum = std::trunc(units * unit / last_bit) * last_bit;
  }
  return sum;
}

// The logarithm of the sum of the powers of the first `seen` scores of a query, in double.
double lse_of(const Numbers& q, std::size_t q_at, const Numbers& k, std::size_t seen, std::size_t dim,
              double scale) {
  std::vector<double> scores(seen);
  for (std::size_t key = 0; key < seen; ++key) scores[key] = scale * score_of(q, q_at, k, key * dim, dim);
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  return largest + std::log(sum);
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
    const Numbers q_numbers(&c.q[i * plan.q.head_stride], plan.q.head_stride);
    const Numbers k_numbers(&c.k[at * plan.k.head_stride], plan.k.head_stride);
    const double scale = double{c.v_scales[key_head]};
    double largest = 0;
    for (const std::uint16_t bits : v) largest = std::fmax(largest, std::fabs(double{bf16{bits}.to_float()}));
    for (std::size_t row = 0; row < plan.q.rows; ++row) {
      const std::size_t seen = c.problem.is_causal ? row + 1 + keys - plan.q.rows : keys;
      const double lse = lse_of(q_numbers, row * dim, k_numbers, seen, dim, double{one.scale});
      // What is left is rounded in float, as the reference's bound has it.
      ASSERT_NEAR(double{c.lse[i * plan.q.rows + row]}, lse, expected.lse_bound[row])
          << "head " << i << ", row " << row;
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

// One CTA, and two stages that go round twice.
template <class Kernel>
bool is_silent() {
  Case c({.queries = 128, .keys = 512});
  const AttentionPlan plan = plan_attention_fp8(c.problem);
  sim::GlobalMemory memory;
  memory.add("q", c.q.data(), c.q.size());
  memory.add("k", c.k.data(), c.k.size());
  memory.add("v", c.v.data(), c.v.size());
  memory.add("o", c.o.data(), c.o.size() * 2);
  const AttentionFp8Params params{.q = map_of<typename Kernel::QTiles::Tile>(c.q.data(), plan.q),
                                  .k = map_of<typename Kernel::KTiles::Tile>(c.k.data(), plan.k),
                                  .v = map_of<typename Kernel::VTiles::Tile>(c.v.data(), plan.v),
                                  .o = map_of<typename Kernel::OTiles::Tile>(c.o.data(), plan.o),
                                  .extents = extents_of(c.problem, {}, plan, 128, 1, false),
                                  .heads_per_key_head = 1,
                                  .lse = nullptr,
                                  .q_scales = nullptr,
                                  .k_scales = nullptr,
                                  .v_scales = nullptr,
                                  .factor = score_factor(c.problem, plan)};
  return sim::launch<Kernel>({.memory = &memory, .kernel = "attention"}, {.grid = {1}}, params).ok();
}

constexpr AttentionFp8Config kSmall{.stages = 2};
using Ring = MbarrierBackend<kSmall.stages>;

template <Mistake mistake>
void expect_found_in_each_ring() {
  using Bad = MutantBackend<Ring, Mutation{mistake}>;
  EXPECT_FALSE((is_silent<AttentionFp8Sm90<kSmall, Bad>>())) << "in the ring of K";
  EXPECT_FALSE((is_silent<AttentionFp8Sm90<kSmall, Ring, Bad>>())) << "in the ring of V";
}

TEST(AttentionFp8Sm90Mistakes, NoneIsSilent) { EXPECT_TRUE((is_silent<AttentionFp8Sm90<kSmall>>())); }

TEST(AttentionFp8Sm90Mistakes, AreFoundInEachRing) {
  expect_found_in_each_ring<Mistake::kDropRelease>();
  expect_found_in_each_ring<Mistake::kLongExpect>();
  expect_found_in_each_ring<Mistake::kNoConsumerWait>();
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

TEST(AttentionFp8Refusals, AddressesAreThereAlignedAndApart) {
  const AttentionPlan plan = plan_attention_fp8({.queries = 8, .keys = 8});  // outputs of 2048 bytes
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  const auto number_at = [&](std::uintptr_t address) { return static_cast<float*>(at(address)); };
  const AttentionFp8Tensors right{.q = at(0x10000),
                                  .k = at(0x20000),
                                  .v = at(0x30000),
                                  .o = at(0x40000),
                                  .lse = number_at(0x40800),
                                  .q_scales = number_at(0x50004)};
  const auto message = [&](const auto& spoil) {
    AttentionFp8Tensors tensors = right;
    spoil(tensors);
    try {
      check_attention_fp8_tensors(plan, tensors, false);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("it passed");
  };
  EXPECT_EQ(message([](auto&) {}), "it passed");
  EXPECT_EQ(message([](auto& t) { t.v = nullptr; }), "attention_fp8: v is null");
  EXPECT_EQ(message([&](auto& t) { t.k = at(0x20008); }),
            "attention_fp8: k is at 0x20008; a multiple of 16 would pass");
  EXPECT_EQ(message([&](auto& t) { t.v_scales = number_at(0x50002); }),
            "attention_fp8: lse or scales are not at a multiple of 4 bytes");
  EXPECT_EQ(message([&](auto& t) { t.o = at(0x10000 - 16); }).rfind("attention_fp8: o overlaps q: ", 0), 0u);
  EXPECT_EQ(message([&](auto& t) { t.lse = number_at(0x40800 - 4); }).rfind("attention_fp8: lse overlaps o: ", 0),
            0u);
  EXPECT_EQ(message([&](auto& t) { t.lse = number_at(0x30000); }).rfind("attention_fp8: lse overlaps v: ", 0),
            0u);
}

}  // namespace
}  // namespace heddle
