// SPDX-License-Identifier: Apache-2.0
//
// Decoding attention for Blackwell in the simulated SM against a reference in double: caches with and without
// pages, lengths, groups, pieces of a head that several CTAs have; and mistakes planted in its rings.
#include "attention/attention_decode_sm100.h"
#include "attention/attention_decode_sm100_host.h"

#include <heddle/host/error.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "../support/attention_decode_case.h"
#include "../support/attention_odd_sinks.h"

namespace heddle {
namespace {

struct Case : test::AttentionDecodeCase {
  using AttentionDecodeCase::AttentionDecodeCase;

  RunOutcome run(const std::string& schedule = "rr", std::uint32_t sms = 4) {
    return attention_decode_sm100<Target::kSim>(
        problem, tensors(), {.kernel = "attention", .schedule = schedule, .sms = sms, .arch = Arch::kSm100});
  }
};

void run_and_check(Case c, std::uint32_t sms = 4) {
  const RunOutcome outcome = c.run("rr", sms);
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(outcome.remarks, "");
  test::expect_right(c);
}

TEST(AttentionDecodeSm100, OneHeadIsSharedByAllCtas) {
  run_and_check({{.attention = {.heads = 1, .queries = 1, .keys = 700}}, {}});
}

TEST(AttentionDecodeSm100, ThereMayBeFewerTilesThanCtas) {
  run_and_check({{.attention = {.heads = 1, .queries = 1, .keys = 90}}, {}});
}

TEST(AttentionDecodeSm100, ACtaHasSeveralHeads) {
  run_and_check({{.attention = {.batches = 3, .heads = 4, .queries = 1, .keys = 80}}, {}}, 2);
}

TEST(AttentionDecodeSm100, HeadsThatShareKeysAreRows) {
  run_and_check({{.attention = {.batches = 2, .heads = 16, .key_heads = 2, .queries = 1, .keys = 200}}, {}});
  run_and_check({{.attention = {.heads = 64, .key_heads = 1, .queries = 1, .keys = 130}}, {}});
}

TEST(AttentionDecodeSm100, SeveralQueriesSeeTheKeysUpToTheirOwn) {
  for (const bool is_causal : {false, true}) {
    run_and_check(
        {{.attention =
              {.batches = 2, .heads = 6, .key_heads = 2, .queries = 5, .keys = 150, .is_causal = is_causal}},
         {150, 66}});
  }
}

// More queries than keys: the first of them see none.
TEST(AttentionDecodeSm100, LengthsFromNoneToAll) {
  run_and_check({{.attention = {.batches = 5, .heads = 2, .queries = 3, .keys = 300, .is_causal = true}},
                 {0, 300, 1, 64, 129}});
}

TEST(AttentionDecodeSm100, Pages) {
  for (const std::int64_t size : {16, 48, 64}) {
    SCOPED_TRACE("pages of " + std::to_string(size));
    run_and_check({{.attention = {.batches = 3, .heads = 4, .key_heads = 2, .queries = 1, .keys = 260},
                    .page_size = size,
                    .pages = 60},
                   {260, 77, 0}});
  }
}

// The last tile of keys has more pages than the table.
TEST(AttentionDecodeSm100, TheTableEndsWithTheKeys) {
  run_and_check({{.attention = {.heads = 2, .queries = 1, .keys = 130}, .page_size = 16, .pages = 12}, {130}});
}

TEST(AttentionDecodeSm100, HeadsAndTypesOfAllKinds) {
  run_and_check({{.attention = {.heads = 2, .queries = 1, .keys = 200, .head_dim = 64}}, {}});
  run_and_check({{.attention = {.heads = 2, .queries = 2, .keys = 200, .head_dim = 40, .value_dim = 104}}, {}});
  run_and_check({{.attention = {.heads = 2, .queries = 1, .keys = 200, .type = AttentionElement::kFp16},
                  .page_size = 16,
                  .pages = 20},
                 {190}});
}

TEST(AttentionDecodeSm100, WindowsCapsAndSinks) {
  run_and_check(
      {{.attention = {.batches = 2, .heads = 2, .queries = 2, .keys = 400, .is_causal = true, .window = 70}},
       {400, 50}});
  run_and_check({{.attention = {.heads = 2, .queries = 1, .keys = 200, .soft_cap = 2, .scale = 0.3f}}, {}});
  Case c({.attention = {.batches = 3, .heads = 4, .queries = 1, .keys = 150}}, {150, 0, 20});
  c.sinks = {0.0f, 3.5f, -40.0f, 100.0f};
  run_and_check(c);
}

TEST(AttentionDecodeSm100, SinksThatAreNoNumbersOrInfinite) {
  for (const std::int64_t keys : {60, 700}) {
    SCOPED_TRACE(std::to_string(keys) + " keys");
    test::expect_odd_sinks(Case({.attention = {.heads = 3, .queries = 2, .keys = keys}}, {}));
  }
}

// 60 keys are one piece, 700 are several.
TEST(AttentionDecodeSm100, ANanInAQueryIsOneInItsOutput) {
  for (const std::int64_t keys : {60, 700}) {
    SCOPED_TRACE(std::to_string(keys) + " keys");
    Case c({.attention = {.heads = 2, .key_heads = 1, .queries = 1, .keys = keys}}, {});
    c.q[3] = test::kNan;
    ASSERT_TRUE(c.run().ok());
    for (std::size_t d = 0; d < 128; ++d) {
      EXPECT_TRUE(std::isnan(c.value(c.o[d]))) << d;
      EXPECT_FALSE(std::isnan(c.value(c.o[128 + d]))) << d;
    }
    EXPECT_TRUE(std::isnan(c.lse[0])) << c.lse[0];
    EXPECT_TRUE(std::isfinite(c.lse[1])) << c.lse[1];
  }
}

// As tensors of [page, key, head, dim] are.
TEST(AttentionDecodeSm100, StridesOfAnyOrder) {
  AttentionDecodeProblem problem{
      .attention = {.batches = 2, .heads = 4, .key_heads = 2, .queries = 1, .keys = 100, .head_dim = 64},
      .page_size = 32,
      .pages = 12};
  problem.attention.k_strides = {.row = 128, .head = 64, .batch = 32 * 128};
  problem.attention.v_strides = {.row = 192, .head = 72, .batch = 32 * 192};
  problem.attention.o_strides = {.row = 64, .head = 80, .batch = 1000};
  run_and_check(Case(problem, {100, 33}));
}

// What the problem is refused for is Hopper's test; here that nothing is written.
TEST(AttentionDecodeSm100, RefusesAndWritesNothing) {
  Case c({.attention = {.batches = 2, .heads = 4, .key_heads = 2, .queries = 1, .keys = 100},
          .page_size = 64,
          .pages = 20},
         {100, 90});
  c.table[3] = 20;
  try {
    c.run();
    ADD_FAILURE() << "it ran";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "attention_decode: page_table[1][1] is 20; 0 to 19");
  }
  for (const std::uint16_t bits : c.o) ASSERT_EQ(bits, test::kNan);
}

// The kernel by itself, with one CTA.
constexpr AttentionSm100Config kSmall{.head_dim = 64, .value_dim = 64, .keys = 32, .tiles = 1};

struct Small : test::SmallDecode {
  using SmallDecode::SmallDecode;

  template <class... Backends>
  sim::Report run() {
    return launch<AttentionDecodeSm100<bf16, kSmall, 16, Backends...>, AttentionJoin<bf16, kSmall.keys>>(
        {.arch = Arch::kSm100, .tile_rows = kSmall.kRows, .workers = 1});
  }
};

// As a GPU has it, where nobody could look at them before: what is not a page is zeros, what is not a length is
// the nearest one, and no access is outside of the tensors.
TEST(AttentionDecodeSm100, PagesThatDoNotExistAreZeros) {
  Small small;
  small.table = {0, 1000000, 2, -7, 4, 8, 6, -2147483647};
  small.lengths = {2147483647};
  const sim::Report report = small.run();
  ASSERT_TRUE(report.ok()) << report.text();
  // Scores of 8 for half of the keys, and of 0 for the others.
  const float weight = 1.0f / (1.0f + std::exp2(-8.0f));
  for (const bf16 value : small.o) EXPECT_NEAR(value.to_float(), 2.0f * weight, 1.0f / 128);
  small.lengths = {-1};
  const sim::Report none = small.run();
  ASSERT_TRUE(none.ok()) << none.text();
  for (const bf16 value : small.o) EXPECT_EQ(value.to_float(), 0.0f);
}

using Ring = MmaInputBackend<kSmall.stages>;
template <Mistake mistake>
void expect_found_in_each_ring() {
  using Bad = MutantBackend<Ring, Mutation{.mistake = mistake, .stage = 0, .warp = 9}>;  // the mma warp
  EXPECT_FALSE((Small(512).run<Bad, Ring>().ok())) << "in the ring of K";
  EXPECT_FALSE((Small(512).run<Ring, Bad>().ok())) << "in the ring of V";
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

TEST(AttentionDecodeSm100Mistakes, AreFoundInEachRing) {
  expect_all_found(std::make_index_sequence<std::size(kMistakes)>());
}

}  // namespace
}  // namespace heddle
