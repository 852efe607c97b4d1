// SPDX-License-Identifier: Apache-2.0
// A commit to other CTAs, from a pipeline whose waits acquire in their own CTA only.
// expect: set is_multicast in the backend's CommitConfig
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/tensor_core_backend.h>

#include <utility>

using namespace heddle;

#ifdef MISUSE
constexpr CommitConfig kCommits{};
#else
constexpr CommitConfig kCommits{.is_multicast = true};
#endif
HEDDLE_DEVICE void consume(ProducerConsumerPipeline<2, MmaInputBackend<2, kCommits>>& pipeline) {
  auto stage = pipeline.acquire_consumer();
  std::move(stage).release_to(3);
}
