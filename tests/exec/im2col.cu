// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps for convolutions: boxes of pixels at random, loaded with and stored without the filter's offsets,
// and compared byte by byte with a walk over the pixels. The same program runs on a card.
#include "expect.h"

#include <cuda.h>

#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr int kMaxRank = 5;

struct Case {
  int rank;
  int element_bytes;
  int swizzle;
  cuuint64_t dims[kMaxRank];
  cuuint64_t strides[kMaxRank - 1];
  int lower[3];
  int upper[3];
  unsigned channels;
  unsigned pixels;
  cuuint32_t steps[kMaxRank];
  int coords[kMaxRank];
  unsigned short offsets[3];

  __host__ __device__ int row_bytes() const { return static_cast<int>(channels) * element_bytes; }
  __host__ __device__ int pitch() const { return swizzle == 0 ? row_bytes() : 16 << swizzle; }
};

__device__ void load(unsigned to, const CUtensorMap* map, unsigned barrier, const Case& c) {
  const int* at = c.coords;
  const unsigned short* by = c.offsets;
  if (c.rank == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
        "%5}], "
        "[%2], {%6};" ::"r"(to),
        "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "h"(by[0])
        : "memory");
  } else if (c.rank == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
        "%5, "
        "%6}], [%2], {%7, %8};" ::"r"(to),
        "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "h"(by[0]), "h"(by[1])
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
        "%5, "
        "%6, %7}], [%2], {%8, %9, %10};" ::"r"(to),
        "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "h"(by[0]),
        "h"(by[1]), "h"(by[2])
        : "memory");
  }
}

__global__ void run(const __grid_constant__ CUtensorMap map, const __grid_constant__ Case c, unsigned char* out) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ __align__(8) unsigned long long barrier;
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  const auto bytes = static_cast<unsigned>(c.row_bytes()) * c.pixels;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    load(static_cast<unsigned>(__cvta_generic_to_shared(shared)), &map, at, c);
  }
  __syncthreads();
  unsigned is_done = 0;
  while (is_done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(is_done)
                 : "r"(at)
                 : "memory");
  }
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) {
    const unsigned row = i / static_cast<unsigned>(c.row_bytes());
    unsigned from = row * static_cast<unsigned>(c.pitch()) + i % static_cast<unsigned>(c.row_bytes());
    from ^= (from >> 3) & (0x70u >> (3 - c.swizzle)) & 0x70u;
    out[i] = shared[from];
  }
}

std::mt19937 engine(7);
int between(int low, int high) {
  return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
}

Case random_case(int rank) {
  Case c = {};
  c.rank = rank;
  c.element_bytes = 1 << between(0, 2);
  c.swizzle = between(0, 3);
  const int widest = c.swizzle == 0 ? 16 : 1 << c.swizzle;  // in 16 bytes
  c.channels = static_cast<unsigned>(16 * between(1, widest) / c.element_bytes);
  c.dims[0] = c.channels * static_cast<unsigned>(between(1, 2)) + (between(0, 3) == 0 ? 8 : 0);
  for (int d = 1; d < rank - 1; ++d) {
    c.dims[d] = static_cast<cuuint64_t>(between(4, 9));
    c.lower[d - 1] = -between(0, 2);
    c.upper[d - 1] = -between(0, 2);
    c.steps[d] = static_cast<cuuint32_t>(between(1, 3));
    const int last = static_cast<int>(c.dims[d]) - 1 + c.upper[d - 1];
    c.coords[d] = between(c.lower[d - 1], last);
    c.offsets[d - 1] = static_cast<unsigned short>(between(0, 3));
  }
  c.dims[rank - 1] = static_cast<cuuint64_t>(between(1, 3));
  c.coords[rank - 1] = between(0, static_cast<int>(c.dims[rank - 1]) - 1);
  c.coords[0] = between(0, 1) != 0 && c.dims[0] > c.channels ? static_cast<int>(c.channels) : 0;
  c.steps[0] = c.steps[rank - 1] = 1;
  c.pixels = static_cast<unsigned>(between(1, 64));
  cuuint64_t stride = (c.dims[0] * static_cast<unsigned>(c.element_bytes) + 15) / 16 * 16;
  for (int d = 0; d < rank - 1; ++d) {
    c.strides[d] = stride;
    stride *= c.dims[d + 1];
  }
  return c;
}

// The bytes that a load brings, pixel by pixel.
std::vector<unsigned char> by_hand(const Case& c, const std::vector<unsigned char>& tensor) {
  std::vector<unsigned char> result;
  const int last = c.rank - 1;
  int at[kMaxRank];
  std::memcpy(at, c.coords, sizeof(at));
  for (unsigned p = 0; p < c.pixels; ++p) {
    bool is_inside = at[last] < static_cast<int>(c.dims[last]);
    long long from = at[last] * static_cast<long long>(c.strides[last - 1]);
    for (int d = 1; d < last; ++d) {
      const int coord = at[d] + c.offsets[d - 1];
      is_inside = is_inside && coord >= 0 && coord < static_cast<int>(c.dims[d]);
      from += coord * static_cast<long long>(c.strides[d - 1]);
    }
    for (int b = 0; b < c.row_bytes(); ++b) {
      const int channel = c.coords[0] + b / c.element_bytes;
      const bool is_there = is_inside && channel < static_cast<int>(c.dims[0]);
      result.push_back(is_there ? tensor[static_cast<size_t>(from + c.coords[0] * c.element_bytes + b)] : 0);
    }
    int d = 1;
    for (; d < last; ++d) {
      at[d] += static_cast<int>(c.steps[d]);
      if (at[d] <= static_cast<int>(c.dims[d]) - 1 + c.upper[d - 1]) break;
      at[d] = c.lower[d - 1];
    }
    if (d == last) ++at[last];
  }
  return result;
}

}  // namespace

int main() {
  using Encode =
      CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                   const int*, const int*, cuuint32_t, cuuint32_t, const cuuint32_t*, CUtensorMapInterleave,
                   CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result_of_query;
  EXPECT_OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &found, 12000, cudaEnableDefault,
                                             &result_of_query));
  const auto encode = reinterpret_cast<Encode>(found);
  std::vector<unsigned char> tensor(4 << 20);
  for (unsigned char& byte : tensor) byte = static_cast<unsigned char>(engine());
  unsigned char *data, *out;
  EXPECT_OK(cudaMalloc(&data, tensor.size()));
  EXPECT_OK(cudaMalloc(&out, 1 << 16));
  EXPECT_OK(cudaMemcpy(data, tensor.data(), tensor.size(), cudaMemcpyHostToDevice));
  EXPECT_OK(cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  const CUtensorMapDataType types[] = {CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                                       CU_TENSOR_MAP_DATA_TYPE_UINT32};
  const auto make = [&](const Case& c, CUtensorMap& map) {
    return encode(&map, types[c.element_bytes / 2], static_cast<cuuint32_t>(c.rank), data, c.dims, c.strides,
                  c.lower, c.upper, c.channels, c.pixels, c.steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  static_cast<CUtensorMapSwizzle>(c.swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  int wrong = 0;
  for (int i = 0; i < 150; ++i) {
    const Case c = random_case(3 + i % 3);
    CUtensorMap map;
    EXPECT(make(c, map) == CUDA_SUCCESS);
    run<<<1, 128, c.pixels* static_cast<unsigned>(c.pitch())>>>(map, c, out);
    const std::vector<unsigned char> expected = by_hand(c, tensor);
    std::vector<unsigned char> loaded(expected.size());
    EXPECT_OK(cudaMemcpy(loaded.data(), out, loaded.size(), cudaMemcpyDeviceToHost));
    wrong += loaded != expected;
  }
  EXPECT(wrong == 0);

  // What is no box of pixels is refused.
  CUtensorMap map;
  Case c = random_case(4);
  EXPECT(make(c, map) == CUDA_SUCCESS);
  c.lower[0] = static_cast<int>(c.dims[1]) + c.upper[0];
  EXPECT(make(c, map) == CUDA_ERROR_INVALID_VALUE);
  c.lower[0] = -129;
  EXPECT(make(c, map) == CUDA_ERROR_INVALID_VALUE);
  c.lower[0] = -128;
  EXPECT(make(c, map) == CUDA_SUCCESS);
  c.pixels = 1025;
  EXPECT(make(c, map) == CUDA_ERROR_INVALID_VALUE);
  return result();
}
