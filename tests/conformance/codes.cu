// SPDX-License-Identifier: Apache-2.0
//
// codes: makes each mistake in a process of its own, because a card that a kernel broke stays broken, and
// compares the code that a program sees with the one that is expected: on a card what an H200 gave for this
// source (driver 580.159.04, CUDA 13.0, 2026-11-16), under `heddle exec` the same but where the table says why
// not. Built by nvcc for sm_90a. codes NAME...: makes these mistakes, one after the other, and prints their
// codes.
#include "call_codes.h"
#include "driver_call_codes.h"
#include "hostile_kernels.h"
#include "hostile_modules.h"
#include "more_call_codes.h"

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

// What a kernel reads is kept.
template <class T>
__global__ void load_at(const char* from, int* to) {
  const T read = *reinterpret_cast<const volatile T*>(from);
  *to = static_cast<int>(read);
}

__global__ void load_four(const char* from, int* to) {
  int a, b, c, d;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(from));
  *to = a + b + c + d;
}

__global__ void add_at(char* to) { atomicAdd(reinterpret_cast<unsigned*>(to), 1u); }

__global__ void swap_at(char* to) { atomicCAS(reinterpret_cast<unsigned long long*>(to), 1ull, 2ull); }

__global__ void load_shared_misaligned(int offset, int* to) {
  __shared__ alignas(16) char bytes[64];
  bytes[threadIdx.x] = 1;
  int read;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(read) : "r"(shared_address(bytes) + offset) : "memory");
  *to = read;
}

__global__ void load_local_misaligned(int offset, int* to) {
  volatile char bytes[64];
  for (int i = 0; i < 64; ++i) bytes[i] = static_cast<char>(i);
  *to = *reinterpret_cast<volatile int*>(const_cast<char*>(&bytes[offset]));
}

__global__ void store_local_far_away(int at, int* to) {
  volatile int local[64];
  local[at] = 1;
  *to = local[at & 63];
}

__global__ void load_matrix(int offset, int* to) {
  __shared__ alignas(16) int bytes[256];
  bytes[threadIdx.x] = 1;
  int read;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(read)
               : "r"(shared_address(bytes) + offset + 16 * (threadIdx.x & 7))
               : "memory");
  to[threadIdx.x] = read;
}

__global__ void copy_async(const char* from, int offset) {
  __shared__ alignas(16) char bytes[64];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(bytes) + offset), "l"(from)
               : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
}

__global__ void store_cluster(int rank) {
  __shared__ int word;
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(&word)), "r"(rank));
  asm volatile("st.shared::cluster.u32 [%0], 1;" ::"r"(there) : "memory");
}

__global__ void exhaust_heap(int* to) {
  int count = 0;
  while (malloc(1 << 20) != nullptr) ++count;
  *to = count;
}

__global__ void free_twice(int* to) {
  void* made = malloc(64);
  free(made);
  free(made);
  *to = 1;
}

__global__ void free_anything(int* to) { free(to); }

__global__ void print_much(int lines) {
  for (int i = 0; i < lines; ++i) printf("%d of many lines that nobody reads\n", i);
}

__global__ void print_null(const char* text) { printf("%s\n", text); }

__global__ void bar_of_no_name(int name) { asm volatile("bar.sync %0, 32;" ::"r"(name) : "memory"); }

__global__ void bar_of_threads(int count) { asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory"); }

__global__ void stop_here() { asm volatile("brkpt;"); }

__global__ void divide(int by, int* to) { *to = *to / by; }

__global__ void init_barrier_misaligned(int offset) {
  __shared__ alignas(16) unsigned long long bytes[4];
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(bytes) + offset) : "memory");
}

__global__ void init_barrier_of(int count) {
  __shared__ alignas(16) unsigned long long barrier;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(count) : "memory");
}

__global__ void registers(int* to) {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  *to = 1;
}

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

// A process of its own, which has ten seconds.
std::FILE* begin_elsewhere(const std::string& program, const char* name) {
  return popen(("timeout -k 1 10 '" + program + "' " + name + " 2> /dev/null").c_str(), "r");
}

int code_from(std::FILE* child) {
  int code = kHangs;
  // Kernels may have printed before it.
  char line[256];
  while (child != nullptr && std::fgets(line, sizeof(line), child) != nullptr) {
    if (std::sscanf(line, "code %d", &code) == 1) break;
  }
  if (child != nullptr) pclose(child);
  return code;
}

struct Mistake {
  const char* name;
  int simulated;
  void (*make)(int* data);
  int card = -2;  // where it is another one
};

// So many processes run side by side.
constexpr std::size_t kAtOnce = 8;

// How many codes are not those that are expected.
template <class Made, std::size_t count>
int count_wrong(const char* program, const Made (&all)[count], bool is_simulated) {
  std::FILE* children[kAtOnce] = {};
  int wrong = 0;
  for (std::size_t next = 0; next < count + kAtOnce; ++next) {
    std::FILE*& child = children[next % kAtOnce];
    if (next >= kAtOnce && next - kAtOnce < count) {
      const Made& one = all[next - kAtOnce];
      const int code = code_from(child);
      const int expected = is_simulated || one.card == -2 ? one.simulated : one.card;
      std::printf("%-36s %d, expected %d%s\n", one.name, code, expected, code == expected ? "" : "  <-- differs");
      wrong += code == expected ? 0 : 1;
    }
    child = next < count ? begin_elsewhere(program, all[next].name) : nullptr;
  }
  return wrong;
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

// The rest as an H200 gave them on 2026-11-19 (the same driver), many in one process where they leave no trace.
const Mistake kMoreMistakes[] = {
    {"load_of_null", cudaErrorIllegalAddress, [](int* data) { load_at<int><<<1, 1>>>(nullptr, data); }},
    {"load_past_the_end", cudaErrorIllegalAddress,
     [](int* data) { load_at<int><<<1, 1>>>(reinterpret_cast<char*>(data) + (std::size_t{1} << 40), data); }},
    {"load_of_2_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { load_at<short><<<1, 1>>>(reinterpret_cast<char*>(data) + 1, data); }},
    {"load_of_4_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { load_at<int><<<1, 1>>>(reinterpret_cast<char*>(data) + 2, data); }},
    {"load_of_8_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { load_at<long long><<<1, 1>>>(reinterpret_cast<char*>(data) + 4, data); }, cudaSuccess},
    {"load_of_16_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { load_four<<<1, 1>>>(reinterpret_cast<char*>(data) + 8, data); }},
    {"add_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { add_at<<<1, 1>>>(reinterpret_cast<char*>(data) + 2); }},
    {"swap_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { swap_at<<<1, 1>>>(reinterpret_cast<char*>(data) + 4); }},
    {"shared_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { load_shared_misaligned<<<1, 64>>>(1, data); }},
    {"local_misaligned", cudaErrorMisalignedAddress, [](int* data) { load_local_misaligned<<<1, 1>>>(1, data); }},
    {"local_far_away", cudaErrorIllegalAddress, [](int* data) { store_local_far_away<<<1, 1>>>(1 << 28, data); }},
    {"matrix_misaligned", cudaErrorMisalignedAddress, [](int* data) { load_matrix<<<1, 32>>>(4, data); }},
    {"copy_async_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { copy_async<<<1, 1>>>(reinterpret_cast<char*>(data) + 4, 0); }},
    {"copy_async_to_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { copy_async<<<1, 1>>>(reinterpret_cast<char*>(data), 4); }},
    {"store_to_no_cta", cudaErrorIllegalInstruction, [](int*) { store_cluster<<<1, 1>>>(5); }},
    {"heap_exhausted", cudaSuccess, [](int* data) { exhaust_heap<<<1, 1>>>(data); }},
    {"heap_freed_twice", cudaErrorIllegalAddress, [](int* data) { free_twice<<<1, 1>>>(data); },
     cudaErrorLaunchFailure},
    {"heap_free_of_anything", cudaErrorIllegalAddress, [](int* data) { free_anything<<<1, 1>>>(data); }},
    {"printf_of_much", cudaSuccess, [](int*) { print_much<<<1, 32>>>(2000); }},
    {"printf_of_null", cudaSuccess, [](int*) { print_null<<<1, 1>>>(nullptr); }},
    {"printf_of_nowhere", cudaErrorIllegalAddress,
     [](int*) { print_null<<<1, 1>>>(reinterpret_cast<const char*>(0x1000)); }},
    {"bar_of_no_name", cudaErrorLaunchFailure, [](int*) { bar_of_no_name<<<1, 32>>>(16); }, cudaSuccess},
    {"bar_of_odd_threads", cudaErrorLaunchFailure, [](int*) { bar_of_threads<<<1, 32>>>(33); },
     cudaErrorIllegalInstruction},
    {"bar_of_negative_threads", cudaErrorLaunchFailure, [](int*) { bar_of_threads<<<1, 32>>>(-32); },
     cudaErrorIllegalInstruction},
    {"breakpoint", cudaErrorLaunchFailure, [](int*) { stop_here<<<1, 1>>>(); }},
    {"division_by_zero", cudaSuccess, [](int* data) { divide<<<1, 1>>>(0, data); }},
    {"barrier_misaligned", cudaErrorMisalignedAddress, [](int*) { init_barrier_misaligned<<<1, 1>>>(4); }},
    {"barrier_of_none", cudaErrorLaunchFailure, [](int*) { init_barrier_of<<<1, 1>>>(0); }, cudaSuccess},
    {"barrier_of_too_many", cudaErrorLaunchFailure, [](int*) { init_barrier_of<<<1, 1>>>(1 << 20); },
     cudaSuccess},
    {"registers_beyond_the_file", cudaSuccess, [](int* data) { registers<<<1, 1024>>>(data); }},
};

namespace hostile = hostile_kernels;

unsigned long long number_of(const void* address) { return reinterpret_cast<unsigned long long>(address); }

const Mistake kHostileMistakes[] = {
    {"constant_written", cudaErrorLaunchFailure, [](int*) { hostile::write_constant<<<1, 1>>>(); }},
    {"generic_in_the_top_half", cudaErrorIllegalAddress,
     [](int*) { hostile::write_generic<<<1, 1>>>(0xffff'ffff'ffff'fff0ull); }},
    {"generic_not_canonical", cudaErrorIllegalAddress,
     [](int*) { hostile::write_generic<<<1, 1>>>(0x00f0'0000'0000'0000ull); }},
    {"generic_of_the_host", cudaErrorIllegalAddress,
     [](int*) { hostile::write_generic<<<1, 1>>>(number_of(call_codes::host)); }},
    {"generic_of_freed_pinned", cudaErrorIllegalAddress,
     [](int*) {
       void* made;
       cudaHostAlloc(&made, std::size_t{64} << 20, 0);
       cudaFreeHost(made);
       hostile::write_generic<<<1, 1>>>(number_of(made));
     },
     cudaSuccess},
    {"generic_of_unregistered", cudaErrorIllegalAddress,
     [](int*) {
       cudaHostRegister(call_codes::host, 4096, 0);
       cudaHostUnregister(call_codes::host);
       hostile::write_generic<<<1, 1>>>(number_of(call_codes::host));
     }},
    {"shared_load_past_a_megabyte", cudaErrorIllegalAddress,
     [](int* data) { hostile::load_shared_past<<<1, 1>>>(1 << 20, data); }},
    {"shared_load_before_the_first", cudaErrorIllegalInstruction,
     [](int* data) { hostile::load_shared_past<<<1, 1>>>(~0u - 2047, data); }},
    {"shared_add_far_away", cudaErrorIllegalInstruction,
     [](int*) { hostile::add_shared<<<1, 1>>>(0x7000'0000u); }},
    {"shared_add_misaligned", cudaErrorMisalignedAddress, [](int*) { hostile::add_shared<<<1, 1>>>(2); }},
    {"prefetch_of_nothing", cudaSuccess, [](int*) { hostile::prefetch<<<1, 1>>>(0x1000); }},
    {"bulk_store_to_null", cudaErrorLaunchFailure, [](int*) { hostile::bulk_store<<<1, 1>>>(0, 16); },
     cudaErrorIllegalAddress},
    {"bulk_store_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { hostile::bulk_store<<<1, 1>>>(number_of(data) + 4, 16); }},
    {"bulk_store_of_nothing", cudaSuccess, [](int* data) { hostile::bulk_store<<<1, 1>>>(number_of(data), 0); }},
    {"bulk_add_to_null", cudaErrorLaunchFailure, [](int*) { hostile::bulk_add<<<1, 1>>>(0, 16); },
     cudaErrorIllegalAddress},
    {"bulk_add_of_12_bytes", cudaErrorMisalignedAddress,
     [](int* data) { hostile::bulk_add<<<1, 1>>>(number_of(data), 12); }, cudaSuccess},
    {"bulk_load_of_null", cudaErrorIllegalAddress, [](int*) { hostile::bulk_load<<<1, 1>>>(0, 0, 0, 16); }},
    {"bulk_load_to_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { hostile::bulk_load<<<1, 1>>>(number_of(data), 4, 0, 16); }},
    {"bulk_load_barrier_misaligned", cudaErrorMisalignedAddress,
     [](int* data) { hostile::bulk_load<<<1, 1>>>(number_of(data), 0, 4, 16); }},
    {"bulk_load_of_nothing", cudaSuccess,
     [](int* data) { hostile::bulk_load<<<1, 1>>>(number_of(data), 0, 0, 0); }},
    {"bulk_load_to_another_barrier", cudaErrorLaunchFailure,
     [](int* data) { hostile::bulk_load<<<1, 1>>>(number_of(data), 0, 8, 16); }, kHangs},
    {"arrival_on_zeros", cudaErrorLaunchFailure, [](int*) { hostile::arrive_on_nothing<<<1, 1>>>(); },
     cudaSuccess},
    {"arrival_too_many", cudaErrorLaunchFailure, [](int* data) { hostile::arrive_too_often<<<1, 1>>>(data); }},
    {"printf_of_all_kinds", cudaErrorIllegalAddress,
     [](int* data) { hostile::print_all<<<1, 1>>>((char*)data + (1ull << 40)); }},
    {"printf_of_too_few", cudaSuccess, [](int*) { hostile::print_too_few<<<1, 1>>>(); }},
    {"printf_of_nonsense", cudaSuccess, [](int*) { hostile::print_nonsense<<<1, 1>>>(); }},
    {"printf_of_a_count", cudaSuccess, [](int* data) { hostile::print_count<<<1, 1>>>(data); }},
    {"heap_of_nothing", cudaSuccess, [](int* data) { hostile::heap_of_nothing<<<1, 1>>>(data); }},
    {"heap_of_all", cudaSuccess, [](int* data) { hostile::heap_of_all<<<1, 1>>>(data); }},
    {"heap_written_past", cudaErrorIllegalAddress, [](int*) { hostile::heap_written_past<<<1, 1>>>(); }},
    {"heap_never_freed", cudaErrorLaunchFailure, [](int* data) { hostile::heap_never_freed<<<256, 64>>>(data); },
     cudaSuccess},
    {"division_of_the_least", cudaSuccess, [](int* data) { hostile::divide_least<<<1, 1>>>(-1, data); }},
    {"shift_by_a_thousand", cudaSuccess, [](int* data) { hostile::shift_far<<<1, 1>>>(1000, data); }},
    {"barrier_of_threads_that_left", cudaSuccess,
     [](int* data) { hostile::exit_before_barrier<<<1, 64>>>(data); }},
    {"barrier_in_two_branches", cudaErrorLaunchFailure,
     [](int* data) { hostile::diverged_barrier<<<1, 32>>>(data); }, cudaSuccess},
    {"shuffle_of_an_absent_lane", cudaErrorLaunchFailure,
     [](int* data) { hostile::shuffle_with_absent<<<1, 32>>>(data); }, cudaSuccess},
    {"syncwarp_of_each_lane", cudaSuccess, [](int* data) { hostile::syncwarp_of_one<<<1, 32>>>(data); }},
    {"sleep_of_four_seconds", cudaSuccess, [](int* data) { hostile::sleep_long<<<1, 1>>>(data); }},
    {"trap_of_one_thread", cudaErrorLaunchFailure, [](int* data) { hostile::trap_of_one<<<8, 32>>>(data); }},
    {"dependency_on_nothing", cudaSuccess, [](int*) { hostile::wait_for_nothing<<<1, 1>>>(); }},
    {"dependents_released_twice", cudaSuccess, [](int*) { hostile::release_twice<<<1, 1>>>(); }},
    {"cluster_arrival_without_wait", cudaSuccess, [](int*) { hostile::arrive_and_exit<<<2, 32>>>(); }},
    {"wgmma_of_no_matrix", cudaErrorLaunchFailure, [](int*) { hostile::matrix_descriptor<<<1, 128>>>(~0ull); },
     cudaSuccess},
    {"wgmma_by_one_warp", cudaErrorLaunchFailure, [](int*) { hostile::matrix_descriptor<<<1, 32>>>(0); },
     cudaErrorIllegalInstruction},
    {"registers_given_up_by_one_warp", cudaErrorLaunchFailure, [](int*) { hostile::registers_of<<<1, 32>>>(0); },
     cudaSuccess},
    {"groups_that_were_not_made", cudaSuccess, [](int* data) { hostile::wait_of_groups<<<1, 1>>>(data); }},
    {"copy_async_of_negative_size", cudaErrorLaunchFailure,
     [](int* data) { hostile::copy_async_of_size<<<1, 1>>>((char*)data, -16); }, cudaSuccess},
    {"copy_async_of_nothing_from_null", cudaSuccess,
     [](int*) { hostile::copy_async_of_size<<<1, 1>>>(nullptr, 0); }},
    {"call_through_zeros", cudaErrorIllegalInstruction,
     [](int* data) { hostile::call_through<<<1, 1>>>(reinterpret_cast<void**>(data), 0); }, kHangs},
    {"local_array_of_200_kilobytes", cudaSuccess, [](int* data) { hostile::stack_of<<<1, 1>>>(data, 150000); }},
    {"local_array_left", cudaErrorIllegalAddress,
     [](int* data) { hostile::stack_of<<<1, 1>>>(data, -(1 << 28)); }},
    {"assert_with_a_long_text", cudaErrorAssert, [](int*) { hostile::assert_long<<<1, 32>>>(4); }},
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

// The code of one of them, by its name.
template <class Made, std::size_t count>
void make_one(const Made (&all)[count], const char* name) {
  for (const Made& one : all) {
    if (std::strcmp(one.name, name) == 0) std::printf("\ncode %d of %s\n", code_of(one), name);
  }
  std::fflush(stdout);
}

void make(const char* name) {
  make_one(kMistakes, name);
  make_one(kMoreMistakes, name);
  make_one(call_codes::kWrongCalls, name);
  make_one(call_codes::kMoreWrongCalls, name);
  make_one(call_codes::kWrongDriverCalls, name);
  make_one(kHostileMistakes, name);
  make_one(call_codes::kHostileCalls, name);
  make_one(call_codes::kHostileLaunches, name);
  make_one(call_codes::kHostileDriver, name);
  make_one(call_codes::kHostileModules, name);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    for (int i = 1; i < argc; ++i) make(argv[i]);
    return 0;
  }
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 77;  // no card
  const bool is_simulated = std::strstr(properties.name, "simulated") != nullptr;
  int wrong = 0;
  wrong += count_wrong(argv[0], kMistakes, is_simulated);
  wrong += count_wrong(argv[0], call_codes::kWrongCalls, is_simulated);
  wrong += count_wrong(argv[0], kMoreMistakes, is_simulated);
  wrong += count_wrong(argv[0], call_codes::kMoreWrongCalls, is_simulated);
  wrong += count_wrong(argv[0], call_codes::kWrongDriverCalls, is_simulated);
  wrong += count_wrong(argv[0], kHostileMistakes, is_simulated);
  wrong += count_wrong(argv[0], call_codes::kHostileCalls, is_simulated);
  wrong += count_wrong(argv[0], call_codes::kHostileLaunches, is_simulated);
  wrong += count_wrong(argv[0], call_codes::kHostileDriver, is_simulated);
  wrong += count_wrong(argv[0], call_codes::kHostileModules, is_simulated);
  std::printf(wrong == 0 ? "all codes agree\n" : "%d codes differ\n", wrong);
  return wrong == 0 ? 0 : 1;
}
