// SPDX-License-Identifier: Apache-2.0
//
// Calls of the runtime that only a hostile program makes: handles of another kind, sizes that wrap, captures and
// graphs in disorder, attributes of no meaning, callbacks, threads and forks.
// Codes as an H200 gave them (driver 580.159.04, 2026-11-19).
#pragma once

#include "driver_call_codes.h"

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>

namespace call_codes {

__global__ void large_kernel(int* to, long long a[4], int b) { *to = b; }

// A stream that captures, with a kernel in it.
inline cudaStream_t capturing(cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed) {
  cudaStream_t made = nullptr;
  cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
  cudaStreamBeginCapture(made, mode);
  return made;
}

inline int end_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  return cudaStreamEndCapture(stream, &graph);
}

inline cudaGraphExec_t instance_of(cudaGraph_t graph) {
  cudaGraphExec_t made = nullptr;
  cudaGraphInstantiate(&made, graph, 0);
  return made;
}

inline cudaGraphNode_t kernel_node_of(cudaGraph_t graph, int** data) {
  cudaGraphNode_t made = nullptr;
  void* arguments[] = {data};
  const cudaKernelNodeParams all = kernel_node(arguments);
  cudaGraphAddKernelNode(&made, graph, nullptr, 0, &all);
  return made;
}

inline int launch_with(cudaLaunchAttribute attribute, dim3 grid, dim3 block, int* data, std::size_t shared = 0,
                       cudaStream_t stream = nullptr) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* arguments[] = {&data};
  return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments);
}

inline cudaLaunchAttribute attribute_of(int which) {
  cudaLaunchAttribute made = {};
  made.id = static_cast<cudaLaunchAttributeID>(which);
  return made;
}

inline cudaLaunchAttribute cluster_of(unsigned x, unsigned y = 1, unsigned z = 1) {
  cudaLaunchAttribute made = attribute_of(cudaLaunchAttributeClusterDimension);
  made.val.clusterDim.x = x;
  made.val.clusterDim.y = y;
  made.val.clusterDim.z = z;
  return made;
}

inline int in_thread(int (*run)(int*), int* data) {
  int code = -3;
  std::thread([&] { code = run(data); }).join();
  return code;
}

inline int in_child(int (*run)(int*), int* data) {
  const pid_t child = fork();
  if (child == 0) _exit(run(data) & 0xff);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2000 + WTERMSIG(status);
}

inline int launch_and_wait(int* data) {
  kernel<<<1, 1>>>(data);
  const int code = cudaGetLastError();
  return code != 0 ? code : static_cast<int>(cudaDeviceSynchronize());
}

inline int call_wait() { return cudaDeviceSynchronize(); }
inline int call_wait_stream() { return cudaStreamSynchronize(nullptr); }
inline int call_reset() { return cudaDeviceReset(); }
inline int call_host_function() {
  return cudaLaunchHostFunc(
      nullptr, [](void*) {}, nullptr);
}
inline int call_properties() {
  cudaDeviceProp all;
  return cudaGetDeviceProperties(&all, 0);
}
inline int call_error_name() {
  return std::strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
}

using Handle = void*;

inline const WrongCall kHostileCalls[] = {
    // Handles of another kind, made up, or special.
    {"stream_that_is_an_event", 400, [](int*) -> int { return cudaStreamSynchronize((cudaStream_t)(Handle)new_event()); }, 709},
    {"event_that_is_a_stream", 400, [](int*) -> int { return cudaEventRecord((cudaEvent_t)(Handle)new_stream()); }, 709},
    {"stream_that_is_memory", 400, [](int* data) -> int { return cudaStreamQuery((cudaStream_t)(Handle)data); }, kCrash},
    {"stream_that_is_of_the_host", 400, [](int*) -> int { return cudaStreamQuery((cudaStream_t)(Handle)host); }},
    {"stream_number_three", 400, [](int*) -> int { return cudaStreamQuery((cudaStream_t)3); }, kCrash},
    {"stream_of_all_ones", 400, [](int*) -> int { return cudaStreamQuery((cudaStream_t)-1); }},
    {"stream_legacy_queried", 0, [](int*) -> int { return cudaStreamQuery(cudaStreamLegacy); }},
    {"stream_legacy_destroyed", 400, [](int*) -> int { return cudaStreamDestroy(cudaStreamLegacy); }},
    {"stream_per_thread_destroyed", 400, [](int*) -> int { return cudaStreamDestroy(cudaStreamPerThread); }},
    {"stream_legacy_captured", 900,
     [](int*) -> int { return cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal); }},
    {"stream_per_thread_captured", 0,
     [](int*) -> int { return cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeRelaxed); }},
    {"event_destroyed_twice", 400, [](int*) -> int { return cudaEventDestroy(destroyed_event()); }, kCrash},
    {"event_destroyed_queried", 400, [](int*) -> int { return cudaEventQuery(destroyed_event()); }, kCrash},
    {"event_destroyed_waited_for", 400,
     [](int*) -> int { return cudaStreamWaitEvent(nullptr, destroyed_event(), 0); }, kCrash},
    {"graph_that_is_an_instance", 1,
     [](int*) -> int { return cudaGraphDestroy((cudaGraph_t)(Handle)instance_of(new_graph())); }},
    {"graph_destroyed_twice", 1,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphDestroy(graph);
       return cudaGraphDestroy(graph);
     }},
    {"instance_destroyed_launched", 1,
     [](int*) -> int {
       cudaGraphExec_t made = instance_of(new_graph());
       cudaGraphExecDestroy(made);
       return cudaGraphLaunch(made, nullptr);
     }},
    {"node_destroyed_twice", 1,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t node = empty_node(graph);
       cudaGraphDestroyNode(node);
       return cudaGraphDestroyNode(node);
     },
     kCrash},
    {"node_of_a_destroyed_graph", 1,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t node = empty_node(graph);
       cudaGraphNodeType type;
       cudaGraphDestroy(graph);
       return cudaGraphNodeGetType(node, &type);
     }, 0},
    {"pool_destroyed_twice", 1,
     [](int*) -> int {
       cudaMemPool_t pool;
       cudaMemPoolProps all = {};
       all.allocType = cudaMemAllocationTypePinned;
       all.location = {cudaMemLocationTypeDevice, 0};
       cudaMemPoolCreate(&pool, &all);
       cudaMemPoolDestroy(pool);
       return cudaMemPoolDestroy(pool);
     }},
    {"pool_that_is_a_stream", 1,
     [](int*) -> int { return cudaMemPoolTrimTo((cudaMemPool_t)(Handle)new_stream(), 0); }},

    // Copies and fills.
    {"copy_kind_of_minus_one", 21,
     [](int* data) -> int { return cudaMemcpy(data, host, 4, static_cast<cudaMemcpyKind>(-1)); }},
    {"copy_of_nothing_and_no_kind", 0,
     [](int* data) -> int { return cudaMemcpy(data, host, 0, static_cast<cudaMemcpyKind>(9)); }},
    {"copy_async_of_no_kind", 21,
     [](int* data) -> int { return cudaMemcpyAsync(data, host, 4, static_cast<cudaMemcpyKind>(9)); }},
    {"copy_device_to_device_of_the_host", 1,
     [](int* data) -> int { return cudaMemcpy(data, host, 4, cudaMemcpyDeviceToDevice); }},
    {"copy_host_to_device_of_two_devices", 0,
     [](int* data) -> int { return cudaMemcpy(data, data + 64, 4, cudaMemcpyHostToDevice); }},
    {"copy_host_to_host_of_a_device", 0,
     [](int* data) -> int { return cudaMemcpy(host, data, 4, cudaMemcpyHostToHost); }},
    {"copy_onto_itself", 0, [](int* data) -> int { return cudaMemcpy(data, data, 4096, cudaMemcpyDeviceToDevice); }},
    {"copy_that_overlaps", 0,
     [](int* data) -> int { return cudaMemcpy(data + 1, data, 2048, cudaMemcpyDeviceToDevice); }},
    {"copy_to_the_host_null", 1,
     [](int* data) -> int { return cudaMemcpy(nullptr, data, 4, cudaMemcpyDeviceToHost); }},
    {"copy_over_two_allocations", 1,
     [](int* data) -> int {
       int* second;
       cudaMalloc(&second, 4096);
       return cudaMemcpy(host, data < second ? data : second, std::size_t{1} << 40, cudaMemcpyDeviceToHost);
     }},
    {"copy_of_managed_as_host", 0,
     [](int* data) -> int { return cudaMemcpy(data, managed(), 4, cudaMemcpyHostToDevice); }},
    {"copy_of_pinned_as_device", 0,
     [](int* data) -> int {
       void* made;
       cudaHostAlloc(&made, 64, 0);
       return cudaMemcpy(data, made, 4, cudaMemcpyDeviceToDevice);
     }},
    {"copy_2d_without_pitch", 12,
     [](int* data) -> int { return cudaMemcpy2D(data, 0, host, 0, 4, 2, cudaMemcpyHostToDevice); }},
    {"copy_2d_of_no_width", 0,
     [](int* data) -> int { return cudaMemcpy2D(data, 8, host, 8, 0, 2, cudaMemcpyHostToDevice); }},
    {"copy_2d_of_no_height", 0,
     [](int* data) -> int { return cudaMemcpy2D(data, 8, host, 8, 8, 0, cudaMemcpyHostToDevice); }},
    {"copy_2d_of_no_width_and_pitch", 0,
     [](int* data) -> int { return cudaMemcpy2D(data, 0, host, 0, 0, 2, cudaMemcpyHostToDevice); }},
    {"copy_2d_of_no_kind", 21,
     [](int* data) -> int { return cudaMemcpy2D(data, 8, host, 8, 8, 2, static_cast<cudaMemcpyKind>(7)); }},
    {"copy_2d_past_the_end", 1,
     [](int* data) -> int { return cudaMemcpy2D(data, 4096, host, 64, 64, 2, cudaMemcpyHostToDevice); }},
    {"copy_3d_of_no_kind", 21,
     [](int* data) -> int {
       cudaMemcpy3DParms all = {};
       all.srcPtr = make_cudaPitchedPtr(host, 8, 8, 1);
       all.dstPtr = make_cudaPitchedPtr(data, 8, 8, 1);
       all.extent = make_cudaExtent(8, 1, 1);
       all.kind = static_cast<cudaMemcpyKind>(7);
       return cudaMemcpy3D(&all);
     }},
    {"copy_3d_without_source", 1,
     [](int* data) -> int {
       cudaMemcpy3DParms all = {};
       all.dstPtr = make_cudaPitchedPtr(data, 8, 8, 1);
       all.extent = make_cudaExtent(8, 1, 1);
       all.kind = cudaMemcpyHostToDevice;
       return cudaMemcpy3D(&all);
     }},
    {"copy_3d_beyond_the_pitch", 1,
     [](int* data) -> int {
       cudaMemcpy3DParms all = {};
       all.srcPtr = make_cudaPitchedPtr(host, 8, 8, 1);
       all.dstPtr = make_cudaPitchedPtr(data, 8, 8, 1);
       all.extent = make_cudaExtent(64, 1, 1);
       all.kind = cudaMemcpyHostToDevice;
       return cudaMemcpy3D(&all);
     }},
    {"fill_of_the_host", 1, [](int*) -> int { return cudaMemset(host, 0, 4); }},
    {"fill_of_pinned", 0,
     [](int*) -> int {
       void* made;
       cudaHostAlloc(&made, 64, 0);
       return cudaMemset(made, 1, 64);
     }},
    {"fill_of_nothing_at_null", 0, [](int*) -> int { return cudaMemset(nullptr, 1, 0); }},
    {"fill_with_more_than_a_byte", 1000,
     [](int* data) -> int {
       cudaMemset(data, 0x1ff, 4);
       cudaMemcpy(host, data, 4, cudaMemcpyDeviceToHost);
       return host[0] == -1 ? 1000 : 1001;
     }},
    {"fill_2d_width_over_pitch", 1, [](int* data) -> int { return cudaMemset2D(data, 8, 0, 16, 2); }},
    {"fill_2d_of_no_width", 0, [](int* data) -> int { return cudaMemset2D(data, 8, 0, 0, 2); }},
    {"fill_3d_of_null", 1,
     [](int*) -> int { return cudaMemset3D(make_cudaPitchedPtr(nullptr, 8, 8, 1), 0, make_cudaExtent(8, 1, 1)); }},
    {"symbol_copy_from_past_the_end", 1,
     [](int*) -> int { return cudaMemcpyFromSymbol(host, symbol, 8, 12); }},
    {"symbol_copy_host_to_host", 21,
     [](int*) -> int { return cudaMemcpyToSymbol(symbol, host, 4, 0, cudaMemcpyHostToHost); }},
    {"symbol_copy_of_nothing", 0, [](int*) -> int { return cudaMemcpyToSymbol(symbol, host, 0); }},
    {"symbol_size_of_a_kernel", 13,
     [](int*) -> int {
       std::size_t bytes;
       return cudaGetSymbolSize(&bytes, reinterpret_cast<const void*>(kernel));
     }},

    {"copy_from_no_access", 1,
     [](int* data) -> int {
       void* made = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return cudaMemcpy(data, made, 16, cudaMemcpyHostToDevice);
     }, kCrash},
    {"copy_from_nowhere", 1,
     [](int* data) -> int { return cudaMemcpy(data, reinterpret_cast<void*>(0x1000), 16, cudaMemcpyHostToDevice); }, kCrash},
    {"copy_to_read_only", 1,
     [](int* data) -> int {
       void* made = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return cudaMemcpy(made, data, 16, cudaMemcpyDeviceToHost);
     }, kCrash},
    {"copy_over_the_end_of_pinned", 1,
     [](int* data) -> int {
       char* made;
       cudaHostAlloc(&made, 4096, 0);
       return cudaMemcpy(data, made + 4090, 64, cudaMemcpyHostToDevice);
     }},
    {"copy_past_the_end_of_pinned", 1,
     [](int* data) -> int {
       char* made;
       cudaHostAlloc(&made, 4096, 0);
       return cudaMemcpy(made + 4096, data, 64, cudaMemcpyDeviceToHost);
     }, 0},
    {"copy_far_past_the_end_of_managed", 1,
     [](int* data) -> int {
       return cudaMemcpy(data, static_cast<char*>(managed()) + (std::size_t{64} << 20), 64, cudaMemcpyHostToDevice);
     }},
    {"copy_of_freed_pinned", 1,
     [](int* data) -> int {
       void* made;
       cudaHostAlloc(&made, 4096, 0);
       cudaFreeHost(made);
       return cudaMemcpy(data, made, 64, cudaMemcpyHostToDevice);
     }, kCrash},
    {"fill_over_the_end_of_pinned", 1,
     [](int*) -> int {
       char* made;
       cudaHostAlloc(&made, 4096, 0);
       return cudaMemset(made + 4090, 0, 64);
     }},

    // Memory.
    {"free_of_one", 1, [](int*) -> int { return cudaFree(reinterpret_cast<void*>(1)); }},
    {"free_of_a_symbol", 1,
     [](int*) -> int {
       void* found;
       cudaGetSymbolAddress(&found, symbol);
       return cudaFree(found);
     }},
    {"free_host_null", 0, [](int*) -> int { return cudaFreeHost(nullptr); }},
    {"free_host_twice", 1,
     [](int*) -> int {
       void* made;
       cudaHostAlloc(&made, 64, 0);
       cudaFreeHost(made);
       return cudaFreeHost(made);
     }},
    {"free_host_inside", 1,
     [](int*) -> int {
       char* made;
       cudaHostAlloc(&made, 4096, 0);
       return cudaFreeHost(made + 64);
     }},
    {"free_host_registered", 1,
     [](int*) -> int {
       cudaHostRegister(host, 4096, 0);
       return cudaFreeHost(host);
     }},
    {"free_managed_twice", 1,
     [](int*) -> int {
       void* made = managed();
       cudaFree(made);
       return cudaFree(made);
     }},
    {"free_async_null", 0, [](int*) -> int { return cudaFreeAsync(nullptr, nullptr); }},
    {"free_async_of_the_host", 1, [](int*) -> int { return cudaFreeAsync(host, nullptr); }},
    {"free_async_inside", 1, [](int* data) -> int { return cudaFreeAsync(data + 1, nullptr); }},
    {"free_async_of_managed", 801, [](int*) -> int { return cudaFreeAsync(managed(), nullptr); }},
    {"free_of_async", 0,
     [](int*) -> int {
       void* made;
       cudaMallocAsync(&made, 64, cudaStream_t(nullptr));
       return cudaFree(made);
     }},
    {"malloc_async_zero", 0,
     [](int*) -> int {
       void* made;
       return cudaMallocAsync(&made, 0, cudaStream_t(nullptr));
     }},
    {"malloc_async_huge", 2,
     [](int*) -> int {
       void* made;
       return cudaMallocAsync(&made, std::size_t{1} << 60, cudaStream_t(nullptr));
     }},
    {"managed_huge", 2,
     [](int*) -> int {
       void* made;
       return cudaMallocManaged(&made, std::size_t{1} << 60);
     }},
    {"managed_flags_of_both", 1,
     [](int*) -> int {
       void* made;
       return cudaMallocManaged(&made, 64, cudaMemAttachGlobal | cudaMemAttachHost);
     }},
    {"malloc_3d_of_nothing", 0,
     [](int*) -> int {
       cudaPitchedPtr made;
       return cudaMalloc3D(&made, make_cudaExtent(0, 4, 4));
     }},
    {"malloc_of_all_ones", 2,
     [](int*) -> int {
       void* made;
       return cudaMalloc(&made, ~std::size_t{0});
     }},
    {"register_in_part_twice", 712,
     [](int*) -> int {
       cudaHostRegister(host, 4096, 0);
       return cudaHostRegister(host + 512, 8192, 0);
     }},
    {"register_past_the_end_of_the_world", 1,
     [](int*) -> int { return cudaHostRegister(host, ~std::size_t{0} - 8, 0); }},
    {"register_mapped_read_only", 1,
     [](int*) -> int {
       void* made = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return cudaHostRegister(made, 8192, 0);
     }},
    {"register_no_access", 1,
     [](int*) -> int {
       void* made = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return cudaHostRegister(made, 8192, 0);
     }},
    {"register_managed", 1, [](int*) -> int { return cudaHostRegister(managed(), 4096, 0); }},
    {"unregister_null", 1, [](int*) -> int { return cudaHostUnregister(nullptr); }},
    {"unregister_pinned", 1,
     [](int*) -> int {
       void* made;
       cudaHostAlloc(&made, 4096, 0);
       return cudaHostUnregister(made);
     }},
    {"unregister_twice", 713,
     [](int*) -> int {
       cudaHostRegister(host, 4096, 0);
       cudaHostUnregister(host);
       return cudaHostUnregister(host);
     }},
    {"host_flags_of_registered", 0,
     [](int*) -> int {
       unsigned flags;
       cudaHostRegister(host, 4096, 0);
       return cudaHostGetFlags(&flags, host);
     }},
    {"host_alloc_all_flags", 0,
     [](int*) -> int {
       void* made;
       return cudaHostAlloc(&made, 64, 7);
     }},
    {"kind_of_a_made_up_address", 1000,
     [](int*) -> int {
       cudaPointerAttributes about;
       const int code = cudaPointerGetAttributes(&about, reinterpret_cast<void*>(0x123456789000));
       return code != 0 ? code : 1000 + about.type;
     }},
    {"kind_past_the_end", 1000,
     [](int* data) -> int {
       cudaPointerAttributes about;
       const int code = cudaPointerGetAttributes(&about, data + (std::size_t{1} << 36));
       return code != 0 ? code : 1000 + about.type;
     }},
    {"advise_past_the_end", 1,
     [](int*) -> int {
       return cudaMemAdvise(managed(), std::size_t{1} << 40, cudaMemAdviseSetReadMostly,
                            cudaMemLocation{cudaMemLocationTypeDevice, 0});
     }},
    {"advise_of_no_location", 1,
     [](int*) -> int {
       return cudaMemAdvise(managed(), 65536, cudaMemAdviseSetPreferredLocation,
                            cudaMemLocation{static_cast<cudaMemLocationType>(77), 0});
     }},
    {"advise_nothing", 1,
     [](int*) -> int {
       return cudaMemAdvise(managed(), 0, cudaMemAdviseSetReadMostly,
                            cudaMemLocation{cudaMemLocationTypeDevice, 0});
     }},
    {"prefetch_of_freed", 1,
     [](int*) -> int {
       void* made = managed();
       cudaFree(made);
       return cudaMemPrefetchAsync(made, 4096, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, nullptr);
     }},
    {"prefetch_nothing", 1,
     [](int*) -> int {
       return cudaMemPrefetchAsync(managed(), 0, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, nullptr);
     }},

    // Streams, events and what they wait for.
    {"stream_flags_of_all", 1,
     [](int*) -> int {
       cudaStream_t made;
       return cudaStreamCreateWithFlags(&made, ~0u);
     }},
    {"stream_priority_bad_flags", 1,
     [](int*) -> int {
       cudaStream_t made;
       return cudaStreamCreateWithPriority(&made, 8, 0);
     }},
    {"stream_flags_of_the_default", 1000,
     [](int*) -> int {
       unsigned flags = 7;
       const int code = cudaStreamGetFlags(nullptr, &flags);
       return code != 0 ? code : 1000 + static_cast<int>(flags);
     }},
    {"stream_id_null", 1, [](int*) -> int { return cudaStreamGetId(nullptr, nullptr); }},
    {"stream_copy_attributes_of_null", 0,
     [](int*) -> int { return cudaStreamCopyAttributes(nullptr, new_stream()); }},
    {"priority_range_null", 0, [](int*) -> int { return cudaDeviceGetStreamPriorityRange(nullptr, nullptr); }},
    {"stream_reset_from_another_thread", 0,
     [](int* data) -> int {
       return in_thread([](int*) -> int { return cudaDeviceReset(); }, data);
     }},
    {"event_wait_not_recorded", 0, [](int*) -> int { return cudaStreamWaitEvent(nullptr, new_event(), 0); }},
    {"event_synchronize_not_recorded", 0, [](int*) -> int { return cudaEventSynchronize(new_event()); }},
    {"elapsed_null_event", 400,
     [](int*) -> int {
       float time;
       return cudaEventElapsedTime(&time, nullptr, new_event());
     }},
    {"elapsed_backwards", 0,
     [](int*) -> int {
       float time;
       cudaEvent_t one = new_event(), two = new_event();
       cudaEventRecord(one);
       cudaEventRecord(two);
       cudaDeviceSynchronize();
       return cudaEventElapsedTime(&time, two, one);
     }},
    {"event_interprocess", 0,
     [](int*) -> int {
       cudaEvent_t made;
       return cudaEventCreateWithFlags(&made, cudaEventInterprocess | cudaEventDisableTiming);
     }},
    {"event_flags_of_all", 1,
     [](int*) -> int {
       cudaEvent_t made;
       return cudaEventCreateWithFlags(&made, ~0u);
     }},
    {"callback_of_null", 1, [](int*) -> int { return cudaStreamAddCallback(nullptr, nullptr, nullptr, 0); }},
    {"host_function_in_a_destroyed_stream", 400,
     [](int*) -> int { return cudaLaunchHostFunc(destroyed_stream(), [](void*) {}, nullptr); }, kCrash},
    {"host_function_waits", 800, [](int*) -> int { return in_host_function<call_wait>(); }},
    {"host_function_waits_for_a_stream", 800, [](int*) -> int { return in_host_function<call_wait_stream>(); }},
    {"host_function_asks_for_properties", 0, [](int*) -> int { return in_host_function<call_properties>(); }},
    {"host_function_adds_another", 800, [](int*) -> int { return in_host_function<call_host_function>(); }},
    {"host_function_names_an_error", 0, [](int*) -> int { return in_host_function<call_error_name>(); }},
    {"callback_waits", 800, [](int*) -> int { return in_callback<call_wait>(); }},
    {"callback_resets", 800, [](int*) -> int { return in_callback<call_reset>(); }},
    {"host_function_leaves_no_error", 1000,
     [](int*) -> int {
       in_host_function<call_malloc>();
       return 1000 + cudaGetLastError();
     }},
};

}  // namespace call_codes
