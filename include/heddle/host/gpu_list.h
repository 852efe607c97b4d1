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

// Why a driver is of no use to a program. Versions are as CUDA counts them, 13000 for 13.0; 0 for no driver.
inline std::string driver_too_old(int driver, int runtime) {
  const auto text = [](int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  };
  if (driver == 0) return "no NVIDIA driver is loaded; one for CUDA " + text(runtime) + " or later would do";
  return "the driver is for CUDA " + text(driver) + " and this program for CUDA " + text(runtime) +
         "; a driver for CUDA " + text(runtime) + " or later would do";
}

inline namespace HEDDLE_TARGET {

#if HEDDLE_ON_CUDA

inline GpuList find_gpus() {
  GpuList list;
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    int driver = 0;
    int runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    list.why = driver_too_old(driver, runtime);
    return list;
  }
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
