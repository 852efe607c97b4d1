// SPDX-License-Identifier: Apache-2.0
//
// codes: makes each mistake in a process of its own, because a card that a kernel broke stays broken, and
// compares the code that a program sees with the one that is expected: on a card what an H200 gave for this
// source (driver 580.159.04, CUDA 13.0, 2026-11-16), under `heddle exec` the same but where the table says why
// not. Built by nvcc for sm_90a. codes NAME: makes that mistake alone, and prints its code.
#include "call_codes.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__global__ void store(int* to) { *to = 1; }

__global__ void __launch_bounds__(64) bounded(int* to) { *to = 1; }

__global__ void __cluster_dims__(2, 1, 1) paired(int* to) { to[blockIdx.x] = 1; }

__global__ void store_misaligned(char* to) { *reinterpret_cast<int*>(to + 1) = 1; }

__global__ void fail_assert(int value) { assert(value == 3); }

__global__ void trap() { __trap(); }

__global__ void store_shared(unsigned address) {
  asm volatile("st.shared.u32 [%0], 1;" ::"r"(address) : "memory");
}

// Deep enough for any stack that a program of this size has.
__device__ __noinline__ int recurse(int depth, volatile int* to) {
  volatile int local[64];
  local[depth & 63] = depth;
  if (depth == 0) return *to;
  return recurse(depth - 1, to) + local[depth & 63];
}

__global__ void deep(int depth, int* to) { *to = recurse(depth, to); }

__global__ void call_pointer(void (*target)()) { target(); }

__global__ void load_tile(const __grid_constant__ CUtensorMap map, int coordinate) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) unsigned long long barrier;
  if (threadIdx.x != 0) return;
  const unsigned at = shared_address(&barrier);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(256) : "memory");
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], "
      "[%3];" ::"r"(shared_address(tile)),
      "l"(&map), "r"(coordinate), "r"(at)
      : "memory");
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(at)
                 : "memory");
  }
}

__global__ void copy_bulk(const int* from, unsigned bytes) {
  __shared__ alignas(128) int to[64];
  __shared__ alignas(8) unsigned long long barrier;
  if (threadIdx.x != 0) return;
  const unsigned at = shared_address(&barrier);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(at)
               : "memory");
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(at)
                 : "memory");
  }
}

constexpr int kHangs = -1;

// Of the 64 x 16 numbers at `data`, in boxes of 64 numbers.
CUtensorMap tile_map(int* data, unsigned rank) {
  CUtensorMap map = {};
  const cuuint64_t extents[] = {64, 16};
  const cuuint64_t pitches[] = {256};
  const cuuint32_t box[] = {64, 1};
  const cuuint32_t steps[] = {1, 1};
  call_codes::driver<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled")(
      &map, CU_TENSOR_MAP_DATA_TYPE_INT32, rank, data, extents, pitches, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

// The code from a process of its own, which has ten seconds.
int code_elsewhere(const std::string& program, const char* name) {
  std::FILE* child = popen(("timeout -k 1 10 '" + program + "' " + name).c_str(), "r");
  int code = kHangs;
  if (child == nullptr || std::fscanf(child, "code %d", &code) != 1) code = kHangs;
  if (child != nullptr) pclose(child);
  return code;
}

struct Mistake {
  const char* name;
  int simulated;
  void (*make)(int* data);
  int card = -2;  // where it is another one
};

// Whether the code of a mistake is the one that is expected.
template <class Made>
bool is_expected(const char* program, const Made& one, bool is_simulated) {
  const int code = code_elsewhere(program, one.name);
  const int expected = is_simulated || one.card == -2 ? one.simulated : one.card;
  std::printf("%-28s %d, expected %d%s\n", one.name, code, expected, code == expected ? "" : "  <-- differs");
  return code == expected;
}

const Mistake kMistakes[] = {
    {"none", cudaSuccess, [](int* data) { store<<<1, 1>>>(data); }},
    {"global_far_away", cudaErrorIllegalAddress, [](int*) { store<<<1, 1>>>(reinterpret_cast<int*>(0x1000)); }},
    {"after_free", cudaErrorIllegalAddress,
     [](int*) {
       // A whole page of the card, so that nothing else keeps it mapped.
       int* large;
       cudaMalloc(&large, std::size_t{64} << 20);
       cudaFree(large);
       store<<<1, 1>>>(large);
     },
     cudaSuccess},  // the driver keeps the pages
    {"misaligned", cudaErrorMisalignedAddress,
     [](int* data) { store_misaligned<<<1, 1>>>(reinterpret_cast<char*>(data)); }},
    {"assert", cudaErrorAssert, [](int*) { fail_assert<<<1, 1>>>(4); }},
    {"trap", cudaErrorLaunchFailure, [](int*) { trap<<<1, 1>>>(); }},
    {"shared_far_away", cudaErrorIllegalInstruction, [](int*) { store_shared<<<1, 1>>>(0x7000'0000u); }},
    {"deep_recursion", cudaErrorIllegalAddress, [](int* data) { deep<<<1, 1>>>(1 << 20, data); }},
    {"call_to_nowhere", cudaErrorIllegalInstruction,
     [](int*) { call_pointer<<<1, 1>>>(reinterpret_cast<void (*)()>(std::uintptr_t{0x10})); }, kHangs},
    {"zeroed_tensor_map", cudaErrorIllegalInstruction, [](int*) { load_tile<<<1, 32>>>(CUtensorMap{}, 0); }},
    {"tile", cudaSuccess, [](int* data) { load_tile<<<1, 32>>>(tile_map(data, 1), 0); }},
    {"tile_of_two_ranks", cudaErrorIllegalInstruction,
     [](int* data) { load_tile<<<1, 32>>>(tile_map(data, 2), 0); }},
    {"bulk_copy", cudaSuccess, [](int* data) { copy_bulk<<<1, 32>>>(data, 32); }},
    {"bulk_copy_of_24_bytes", cudaErrorMisalignedAddress, [](int* data) { copy_bulk<<<1, 32>>>(data, 24); },
     kHangs},  // its barrier is never full
    {"bulk_copy_from_8", cudaErrorMisalignedAddress, [](int* data) { copy_bulk<<<1, 32>>>(data + 2, 32); }},
    {"too_many_threads", cudaErrorInvalidValue, [](int* data) { store<<<1, 2048>>>(data); }},
    {"no_threads", cudaErrorInvalidValue, [](int* data) { store<<<1, 0>>>(data); }},
    {"too_many_ctas", cudaErrorInvalidValue, [](int* data) { store<<<dim3(1, 70000), 1>>>(data); }},
    {"beyond_launch_bounds", cudaErrorInvalidValue, [](int* data) { bounded<<<1, 128>>>(data); }},
    {"odd_clusters", cudaErrorInvalidClusterSize, [](int* data) { paired<<<3, 1>>>(data); }},
    {"too_much_shared", cudaErrorInvalidValue, [](int* data) { store<<<1, 1, 1 << 20>>>(data); }},
};

int code_of(const call_codes::WrongCall& call) {
  int* data;
  if (const cudaError_t error = cudaMalloc(&data, 4096); error != cudaSuccess) return error;
  return call.make(data);
}

int code_of(const Mistake& mistake) {
  int* data;
  if (const cudaError_t error = cudaMalloc(&data, 4096); error != cudaSuccess) return error;
  cudaMemset(data, 0, 4096);
  mistake.make(data);
  const cudaError_t at_launch = cudaGetLastError();
  const cudaError_t at_wait = cudaDeviceSynchronize();
  return at_launch != cudaSuccess ? at_launch : at_wait;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    for (const Mistake& one : kMistakes) {
      if (std::strcmp(one.name, argv[1]) == 0) std::printf("code %d\n", code_of(one));
    }
    for (const call_codes::WrongCall& one : call_codes::kWrongCalls) {
      if (std::strcmp(one.name, argv[1]) == 0) std::printf("code %d\n", code_of(one));
    }
    return 0;
  }
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 77;  // no card
  const bool is_simulated = std::strstr(properties.name, "simulated") != nullptr;
  int wrong = 0;
  for (const Mistake& one : kMistakes) wrong += is_expected(argv[0], one, is_simulated) ? 0 : 1;
  for (const call_codes::WrongCall& one : call_codes::kWrongCalls)
    wrong += is_expected(argv[0], one, is_simulated) ? 0 : 1;
  std::printf(wrong == 0 ? "all codes agree\n" : "%d codes differ\n", wrong);
  return wrong == 0 ? 0 : 1;
}
