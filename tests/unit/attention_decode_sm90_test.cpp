// SPDX-License-Identifier: Apache-2.0
//
// Decoding attention for Hopper in the simulated SM against a reference in double: caches with and without pages,
// lengths, groups, pieces of a head that several workers have; and mistakes planted in its rings.
#include "attention/attention_decode_sm90.h"
#include "attention/attention_decode_plan.h"
#include "attention/attention_decode_sm90_host.h"
#include "attention/attention_join.h"
#include "attention/attention_reference.h"

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

#include "../support/schedule_share.h"

namespace heddle {
namespace {

constexpr std::uint16_t kNan = 0x7fff;  // of both types

struct Case {
  AttentionDecodeProblem problem;
  std::vector<std::uint16_t> q, k, v, o;
  std::vector<float> lse;
  std::vector<float> sinks;
  std::vector<std::int32_t> lengths;
  std::vector<std::int32_t> table;

  // Normal numbers where there are keys, and NaNs elsewhere: in outputs, in pages that the table does not name,
  // and after the last key of a batch.
  Case(const AttentionDecodeProblem& p, std::vector<std::int32_t> of_batches)
      : problem(p), lengths(std::move(of_batches)) {
    const AttentionDecodePlan plan = plan_attention_decode(p);
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    const auto number = [&] {
      const float value = normal(engine);
      return p.attention.type == AttentionElement::kBf16 ? bf16::from_float(value).bits
                                                         : fp16::from_float(value).bits;
    };
    q.resize(plan.attention.q.bytes / 2);
    std::generate(q.begin(), q.end(), number);
    k.assign(plan.attention.k.bytes / 2, kNan);
    v.assign(plan.attention.v.bytes / 2, kNan);
    o.assign(plan.attention.o.bytes / 2, kNan);
    lse.assign(plan.attention.lse_bytes / 4, std::nanf(""));
    if (p.page_size != 0) {
      std::vector<std::int32_t> pages(static_cast<std::size_t>(p.pages));
      std::iota(pages.begin(), pages.end(), 0);
      std::shuffle(pages.begin(), pages.end(), engine);
      const auto count = static_cast<std::size_t>(p.attention.batches * plan.table_stride);
      for (std::size_t i = 0; i < count; ++i) table.push_back(pages[i % pages.size()]);
    }
    for (std::uint64_t batch = 0; batch < static_cast<std::uint64_t>(p.attention.batches); ++batch) {
      for (std::uint64_t head = 0; head < plan.attention.k.heads; ++head) {
        for (std::uint64_t key = 0; key < length(batch); ++key) {
          for (std::uint64_t d = 0; d < plan.attention.k.dim; ++d)
            k[place(plan.attention.k, batch, head, key) + d] = number();
          for (std::uint64_t d = 0; d < plan.attention.v.dim; ++d)
            v[place(plan.attention.v, batch, head, key) + d] = number();
        }
      }
    }
  }

  std::uint64_t length(std::uint64_t batch) const {
    return static_cast<std::uint64_t>(lengths.empty() ? problem.attention.keys : lengths[batch]);
  }
  std::uint64_t place(const AttentionTensorPlan& tensor, std::uint64_t batch, std::uint64_t head,
                      std::uint64_t key) const {
    std::uint64_t page = batch;
    if (problem.page_size != 0) {
      const auto size = static_cast<std::uint64_t>(problem.page_size);
      const auto stride = (static_cast<std::uint64_t>(problem.attention.keys) + size - 1) / size;
      page = static_cast<std::uint64_t>(table[batch * stride + key / size]);
      key %= size;
    }
    return page * tensor.batch_stride + head * tensor.head_stride + key * tensor.row_stride;
  }
  AttentionDecodeTensors tensors() {
    return {.attention = {.q = q.data(),
                          .k = k.data(),
                          .v = v.data(),
                          .o = o.data(),
                          .lse = lse.data(),
                          .sinks = sinks.empty() ? nullptr : sinks.data()},
            .lengths = lengths.empty() ? nullptr : lengths.data(),
            .page_table = table.empty() ? nullptr : table.data()};
  }
  RunOutcome run(const std::string& schedule = "rr", std::uint32_t sms = 2) {
    return attention_decode_sm90<Target::kSim>(problem, tensors(),
                                               {.kernel = "attention", .schedule = schedule, .sms = sms});
  }
  double value(std::uint16_t bits) const {
    return problem.attention.type == AttentionElement::kBf16 ? double{bf16{bits}.to_float()}
                                                             : double{fp16{bits}.to_float()};
  }
};

// As attention_sm90_test.cpp has it, batch by batch: rounding u of weights, which add up to one, and of the
// output.
void expect_right(Case& c) {
  const AttentionPlan plan = plan_attention_decode(c.problem).attention;
  const double u = c.problem.attention.type == AttentionElement::kBf16 ? 1.0 / 512 : 1.0 / 4096;
  std::size_t wrong = 0;
  for (std::uint64_t batch = 0; batch < plan.q.batches; ++batch) {
    const std::uint64_t length = c.length(batch);
    AttentionProblem problem = c.problem.attention;
    problem.batches = 1;
    problem.keys = static_cast<std::int64_t>(std::max<std::uint64_t>(length, 1));
    problem.q_strides = problem.k_strides = problem.v_strides = problem.o_strides = {};
    std::vector<std::uint16_t> q, k, v;
    double largest_v = 0;
    for (std::uint64_t head = 0; head < plan.q.heads; ++head) {
      for (std::uint64_t query = 0; query < plan.q.rows; ++query) {
        const std::uint64_t at =
            batch * plan.q.batch_stride + head * plan.q.head_stride + query * plan.q.row_stride;
        q.insert(q.end(), &c.q[at], &c.q[at] + plan.q.dim);
      }
    }
    for (std::uint64_t head = 0; head < plan.k.heads && length > 0; ++head) {
      for (std::uint64_t key = 0; key < length; ++key) {
        const std::uint64_t k_at = c.place(plan.k, batch, head, key);
        const std::uint64_t v_at = c.place(plan.v, batch, head, key);
        k.insert(k.end(), &c.k[k_at], &c.k[k_at] + plan.k.dim);
        v.insert(v.end(), &c.v[v_at], &c.v[v_at] + plan.v.dim);
      }
    }
    for (const std::uint16_t bits : v) largest_v = std::fmax(largest_v, std::fabs(c.value(bits)));
    std::vector<std::uint16_t> unused_o(plan.q.heads * plan.q.rows * plan.v.dim);
    reference::AttentionOutput expected;
    if (length > 0) {
      expected = reference::attention(problem, {.q = q.data(),
                                                .k = k.data(),
                                                .v = v.data(),
                                                .o = unused_o.data(),
                                                .sinks = c.sinks.empty() ? nullptr : c.sinks.data()});
    } else {
      expected.o.assign(plan.q.heads * plan.q.rows * plan.v.dim, 0);
      for (std::uint64_t row = 0; row < plan.q.heads * plan.q.rows; ++row) {
        expected.lse.push_back(c.sinks.empty() ? -HUGE_VAL : double{c.sinks[row / plan.q.rows]});
      }
    }
    for (std::uint64_t row = 0; row < expected.lse.size(); ++row) {
      const std::uint64_t head = row / plan.q.rows;
      const std::uint64_t query = row % plan.q.rows;
      const std::uint64_t at =
          batch * plan.o.batch_stride + head * plan.o.head_stride + query * plan.o.row_stride;
      for (std::uint64_t d = 0; d < plan.o.dim; ++d) {
        const double want = expected.o[row * plan.o.dim + d];
        const double bound = (largest_v + std::fabs(want)) * u * 9 / 8;
        if (!(std::fabs(c.value(c.o[at + d]) - want) <= bound) && ++wrong < 5) {
          ADD_FAILURE() << "o of batch " << batch << ", head " << head << ", query " << query << ", dim " << d
                        << " is " << c.value(c.o[at + d]) << " and should be " << want << " within " << bound;
        }
      }
      const double got = double{c.lse[batch * expected.lse.size() + row]};
      const double want = expected.lse[row];
      if (!(std::isinf(want) ? got == want : std::fabs(got - want) <= 1e-4) && ++wrong < 5) {
        ADD_FAILURE() << "lse of batch " << batch << ", head " << head << ", query " << query << " is " << got
                      << " and should be " << want;
      }
    }
  }
  EXPECT_EQ(wrong, 0u);
}

void run_and_check(Case c, const std::string& schedule = "rr", std::uint32_t sms = 2) {
  const RunOutcome outcome = c.run(schedule, sms);
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(outcome.remarks, "");
  expect_right(c);
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
  Case c({.attention = {.batches = 3, .heads = 3, .queries = 1, .keys = 150}}, {150, 0, 20});
  c.sinks = {0.0f, 3.5f, -40.0f};
  run_and_check(c);
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

struct Small {
  std::size_t keys;
  std::vector<bf16> q = std::vector<bf16>(64, bf16::from_float(0.25f));
  std::vector<bf16> k = std::vector<bf16>(keys * 64, bf16::from_float(0.5f));
  std::vector<bf16> v = std::vector<bf16>(keys * 64, bf16::from_float(2.0f));
  std::vector<bf16> o = std::vector<bf16>(64);
  std::vector<float> parts = std::vector<float>(4 * 64);
  std::vector<float> sums = std::vector<float>(4);
  std::vector<std::int32_t> table = std::vector<std::int32_t>(keys / 16);
  std::vector<std::int32_t> lengths = {static_cast<std::int32_t>(keys)};

  explicit Small(std::size_t count = 128) : keys(count) { std::iota(table.begin(), table.end(), 0); }

  template <class Kernel>
  sim::Report run() {
    sim::GlobalMemory memory;
    const auto add = [&](const char* name, auto& tensor) {
      memory.add(name, tensor.data(), tensor.size() * sizeof(tensor[0]));
    };
    add("q", q);
    add("k", k);
    add("v", v);
    add("o", o);
    add("parts", parts);
    add("sums", sums);
    add("table", table);
    add("lengths", lengths);
    const auto map = [](const std::vector<bf16>& tensor, std::uint64_t rows, std::uint64_t pages,
                        std::uint32_t box_rows) {
      return make_tensor_map({.type = TensorType::kBF16,
                              .rank = 4,
                              .address = tensor.data(),
                              .dims = {64, rows, 1, pages},
                              .strides = {128, rows * 128, rows * 128},
                              .box = {64, box_rows, 1, 1},
                              .swizzle = Swizzle::k128B});
    };
    const AttentionDecodeParams params{.q = map(q, 1, 1, 64),
                                       .k = map(k, 16, keys / 16, 16),
                                       .v = map(v, 16, keys / 16, 16),
                                       .extents = {.batches = 1,
                                                   .key_heads = 1,
                                                   .keys = static_cast<std::int32_t>(keys),
                                                   .queries = 1,
                                                   .window = 1 << 30,
                                                   .lengths = lengths.data()},
                                       .rows = 1,
                                       .heads_per_key_head = 1,
                                       .value_dim = 64,
                                       .is_causal = false,
                                       .page_size = 16,
                                       .table_stride = static_cast<std::int32_t>(keys / 16),
                                       .page_table = table.data(),
                                       .o = o.data(),
                                       .o_row = 64,
                                       .o_head = 64,
                                       .o_batch = 64,
                                       .lse = nullptr,
                                       .sinks = nullptr,
                                       .factor = 1.0f,
                                       .score = {},
                                       .parts = parts.data(),
                                       .part_sums = sums.data()};
    const sim::Report report =
        sim::launch<Kernel>({.memory = &memory, .kernel = "attention"}, {.grid = {1}}, params);
    if (!report.ok()) return report;
    return sim::launch<AttentionJoin<bf16, kSmall.keys>>({.memory = &memory, .kernel = "attention"},
                                                         {.grid = {kSmall.workers}}, params);
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
