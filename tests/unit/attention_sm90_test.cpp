// SPDX-License-Identifier: Apache-2.0
//
// Attention for Hopper in the simulated SM against a reference in double: heads, masks, edges and schedules; and
// mistakes planted in each of its rings.
#include "attention/attention_plan.h"
#include "attention/attention_reference.h"
#include "attention/attention_sm90_host.h"
#include "attention/attention_sm90_launch.h"

#include <heddle/host/error.h>
#include <heddle/host/tensor_map.h>
#include <heddle/sim/launch.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "../support/attention_case.h"
#include "../support/attention_odd_sinks.h"
#include "../support/schedule_share.h"

namespace heddle {
namespace {

struct Case : test::AttentionCase {
  using AttentionCase::AttentionCase;

  RunOutcome run(const std::string& schedule = "rr") {
    return attention_sm90<Target::kSim>(problem, tensors(),
                                        {.kernel = "attention", .schedule = schedule, .sms = 2});
  }
};

void run_and_check(const AttentionProblem& problem, const std::string& schedule = "rr") {
  Case c(problem);
  const RunOutcome outcome = c.run(schedule);
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(outcome.remarks, "");
  test::expect_right(c);
}

TEST(AttentionSm90, EveryKeyIsSeenWithoutAMask) { run_and_check({.heads = 2, .queries = 256, .keys = 256}); }

TEST(AttentionSm90, ACausalMaskEndsAtTheQuery) {
  run_and_check({.heads = 2, .queries = 300, .keys = 300, .is_causal = true});
}

// Enough heads for tiles that are dealt out in pairs, and for others after them.
TEST(AttentionSm90, ManyHeadsUnderAMask) {
  if (test::is_whole()) run_and_check({.heads = 9, .queries = 260, .keys = 260, .is_causal = true});
  run_and_check({.batches = 3, .heads = 3, .queries = 200, .keys = 200, .head_dim = 64, .is_causal = true});
}

TEST(AttentionSm90, LengthsThatTilesDoNotDivide) {
  run_and_check({.batches = 2, .heads = 1, .queries = 70, .keys = 131});
  run_and_check({.heads = 1, .queries = 1, .keys = 1});
  run_and_check({.heads = 1, .queries = 65, .keys = 17, .head_dim = 64});
}

TEST(AttentionSm90, HeadsOf64) {
  run_and_check({.heads = 3, .queries = 200, .keys = 300, .head_dim = 64});
  run_and_check({.heads = 2, .queries = 260, .keys = 260, .head_dim = 64, .is_causal = true});
}

AttentionTiles tiles_of(const AttentionProblem& problem, std::uint32_t sms) {
  const AttentionTensors tensors;
  const AttentionPlan plan;
  const AttentionCall call{problem, tensors, plan, nullptr};
  return problem.head_dim <= 64 ? fastest_tiles<AttentionHeads{64, 64}>(call, sms)
                                : fastest_tiles<AttentionHeads{96, 96}>(call, sms);
}

// Points that were measured on an H200, with 132 SMs.
TEST(AttentionSm90, TilesAreTheFastest) {
  using enum AttentionTiles;
  const auto of_tokens = [&](std::int64_t tokens, std::int64_t head_dim, bool is_causal) {
    return tiles_of({.batches = 16384 / tokens,
                     .heads = head_dim == 64 ? 32 : 16,
                     .queries = tokens,
                     .keys = tokens,
                     .head_dim = head_dim,
                     .is_causal = is_causal},
                    132);
  };
  for (const std::int64_t tokens : {320, 512, 1024}) EXPECT_EQ(of_tokens(tokens, 64, false), kSmall) << tokens;
  for (const std::int64_t tokens : {768, 1536, 2048, 4096}) {
    EXPECT_EQ(of_tokens(tokens, 64, false), kLarge) << tokens;
  }
  for (const std::int64_t tokens : {512, 1024, 2048}) EXPECT_EQ(of_tokens(tokens, 64, true), kSmall) << tokens;
  for (const std::int64_t tokens : {4096, 16384}) EXPECT_EQ(of_tokens(tokens, 64, true), kLarge) << tokens;
  EXPECT_EQ(of_tokens(512, 96, false), kSmall);
  EXPECT_EQ(of_tokens(2048, 96, false), kLarge);
  EXPECT_EQ(of_tokens(16384, 96, false), kLarge);
  EXPECT_EQ(tiles_of({.queries = 5108, .keys = 5108, .head_dim = 64}, 132), kFew);
  EXPECT_EQ(
      tiles_of({.batches = 3, .heads = 4, .queries = 1098, .keys = 1098, .head_dim = 64, .is_causal = true}, 132),
      kFew);
}

TEST(AttentionSm90, TilesOfEveryKind) {
  using enum AttentionTiles;
  for (const bool is_causal : {false, true}) {
    const auto check = [&](AttentionProblem problem, AttentionTiles tiles) {
      problem.is_causal = is_causal;
      EXPECT_EQ(tiles_of(problem, 2), tiles);
      run_and_check(problem);
    };
    check({.heads = 2, .queries = 192, .keys = 500, .head_dim = 64}, kLarge);
    check({.heads = 2, .queries = 200, .keys = 150, .head_dim = 64}, kSmall);
    check({.heads = 1, .queries = 200, .keys = 150, .head_dim = 64}, kFew);
    check({.heads = 2, .queries = 190, .keys = 190, .head_dim = 96}, kLarge);
    check({.heads = 2, .queries = 100, .keys = 250, .head_dim = 80}, kSmall);
  }
}

TEST(AttentionSm90, HeadsOfOtherSizes) {
  run_and_check({.heads = 2, .queries = 130, .keys = 140, .head_dim = 96, .is_causal = true});
  run_and_check({.heads = 1, .queries = 70, .keys = 90, .head_dim = 40});
  run_and_check({.heads = 1, .queries = 70, .keys = 90, .head_dim = 8, .value_dim = 24});
  run_and_check({.heads = 2, .queries = 130, .keys = 260, .head_dim = 192, .value_dim = 128, .is_causal = true});
  run_and_check({.heads = 1, .queries = 130, .keys = 140, .head_dim = 256});
  run_and_check({.heads = 1, .queries = 70, .keys = 70, .head_dim = 64, .value_dim = 200, .is_causal = true});
}

TEST(AttentionSm90, WindowsEndBeforeAndAtTheQuery) {
  run_and_check({.heads = 2, .queries = 300, .keys = 300, .is_causal = true, .window = 70});
  run_and_check({.heads = 1, .queries = 200, .keys = 500, .head_dim = 64, .is_causal = true, .window = 1});
  run_and_check({.heads = 1, .queries = 300, .keys = 120, .is_causal = true, .window = 33});
  run_and_check({.heads = 1, .queries = 130, .keys = 400, .head_dim = 256, .is_causal = true, .window = 129});
}

TEST(AttentionSm90, CapsOfScores) {
  run_and_check({.heads = 1, .queries = 130, .keys = 200, .soft_cap = 2, .scale = 0.3f});
  // Rounding errors of the largest cap are below those of the type.
  run_and_check(
      {.heads = 1, .queries = 20, .keys = 40, .head_dim = 64, .type = AttentionElement::kFp16, .soft_cap = 1000});
  run_and_check(
      {.heads = 2, .queries = 140, .keys = 140, .head_dim = 64, .is_causal = true, .window = 50, .soft_cap = 5});
}

TEST(AttentionSm90, SinksTakeAPartOfTheWeight) {
  for (const bool is_causal : {false, true}) {
    Case c({.heads = 4, .queries = 150, .keys = 100, .head_dim = 64, .is_causal = is_causal});
    c.sinks = {0.0f, 3.5f, -40.0f, 100.0f};
    const RunOutcome outcome = c.run();
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    test::expect_right(c);
  }
}

TEST(AttentionSm90, SinksThatAreNoNumbersOrInfinite) {
  test::expect_odd_sinks(Case({.heads = 3, .queries = 150, .keys = 100, .head_dim = 64, .is_causal = true}));
}

TEST(AttentionSm90, BatchesLieOneAfterAnother) {
  for (const bool is_causal : {false, true}) {
    SCOPED_TRACE(is_causal ? "causal" : "no mask");
    const std::int64_t key_heads = test::is_whole() ? 2 : 1;
    Case c = test::batches_in_rows<Case>(
        {.heads = 2 * key_heads, .key_heads = key_heads, .head_dim = 64, .is_causal = is_causal},
        {200, 0, 1, 128, 65, 30}, {200, 40, 100, 128, 0, 20});
    const RunOutcome outcome = c.run();
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    EXPECT_EQ(outcome.remarks, "");
    test::expect_right(c);
  }
}

TEST(AttentionSm90, BatchesLieOneAfterAnotherWithAWindowAndSinks) {
  Case c = test::batches_in_rows<Case>({.heads = 2, .is_causal = true, .window = 50, .soft_cap = 20},
                                       {130, 300, 7}, {150, 310, 70});
  c.sinks = {0.5f, -1.0f};
  const RunOutcome outcome = c.run();
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  test::expect_right(c);
}

TEST(AttentionSm90, BatchesWithoutQueriesHaveNothingToDo) {
  Case c = test::batches_in_rows<Case>({.heads = 1, .head_dim = 64}, {0, 0, 0}, {10, 0, 3});
  const RunOutcome outcome = c.run();
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  test::expect_right(c);
}

TEST(AttentionSm90, ManyKeys) {
  run_and_check({.heads = 1, .queries = 195, .keys = 2100, .head_dim = 64, .is_causal = true});
}

TEST(AttentionSm90, Fp16) {
  run_and_check({.heads = 1, .queries = 130, .keys = 140, .type = AttentionElement::kFp16, .is_causal = true});
  run_and_check({.heads = 1, .queries = 130, .keys = 140, .head_dim = 64, .type = AttentionElement::kFp16});
}

TEST(AttentionSm90, HeadsShareKeyHeads) {
  run_and_check({.batches = 2, .heads = 4, .key_heads = 2, .queries = 40, .keys = 50});
  run_and_check({.heads = 3, .key_heads = 1, .queries = 40, .keys = 50, .head_dim = 64, .is_causal = true});
}

// The last query sees the last key; where there are fewer keys than queries, the first queries see none.
TEST(AttentionSm90, QueriesThatSeeNoKeyHaveZeros) {
  Case c({.heads = 1, .queries = 300, .keys = 100, .is_causal = true});
  const RunOutcome outcome = c.run();
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  test::expect_right(c);
  for (std::size_t query = 0; query < 200; ++query) {
    EXPECT_TRUE(std::isinf(c.lse[query]) && c.lse[query] < 0) << query;
    for (std::size_t d = 0; d < 128; ++d) ASSERT_EQ(c.o_at(query * 128 + d), 0.0) << query;
  }
}

TEST(AttentionSm90, FewerQueriesThanKeysUnderAMask) {
  run_and_check({.heads = 2, .queries = 30, .keys = 200, .is_causal = true});
}

// As tensors of [batch, row, head, dim] are, with a gap behind each row of O.
TEST(AttentionSm90, StridesOfAnyOrder) {
  const std::int64_t heads = 2;
  const std::int64_t queries = 70;
  const std::int64_t keys = 90;
  const auto interleaved = [&](std::int64_t rows) {
    return AttentionStrides{.row = heads * 64, .head = 64, .batch = rows * heads * 64};
  };
  AttentionProblem problem{.batches = 2, .heads = heads, .queries = queries, .keys = keys, .head_dim = 64};
  problem.q_strides = interleaved(queries);
  problem.k_strides = interleaved(keys);
  problem.v_strides = interleaved(keys);
  problem.o_strides = {.row = 72, .head = 72 * queries, .batch = 72 * queries * heads};
  Case c(problem);
  const RunOutcome outcome = c.run();
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  test::expect_right(c);
  for (std::size_t row = 0; row + 1 < 2 * 2 * 70; ++row) {
    for (std::size_t d = 64; d < 72; ++d) ASSERT_EQ(c.o[row * 72 + d], 0x7fff) << "between rows, after " << row;
  }
}

// Of one query, one head and one batch, as PyTorch has them: strides that no copy engine takes.
TEST(AttentionSm90, StridesThatLeadNowhere) {
  AttentionProblem problem{.heads = 1, .queries = 1, .keys = 70, .head_dim = 64};
  problem.q_strides = {.row = 65, .head = 3, .batch = std::int64_t{1} << 62};
  problem.k_strides = {.row = 64, .head = 64 * 70 + 1, .batch = 1};
  problem.o_strides = {.row = 1, .head = 77, .batch = -5};
  run_and_check(problem);
}

// Scores grow along the keys, so that what was summed has to be scaled again and again.
TEST(AttentionSm90, LargerScoresComeLater) {
  Case c({.heads = 1, .queries = 64, .keys = 512, .head_dim = 64, .scale = 1});
  for (std::size_t i = 0; i < c.q.size(); ++i) c.q[i] = bf16::from_float(i % 64 == 0 ? 1.0f : 0.0f).bits;
  for (std::size_t i = 0; i < c.k.size(); ++i) c.k[i] = bf16::from_float(static_cast<float>(i / 64 / 4)).bits;
  const RunOutcome outcome = c.run();
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  test::expect_right(c);
}

// Equal scores and whole numbers: weights are one, sums and quotients exact.
TEST(AttentionSm90, EqualScoresGiveExactMeans) {
  Case c({.heads = 1, .queries = 64, .keys = 256});
  for (std::uint16_t& bits : c.q) bits = 0;
  for (std::size_t i = 0; i < c.v.size(); ++i) {
    c.v[i] = bf16::from_float(static_cast<float>(i % 128 % 8) * (i / 128 % 2 == 0 ? 1.0f : 3.0f)).bits;
  }
  ASSERT_TRUE(c.run().ok());
  for (std::size_t i = 0; i < c.o.size(); ++i) ASSERT_EQ(c.o_at(i), static_cast<double>(i % 128 % 8) * 2) << i;
}

class AttentionSm90Schedules : public testing::TestWithParam<int> {};

TEST_P(AttentionSm90Schedules, GiveTheSameBits) {
  const std::int64_t heads = test::is_whole() ? 3 : 1;
  const AttentionProblem problem{.heads = heads, .queries = 130, .keys = 150, .head_dim = 64, .is_causal = true};
  Case first(problem);
  ASSERT_TRUE(first.run().ok());
  Case other(problem);
  const RunOutcome outcome = other.run(std::to_string(GetParam()));
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(outcome.remarks, "");
  EXPECT_EQ(first.o, other.o);
  EXPECT_EQ(std::memcmp(first.lse.data(), other.lse.data(), first.lse.size() * 4), 0);
}

INSTANTIATE_TEST_SUITE_P(Twenty, AttentionSm90Schedules, testing::Range(1, 21));

struct Refusal {
  const char* name;
  std::function<void(AttentionProblem&, AttentionTensors&)> spoil;
  std::string message;
};

constexpr std::int32_t kOffsets[] = {0, 15, 30};
constexpr std::int32_t kFallingOffsets[] = {0, 15, 10};

TEST(AttentionRefusals, NameTheRuleAndWriteNothing) {
  const std::vector<Refusal> refusals = {
      {"NoQueries", [](auto& p, auto&) { p.queries = 0; }, "queries is 0; 1 to 1073741824"},
      {"NegativeKeys", [](auto& p, auto&) { p.keys = -3; }, "keys is -3; 1 to 1073741824"},
      {"TooManyKeys", [](auto& p, auto&) { p.keys = std::int64_t{1} << 40; },
       "keys is 1099511627776; 1 to 1073741824"},
      {"NoBatches", [](auto& p, auto&) { p.batches = 0; }, "batches is 0; 1 to 1073741824"},
      {"NoHeads", [](auto& p, auto&) { p.heads = 0; }, "heads is 0; 1 to 1073741824"},
      {"HeadsDoNotDivide", [](auto& p, auto&) { p.key_heads = 3; },
       "4 heads share 3 key heads; the number of heads must be a multiple of that of key heads"},
      {"MoreKeyHeadsThanHeads", [](auto& p, auto&) { p.key_heads = 8; },
       "4 heads share 8 key heads; the number of heads must be a multiple of that of key heads"},
      {"HeadTooLarge", [](auto& p, auto&) { p.head_dim = 264; },
       "head_dim is 264; there are kernels for multiples of 8 from 8 to 256"},
      {"ValueOfOddWidth", [](auto& p, auto&) { p.value_dim = 60; },
       "value_dim is 60; there are kernels for multiples of 8 from 8 to 256"},
      {"NegativeWindow", [](auto& p, auto&) { p.window = -1; },
       "window is -1; 1 to 1073741824, or 0 for all keys"},
      {"WindowWithoutAMask", [](auto& p, auto&) { p.window = 5; },
       "window is 5 without a causal mask; is_causal would pass"},
      {"NegativeCap", [](auto& p, auto&) { p.soft_cap = -2; }, "soft_cap is -2; 1e-3 to 1000, or 0 for none"},
      {"CapTooFarFromScores", [](auto& p, auto&) { p.soft_cap = 1001; },
       "soft_cap is 1001; 1e-3 to 1000, or 0 for none"},
      {"NotAType", [](auto& p, auto&) { p.type = static_cast<AttentionElement>(7); },
       "type is 7; its enumerators are 0 to 1"},
      {"RowsOfQueriesAlone", [](auto& p, auto&) { p.query_rows = 40; }, "key_rows is 0; 1 to 1073741824"},
      {"BatchesLongerThanAllRows", [](auto& p, auto&) { p.query_rows = p.key_rows = 19; },
       "queries of the longest batch are 20, and query_rows is 19; 19 would pass"},
      {"NoOffsets", [](auto& p, auto&) { p.query_rows = p.key_rows = 40; }, "query_offsets is null"},
      {"OffsetsWithoutRows", [](auto&, auto& t) { t.key_offsets = kOffsets; },
       "offsets without query_rows and key_rows; null would pass"},
      {"OffsetsFall",
       [](auto& p, auto& t) {
         p.query_rows = p.key_rows = 40;
         t.query_offsets = kOffsets;
         t.key_offsets = kFallingOffsets;
       },
       "key_offsets[2] is 10; 15 to 35"},
      {"OffsetsExceedTheTensor",
       [](auto& p, auto& t) {
         p.query_rows = p.key_rows = 29;
         t.query_offsets = t.key_offsets = kOffsets;
       },
       "query_offsets[2] is 30; 15 to 29"},
      {"ABatchIsLongerThanTheLongest",
       [](auto& p, auto& t) {
         p.query_rows = p.key_rows = 40;
         p.keys = 14;
         t.query_offsets = t.key_offsets = kOffsets;
       },
       "key_offsets[1] is 15; 0 to 14"},
      {"NegativeScale", [](auto& p, auto&) { p.scale = -1; },
       "scale is -1; 1e-6 to 1e6, or 0 for 1 / sqrt(head_dim)"},
      {"ScaleIsNoNumber", [](auto& p, auto&) { p.scale = std::nanf(""); },
       "scale is nan; 1e-6 to 1e6, or 0 for 1 / sqrt(head_dim)"},
      {"TooManyTiles", [](auto& p, auto&) { p.batches = p.queries = 1 << 20; },
       "1048576 queries of 4 heads of 1048576 batches make 6.87e+10 tiles of 64; at most 2147418112"},
      {"RowsOverlap", [](auto& p, auto&) { p.q_strides.row = 40; },
       "q_strides.row is 40 elements; 64 or more, and they would not overlap"},
      {"RowsAreMisaligned", [](auto& p, auto&) { p.k_strides.row = 65; },
       "k_strides.row is 65 elements, 130 bytes; the copy engine takes multiples of 16 bytes: 72 would pass"},
      {"HeadsAreMisaligned", [](auto& p, auto&) { p.v_strides.head = 4001; },
       "v_strides.head is 4001 elements, 8002 bytes; the copy engine takes multiples of 16 bytes: 4008 would "
       "pass"},
      {"HeadsOfOOverlap", [](auto& p, auto&) { p.o_strides = {.row = 64, .head = 64, .batch = 64 * 80}; },
       "o_strides.head is 64 elements, and what lies between takes 1280: outputs would overlap; 1280 would pass"},
      {"BatchesOfOOverlap", [](auto& p, auto&) { p.o_strides = {.row = 256, .head = 64, .batch = 4096}; },
       "o_strides.batch is 4096 elements, and what lies between takes 5120: outputs would overlap; 5120 would "
       "pass"},
      {"BatchesAreFarApart", [](auto& p, auto&) { p.o_strides.batch = std::int64_t{1} << 39; },
       "o_strides.batch is 549755813888 elements; less than 549755813888"},
      {"QIsNull", [](auto&, auto& t) { t.q = nullptr; }, "q is null"},
      {"OIsNull", [](auto&, auto& t) { t.o = nullptr; }, "o is null"},
      {"OOverlapsV", [](auto&, auto& t) { t.o = const_cast<void*>(t.v); }, "o overlaps v: "},
      {"LseOverlapsO", [](auto&, auto& t) { t.lse = static_cast<float*>(t.o); }, "lse overlaps o: "},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.name);
    Case c({.batches = 2, .heads = 4, .queries = 20, .keys = 20, .head_dim = 64});
    AttentionTensors tensors = c.tensors();
    refusal.spoil(c.problem, tensors);
    try {
      attention_sm90<Target::kSim>(c.problem, tensors, {.kernel = "attention"});
      ADD_FAILURE() << "it ran";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("attention: " + refusal.message, 0), 0u) << error.what();
    }
    for (const std::uint16_t bits : c.o) ASSERT_EQ(bits, 0x7fff);
    for (const float value : c.lse) ASSERT_TRUE(std::isnan(value));
  }
}

TEST(AttentionRefusals, AddressesOnADeviceAreAligned) {
  Case c({.heads = 1, .queries = 20, .keys = 20, .head_dim = 64});
  const AttentionPlan plan = plan_attention(c.problem);
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  const AttentionTensors right{.q = at(0x10000), .k = at(0x20000), .v = at(0x30000), .o = at(0x40000)};
  EXPECT_NO_THROW(check_attention_tensors(c.problem, plan, right, false));
  AttentionTensors wrong = right;
  wrong.k = at(0x20008);
  try {
    check_attention_tensors(c.problem, plan, wrong, false);
    ADD_FAILURE() << "it passed";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "attention: k is at 0x20008, 8 bytes past a multiple of 16; 0x20010 would pass");
  }
}

// Small tiles, for mistakes in one of the rings and for policies. One CTA has four tiles of queries, so that
// every ring goes round.
constexpr AttentionConfig kSmall{.head_dim = 64, .value_dim = 64, .keys = 64, .q_stages = 1};

template <class Kernel>
sim::Report run_small(Case& c) {
  const auto keys = static_cast<std::uint32_t>(c.problem.keys);
  sim::GlobalMemory memory;
  memory.add("q", c.q.data(), c.q.size() * 2);
  memory.add("k", c.k.data(), c.k.size() * 2);
  memory.add("v", c.v.data(), c.v.size() * 2);
  memory.add("o", c.o.data(), c.o.size() * 2);
  const auto map = [](const std::vector<std::uint16_t>& tensor, std::uint64_t rows, std::uint32_t box_rows) {
    return make_tensor_map({.type = TensorType::kBF16,
                            .rank = 4,
                            .address = tensor.data(),
                            .dims = {64, rows, 2, 1},
                            .strides = {128, rows * 128, rows * 256},
                            .box = {64, box_rows, 1, 1},
                            .swizzle = Swizzle::k128B});
  };
  const typename Kernel::Params params{.q = map(c.q, 256, 128),
                                       .k = map(c.k, keys, 64),
                                       .v = map(c.v, keys, 64),
                                       .o = map(c.o, 256, 64),
                                       .extents = {.queries = 256,
                                                   .keys = static_cast<std::int32_t>(keys),
                                                   .heads = 2,
                                                   .batches = 1,
                                                   .offset = 0,
                                                   .window = 0,
                                                   .tiles = 2,
                                                   .paired = 0,
                                                   .group = 1,
                                                   .query_offsets = nullptr,
                                                   .key_offsets = nullptr,
                                                   .query_rows = 0,
                                                   .key_rows = 0,
                                                   .sees_all = true},
                                       .heads_per_key_head = 1,
                                       .o_data = nullptr,
                                       .o_row = 0,
                                       .o_head = 0,
                                       .o_dim = 64,
                                       .lse = nullptr,
                                       .sinks = nullptr,
                                       .factor = 0.18f,
                                       .score = {}};
  return sim::launch<Kernel>({.memory = &memory, .kernel = "attention"}, {.grid = {1}}, params);
}

Case small_case(std::int64_t keys) { return Case({.heads = 2, .queries = 256, .keys = keys, .head_dim = 64}); }

template <class Kernel>
bool is_silent(std::int64_t keys) {
  Case c = small_case(keys);
  return run_small<Kernel>(c).ok();
}

// Two tiles of queries at a time, each with warpgroups and rings of its own; with one tile, a stream has none.
TEST(AttentionSm90, StreamsAreTilesOfTheirOwn) {
  constexpr AttentionConfig kStreams{
      .head_dim = 64, .value_dim = 64, .keys = 64, .q_stages = 1, .streams = 2, .takes_turns = false};
  Case one = small_case(192);
  Case two = small_case(192);
  const sim::Report of_one = run_small<AttentionSm90<bf16, kSmall>>(one);
  const sim::Report of_two = run_small<AttentionSm90<bf16, kStreams>>(two);
  ASSERT_TRUE(of_one.ok()) << of_one.text();
  ASSERT_TRUE(of_two.ok()) << of_two.text();
  EXPECT_EQ(one.o, two.o);
}

// [policy]
// A score policy of one's own: the further away a key is, the less it weighs.
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
// [policy]

// [scored]
// Queries see keys by their distance, under a causal mask, with heads of 64.
RunOutcome attend_near(const AttentionProblem& problem, const AttentionTensors& tensors, float slope) {
  constexpr AttentionConfig config = attention_sm90_config({64, 64}, {.is_causal = true});
  return attention_scored<bf16, config, Distance>(problem, tensors, {.slope = slope},
                                                  {.kernel = "near", .sms = 2});
}
// [scored]

// Options that say nothing are no stream.
static_assert(
    std::is_same_v<RunOutcome, decltype(attention_scored<bf16, attention_sm90_config({64, 64}, {}), Distance>(
                                   AttentionProblem{}, AttentionTensors{}, {}, {}))>);

TEST(AttentionSm90, ScoresAreWhatAPolicyMakesOfThem) {
  constexpr float kSlope = 0.25f;
  Case c({.heads = 2, .queries = 150, .keys = 192, .head_dim = 64, .is_causal = true});
  const RunOutcome outcome = attend_near(c.problem, c.tensors(), kSlope);
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  test::expect_right_by_distance(c, double{kSlope});
}

// A kernel with a policy has one configuration, which may not fit the problem.
TEST(AttentionRefusals, OfAKernelWithAPolicy) {
  const auto message = [](const AttentionProblem& problem) {
    Case c(problem);
    try {
      attend_near(problem, c.tensors(), 1);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("it ran");
  };
  const AttentionProblem right{.queries = 8, .keys = 8, .head_dim = 64, .is_causal = true};
  EXPECT_EQ(message(right), "it ran");
  AttentionProblem wrong = right;
  wrong.head_dim = 128;
  EXPECT_EQ(message(wrong),
            "attention: head_dim is 128 and value_dim 128; the kernel is for heads up to 64 and 64");
  wrong = right;
  wrong.is_causal = false;
  EXPECT_EQ(message(wrong), "attention: the kernel is for a causal mask; one that is_general takes both");
  wrong = right;
  wrong.window = 3;
  EXPECT_EQ(message(wrong), "attention: window is 3; only a kernel that is_general has windows");
  wrong = right;
  wrong.soft_cap = 2;
  EXPECT_EQ(message(wrong),
            "attention: soft_cap is 2.000000; 0 would pass: scores are what the policy makes of them");
  wrong = right;
  wrong.type = AttentionElement::kFp16;
  EXPECT_EQ(message(wrong), "attention: the kernel is for bf16, and the problem's type is another");
}

TEST(AttentionSm90Mistakes, NoneIsSilent) {
  EXPECT_TRUE((is_silent<AttentionSm90<bf16, kSmall>>(64)));
  EXPECT_TRUE((is_silent<AttentionSm90<bf16, kSmall>>(192)));
}

using Q = MbarrierBackend<kSmall.q_stages>;
using K = MbarrierBackend<kSmall.stages>;

// In the rings of K and of V all of them. That of Q has one stage and goes round four times: an arrival too many
// or too few does not add up to a phase there, and the ring of K keeps it in order.
template <Mistake mistake, bool in_q>
void expect_found_in_each_ring() {
  constexpr Mutation mutation{mistake};
  using BadQ = MutantBackend<Q, mutation>;
  using BadK = MutantBackend<K, mutation>;
  // With more tiles of keys, or of queries in their ring, the ring of K would keep that of Q in order.
  if constexpr (in_q) {
    EXPECT_FALSE((is_silent<AttentionSm90<bf16, kSmall, PlainScores, BadQ>>(64))) << "in the ring of Q";
  }
  EXPECT_FALSE((is_silent<AttentionSm90<bf16, kSmall, PlainScores, Q, BadK>>(192))) << "in the ring of K";
  EXPECT_FALSE((is_silent<AttentionSm90<bf16, kSmall, PlainScores, Q, K, BadK>>(192))) << "in the ring of V";
}

template <std::size_t... i>
void expect_all_found(std::index_sequence<i...>) {
  (
      [] {
        SCOPED_TRACE(kMistakes[i].name);
        expect_found_in_each_ring < kMistakes[i].mistake, i<5>();
      }(),
      ...);
}

TEST(AttentionSm90Mistakes, AreFoundInEachRing) {
  static_assert(std::size(kMistakes) == 12);
  expect_all_found(std::make_index_sequence<std::size(kMistakes)>());
}

}  // namespace
}  // namespace heddle
