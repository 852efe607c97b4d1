// SPDX-License-Identifier: Apache-2.0
//
// Attention for Blackwell in the simulated SM against a reference in double, under twenty schedules, and with
// mistakes planted in its rings.
#include "attention/attention_sm100_launch.h"

#include <heddle/host/error.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "../support/attention_odd_sinks.h"
#include "../support/attention_sm100_case.h"

namespace heddle {
namespace {

using Case = test::AttentionSm100Case;
using test::kSmall;
using test::run_small;
using test::small_case;

void run_and_check(Case c) {
  const RunOutcome outcome = c.run();
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(outcome.remarks, "");
  test::expect_right(c);
}

TEST(AttentionSm100, EveryKeyIsSeenWithoutAMask) {
  run_and_check(Case({.heads = 2, .queries = 256, .keys = 256}));
  run_and_check(Case({.heads = 3, .queries = 300, .keys = 500}));
}

TEST(AttentionSm100, ACausalMaskEndsAtTheQuery) {
  run_and_check(Case({.heads = 5, .queries = 300, .keys = 300, .is_causal = true}));
  run_and_check(Case({.heads = 1, .queries = 300, .keys = 100, .is_causal = true}));
}

TEST(AttentionSm100, LengthsThatTilesDoNotDivide) {
  run_and_check(Case({.batches = 2, .heads = 1, .queries = 70, .keys = 131}));
  run_and_check(Case({.heads = 1, .queries = 1, .keys = 1}));
}

TEST(AttentionSm100, HeadsThatShareKeysAndOfOtherSizes) {
  run_and_check(Case({.batches = 2, .heads = 4, .key_heads = 2, .queries = 40, .keys = 50, .head_dim = 64}));
  run_and_check(Case({.heads = 1, .queries = 40, .keys = 50, .head_dim = 40, .value_dim = 72}));
}

TEST(AttentionSm100, WindowsCapsAndSinks) {
  run_and_check(Case({.heads = 1, .queries = 400, .keys = 400, .is_causal = true, .window = 70}));
  run_and_check(Case({.heads = 1, .queries = 130, .keys = 200, .soft_cap = 2, .scale = 0.3f}));
  Case c({.heads = 4, .queries = 150, .keys = 100, .head_dim = 64, .is_causal = true});
  c.sinks = {0.0f, 3.5f, -40.0f, 100.0f};
  run_and_check(c);
}

TEST(AttentionSm100, Fp16) {
  run_and_check(Case({.heads = 1, .queries = 130, .keys = 140, .type = AttentionElement::kFp16}));
}

// Scores grow along the keys, so that what was summed has to be scaled again and again.
TEST(AttentionSm100, LargerScoresComeLater) {
  Case c({.heads = 1, .queries = 64, .keys = 512, .head_dim = 64, .scale = 1});
  for (std::size_t i = 0; i < c.q.size(); ++i) c.q[i] = bf16::from_float(i % 64 == 0 ? 1.0f : 0.0f).bits;
  for (std::size_t i = 0; i < c.k.size(); ++i) c.k[i] = bf16::from_float(static_cast<float>(i / 64 / 4)).bits;
  run_and_check(c);
}

TEST(AttentionSm100, HeadsOf192And256) {
  run_and_check(
      Case({.heads = 2, .queries = 300, .keys = 200, .head_dim = 192, .value_dim = 128, .is_causal = true}));
  run_and_check(Case({.heads = 1, .queries = 70, .keys = 90, .head_dim = 136, .value_dim = 40}));
  run_and_check(Case({.heads = 2, .queries = 200, .keys = 300, .head_dim = 256}));
  run_and_check(
      Case({.heads = 1, .queries = 300, .keys = 300, .head_dim = 256, .is_causal = true, .window = 129}));
  run_and_check(Case({.heads = 1, .queries = 70, .keys = 70, .head_dim = 64, .value_dim = 200}));
}

// Of one tile of queries the scores of two tiles of keys are there at a time, or of one where there is only one.
TEST(AttentionSm100, OneTileOfQueriesHasFewKeysOrMany) {
  for (const std::int64_t keys : {1, 64, 65, 129, 500}) {
    SCOPED_TRACE(std::to_string(keys) + " keys");
    run_and_check(Case({.heads = 3, .queries = 20, .keys = keys, .head_dim = 256}));
  }
}

TEST(AttentionSm100, SinksThatAreNoNumbersOrInfinite) {
  test::expect_odd_sinks(Case({.heads = 3, .queries = 150, .keys = 100, .head_dim = 64, .is_causal = true}));
}

TEST(AttentionSm100, BatchesLieOneAfterAnother) {
  for (const bool is_causal : {false, true}) {
    SCOPED_TRACE(is_causal ? "causal" : "no mask");
    run_and_check(
        test::batches_in_rows<Case>({.heads = 4, .key_heads = 2, .head_dim = 64, .is_causal = is_causal},
                                    {300, 0, 1, 128, 65, 30}, {200, 40, 100, 128, 0, 20}));
  }
  run_and_check(test::batches_in_rows<Case>({.heads = 2, .head_dim = 256}, {130, 7}, {70, 150}));
}

TEST(AttentionSm100, BatchesLieOneAfterAnotherWithAWindowAndSinks) {
  Case c = test::batches_in_rows<Case>({.heads = 2, .is_causal = true, .window = 50, .soft_cap = 20},
                                       {130, 300, 7}, {150, 310, 70});
  c.sinks = {0.5f, -1.0f};
  run_and_check(c);
}

TEST(AttentionSm100, BatchesWithoutQueriesHaveNothingToDo) {
  run_and_check(test::batches_in_rows<Case>({.heads = 1, .head_dim = 64}, {0, 0, 0}, {10, 0, 3}));
}

// As a GPU has it, where nobody could look at offsets before: what is no range of rows is none, and what exceeds
// the tensor is cut off.
TEST(AttentionSm100, OffsetsOutsideOfTheTensorsAreCutOff) {
  constexpr AttentionSm100Config config = attention_sm100_config({64, 64}, {.is_general = true});
  using Kernel = AttentionForwardSm100<bf16, config, CappedScores>;
  const auto run = [](const std::vector<std::int32_t>& queries, const std::vector<std::int32_t>& keys) {
    Case c = test::batches_in_rows<Case>({.heads = 1, .head_dim = 64}, {20, 40, 0}, {50, 50, 0});
    c.query_offsets = queries;
    c.key_offsets = keys;
    sim::GlobalMemory memory;
    const auto add = [&](const char* name, auto& tensor) {
      memory.add(name, tensor.data(), tensor.size() * sizeof(tensor[0]));
    };
    add("q", c.q);
    add("k", c.k);
    add("v", c.v);
    add("o", c.o);
    add("lse", c.lse);
    add("query_offsets", c.query_offsets);
    add("key_offsets", c.key_offsets);
    const AttentionPlan plan = plan_attention(c.problem);
    const AttentionTensors tensors = c.tensors();
    const auto params = attention_params<Kernel>({c.problem, tensors, plan, nullptr}, 256, true, 1,
                                                 capped_scores(c.problem, plan));
    const sim::Report report = sim::launch<Kernel>(
        {.memory = &memory, .arch = Arch::kSm100, .kernel = "attention"}, {.grid = {1}}, params);
    EXPECT_TRUE(report.ok()) << report.text();
    return c.o;
  };
  // There are 65 rows of queries and 112 of keys.
  EXPECT_EQ(run({0, 20, 65, 65}, {0, 50, 112, 112}),
            run({-9, 20, 1000000, 30}, {-2147483647, 50, 2147483647, 10}));
}

// A score policy of one's own, as Hopper's kernels take it: the further away a key is, the less it weighs.
struct Distance {
  struct Params {
    float slope;
  };
  template <class Scores>
  HEDDLE_DEVICE static void apply(Scores& s, const Params& params, const ScorePlace& at) {
    for (std::uint32_t i = 0; i < Scores::count; ++i) {
      s[i] -= params.slope * static_cast<float>(at.query(s, i) - at.key(s, i) + 7 * at.head);
    }
  }
};

TEST(AttentionSm100, ScoresAreWhatAPolicyMakesOfThem) {
  constexpr float kSlope = 0.25f;
  constexpr AttentionSm100Config config = attention_sm100_config({64, 64}, {.is_causal = true});
  Case c({.heads = 2, .queries = 150, .keys = 192, .head_dim = 64, .is_causal = true});
  const RunOutcome outcome = attention_scored<bf16, config, Distance>(
      c.problem, c.tensors(), {.slope = kSlope}, {.kernel = "near", .sms = 2, .arch = Arch::kSm100});
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  test::expect_right_by_distance(c, double{kSlope});
  AttentionProblem wrong = c.problem;
  wrong.is_causal = false;
  EXPECT_THROW((attention_scored<bf16, config, Distance>(wrong, c.tensors(), {.slope = 1},
                                                         {.kernel = "near", .arch = Arch::kSm100})),
               InputError);
}

// The rules are Hopper's test; here that nothing is written.
TEST(AttentionSm100, RefusesAndWritesNothing) {
  const auto message = [](auto spoil) {
    Case c({.heads = 4, .queries = 20, .keys = 20, .head_dim = 64});
    AttentionTensors tensors = c.tensors();
    spoil(c.problem, tensors);
    std::string said = "it ran";
    try {
      attention_sm100<Target::kSim>(c.problem, tensors, {.kernel = "attention", .arch = Arch::kSm100});
    } catch (const InputError& error) {
      said = error.what();
    }
    for (const std::uint16_t bits : c.o) EXPECT_EQ(bits, 0x7fff);
    return said;
  };
  EXPECT_EQ(message([](auto& p, auto&) { p.head_dim = 264; }),
            "attention: head_dim is 264; there are kernels for multiples of 8 from 8 to 256");
  EXPECT_EQ(message([](auto& p, auto&) { p.key_heads = 3; }),
            "attention: 4 heads share 3 key heads; the number of heads must be a multiple of that of key heads");
  EXPECT_EQ(message([](auto&, auto& t) { t.v = nullptr; }), "attention: v is null");
  EXPECT_EQ(message([](auto& p, auto&) { p.query_rows = p.key_rows = 40; }), "attention: query_offsets is null");
}

// A thousand are in explore/attention_sm100_slow_test.cpp.
TEST(AttentionSm100, TwentySchedulesGiveTheSameBits) {
  std::string report;
  EXPECT_EQ(test::first_other_seed(1, 20, report), 0u) << report;
}

using Ring = MmaInputBackend<kSmall.stages>;
template <Mistake mistake>
void expect_found_in_each_ring() {
  using Bad = MutantBackend<Ring, Mutation{.mistake = mistake, .stage = 0, .warp = 13}>;  // the mma warp
  Case c = small_case();
  const auto schedule = sim::Schedule::round_robin();
  EXPECT_FALSE((run_small<AttentionForwardSm100<bf16, kSmall, PlainScores, Bad>>(c, schedule).ok()))
      << "in the ring of K";
  EXPECT_FALSE((run_small<AttentionForwardSm100<bf16, kSmall, PlainScores, Ring, Bad>>(c, schedule).ok()))
      << "in the ring of V";
}

template <std::size_t... i>
void expect_all_found(std::index_sequence<i...>) {
  (
      [] {
        SCOPED_TRACE(kMistakes[i].name);
        expect_found_in_each_ring<kMistakes[i].mistake>();
      }(),
      ...);
}

TEST(AttentionSm100Mistakes, AreFoundInEachRing) {
  expect_all_found(std::make_index_sequence<std::size(kMistakes)>());
}

}  // namespace
}  // namespace heddle
