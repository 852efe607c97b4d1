// SPDX-License-Identifier: Apache-2.0
#include "attention_decode_sm90.h"

#include "attention_decode_launch.h"
#include "attention_decode_sm90_host.h"

namespace heddle::inline HEDDLE_TARGET {

namespace {

// Heads of less than 128 are filled with zeros, which costs no memory traffic.
template <Element T, AttentionDecodeConfig config>
RunOutcome launch_config(Device& device, const AttentionDecodeCall& call) {
  return launch_decode<AttentionDecodeSm90<T, config>, T, config.keys, config.workers>(device, call);
}
template <Element T>
RunOutcome launch_type(Device& device, const AttentionDecodeCall& call) {
  if (call.problem.page_size % 64 == 0) return launch_config<T, AttentionDecodeConfig{}>(device, call);
  return launch_config<T, AttentionDecodeConfig{.page_rows = 16}>(device, call);
}

RunOutcome start(Device& device, const AttentionDecodeCall& call) {
  return call.problem.attention.type == AttentionElement::kBf16 ? launch_type<bf16>(device, call)
                                                                : launch_type<fp16>(device, call);
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome attention_decode_sm90<kTarget>(const AttentionDecodeProblem& problem,
                                          const AttentionDecodeTensors& tensors, const RunOptions& options) {
  return run_decode(problem, tensors, options, 9, start);
}

template <>
void enqueue_attention_decode_sm90<kTarget>(const AttentionDecodeProblem& problem,
                                            const AttentionDecodeTensors& tensors, void* stream) {
  start_decode(problem, tensors, stream, 9, start);
}

}  // namespace heddle
