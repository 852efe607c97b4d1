// SPDX-License-Identifier: Apache-2.0
//
// Which GPUs the machine has, for host programs. Only a translation unit that nvcc compiled can ask; in any
// other the list is empty and says why.
#pragma once

#include <heddle/isa/target.h>

#include <string>
#include <vector>

#if HEDDLE_ON_CUDA
#include <cuda_runtime_api.h>
#endif

namespace heddle {

struct GpuDescription {
  int ordinal = 0;
  std::string name;
  int major = 0;  // compute capability
  int minor = 0;
};

struct GpuList {
  std::vector<GpuDescription> gpus;
  std::string why;  // it is empty
};

inline namespace HEDDLE_TARGET {

#if HEDDLE_ON_CUDA

inline GpuList find_gpus() {
  GpuList list;
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    list.why = error == cudaSuccess ? "no CUDA device was found" : cudaGetErrorString(error);
    return list;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) continue;
    list.gpus.push_back({ordinal, properties.name, properties.major, properties.minor});
  }
  return list;
}

#else

inline GpuList find_gpus() { return {{}, "this program was built without CUDA"}; }

#endif

}  // namespace HEDDLE_TARGET
}  // namespace heddle
