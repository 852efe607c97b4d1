// SPDX-License-Identifier: Apache-2.0
//
// Data and checks of the matmul benchmark, on the GPU. All matrices are row-major bf16.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace heddle::bench {

// Independent normal numbers, mean 0 and variance 1.
void fill_normal(void* data, std::uint64_t count, std::uint64_t seed, cudaStream_t stream);

// -1, 0 and 1, each as often.
void fill_integers(void* data, std::uint64_t count, std::uint64_t seed, cudaStream_t stream);

struct CheckResult {
  double largest_error = 0;  // |out - reference| over the root of the mean square of the reference
  std::uint64_t compared = 0;
};

// Compares `rows` rows of out [m, n], evenly spread, with sums in float over k in blocks that are added in
// double.
CheckResult check_rows(const void* a, const void* b, const void* out, std::uint32_t m, std::uint32_t n,
                       std::uint32_t k, std::uint32_t rows);

// Compares two whole outputs.
CheckResult compare(const void* out, const void* other, std::uint64_t count);

}  // namespace heddle::bench
