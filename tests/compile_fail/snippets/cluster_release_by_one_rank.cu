// SPDX-License-Identifier: Apache-2.0
// release_to is called in one CTA of the cluster only.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
#ifdef MISUSE
  if (isa::cluster_ctarank() == 0) std::move(stage).release_to(3);
#else
  std::move(stage).release_to(3);
#endif
}
