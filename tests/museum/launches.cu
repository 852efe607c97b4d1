// SPDX-License-Identifier: Apache-2.0
//
// Launches that may overlap: programmatic dependent launch. The exhibit is the second launch.
#include "ptx.h"

__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ inline void wait_for_the_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

LEGAL(launch_that_writes) {
  launch_dependents();
  for (u32 i = 0; i < 200; ++i) __nanosleep(100);
  a.scratch[blockIdx.x * 64 + threadIdx.x] = threadIdx.x + 1;
}

LEGAL(launch_that_reads) {
  launch_dependents();
  for (u32 i = 0; i < 200; ++i) __nanosleep(100);
  a.out[blockIdx.x * 64 + threadIdx.x] = a.scratch[blockIdx.x * 64 + threadIdx.x];
}

EXHIBIT(dependent_launch_reads_without_wait) {
  if (mended) wait_for_the_launch_before();
  a.out[blockIdx.x * 64 + threadIdx.x] = a.scratch[blockIdx.x * 64 + threadIdx.x];
}

EXHIBIT(dependent_launch_waits_after_the_read) {
  if (mended) wait_for_the_launch_before();
  const u32 value = ld_weak(a.scratch + blockIdx.x * 64 + threadIdx.x);
  if (!mended) wait_for_the_launch_before();
  a.out[blockIdx.x * 64 + threadIdx.x] = value;
}

EXHIBIT(dependent_launch_overwrites_without_wait) {
  if (mended) wait_for_the_launch_before();
  a.scratch[blockIdx.x * 64 + threadIdx.x] = 99;
}
