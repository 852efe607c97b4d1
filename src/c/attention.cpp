// SPDX-License-Identifier: Apache-2.0
#include "c/error.h"

#include <heddle/c_api.h>
#include <heddle/host/error.h>
#include <heddle/kernels/attention/attention.h>

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

using heddle::c::guarded;

namespace {

heddle::AttentionElement element_of(const char* name) {
  const std::string_view text = name == nullptr ? "" : name;
  if (text == "bf16") return heddle::AttentionElement::kBf16;
  if (text == "fp16") return heddle::AttentionElement::kFp16;
  throw heddle::InputError(fmt::format("attention: type is '{}'; bf16 or fp16", text));
}

heddle::AttentionStrides strides_of(const heddle_attention_strides& strides) {
  return {.row = strides.row, .head = strides.head, .batch = strides.batch};
}

heddle::AttentionProblem problem_of(const heddle_attention_call& call) {
  return {.batches = call.batches,
          .heads = call.heads,
          .key_heads = call.key_heads,
          .queries = call.queries,
          .keys = call.keys,
          .head_dim = call.head_dim,
          .value_dim = call.value_dim,
          .type = element_of(call.type),
          .is_causal = call.is_causal != 0,
          .window = call.window,
          .soft_cap = call.soft_cap,
          .scale = call.scale,
          .q_strides = strides_of(call.q_strides),
          .k_strides = strides_of(call.k_strides),
          .v_strides = strides_of(call.v_strides),
          .o_strides = strides_of(call.o_strides),
          .query_rows = call.query_rows,
          .key_rows = call.key_rows};
}

heddle::AttentionTensors tensors_of(const heddle_attention_call& call) {
  return {.q = call.q,
          .k = call.k,
          .v = call.v,
          .o = call.o,
          .lse = call.lse,
          .sinks = call.sinks,
          .query_offsets = call.query_offsets,
          .key_offsets = call.key_offsets};
}

}  // namespace

HEDDLE_C_CALL int heddle_attention(const heddle_attention_call* call, const char* device) {
  return guarded(1, [&] {
    heddle::RunOptions options{.kernel = "attention"};
    if (call->sms != 0) options.sms = call->sms;
    if (call->schedule != nullptr) options.schedule = call->schedule;
    const heddle::RunOutcome outcome =
        heddle::attention(problem_of(*call), tensors_of(*call), heddle::find_device(device), options);
    if (!outcome.ok()) throw std::runtime_error(outcome.report);
    return 0;
  });
}

HEDDLE_C_CALL int heddle_attention_in_stream(const heddle_attention_call* call, void* stream) {
  return guarded(1, [&] {
    heddle::attention(problem_of(*call), tensors_of(*call), stream);
    return 0;
  });
}
