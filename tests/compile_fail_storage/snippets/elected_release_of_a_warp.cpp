// SPDX-License-Identifier: Apache-2.0
// One thread of a warp cannot do what a whole warp does.
// expect: a release of this pipeline is one signal of a whole warp already: call release()
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/wgmma_backend.h>

using namespace heddle;

HEDDLE_DEVICE void empty_one(ProducerConsumerPipeline<4, WgmmaInputBackend<4>>& pipeline) {
  auto stage = pipeline.acquire_consumer();
#ifdef MISUSE
  std::move(stage).release_elected();
#else
  std::move(stage).release();
#endif
}
