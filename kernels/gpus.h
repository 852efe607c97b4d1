// SPDX-License-Identifier: Apache-2.0
//
// What a C++ program asks the CUDA runtime about GPUs. Target::kCuda exists only in programs that were built with
// nvcc; for Target::kSim there are none.
#pragma once

#include <heddle/host/gpu_list.h>
#include <heddle/isa/target.h>

namespace heddle {

template <Target target>
GpuList gpus_of();

// The one that this thread's calls of the CUDA runtime go to.
template <Target target>
int current_gpu();

template <>
GpuList gpus_of<Target::kSim>();
template <>
GpuList gpus_of<Target::kCuda>();
template <>
int current_gpu<Target::kSim>();
template <>
int current_gpu<Target::kCuda>();

}  // namespace heddle
