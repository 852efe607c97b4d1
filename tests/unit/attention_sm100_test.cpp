// SPDX-License-Identifier: Apache-2.0
//
// Attention for Blackwell in the simulated SM against a reference in double, under twenty schedules, and with
// mistakes planted in its rings.
#include "attention/attention_reference.h"

#include <heddle/host/error.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "../support/attention_sm100_case.h"

namespace heddle {
namespace {

using Case = test::AttentionSm100Case;
using test::kSmall;
using test::run_small;
using test::small_case;

// As attention_sm90_test.cpp has it: rounding u of weights, which add up to one, and of the output.
void expect_right(Case& c) {
  const reference::AttentionOutput expected = reference::attention(c.problem, c.tensors());
  const double u = c.problem.type == AttentionElement::kBf16 ? 1.0 / 512 : 1.0 / 4096;
  double largest_v = 0;
  for (const std::uint16_t bits : c.v) largest_v = std::fmax(largest_v, std::fabs(c.value(bits)));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.o.size(); ++i) {
    const double bound = (largest_v + std::fabs(expected.o[i])) * u * 9 / 8;
    if (!(std::fabs(c.value(c.o[i]) - expected.o[i]) <= bound) && ++wrong < 5) {
      ADD_FAILURE() << "o[" << i << "] is " << c.value(c.o[i]) << " and should be " << expected.o[i] << " within "
                    << bound;
    }
  }
  for (std::size_t i = 0; i < expected.lse.size(); ++i) {
    const double want = expected.lse[i];
    if (!(std::isinf(want) ? double{c.lse[i]} == want : std::fabs(double{c.lse[i]} - want) <= 1e-4) &&
        ++wrong < 5) {
      ADD_FAILURE() << "lse[" << i << "] is " << c.lse[i] << " and should be " << want;
    }
  }
  EXPECT_EQ(wrong, 0u);
}

void run_and_check(Case c) {
  const RunOutcome outcome = c.run();
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(outcome.remarks, "");
  expect_right(c);
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
  Case c({.heads = 3, .queries = 150, .keys = 100, .head_dim = 64, .is_causal = true});
  c.sinks = {0.0f, 3.5f, -40.0f};
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

TEST(AttentionSm100, RefusesWhatItHasNoKernelFor) {
  Case large({.heads = 1, .queries = 10, .keys = 10, .head_dim = 192});
  try {
    large.run();
    ADD_FAILURE() << "it ran";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "attention: head_dim is 192 and value_dim 192; on sm100 there are kernels for multiples of 8 from 8 "
        "to 128");
  }
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
  EXPECT_FALSE((run_small<AttentionSm100<bf16, kSmall, Bad>>(c, schedule).ok())) << "in the ring of K";
  EXPECT_FALSE((run_small<AttentionSm100<bf16, kSmall, Ring, Bad>>(c, schedule).ok())) << "in the ring of V";
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
