// SPDX-License-Identifier: Apache-2.0
//
// Hopper's tensor cores: when accumulators, fragments and operands may be touched; pools of registers.
#include "ptx.h"

namespace {

struct Operands {
  alignas(128) u32 a[512];
  alignas(128) u32 b[64];
};

// All operands are 1, so that every result is 16.
__device__ __forceinline__ void fill(Operands& s, bool fences = true, bool syncs = true) {
  for (u32 i = threadIdx.x; i < 512; i += blockDim.x) s.a[i] = kOnes;
  for (u32 i = threadIdx.x; i < 64; i += blockDim.x) s.b[i] = kOnes;
  if (fences) fence_async_shared();
  if (syncs) __syncthreads();
}

__device__ __forceinline__ void store(const Args& a, const float (&d)[4]) {
  for (u32 i = 0; i < 4; ++i) a.out[i * 128 + threadIdx.x % 128] = __float_as_uint(d[i]);
}

}  // namespace

EXHIBIT(accumulators_stored_before_the_wait) {
  __shared__ Operands s;
  float d[4] = {};
  fill(s);
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  if (mended) wgmma_wait<0>();
  store(a, d);
  wgmma_wait<0>();
}

EXHIBIT(wgmma_wait_too_weak) {
  __shared__ Operands s;
  float d[4] = {}, e[4] = {};
  fill(s);
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  wgmma(e, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  if (mended) wgmma_wait<0>();
  else wgmma_wait<1>();
  for (u32 i = 0; i < 4; ++i) d[i] += e[i];
  store(a, d);
  wgmma_wait<0>();
}

EXHIBIT(wgmma_without_commit) {
  __shared__ Operands s;
  float d[4] = {};
  fill(s);
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  if (mended) wgmma_commit();
  wgmma_wait<0>();
  store(a, d);
  wgmma_commit();
  wgmma_wait<0>();
}

EXHIBIT(wgmma_without_fence) {
  __shared__ Operands s;
  float d[4] = {1, 1, 1, 1};
  fill(s);
  if (mended) wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 1);
  wgmma_commit();
  wgmma_wait<0>();
  store(a, d);
}

EXHIBIT(no_proxy_fence_before_wgmma) {
  __shared__ Operands s;
  float d[4] = {};
  fill(s, mended);
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  wgmma_wait<0>();
  store(a, d);
}

EXHIBIT(no_barrier_before_wgmma) {
  __shared__ Operands s;
  float d[4] = {};
  fill(s, true, mended);
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  wgmma_wait<0>();
  store(a, d);
}

// The operands are overwritten while the multiplication may still read them.
EXHIBIT(operands_overwritten_under_wgmma) {
  __shared__ Operands s;
  float d[4] = {};
  fill(s);
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  if (mended) wgmma_wait<0>();
  __syncthreads();
  if (threadIdx.x < 64) s.b[threadIdx.x] = 0;
  wgmma_wait<0>();
  store(a, d);
}

// The stage is handed back to the copy engine before the multiplication is over.
EXHIBIT(stage_released_before_wgmma_is_done) {
  __shared__ Operands s;
  __shared__ u64 empty, full;
  init_all(&empty, 1, 128);
  init_all(&full, 1, 1);
  float d[4] = {};
  fill(s);
  if (threadIdx.x < 128) {
    wgmma_fence();
    wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
    wgmma_commit();
    if (mended) wgmma_wait<0>();
    arrive(&empty);
    wgmma_wait<0>();
    store(a, d);
  } else if (threadIdx.x == 128) {
    wait(&empty, 0);
    arrive_expect(&full, 256);
    bulk_load(s.b, a.in, 256, &full);
    wait(&full, 0);
  }
}

// A fragment in registers is changed before the multiplication has read it.
EXHIBIT(fragment_changed_in_flight) {
  __shared__ Operands s;
  float d[4] = {};
  u32 fragment[4] = {kOnes, kOnes, kOnes, kOnes};
  fill(s);
  wgmma_fence();
  wgmma(d, fragment, wgmma_descriptor(s.b), 0);
  wgmma_commit();
  if (mended) wgmma_wait<0>();
  for (u32& f : fragment) asm volatile("mov.u32 %0, %1;" : "+r"(f) : "r"(a.in[threadIdx.x]));
  wgmma_wait<0>();
  store(a, d);
  a.out[1024 + threadIdx.x] = fragment[0];
}

EXHIBIT(wgmma_of_unwritten_operand) {
  __shared__ Operands s;
  float d[4] = {};
  for (u32 i = threadIdx.x; i < (mended ? 512 : 384); i += 128) s.a[i] = kOnes;
  for (u32 i = threadIdx.x; i < 64; i += 128) s.b[i] = kOnes;
  fence_async_shared();
  __syncthreads();
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  wgmma_wait<0>();
  store(a, d);
}

// Operands come by cp.async, each thread waits for its own, and a barrier is missing.
EXHIBIT(cp_async_operands_without_barrier) {
  __shared__ Operands s;
  float d[4] = {};
  cp_async(&s.a[threadIdx.x * 4], a.in + threadIdx.x * 4);
  if (threadIdx.x < 16) cp_async(&s.b[threadIdx.x * 4], a.in + threadIdx.x * 4);
  cp_async_commit();
  cp_async_wait<0>();
  fence_async_shared();
  if (mended) __syncthreads();
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  wgmma_wait<0>();
  store(a, d);
}

// Two warpgroups ask for more registers than the CTA has.
EXHIBIT(registers_beyond_the_pool) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(mended ? 40 : 96));
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  }
  a.out[threadIdx.x] = 1;
}

// One warp of the four executes setmaxnreg.
EXHIBIT(registers_given_by_one_warp) {
  if (mended || threadIdx.x < 32) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  a.out[threadIdx.x] = 1;
}

// Warps of one group that keep different numbers of registers, as CUTLASS's attention for Blackwell has them.
EXHIBIT(registers_that_differ_by_warp) {
  if (mended || threadIdx.x >= 32) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  } else {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  }
  a.out[threadIdx.x] = 1;
}

// A descriptor whose tile ends behind shared memory.
EXHIBIT(descriptor_with_wrong_stride) {
  __shared__ Operands s;
  float d[4] = {};
  fill(s);
  const u64 wrong = u64{0x3FFF} << 32;
  wgmma_fence();
  wgmma(d, mended ? wgmma_descriptor(s.a) : wgmma_descriptor(s.a) | wrong, wgmma_descriptor(s.b), 0);
  wgmma_commit();
  wgmma_wait<0>();
  store(a, d);
}
