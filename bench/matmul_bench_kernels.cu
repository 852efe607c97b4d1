// SPDX-License-Identifier: Apache-2.0
#include "matmul_bench_kernels.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace heddle::bench {

namespace {

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

__device__ std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

__global__ void fill_normal_kernel(__nv_bfloat16* data, std::uint64_t count, std::uint64_t seed) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    const std::uint64_t bits = mix(seed * 0x100000001b3ull ^ i);
    const float u = (static_cast<float>(bits >> 40) + 1.0f) * 0x1p-24f;
    const float v = static_cast<float>(bits & 0xffffff) * 0x1p-24f;
    data[i] = __float2bfloat16(sqrtf(-2.0f * logf(u)) * cospif(2.0f * v));
  }
}

__global__ void fill_integers_kernel(__nv_bfloat16* data, std::uint64_t count, std::uint64_t seed) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    data[i] = __float2bfloat16(static_cast<float>(mix(seed * 0x100000001b3ull ^ i) % 3) - 1.0f);
  }
}

// One warp for each element.
__global__ void check_rows_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* out,
                                  std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint32_t rows,
                                  float* errors, double* squares) {
  const std::uint32_t col = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (col >= n) return;
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t row =
      static_cast<std::uint32_t>(std::uint64_t{blockIdx.y} * (m - 1) / (rows > 1 ? rows - 1 : 1));
  double sum = 0;
  for (std::uint32_t from = 0; from < k; from += 256) {
    float part = 0;
    for (std::uint32_t i = from + lane; i < from + 256 && i < k; i += 32) {
      part += __bfloat162float(a[std::uint64_t{row} * k + i]) * __bfloat162float(b[std::uint64_t{col} * k + i]);
    }
    sum += part;
  }
  for (int delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(0xffffffffu, sum, delta);
  if (lane == 0) {
    const std::uint64_t at = std::uint64_t{blockIdx.y} * n + col;
    errors[at] = fabsf(static_cast<float>(sum) - __bfloat162float(out[std::uint64_t{row} * n + col]));
    squares[at] = sum * sum;
  }
}

__global__ void compare_kernel(const __nv_bfloat16* out, const __nv_bfloat16* other, std::uint64_t count,
                               double* result) {
  double largest = 0;
  double squares = 0;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    const float x = __bfloat162float(out[i]);
    const float y = __bfloat162float(other[i]);
    const float error = fabsf(x - y);
    largest = error > largest || isnan(error) ? error : largest;
    squares += static_cast<double>(y) * y;
  }
  const std::uint64_t thread = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  result[2 * thread] = largest;
  result[2 * thread + 1] = squares;
}

template <class T>
std::vector<T> take(T* device, std::size_t count) {
  std::vector<T> host(count);
  check(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  check(cudaFree(device));
  return host;
}

double worse(double largest, double error) { return error > largest || std::isnan(error) ? error : largest; }

}  // namespace

void fill_normal(void* data, std::uint64_t count, std::uint64_t seed, cudaStream_t stream) {
  fill_normal_kernel<<<1024, 256, 0, stream>>>(static_cast<__nv_bfloat16*>(data), count, seed);
  check(cudaGetLastError());
}

void fill_integers(void* data, std::uint64_t count, std::uint64_t seed, cudaStream_t stream) {
  fill_integers_kernel<<<1024, 256, 0, stream>>>(static_cast<__nv_bfloat16*>(data), count, seed);
  check(cudaGetLastError());
}

CheckResult check_rows(const void* a, const void* b, const void* out, std::uint32_t m, std::uint32_t n,
                       std::uint32_t k, std::uint32_t rows) {
  rows = rows < m ? rows : m;
  const std::size_t count = std::size_t{rows} * n;
  float* errors = nullptr;
  double* squares = nullptr;
  check(cudaMalloc(&errors, count * sizeof(float)));
  check(cudaMalloc(&squares, count * sizeof(double)));
  check_rows_kernel<<<dim3((n + 7) / 8, rows), 256>>>(
      static_cast<const __nv_bfloat16*>(a), static_cast<const __nv_bfloat16*>(b),
      static_cast<const __nv_bfloat16*>(out), m, n, k, rows, errors, squares);
  check(cudaGetLastError());
  const std::vector<float> all_errors = take(errors, count);
  const std::vector<double> all_squares = take(squares, count);
  double largest = 0;
  double sum = 0;
  for (const float error : all_errors) largest = worse(largest, error);
  for (const double square : all_squares) sum += square;
  return {largest / std::sqrt(sum / static_cast<double>(count)), count};
}

CheckResult compare(const void* out, const void* other, std::uint64_t count) {
  constexpr std::size_t kThreads = 256 * 256;
  double* result = nullptr;
  check(cudaMalloc(&result, 2 * kThreads * sizeof(double)));
  compare_kernel<<<256, 256>>>(static_cast<const __nv_bfloat16*>(out), static_cast<const __nv_bfloat16*>(other),
                               count, result);
  check(cudaGetLastError());
  const std::vector<double> all = take(result, 2 * kThreads);
  double largest = 0;
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    largest = worse(largest, all[i]);
    sum += all[i + 1];
  }
  return {largest / std::sqrt(sum / static_cast<double>(count)), count};
}

}  // namespace heddle::bench
