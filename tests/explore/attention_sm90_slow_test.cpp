// SPDX-License-Identifier: Apache-2.0
//
// Every feature of attention for Hopper under twenty schedules: silent, near double, and the same bits each time.
#include "attention/attention_case.h"
#include "attention/attention_decode_sm90_host.h"
#include "attention/attention_sm90_host.h"

#include <gtest/gtest.h>

#include <cstring>

namespace heddle {
namespace {

struct Feature {
  const char* name;
  AttentionProblem problem;
  bool is_decode = false;
  std::int64_t page_size = 0;
  bool is_ragged = false;
  bool has_sinks = false;
};

const Feature kFeatures[] = {
    {"Plain", {.heads = 3, .queries = 130, .keys = 150}},
    {"Fp16", {.heads = 2, .queries = 130, .keys = 150, .type = AttentionElement::kFp16}},
    {"Causal", {.heads = 3, .queries = 130, .keys = 150, .is_causal = true}},
    {"HeadsOf64", {.heads = 2, .queries = 200, .keys = 150, .head_dim = 64}},
    {"CausalStreamsOf64", {.heads = 5, .queries = 130, .keys = 150, .head_dim = 64, .is_causal = true}},
    {"HeadsOf96", {.heads = 2, .queries = 130, .keys = 150, .head_dim = 96}},
    {"HeadsOf192And128", {.queries = 130, .keys = 150, .head_dim = 192, .value_dim = 128, .is_causal = true}},
    {"HeadsOf256", {.queries = 130, .keys = 150, .head_dim = 256}},
    {"Grouped", {.heads = 4, .key_heads = 2, .queries = 70, .keys = 150}},
    {"Window", {.heads = 2, .queries = 130, .keys = 300, .head_dim = 64, .is_causal = true, .window = 40}},
    {"SoftCap", {.heads = 2, .queries = 130, .keys = 150, .head_dim = 64, .soft_cap = 5}},
    {"Sinks", {.heads = 2, .queries = 130, .keys = 150, .head_dim = 64}, false, 0, false, true},
    {"BatchesInRows", {.batches = 3, .queries = 100, .keys = 150, .head_dim = 64}, false, 0, true},
    {"BatchesInRows256", {.batches = 2, .queries = 70, .keys = 80, .head_dim = 256}, false, 0, true},
    {"Decode", {.batches = 2, .heads = 8, .key_heads = 2, .queries = 1, .keys = 300}, true},
    {"DecodeOverPages",
     {.batches = 3, .heads = 4, .key_heads = 1, .queries = 1, .keys = 300},
     true,
     16,
     true,
     true},
    {"DecodeSeveralQueries",
     {.batches = 2, .heads = 4, .key_heads = 2, .queries = 3, .keys = 200, .is_causal = true},
     true,
     64,
     true}};

class AttentionSm90Features : public testing::TestWithParam<Feature> {};

TEST_P(AttentionSm90Features, GiveTheSameBitsUnderTwentySchedules) {
  const Feature& feature = GetParam();
  reference::AttentionCase one;
  one.problem = feature.problem;
  one.is_decode = feature.is_decode;
  one.page_size = feature.page_size;
  one.is_ragged = feature.is_ragged;
  one.has_sinks = feature.has_sinks;
  one.prepare();
  std::vector<std::uint16_t> first_o;
  std::vector<float> first_lse;
  for (int seed = 0; seed <= 20; ++seed) {
    const RunOptions options{
        .kernel = "attention", .schedule = seed == 0 ? "rr" : std::to_string(seed), .sms = 2};
    one.reset_output();
    const RunOutcome outcome =
        one.is_decode ? attention_decode_sm90<Target::kSim>(one.decode_problem(), one.decode_tensors(), options)
                      : attention_sm90<Target::kSim>(one.problem, one.tensors(), options);
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    ASSERT_EQ(outcome.remarks, "");
    if (seed == 0) {
      const reference::AttentionVerdict verdict = one.verify(1e12);
      ASSERT_TRUE(verdict.ok()) << verdict.wrong;
      first_o = one.o;
      first_lse = one.lse;
    }
    ASSERT_EQ(one.o, first_o) << "schedule " << seed;
    ASSERT_EQ(std::memcmp(one.lse.data(), first_lse.data(), first_lse.size() * 4), 0) << "schedule " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, AttentionSm90Features, testing::ValuesIn(kFeatures),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace heddle
