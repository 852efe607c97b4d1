// SPDX-License-Identifier: Apache-2.0
//
// attention_chain: the library's attention, launch after launch, each of which reads what the one ahead writes.
// CHAIN_ARCH is 90 or 100. CHAIN_WITHOUT_WAIT: kernels that do not wait for the one ahead.
#include <heddle/isa/grid_dependency.h>

#ifdef CHAIN_WITHOUT_WAIT
namespace heddle::inline HEDDLE_TARGET::isa {
HEDDLE_DEVICE void no_wait(CallSite = CallSite::here()) {}
}  // namespace heddle::inline HEDDLE_TARGET::isa
#define griddepcontrol_wait no_wait
#endif

#include "attention/attention_decode_launch.h"
#if CHAIN_ARCH == 90
#include "attention/attention_decode_sm90.h"
#include "attention/attention_sm90_launch.h"
#else
#include "attention/attention_decode_sm100.h"
#include "attention/attention_sm100_launch.h"
#endif

#include <cstdio>

#include "../support/attention_chain.h"

namespace {

using heddle::AttentionDecodeCall;
using heddle::AttentionHeads;
using heddle::bf16;
using heddle::CappedScores;
using heddle::PlainScores;

#if CHAIN_ARCH == 90
constexpr heddle::AttentionConfig kPlain = heddle::attention_sm90_config({64, 64}, {});
constexpr heddle::AttentionConfig kGeneral = heddle::attention_sm90_config({64, 64}, {.is_general = true});
using Decode = heddle::AttentionDecodeSm90<bf16, heddle::AttentionDecodeConfig{}>;
constexpr std::uint32_t kDecodeKeys = 64;
constexpr std::uint32_t kWorkers = 2;
#else
constexpr heddle::AttentionSm100Config kPlain = heddle::attention_sm100_config({64, 64}, {});
constexpr heddle::AttentionSm100Config kGeneral = heddle::attention_sm100_config({64, 64}, {.is_general = true});
using Decode =
    heddle::AttentionDecodeSm100<bf16, heddle::AttentionSm100Config{.keys = 64, .stages = 5, .tiles = 1}, 64>;
constexpr std::uint32_t kDecodeKeys = 64;
constexpr std::uint32_t kWorkers = 1;
#endif

void forward(const heddle::AttentionProblem& problem, const heddle::AttentionTensors& tensors) {
  if (problem.query_rows == 0) {
    return heddle::enqueue_attention_scored<bf16, kPlain, PlainScores>(problem, tensors, {}, nullptr);
  }
  heddle::enqueue_attention_scored<bf16, kGeneral, CappedScores>(problem, tensors, {}, nullptr);
}

void decode(const heddle::AttentionDecodeProblem& problem, const heddle::AttentionDecodeTensors& tensors) {
  heddle::start_decode(problem, tensors, nullptr, CHAIN_ARCH / 10,
                       [](heddle::Device& device, const AttentionDecodeCall& call) {
                         return heddle::launch_decode<Decode, bf16, kDecodeKeys, kWorkers>(device, call);
                       });
}

}  // namespace

int main() {
  try {
    if (heddle::test::wrong_in_attention_chain(128, forward, decode) != 0) return 1;
  } catch (const std::exception& error) {
    std::printf("FAILED: %s\n", error.what());
    return 1;
  }
  std::printf("all is well\n");
}
