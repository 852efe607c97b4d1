// SPDX-License-Identifier: Apache-2.0
//
// Kernels that only a hostile program has, and the code with which each ends.
#pragma once

#include <cuda_runtime.h>

#include <cassert>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace hostile_kernels {

__device__ inline unsigned shared(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__constant__ int constants[4];
__device__ int target[4];

__global__ void write_constant() { *const_cast<volatile int*>(&constants[0]) = 1; }

__global__ void write_generic(unsigned long long to) { *reinterpret_cast<volatile int*>(to) = 1; }

__global__ void load_shared_past(unsigned offset, int* to) {
  __shared__ int bytes[4];
  bytes[0] = 1;
  int read;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(read) : "r"(shared(bytes) + offset) : "memory");
  *to = read;
}

__global__ void add_shared(unsigned address) {
  asm volatile("{.reg .u32 old; atom.shared.add.u32 old, [%0], 1;}" ::"r"(address) : "memory");
}

__global__ void prefetch(unsigned long long at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

__global__ void bulk_store(unsigned long long to, unsigned bytes) {
  __shared__ alignas(128) int from[64];
  from[threadIdx.x] = 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared(from)),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}

__global__ void bulk_add(unsigned long long to, unsigned bytes) {
  __shared__ alignas(128) int from[64];
  from[threadIdx.x] = 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to),
               "r"(shared(from)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}

__global__ void bulk_load(unsigned long long from, unsigned to_offset, unsigned barrier_offset, unsigned bytes) {
  __shared__ alignas(128) char to[1024];
  __shared__ alignas(128) unsigned long long barriers[2];
  const unsigned at = shared(barriers);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared(to) + to_offset),
               "l"(from), "r"(bytes), "r"(at + barrier_offset)
               : "memory");
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(at)
                 : "memory");
  }
}

__global__ void arrive_on_nothing() {
  __shared__ alignas(8) unsigned long long barrier;
  barrier = 0;
  __syncwarp();
  asm volatile("{.reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0];}" ::"r"(shared(&barrier))
               : "memory");
}

__global__ void arrive_too_often(int* to) {
  __shared__ alignas(8) unsigned long long barrier;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&barrier)) : "memory");
  asm volatile("{.reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0], 5;}" ::"r"(shared(&barrier))
               : "memory");
  *to = 1;
}

__global__ void print_all(const char* text) {
  printf("%d %s %f %c %p %5.3e %lld %%\n", 1, text, 2.0, 'c', text, 1e300, LLONG_MIN);
}
__device__ const char too_few[] = "%d %d %d %s\n", nonsense[] = "%q %";
__global__ void print_too_few() { printf(too_few, 1); }
__global__ void print_nonsense() { printf(nonsense, 1); }
__global__ void print_count(int* to) { printf("abc%n\n", to); }

__global__ void heap_of_nothing(int* to) {
  void* made = malloc(0);
  free(made);
  free(nullptr);
  *to = 1;
}
__global__ void heap_of_all(int* to) {
  void* made = malloc(~std::size_t{0});
  *to = made == nullptr;
}
__global__ void heap_written_past() {
  char* made = static_cast<char*>(malloc(16));
  made[std::size_t{1} << 40] = 1;
}
__global__ void heap_never_freed(int* to) { *to = malloc(1024) != nullptr; }

__global__ void divide_least(int by, int* to) {
  to[0] = INT_MIN / by;
  to[1] = INT_MIN % by;
}
__global__ void shift_far(int by, int* to) { to[0] = 1 << by; }

__global__ void exit_before_barrier(int* to) {
  if (threadIdx.x == 3) return;
  __syncthreads();
  to[threadIdx.x] = 1;
}
__global__ void diverged_barrier(int* to) {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  to[threadIdx.x] = 1;
}
__global__ void shuffle_with_absent(int* to) {
  if (threadIdx.x < 16) to[threadIdx.x] = __shfl_sync(0xffff, threadIdx.x, 31);
}
__global__ void syncwarp_of_one(int* to) {
  __syncwarp(1u << threadIdx.x);
  to[threadIdx.x] = 1;
}
__global__ void sleep_long(int* to) {
  __nanosleep(0xffff'ffffu);
  *to = 1;
}
__global__ void trap_of_one(int* to) {
  to[threadIdx.x] = 1;
  if (threadIdx.x == 17 && blockIdx.x == 3) __trap();
}
__global__ void wait_for_nothing() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__global__ void release_twice() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__global__ void __cluster_dims__(2, 1, 1) arrive_and_exit() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
}
__global__ void __cluster_dims__(2, 1, 1) store_to_exited() {
  __shared__ int word;
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared(&word)), "r"(1));
  asm volatile("st.shared::cluster.u32 [%0], 1;" ::"r"(there) : "memory");
}
__global__ void matrix_descriptor(unsigned long long bits) {
  float sums[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, 0, 1;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, p, 1, 1, 0, 0;}"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "l"(bits));
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
__global__ void registers_of(int) { asm volatile("setmaxnreg.dec.sync.aligned.u32 24;"); }
__global__ void wait_of_groups(int* to) {
  asm volatile("cp.async.wait_group 7; cp.async.bulk.wait_group 7;" ::: "memory");
  *to = 1;
}
__global__ void copy_async_of_size(const char* from, int bytes) {
  __shared__ alignas(16) char to[64];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared(to)), "l"(from), "r"(bytes)
               : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
}
__global__ void call_through(void** table, int which) { reinterpret_cast<void (*)()>(table[which])(); }
__global__ void stack_of(int* to, int at) {
  volatile char large[200000];
  large[at] = 1;
  *to = large[at + 1];
}
__global__ void assert_long(int value) {
  assert(value == 3 &&
         "a very long text that says nothing at all, again and again and again and again and again");
}

}  // namespace hostile_kernels
