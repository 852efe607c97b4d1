// SPDX-License-Identifier: Apache-2.0
//
// Decoding attention for Hopper in the simulated SM against a reference in double: caches with and without pages,
// lengths, groups, pieces of a head that several workers have; and mistakes planted in its rings.
#include "attention/attention_decode_sm90.h"
#include "attention/attention_decode_launch.h"
#include "attention/attention_decode_sm90_host.h"

#include <heddle/host/error.h>
#include <heddle/host/tensor_map.h>
#include <heddle/sim/launch.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../support/attention_decode_case.h"
#include "../support/attention_odd_sinks.h"
#include "../support/schedule_share.h"

namespace heddle {
namespace {

using test::kNan;

struct Case : test::AttentionDecodeCase {
  using AttentionDecodeCase::AttentionDecodeCase;

  RunOutcome run(const std::string& schedule = "rr", std::uint32_t sms = 2) {
    return attention_decode_sm90<Target::kSim>(problem, tensors(),
                                               {.kernel = "attention", .schedule = schedule, .sms = sms});
  }
};

void run_and_check(Case c, const std::string& schedule = "rr", std::uint32_t sms = 2) {
  const RunOutcome outcome = c.run(schedule, sms);
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(outcome.remarks, "");
  test::expect_right(c);
}

TEST(AttentionDecodeSm90, OneHeadIsSharedByAllWorkers) {
  run_and_check({{.attention = {.heads = 1, .queries = 1, .keys = 700}}, {}});
}

// Eight workers, and two tiles: six of them have nothing.
TEST(AttentionDecodeSm90, ThereMayBeFewerTilesThanWorkers) {
  run_and_check({{.attention = {.heads = 1, .queries = 1, .keys = 90}}, {}}, "rr", 4);
}

TEST(AttentionDecodeSm90, AWorkerHasSeveralHeads) {
  run_and_check({{.attention = {.batches = 3, .heads = 4, .queries = 1, .keys = 80}}, {}});
}

TEST(AttentionDecodeSm90, HeadsThatShareKeysAreRows) {
  run_and_check({{.attention = {.batches = 2, .heads = 16, .key_heads = 2, .queries = 1, .keys = 200}}, {}});
  run_and_check({{.attention = {.heads = 64, .key_heads = 1, .queries = 1, .keys = 130}}, {}});
}

TEST(AttentionDecodeSm90, SeveralQueriesSeeTheKeysUpToTheirOwn) {
  for (const bool is_causal : {false, true}) {
    run_and_check(
        {{.attention =
              {.batches = 2, .heads = 6, .key_heads = 2, .queries = 5, .keys = 150, .is_causal = is_causal}},
         {150, 66}});
  }
}

// More queries than keys: the first of them see none.
TEST(AttentionDecodeSm90, LengthsFromNoneToAll) {
  run_and_check({{.attention = {.batches = 5, .heads = 2, .queries = 3, .keys = 300, .is_causal = true}},
                 {0, 300, 1, 64, 129}});
}

TEST(AttentionDecodeSm90, Pages) {
  for (const std::int64_t size : {16, 48, 64, 128}) {
    SCOPED_TRACE("pages of " + std::to_string(size));
    run_and_check({{.attention = {.batches = 3, .heads = 4, .key_heads = 2, .queries = 1, .keys = 260},
                    .page_size = size,
                    .pages = 60},
                   {260, 77, 0}});
  }
}

// The last tile of keys has more pages than the table.
TEST(AttentionDecodeSm90, TheTableEndsWithTheKeys) {
  run_and_check({{.attention = {.heads = 2, .queries = 1, .keys = 130}, .page_size = 16, .pages = 12}, {130}});
}

TEST(AttentionDecodeSm90, HeadsOfOtherSizes) {
  run_and_check({{.attention = {.heads = 2, .queries = 1, .keys = 200, .head_dim = 64}}, {}});
  run_and_check({{.attention = {.heads = 2, .queries = 2, .keys = 200, .head_dim = 40, .value_dim = 104}}, {}});
}

TEST(AttentionDecodeSm90, Fp16) {
  run_and_check({{.attention = {.heads = 2, .queries = 1, .keys = 200, .type = AttentionElement::kFp16}}, {}});
  run_and_check({{.attention = {.heads = 2, .queries = 1, .keys = 200, .type = AttentionElement::kFp16},
                  .page_size = 16,
                  .pages = 20},
                 {190}});
}

TEST(AttentionDecodeSm90, WindowsCapsAndSinks) {
  run_and_check(
      {{.attention = {.batches = 2, .heads = 2, .queries = 2, .keys = 400, .is_causal = true, .window = 70}},
       {400, 50}});
  run_and_check({{.attention = {.heads = 2, .queries = 1, .keys = 200, .soft_cap = 2, .scale = 0.3f}}, {}});
  Case c({.attention = {.batches = 3, .heads = 4, .queries = 1, .keys = 150}}, {150, 0, 20});
  c.sinks = {0.0f, 3.5f, -40.0f, 100.0f};
  run_and_check(c);
}

// 24 workers: as many parts that warps share those of a row, a CTA has one row or several, and fewer parts.
TEST(AttentionDecodeSm90, ManyPartsOfAHead) {
  struct Heads {
    std::int64_t all, of_keys;
  };
  for (const Heads heads : {Heads{3, 1}, Heads{40, 1}, Heads{8, 2}}) {
    SCOPED_TRACE(std::to_string(heads.all) + " heads");
    Case c({.attention = {.heads = heads.all, .key_heads = heads.of_keys, .queries = 1, .keys = 1500}}, {1490});
    const RunOutcome outcome = c.run("rr", 12);
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    test::expect_right(c);
  }
}

// Points that were measured on an H200, which has 264 workers.
TEST(AttentionDecodeSm90, HeadsStayWholeWhereThatIsFaster) {
  const auto keeps = [](std::int32_t heads, std::int32_t keys, std::uint32_t page_rows = 64,
                        const std::int32_t* lengths = nullptr) {
    return keeps_heads_whole(
        {.batches = heads / 8, .key_heads = 8, .keys = keys, .queries = 1, .window = 1 << 30, .lengths = lengths},
        64, page_rows, 264);
  };
  for (const std::int32_t heads : {96, 128, 256, 512, 1024}) EXPECT_TRUE(keeps(heads, 1024)) << heads;
  EXPECT_TRUE(keeps(128, 4096));
  EXPECT_TRUE(keeps(240, 2048));
  for (const std::int32_t heads : {8, 32}) EXPECT_FALSE(keeps(heads, 1024)) << heads;
  EXPECT_FALSE(keeps(64, 4096));
  EXPECT_FALSE(keeps(8, 65536));
  EXPECT_FALSE(keeps(128, 65536));
  EXPECT_FALSE(keeps(512, 16384));
  EXPECT_TRUE(keeps(512, 1024, 16));
  EXPECT_FALSE(keeps(128, 1024, 16));
  const std::int32_t length = 0;
  EXPECT_FALSE(keeps(512, 1024, 64, &length));
}

TEST(AttentionDecodeSm90, SinksThatAreNoNumbersOrInfinite) {
  for (const std::int64_t keys : {60, 700}) {
    SCOPED_TRACE(std::to_string(keys) + " keys");
    test::expect_odd_sinks(Case({.attention = {.heads = 3, .queries = 2, .keys = keys}}, {}));
  }
}

// 60 keys are one piece, 700 are several.
TEST(AttentionDecodeSm90, ANanInAQueryIsOneInItsOutput) {
  for (const std::int64_t keys : {60, 700}) {
    SCOPED_TRACE(std::to_string(keys) + " keys");
    Case c({.attention = {.heads = 2, .key_heads = 1, .queries = 1, .keys = keys}}, {});
    c.q[3] = kNan;
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
TEST(AttentionDecodeSm90, StridesOfAnyOrder) {
  AttentionDecodeProblem problem{
      .attention = {.batches = 2, .heads = 4, .key_heads = 2, .queries = 1, .keys = 100, .head_dim = 64},
      .page_size = 32,
      .pages = 12};
  problem.attention.k_strides = {.row = 128, .head = 64, .batch = 32 * 128};
  problem.attention.v_strides = {.row = 192, .head = 72, .batch = 32 * 192};
  problem.attention.o_strides = {.row = 64, .head = 80, .batch = 1000};
  Case c(problem, {100, 33});
  run_and_check(c);
}

class AttentionDecodeSm90Schedules : public testing::TestWithParam<int> {};

// Parts are joined in the same order, whoever wrote them first.
TEST_P(AttentionDecodeSm90Schedules, GiveTheSameBits) {
  const std::int64_t key_heads = test::is_whole() ? 2 : 1;
  const AttentionDecodeProblem problem{
      .attention = {.batches = 2, .heads = 2 * key_heads, .key_heads = key_heads, .queries = 1, .keys = 300},
      .page_size = 64,
      .pages = 12};
  Case first(problem, {300, 170});
  ASSERT_TRUE(first.run().ok());
  Case other(problem, {300, 170});
  const RunOutcome outcome = other.run(std::to_string(GetParam()));
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(outcome.remarks, "");
  EXPECT_EQ(first.o, other.o);
  EXPECT_EQ(std::memcmp(first.lse.data(), other.lse.data(), first.lse.size() * 4), 0);
}

INSTANTIATE_TEST_SUITE_P(Twenty, AttentionDecodeSm90Schedules, testing::Range(1, 21));

struct Refusal {
  const char* name;
  std::function<void(AttentionDecodeProblem&, AttentionDecodeTensors&, Case&)> spoil;
  std::string message;
};

TEST(AttentionDecodeRefusals, NameTheRuleAndWriteNothing) {
  const std::vector<Refusal> refusals = {
      {"NoKeys", [](auto& p, auto&, auto&) { p.attention.keys = 0; },
       "attention_decode: keys is 0; 1 to 1073741824"},
      {"ManyRows", [](auto& p, auto&, auto&) { p.attention.queries = 33; },
       "attention_decode: 2 heads share keys and have 33 queries each, 66 rows; at most 64"},
      {"HeadTooLarge", [](auto& p, auto&, auto&) { p.attention.head_dim = 192; },
       "attention_decode: head_dim is 192 and value_dim 192; there are kernels for multiples of 8 from 8 to 128"},
      {"HeadsDoNotDivide", [](auto& p, auto&, auto&) { p.attention.key_heads = 3; },
       "attention: 4 heads share 3 key heads; the number of heads must be a multiple of that of key heads"},
      {"OddPages", [](auto& p, auto&, auto&) { p.page_size = 50; },
       "attention_decode: page_size is 50; multiples of 16: 48 would pass"},
      {"NegativePages", [](auto& p, auto&, auto&) { p.page_size = -64; },
       "attention_decode: page_size is -64; multiples of 16: 16 would pass"},
      {"NoPages", [](auto& p, auto&, auto&) { p.pages = 0; }, "attention_decode: pages is 0; 1 to 1073741824"},
      {"PagesWithoutASize", [](auto& p, auto&, auto&) { p.page_size = 0; },
       "attention_decode: pages is 20 without a page_size; 64 would pass"},
      {"NoTable", [](auto&, auto& t, auto&) { t.page_table = nullptr; }, "attention_decode: page_table is null"},
      {"PageTooLarge", [](auto&, auto&, auto& c) { c.table[3] = 20; },
       "attention_decode: page_table[1][1] is 20; 0 to 19"},
      {"NegativePage", [](auto&, auto&, auto& c) { c.table[0] = -1; },
       "attention_decode: page_table[0][0] is -1; 0 to 19"},
      {"LengthTooLarge", [](auto&, auto&, auto& c) { c.lengths[1] = 101; },
       "attention_decode: lengths[1] is 101; 0 to 100"},
      {"NegativeLength", [](auto&, auto&, auto& c) { c.lengths[0] = -2; },
       "attention_decode: lengths[0] is -2; 0 to 100"},
      {"HeadsOfSeveralQueriesAreApart",
       [](auto& p, auto&, auto&) {
         p.attention.queries = 2;
         p.attention.q_strides.head = 512;
       },
       "attention_decode: q_strides.head is 512 elements; with 2 queries, those of the next head follow: 256 "
       "would "
       "pass"},
      {"KIsNull", [](auto&, auto& t, auto&) { t.attention.k = nullptr; }, "attention: k is null"},
      {"OOverlapsV", [](auto&, auto& t, auto&) { t.attention.o = const_cast<void*>(t.attention.v); },
       "attention: o overlaps v: "},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.name);
    Case c({.attention = {.batches = 2, .heads = 4, .key_heads = 2, .queries = 1, .keys = 100},
            .page_size = 64,
            .pages = 20},
           {100, 90});
    AttentionDecodeTensors tensors = c.tensors();
    refusal.spoil(c.problem, tensors, c);
    try {
      attention_decode_sm90<Target::kSim>(c.problem, tensors, {.kernel = "attention"});
      ADD_FAILURE() << "it ran";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).rfind(refusal.message, 0), 0u) << error.what();
    }
    for (const std::uint16_t bits : c.o) ASSERT_EQ(bits, kNan);
  }
}

// The kernel by itself: one head of tiles of 16 keys for each of two workers.
constexpr AttentionDecodeConfig kSmall{.head_dim = 64, .value_dim = 64, .keys = 16, .page_rows = 16, .stages = 2};

struct Small : test::SmallDecode {
  using SmallDecode::SmallDecode;

  template <class Kernel>
  sim::Report run() {
    return launch<Kernel, AttentionJoin<bf16, kSmall.keys>>(
        {.arch = Arch::kSm90, .tile_rows = 64, .workers = kSmall.workers});
  }
};

TEST(AttentionDecodeSm90, TheWorkspaceMayHoldAnything) {
  Small small;
  std::fill(small.parts.begin(), small.parts.end(), std::nanf(""));
  std::fill(small.sums.begin(), small.sums.end(), std::nanf(""));
  for (int launch = 0; launch < 2; ++launch) {
    std::fill(small.o.begin(), small.o.end(), bf16{kNan});
    const sim::Report report = small.run<AttentionDecodeSm90<bf16, kSmall>>();
    ASSERT_TRUE(report.ok()) << report.text();
    for (const bf16 value : small.o) EXPECT_EQ(value.to_float(), 2.0f);
  }
}

// As a GPU has it, where nobody could look at them before: what is not a page is zeros, what is not a length is
// the nearest one, and no access is outside of the tensors.
TEST(AttentionDecodeSm90, PagesThatDoNotExistAreZeros) {
  Small small;
  small.table = {0, 1000000, 2, -7, 4, 8, 6, -2147483647};
  small.lengths = {2147483647};
  const sim::Report report = small.run<AttentionDecodeSm90<bf16, kSmall>>();
  ASSERT_TRUE(report.ok()) << report.text();
  // Scores of 8 for half of the keys, and of 0 for the others.
  const float weight = 1.0f / (1.0f + std::exp2(-8.0f));
  for (const bf16 value : small.o) EXPECT_NEAR(value.to_float(), 2.0f * weight, 1.0f / 128);
  small.lengths = {-1};
  const sim::Report none = small.run<AttentionDecodeSm90<bf16, kSmall>>();
  ASSERT_TRUE(none.ok()) << none.text();
  for (const bf16 value : small.o) EXPECT_EQ(value.to_float(), 0.0f);
}

using Ring = MbarrierBackend<kSmall.stages>;
template <Mistake mistake>
void expect_found_in_each_ring() {
  using Bad = MutantBackend<Ring, Mutation{mistake}>;
  // An arrival too many or too few adds up: each ring goes round so often that a phase is lost.
  EXPECT_FALSE((Small(512).run<AttentionDecodeSm90<bf16, kSmall, Bad>>().ok())) << "in the ring of K";
  EXPECT_FALSE((Small(512).run<AttentionDecodeSm90<bf16, kSmall, Ring, Bad>>().ok())) << "in the ring of V";
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

TEST(AttentionDecodeSm90Mistakes, AreFoundInEachRing) {
  expect_all_found(std::make_index_sequence<std::size(kMistakes)>());
}

}  // namespace
}  // namespace heddle
