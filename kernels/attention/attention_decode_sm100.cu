// SPDX-License-Identifier: Apache-2.0
#include "attention_decode_sm100.h"

#include "attention_decode_launch.h"
#include "attention_decode_sm100_host.h"

namespace heddle::inline HEDDLE_TARGET {

namespace {

// Heads of less than 128 are filled with zeros, which costs no memory traffic. Small tiles of keys, so that few
// keys are work for many CTAs, and as many stages as there is room for: what is on its way is what makes memory
// fast.
constexpr AttentionSm100Config kConfig{.keys = 64, .stages = 5, .tiles = 1};

template <Element T, std::uint32_t page_rows>
RunOutcome launch_pages(Device& device, const AttentionDecodeCall& call) {
  return launch_decode<AttentionDecodeSm100<T, kConfig, page_rows>, T, kConfig.keys, 1>(device, call);
}
template <Element T>
RunOutcome launch_type(Device& device, const AttentionDecodeCall& call) {
  if (call.problem.page_size % 64 == 0) return launch_pages<T, 64>(device, call);
  return launch_pages<T, 16>(device, call);
}

RunOutcome start(Device& device, const AttentionDecodeCall& call) {
  return call.problem.attention.type == AttentionElement::kBf16 ? launch_type<bf16>(device, call)
                                                                : launch_type<fp16>(device, call);
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome attention_decode_sm100<kTarget>(const AttentionDecodeProblem& problem,
                                           const AttentionDecodeTensors& tensors, const RunOptions& options) {
  return run_decode(problem, tensors, options, 10, start);
}

template <>
void enqueue_attention_decode_sm100<kTarget>(const AttentionDecodeProblem& problem,
                                             const AttentionDecodeTensors& tensors, void* stream) {
  start_decode(problem, tensors, stream, 10, start);
}

}  // namespace heddle
