// SPDX-License-Identifier: Apache-2.0
//
// Every feature of attention, each as a small problem of random numbers.
#pragma once

#include "attention/attention_case.h"

#include <heddle/host/run_options.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::test {

struct AttentionFeature {
  const char* name;
  AttentionProblem problem;
  bool is_decode = false;
  std::int64_t page_size = 0;
  bool is_ragged = false;
  bool has_sinks = false;

  reference::AttentionCase prepared() const {
    reference::AttentionCase one;
    one.problem = problem;
    one.is_decode = is_decode;
    one.page_size = page_size;
    one.is_ragged = is_ragged;
    one.has_sinks = has_sinks;
    one.prepare();
    return one;
  }
};

inline const AttentionFeature kAttentionFeatures[] = {
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

// Empty if `run` (of a case and RunOptions) is silent and near double under round robin, and silent with the same
// bits under schedules of seeds 1 to `count`; otherwise what was not so.
template <class Run>
std::string differs_between_schedules(const AttentionFeature& feature, int count, const Run& run) {
  reference::AttentionCase one = feature.prepared();
  std::vector<std::uint16_t> first_o;
  std::vector<float> first_lse;
  for (int seed = 0; seed <= count; ++seed) {
    const std::string schedule = seed == 0 ? "rr" : std::to_string(seed);
    one.reset_output();
    const RunOutcome outcome = run(one, RunOptions{.kernel = "attention", .schedule = schedule, .sms = 2});
    if (!outcome.ok() || !outcome.remarks.empty()) return outcome.report + outcome.remarks;
    if (seed == 0) {
      const reference::AttentionVerdict verdict = one.verify(1e12);
      if (!verdict.ok()) return verdict.wrong;
      first_o = one.o;
      first_lse = one.lse;
    }
    const bool is_same =
        one.o == first_o && std::memcmp(one.lse.data(), first_lse.data(), 4 * first_lse.size()) == 0;
    if (!is_same) return "other bits under schedule " + schedule;
  }
  return "";
}

}  // namespace heddle::test
