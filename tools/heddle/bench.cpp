// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <heddle/host/error.h>

namespace heddle::tool {

int bench(const bench::MatmulBenchOptions& options) {
#if HEDDLE_WITH_MATMUL_BENCH
  return bench::run_matmul_bench(options);
#else
  (void)options;
  throw InputError("bench: this program was built without the GPU part of the matmul, which it measures; configure with "
                   "nvcc, -DHEDDLE_CUDA=ON and 90a among HEDDLE_CUDA_ARCHS");
#endif
}

}  // namespace heddle::tool
