// SPDX-License-Identifier: Apache-2.0
//
// Calls that a program gets wrong, and the code that each returns on an H200 (driver 580.159.04, CUDA 13.0,
// 2026-11-16). `data` is device memory of 4,096 bytes.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace call_codes {

constexpr int kCrash = -1;

struct WrongCall {
  const char* name;
  int simulated;
  int (*make)(int* data);
  int card = -2;  // where it is another one; kCrash: none, the process ends or hangs
};

inline int host[4096];
__device__ int symbol[4];
__global__ void kernel(int* to) { *to = 1; }

inline cudaStream_t destroyed_stream() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamDestroy(stream);
  return stream;
}

inline cudaEvent_t destroyed_event() {
  cudaEvent_t event;
  cudaEventCreate(&event);
  cudaEventDestroy(event);
  return event;
}

inline cudaEvent_t new_event(unsigned flags = 0) {
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, flags);
  return event;
}

inline void* managed() {
  void* made = nullptr;
  cudaMallocManaged(&made, 65536);
  return made;
}

// The driver's calls need no library this way.
template <class Function>
Function* driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
  return reinterpret_cast<Function*>(found);
}

inline int load_module(const void* image) {
  CUmodule module;
  return driver<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, image);
}

inline int load_module_file(const char* path) {
  CUmodule module;
  return driver<CUresult(CUmodule*, const char*)>("cuModuleLoad")(&module, path);
}

inline int range_attribute(void* of, std::size_t bytes, cudaMemRangeAttribute which,
                           std::size_t result_bytes = 4) {
  int value = 77;
  const int code = cudaMemRangeGetAttribute(&value, result_bytes, which, of, bytes);
  return code != 0 ? code : 1000 + value;  // a value, too, is compared
}

constexpr std::size_t kHuge = std::size_t{1} << 62;

inline const WrongCall kWrongCalls[] = {
    {"malloc_null", 1, [](int*) -> int { return cudaMalloc(static_cast<void**>(nullptr), 4); }},
    {"malloc_huge", 2,
     [](int*) -> int {
       void* made;
       return cudaMalloc(&made, std::size_t{1} << 60);
     }},
    {"malloc_zero", 0,
     [](int*) -> int {
       void* made;
       return cudaMalloc(&made, 0);
     }},
    {"free_null", 0, [](int*) -> int { return cudaFree(nullptr); }},
    {"free_inside", 1, [](int* data) -> int { return cudaFree(data + 1); }},
    {"free_twice", 1, [](int* data) -> int { return cudaFree(data) != 0 ? -3 : cudaFree(data); }},
    {"free_of_the_host", 1, [](int*) -> int { return cudaFree(host); }},
    {"copy_past_the_end", 1,
     [](int* data) -> int { return cudaMemcpy(data, host, 8192, cudaMemcpyHostToDevice); }},
    {"copy_of_no_kind", 21,
     [](int* data) -> int { return cudaMemcpy(data, host, 4, static_cast<cudaMemcpyKind>(9)); }},
    {"copy_to_null", 1, [](int*) -> int { return cudaMemcpy(nullptr, host, 4, cudaMemcpyHostToDevice); }},
    {"copy_of_nothing", 0, [](int*) -> int { return cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice); }},
    {"copy_huge", 1, [](int* data) -> int { return cudaMemcpy(data, host, kHuge, cudaMemcpyHostToDevice); }},
    {"copy_2d_width_over_pitch", 12,
     [](int* data) -> int { return cudaMemcpy2D(data, 8, host, 8, 16, 2, cudaMemcpyHostToDevice); }},
    {"copy_2d_huge", 1,
     [](int* data) -> int { return cudaMemcpy2D(data, 8, host, 8, 8, kHuge, cudaMemcpyHostToDevice); }},
    {"copy_to_symbol_past_the_end", 1, [](int*) -> int { return cudaMemcpyToSymbol(symbol, host, 32); }},
    {"copy_to_no_symbol", 13, [](int*) -> int { return cudaMemcpyToSymbol(host, host, 4); }},
    {"fill_null", 1, [](int*) -> int { return cudaMemset(nullptr, 0, 4); }},
    {"fill_past_the_end", 1, [](int* data) -> int { return cudaMemset(data, 0, kHuge); }},
    {"fill_2d_huge", 1, [](int* data) -> int { return cudaMemset2D(data, 8, 0, 8, kHuge); },
     0},  // 2^65 bytes, which are 0 of 64 bits
    {"pitch_null", 1, [](int*) -> int { return cudaMallocPitch(static_cast<void**>(nullptr), nullptr, 4, 4); }},
    {"pitch_huge", 1,
     [](int*) -> int {
       void* made;
       std::size_t pitch;
       return cudaMallocPitch(&made, &pitch, ~std::size_t{0}, 4);
     }},
    {"malloc_3d_huge", 1,
     [](int*) -> int {
       cudaPitchedPtr made;
       return cudaMalloc3D(&made, cudaExtent{std::size_t{1} << 40, std::size_t{1} << 20, std::size_t{1} << 20});
     }},
    {"managed_null", 1, [](int*) -> int { return cudaMallocManaged(static_cast<void**>(nullptr), 4); }},
    {"managed_zero", 0,
     [](int*) -> int {
       void* made;
       return cudaMallocManaged(&made, 0);
     }},
    {"managed_bad_flags", 1,
     [](int*) -> int {
       void* made;
       return cudaMallocManaged(&made, 64, 8);
     }},
    {"malloc_async_null", 1,
     [](int*) -> int { return cudaMallocAsync(static_cast<void**>(nullptr), 4, cudaStream_t(nullptr)); }},
    {"free_async_twice", 1,
     [](int* data) -> int { return cudaFreeAsync(data, nullptr) != 0 ? -3 : cudaFreeAsync(data, nullptr); },
     0},  // it is not looked at until something waits
    {"host_alloc_null", 1, [](int*) -> int { return cudaHostAlloc(static_cast<void**>(nullptr), 4, 0); }},
    {"host_alloc_bad_flags", 1,
     [](int*) -> int {
       void* made;
       return cudaHostAlloc(&made, 4, 64);
     }},
    {"free_host_unknown", 1, [](int*) -> int { return cudaFreeHost(host); }},
    {"register_null", 1, [](int*) -> int { return cudaHostRegister(nullptr, 4, 0); }},
    {"register_nothing", 1, [](int*) -> int { return cudaHostRegister(host, 0, 0); }},
    {"register_nonsense", 1,
     [](int*) -> int { return cudaHostRegister(reinterpret_cast<void*>(0x1000), 4096, 0); }},
    {"register_twice", 712,
     [](int*) -> int {
       return cudaHostRegister(host, 4096, 0) != 0 ? -3 : static_cast<int>(cudaHostRegister(host, 4096, 0));
     }},
    {"unregister_unknown", 713, [](int*) -> int { return cudaHostUnregister(host); }},
    {"stream_null", 1, [](int*) -> int { return cudaStreamCreate(nullptr); }},
    {"stream_bad_flags", 1,
     [](int*) -> int {
       cudaStream_t made;
       return cudaStreamCreateWithFlags(&made, 8);
     }},
    {"stream_destroy_default", 400, [](int*) -> int { return cudaStreamDestroy(nullptr); }},
    {"stream_destroyed_wait", 400, [](int*) -> int { return cudaStreamSynchronize(destroyed_stream()); }, kCrash},
    {"stream_destroyed_copy", 400,
     [](int* data) -> int { return cudaMemcpyAsync(data, host, 4, cudaMemcpyHostToDevice, destroyed_stream()); },
     kCrash},
    {"stream_destroyed_launch", 400,
     [](int* data) -> int {
       kernel<<<1, 1, 0, destroyed_stream()>>>(data);
       return cudaGetLastError();
     },
     kCrash},
    {"stream_destroyed_twice", 400, [](int*) -> int { return cudaStreamDestroy(destroyed_stream()); }, kCrash},
    {"stream_after_reset", 400,
     [](int*) -> int {
       cudaStream_t stream;
       cudaStreamCreate(&stream);
       cudaDeviceReset();
       return cudaStreamSynchronize(stream);
     },
     kCrash},
    {"memory_after_reset", 1,
     [](int* data) -> int {
       cudaDeviceReset();
       return cudaFree(data);
     }},
    {"event_null", 1, [](int*) -> int { return cudaEventCreate(nullptr); }},
    {"event_bad_flags", 1,
     [](int*) -> int {
       cudaEvent_t made;
       return cudaEventCreateWithFlags(&made, 64);
     }},
    {"event_destroyed_record", 400, [](int*) -> int { return cudaEventRecord(destroyed_event()); }, kCrash},
    {"event_record_null", 400, [](int*) -> int { return cudaEventRecord(nullptr); }},
    {"event_wait_null", 400, [](int*) -> int { return cudaStreamWaitEvent(nullptr, nullptr, 0); }},
    {"event_wait_bad_flags", 1, [](int*) -> int { return cudaStreamWaitEvent(nullptr, new_event(), 8); }},
    {"event_destroy_null", 400, [](int*) -> int { return cudaEventDestroy(nullptr); }},
    {"elapsed_null", 1, [](int*) -> int { return cudaEventElapsedTime(nullptr, new_event(), new_event()); }},
    {"elapsed_not_recorded", 400,
     [](int*) -> int {
       float time;
       return cudaEventElapsedTime(&time, new_event(), new_event());
     }},
    {"elapsed_without_times", 400,
     [](int*) -> int {
       float time;
       cudaEvent_t one = new_event(cudaEventDisableTiming);
       cudaEventRecord(one);
       cudaDeviceSynchronize();
       return cudaEventElapsedTime(&time, one, one);
     }},
    {"callback_null", 1, [](int*) -> int { return cudaLaunchHostFunc(nullptr, nullptr, nullptr); }},
    {"device_of_no_number", 101, [](int*) -> int { return cudaSetDevice(99); }},
    {"device_count_null", 1, [](int*) -> int { return cudaGetDeviceCount(nullptr); }},
    {"properties_null", 1, [](int*) -> int { return cudaGetDeviceProperties(nullptr, 0); }},
    {"attribute_null", 1, [](int*) -> int { return cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0); }},
    {"attribute_of_no_name", 1,
     [](int*) -> int {
       int value;
       return cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0);
     }},
    {"attribute_of_no_device", 101,
     [](int*) -> int {
       int value;
       return cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99);
     }},
    {"pointer_attributes_null", 1, [](int* data) -> int { return cudaPointerGetAttributes(nullptr, data); }},
    {"limit_of_no_name", 1, [](int*) -> int { return cudaDeviceSetLimit(static_cast<cudaLimit>(99), 4); }},
    {"function_attributes_null", 1, [](int*) -> int { return cudaFuncGetAttributes(nullptr, kernel); }},
    {"function_attributes_of_none", 400,
     [](int*) -> int {
       cudaFuncAttributes found;
       return cudaFuncGetAttributes(&found, static_cast<const void*>(host));
     }},
    {"function_attributes_of_null", 98,
     [](int*) -> int {
       cudaFuncAttributes found;
       return cudaFuncGetAttributes(&found, static_cast<const void*>(nullptr));
     }},
    {"function_set_attribute_of_none", 400,
     [](int*) -> int {
       return cudaFuncSetAttribute(static_cast<const void*>(host), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   64);
     }},
    {"launch_of_none", 400,
     [](int*) -> int { return cudaLaunchKernel(host, dim3(1), dim3(1), nullptr, 0, nullptr); }},
    {"occupancy_of_none", 400,
     [](int*) -> int {
       int count;
       return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, static_cast<const void*>(host), 32, 0);
     }},
    {"too_much_shared_allowed", 1,
     [](int*) -> int {
       return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20);
     }},
    {"launch_of_null", 98,
     [](int*) -> int { return cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr); }},
    {"occupancy_null", 1,
     [](int*) -> int { return cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, kernel, 32, 0); }},
    {"occupancy_of_no_threads", 1,
     [](int*) -> int {
       int count;
       return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, 0, 0);
     }},
    {"graph_null", 1, [](int*) -> int { return cudaGraphCreate(nullptr, 0); }},
    {"graph_of_nothing_made", 1,
     [](int*) -> int {
       cudaGraphExec_t made;
       return cudaGraphInstantiate(&made, nullptr, 0);
     }},
    {"graph_launch_null", 1, [](int*) -> int { return cudaGraphLaunch(nullptr, nullptr); }},
    {"capture_not_begun", 401,
     [](int*) -> int {
       cudaStream_t stream;
       cudaGraph_t graph;
       cudaStreamCreate(&stream);
       return cudaStreamEndCapture(stream, &graph);
     }},
    {"capture_of_default", 900,
     [](int*) -> int { return cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal); }},
    {"range_of_device_memory", 1,
     [](int* data) -> int { return range_attribute(data, 4096, cudaMemRangeAttributeReadMostly); }},
    {"range_of_the_host", 1,
     [](int*) -> int { return range_attribute(host, 4096, cudaMemRangeAttributeReadMostly); }},
    {"range_read_mostly", 1000,
     [](int*) -> int { return range_attribute(managed(), 65536, cudaMemRangeAttributeReadMostly); }},
    {"range_preferred", 998,
     [](int*) -> int { return range_attribute(managed(), 65536, cudaMemRangeAttributePreferredLocation); }},
    {"range_last_prefetch", 998,
     [](int*) -> int { return range_attribute(managed(), 65536, cudaMemRangeAttributeLastPrefetchLocation); }},
    {"range_accessed_by", 998,
     [](int*) -> int { return range_attribute(managed(), 65536, cudaMemRangeAttributeAccessedBy); }},
    {"range_short_result", 1,
     [](int*) -> int { return range_attribute(managed(), 65536, cudaMemRangeAttributeReadMostly, 2); }},
    {"range_too_long", 1,
     [](int*) -> int { return range_attribute(managed(), 1 << 30, cudaMemRangeAttributeReadMostly); }},
    {"range_nothing", 1,
     [](int*) -> int { return range_attribute(managed(), 0, cudaMemRangeAttributeReadMostly); }},
    {"range_null", 1,
     [](int*) -> int {
       return cudaMemRangeGetAttribute(nullptr, 4, cudaMemRangeAttributeReadMostly, managed(), 4096);
     }},
    {"range_of_no_name", 1,
     [](int*) -> int { return range_attribute(managed(), 65536, static_cast<cudaMemRangeAttribute>(99)); }},
    {"range_advised", 1001,
     [](int*) -> int {
       void* made = managed();
       cudaMemAdvise(made, 65536, cudaMemAdviseSetReadMostly, cudaMemLocation{cudaMemLocationTypeDevice, 0});
       return range_attribute(made, 65536, cudaMemRangeAttributeReadMostly);
     }},
    {"range_advised_in_part", 1000,
     [](int*) -> int {
       char* made = static_cast<char*>(managed());
       cudaMemAdvise(made, 4096, cudaMemAdviseSetReadMostly, cudaMemLocation{cudaMemLocationTypeDevice, 0});
       return range_attribute(made, 65536, cudaMemRangeAttributeReadMostly);
     }},
    {"range_preferred_card", 1000,
     [](int*) -> int {
       void* made = managed();
       cudaMemAdvise(made, 65536, cudaMemAdviseSetPreferredLocation,
                     cudaMemLocation{cudaMemLocationTypeDevice, 0});
       return range_attribute(made, 65536, cudaMemRangeAttributePreferredLocation);
     }},
    {"range_preferred_host", 999,
     [](int*) -> int {
       void* made = managed();
       cudaMemAdvise(made, 65536, cudaMemAdviseSetPreferredLocation, cudaMemLocation{cudaMemLocationTypeHost, 0});
       return range_attribute(made, 65536, cudaMemRangeAttributePreferredLocation);
     }},
    {"range_prefetched", 1000,
     [](int*) -> int {
       void* made = managed();
       cudaMemPrefetchAsync(made, 65536, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, nullptr);
       cudaDeviceSynchronize();
       return range_attribute(made, 65536, cudaMemRangeAttributeLastPrefetchLocation);
     }},
    {"advise_of_device_memory", 1,
     [](int* data) -> int {
       return cudaMemAdvise(data, 4096, cudaMemAdviseSetReadMostly,
                            cudaMemLocation{cudaMemLocationTypeDevice, 0});
     }},
    {"prefetch_of_device_memory", 1,
     [](int* data) -> int {
       return cudaMemPrefetchAsync(data, 4096, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, nullptr);
     }},
    {"prefetch_to_no_device", 101,
     [](int*) -> int {
       return cudaMemPrefetchAsync(managed(), 4096, cudaMemLocation{cudaMemLocationTypeDevice, 99}, 0, nullptr);
     }},
    {"module_of_null", 1, [](int*) -> int { return load_module(nullptr); }},
    {"module_of_words", 200, [](int*) -> int { return load_module("no PTX at all"); }},
    {"module_of_bad_ptx", 218,
     [](int*) -> int { return load_module(".version 8.0\n.target sm_90\n.address_size 64\nnonsense\n"); }},
    {"module_of_ptx_for_a_later_card", 0,
     [](int*) -> int { return load_module(".version 99.0\n.target sm_90\n.address_size 64\n"); },
     222},  // here any version is read whose instructions are known
    {"module_of_a_file_not_there", 301, [](int*) -> int { return load_module_file("/no/such/file"); }},
    {"module_of_a_folder", 301, [](int*) -> int { return load_module_file("/tmp"); },
     2},  // a folder has no size to allocate
    {"module_of_null_file", 1, [](int*) -> int { return load_module_file(nullptr); }},
};

}  // namespace call_codes
