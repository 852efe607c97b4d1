// SPDX-License-Identifier: Apache-2.0
//
// A tile through the copy engine, with a tensor map from the driver's function.
#include "expect.h"

#include <cuda.h>

__global__ void load(const __grid_constant__ CUtensorMap map, int* out) {
  __shared__ alignas(128) int tile[8 * 16];
  __shared__ unsigned long long barrier;
  const auto shared = [](void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); };
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("{.reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], 512;}" ::"r"(shared(&barrier))
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(shared(tile)),
        "l"(&map), "r"(16), "r"(8), "r"(shared(&barrier))
        : "memory");
  }
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(shared(&barrier))
                 : "memory");
  }
  out[threadIdx.x] = tile[threadIdx.x];
}

int main() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  EXPECT_OK(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
  EXPECT(found == cudaDriverEntryPointSuccess && function != nullptr);
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  EXPECT_OK(cudaGetDriverEntryPointByVersion("cuNoSuchCall", &function, 12000, cudaEnableDefault, &found));
  EXPECT(found == cudaDriverEntryPointSymbolNotFound);

  constexpr int kRows = 32, kCols = 64;
  int *matrix, *out;
  EXPECT_OK(cudaMallocManaged(&matrix, kRows * kCols * sizeof(int)));
  EXPECT_OK(cudaMallocManaged(&out, 128 * sizeof(int)));
  for (int i = 0; i < kRows * kCols; ++i) matrix[i] = i;
  CUtensorMap map;
  const cuuint64_t dims[] = {kCols, kRows};
  const cuuint64_t strides[] = {kCols * sizeof(int)};
  const cuuint32_t box[] = {16, 8};
  const cuuint32_t wide[] = {512, 8};
  const cuuint32_t steps[] = {1, 1};
  const auto make = [&](const cuuint32_t* shape) {
    return encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, matrix, dims, strides, shape, steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT(make(wide) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(make(box) == CUDA_SUCCESS);
  load<<<1, 128>>>(map, out);
  EXPECT_OK(cudaDeviceSynchronize());
  int wrong = 0;
  for (int i = 0; i < 128; ++i) wrong += out[i] != (8 + i / 16) * kCols + 16 + i % 16;
  EXPECT(wrong == 0);
  return result();
}
