// SPDX-License-Identifier: Apache-2.0
// The stage is asked for its index, and dropped at the end of the line.
// expect-nvcc: is a deleted function
// expect-clang: call to deleted member function 'index'
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  use(args, pipeline.acquire_consumer().index());
#else
  use(args, pipeline.consume().index());
#endif
}
