// SPDX-License-Identifier: Apache-2.0
//
// More calls of the runtime that only a hostile program makes: launches and their attributes, captures, graphs,
// devices, occupancy, what the driver is asked for by name, threads and forks.
// Codes as an H200 gave them (driver 580.159.04, 2026-11-19).
#pragma once

#include "hostile_calls.h"

#include <cuda_profiler_api.h>

namespace call_codes {

inline int entry_point(const char* name, unsigned version, unsigned long long flags = cudaEnableDefault) {
  void* found = host;
  auto result = static_cast<cudaDriverEntryPointQueryResult>(77);
  const int code = cudaGetDriverEntryPointByVersion(name, &found, version, flags, &result);
  return code != 0 ? code : 1000 + 10 * static_cast<int>(result) + (found == nullptr ? 0 : 1);
}

inline volatile std::sig_atomic_t alarms = 0;

inline const WrongCall kHostileLaunches[] = {
    // Captures.
    {"capture_frees_async_of_outside", 1, [](int* data) -> int { return cudaFreeAsync(data, capturing()); }},
    {"capture_ends_twice", 401,
     [](int*) -> int {
       cudaStream_t stream = capturing();
       end_capture(stream);
       return end_capture(stream);
     }},
    {"capture_of_nothing", 0, [](int*) -> int { return end_capture(capturing()); }},
    {"capture_copies_pageable", 0,
     [](int* data) -> int { return cudaMemcpyAsync(data, host, 4, cudaMemcpyHostToDevice, capturing()); }},
    {"capture_copies_to_null", 1,
     [](int*) -> int { return cudaMemcpyAsync(nullptr, host, 4, cudaMemcpyHostToDevice, capturing()); }},
    {"capture_copies_past_the_end", 1,
     [](int* data) -> int { return cudaMemcpyAsync(data, host, 8192, cudaMemcpyHostToDevice, capturing()); }},
    {"capture_fills_null", 1, [](int*) -> int { return cudaMemsetAsync(nullptr, 0, 4, capturing()); }, 0},
    {"capture_launches_badly", 1,
     [](int* data) -> int {
       kernel<<<1, 2048, 0, capturing()>>>(data);
       return cudaGetLastError();
     }},
    {"capture_after_a_bad_launch", 901,
     [](int* data) -> int {
       cudaStream_t stream = capturing();
       kernel<<<1, 2048, 0, stream>>>(data);
       cudaGetLastError();
       return end_capture(stream);
     }},
    {"capture_calls_back", 900,
     [](int*) -> int {
       return cudaStreamAddCallback(capturing(), [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0);
     }},
    {"capture_host_function_of_null", 1,
     [](int*) -> int { return cudaLaunchHostFunc(capturing(), nullptr, nullptr); }},
    {"capture_launches_an_empty_graph", 900,
     [](int*) -> int { return cudaGraphLaunch(instance_of(new_graph()), capturing()); }},
    {"capture_elapsed", 907,
     [](int*) -> int {
       float time;
       cudaEvent_t one = new_event();
       cudaEventRecord(one, capturing());
       return cudaEventElapsedTime(&time, one, one);
     }},
    {"capture_waits_for_itself", 0,
     [](int*) -> int {
       cudaStream_t stream = capturing();
       cudaEvent_t one = new_event();
       cudaEventRecord(one, stream);
       return cudaStreamWaitEvent(stream, one, 0);
     }},
    {"capture_event_waited_for_outside", 906,
     [](int*) -> int {
       cudaEvent_t one = new_event();
       cudaEventRecord(one, capturing());
       return cudaStreamWaitEvent(nullptr, one, 0);
     }},
    {"capture_after_asking_for_flags", 901,
     [](int*) -> int {
       cudaStream_t stream = capturing();
       unsigned flags;
       cudaStreamGetFlags(stream, &flags);
       return end_capture(stream);
     }},
    {"capture_stream_priority", 0,
     [](int*) -> int {
       int priority;
       return cudaStreamGetPriority(capturing(), &priority);
     }},
    {"capture_stream_id", 900,
     [](int*) -> int {
       unsigned long long id;
       return cudaStreamGetId(capturing(), &id);
     }},
    {"capture_after_a_graph_launch", 901,
     [](int*) -> int {
       cudaStream_t stream = capturing();
       cudaGraphLaunch(instance_of(new_graph()), stream);
       return end_capture(stream);
     }},
    {"capture_after_a_bad_free", 0,
     [](int* data) -> int {
       cudaStream_t stream = capturing();
       cudaFreeAsync(data, stream);
       return end_capture(stream);
     }},
    {"capture_mallocs_in_order", 801,
     [](int*) -> int {
       void* made;
       return cudaMallocAsync(&made, 64, capturing());
     }, 0},
    {"capture_in_the_thread_that_ended", 0,
     [](int*) -> int {
       static cudaStream_t stream;
       in_thread([](int*) -> int { return (stream = capturing()) == nullptr; }, nullptr);
       return end_capture(stream);
     }},
    {"capture_global_in_the_thread_that_ended", 908,
     [](int*) -> int {
       static cudaStream_t stream;
       in_thread([](int*) -> int { return (stream = capturing(cudaStreamCaptureModeGlobal)) == nullptr; }, nullptr);
       return end_capture(stream);
     }},
    {"capture_stream_attributes", 900,
     [](int*) -> int {
       unsigned flags;
       return cudaStreamGetFlags(capturing(), &flags);
     }},
    {"capture_update_bad_flags", 1,
     [](int*) -> int { return cudaStreamUpdateCaptureDependencies(capturing(), nullptr, nullptr, 0, 99); }},
    {"capture_update_outside", 401,
     [](int*) -> int { return cudaStreamUpdateCaptureDependencies(new_stream(), nullptr, nullptr, 0, 0); }},
    {"capture_to_graph_of_null", 1,
     [](int*) -> int {
       return cudaStreamBeginCaptureToGraph(new_stream(), nullptr, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed);
     }},
    {"capture_device_reset", 0,
     [](int*) -> int {
       capturing();
       return cudaDeviceReset();
     }},
    {"capture_info_of_null_places", 1,
     [](int*) -> int { return cudaStreamIsCapturing(new_stream(), nullptr); }},
    {"capture_of_the_default_is_asked_for", 906,
     [](int*) -> int {
       cudaStream_t stream = new_stream();
       cudaStreamCaptureStatus status;
       cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
       return cudaStreamIsCapturing(cudaStreamLegacy, &status);
     }},

    // Graphs.
    {"graph_instantiated_twice", 0,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       instance_of(graph);
       cudaGraphExec_t made;
       return cudaGraphInstantiate(&made, graph, 0);
     }},
    {"graph_destroyed_then_launched", 0,
     [](int* data) -> int {
       cudaGraph_t graph = new_graph();
       kernel_node_of(graph, &data);
       cudaGraphExec_t made = instance_of(graph);
       cudaGraphDestroy(graph);
       const int code = cudaGraphLaunch(made, nullptr);
       return code != 0 ? code : static_cast<int>(cudaDeviceSynchronize());
     }},
    {"graph_launched_in_a_destroyed_stream", 400,
     [](int*) -> int { return cudaGraphLaunch(instance_of(new_graph()), destroyed_stream()); }, kCrash},
    {"graph_node_params_of_another_kind", 1,
     [](int*) -> int {
       cudaKernelNodeParams all;
       return cudaGraphKernelNodeGetParams(empty_node(new_graph()), &all);
     }},
    {"graph_memset_params_of_a_kernel", 1,
     [](int* data) -> int {
       cudaMemsetParams all;
       return cudaGraphMemsetNodeGetParams(kernel_node_of(new_graph(), &data), &all);
     }},
    {"graph_node_params_null", 1,
     [](int* data) -> int { return cudaGraphKernelNodeGetParams(kernel_node_of(new_graph(), &data), nullptr); }},
    {"graph_node_set_null_params", 1,
     [](int* data) -> int { return cudaGraphKernelNodeSetParams(kernel_node_of(new_graph(), &data), nullptr); }},
    {"graph_exec_params_of_another_graph", 1,
     [](int* data) -> int {
       cudaGraphNode_t other = kernel_node_of(new_graph(), &data);
       void* arguments[] = {&data};
       const cudaKernelNodeParams all = kernel_node(arguments);
       return cudaGraphExecKernelNodeSetParams(instance_of(new_graph()), other, &all);
     }},
    {"graph_exec_params_with_another_kernel", 0,
     [](int* data) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t node = kernel_node_of(graph, &data);
       long long four[4] = {};
       int value = 1;
       void* arguments[] = {&data, four, &value};
       cudaKernelNodeParams all = kernel_node(arguments);
       all.func = reinterpret_cast<void*>(large_kernel);
       return cudaGraphExecKernelNodeSetParams(instance_of(graph), node, &all);
     }},
    {"graph_node_find_in_no_clone", 1,
     [](int*) -> int {
       cudaGraphNode_t found;
       return cudaGraphNodeFindInClone(&found, empty_node(new_graph()), new_graph());
     }},
    {"graph_dependencies_of_null", 1, [](int*) -> int { return cudaGraphAddDependencies(new_graph(), nullptr, nullptr, nullptr, 3); }},
    {"graph_count_of_nodes_huge", 1,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t made;
       return cudaGraphAddEmptyNode(&made, graph, nullptr, std::size_t{1} << 40);
     }},
    {"graph_nodes_of_a_short_place", 1001,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       empty_node(graph), empty_node(graph);
       cudaGraphNode_t found[4] = {};
       std::size_t count = 1;
       const int code = cudaGraphGetNodes(graph, found, &count);
       return code != 0 ? code : 1000 + static_cast<int>(count);
     }},
    {"graph_nodes_of_a_long_place", 1002,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       empty_node(graph), empty_node(graph);
       cudaGraphNode_t found[4] = {};
       std::size_t count = 4;
       const int code = cudaGraphGetNodes(graph, found, &count);
       return code != 0 ? code : 1000 + static_cast<int>(count);
     }},
    {"graph_child_of_null", 1,
     [](int*) -> int {
       cudaGraphNode_t made;
       return cudaGraphAddChildGraphNode(&made, new_graph(), nullptr, 0, nullptr);
     }},
    {"graph_generic_node_of_no_type", 1,
     [](int*) -> int {
       cudaGraphNode_t made;
       cudaGraphNodeParams all = {};
       all.type = static_cast<cudaGraphNodeType>(77);
       return cudaGraphAddNode(&made, new_graph(), nullptr, nullptr, 0, &all);
     }},
    {"graph_generic_node_null", 1,
     [](int*) -> int {
       cudaGraphNode_t made;
       return cudaGraphAddNode(&made, new_graph(), nullptr, nullptr, 0, nullptr);
     }},
    {"graph_kernel_with_too_many_threads", 1,
     [](int* data) -> int {
       cudaGraphNode_t made;
       void* arguments[] = {&data};
       cudaKernelNodeParams all = kernel_node(arguments);
       all.blockDim = dim3(2048);
       return cudaGraphAddKernelNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_kernel_with_too_much_shared", 1,
     [](int* data) -> int {
       cudaGraphNode_t made;
       void* arguments[] = {&data};
       cudaKernelNodeParams all = kernel_node(arguments);
       all.sharedMemBytes = 1 << 20;
       return cudaGraphAddKernelNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_update_of_null", 1,
     [](int*) -> int {
       cudaGraphExecUpdateResultInfo result;
       return cudaGraphExecUpdate(instance_of(new_graph()), nullptr, &result);
     }},
    {"graph_instantiate_params_null", 1,
     [](int*) -> int {
       cudaGraphExec_t made;
       return cudaGraphInstantiateWithParams(&made, new_graph(), nullptr);
     }},
    {"graph_enable_two", 0,
     [](int* data) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t node = kernel_node_of(graph, &data);
       return cudaGraphNodeSetEnabled(instance_of(graph), node, 2);
     }},
    {"graph_fill_that_wraps", 1,
     [](int* data) -> int {
       cudaGraphNode_t made;
       cudaMemsetParams all = {};
       all.dst = data;
       all.elementSize = 4;
       all.width = std::size_t{1} << 62;
       all.height = 8;
       all.pitch = ~std::size_t{0};
       return cudaGraphAddMemsetNode(&made, new_graph(), nullptr, 0, &all);
     }},

    // Launches.
    {"launch_grid_of_none", 1,
     [](int* data) -> int {
       kernel<<<dim3(0, 1, 1), 1>>>(data);
       return cudaGetLastError();
     }},
    {"launch_misshapen_block", 1,
     [](int* data) -> int {
       kernel<<<1, dim3(1, 1025, 1)>>>(data);
       return cudaGetLastError();
     }},
    {"launch_shared_just_over", 1,
     [](int* data) -> int {
       kernel<<<1, 1, 49153>>>(data);
       return cudaGetLastError();
     }},
    {"launch_shared_allowed_to_the_last", 0,
     [](int* data) -> int {
       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448);
       kernel<<<1, 1, 232448>>>(data);
       return cudaGetLastError();
     }},
    {"launch_shared_one_more_than_the_last", 1,
     [](int*) -> int {
       return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449);
     }},
    {"launch_cluster_of_nine", 912, [](int* data) -> int { return launch_with(cluster_of(9), dim3(9), dim3(1), data); }},
    {"launch_cluster_of_sixteen", 912,
     [](int* data) -> int { return launch_with(cluster_of(16), dim3(16), dim3(1), data); }},
    {"launch_cluster_of_sixteen_allowed", 0,
     [](int* data) -> int {
       cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
       return launch_with(cluster_of(16), dim3(16), dim3(1), data);
     }},
    {"launch_cluster_of_seventeen_allowed", 912,
     [](int* data) -> int {
       cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
       return launch_with(cluster_of(17), dim3(17), dim3(1), data);
     }},
    {"launch_cluster_of_none", 0, [](int* data) -> int { return launch_with(cluster_of(0, 0, 0), dim3(4), dim3(1), data); }},
    {"launch_cluster_of_none_in_y", 912,
     [](int* data) -> int { return launch_with(cluster_of(1, 0, 1), dim3(4), dim3(1), data); }},
    {"launch_cluster_that_does_not_divide", 912,
     [](int* data) -> int { return launch_with(cluster_of(2), dim3(3), dim3(1), data); }},
    {"launch_cluster_of_threes", 0, [](int* data) -> int { return launch_with(cluster_of(3), dim3(6), dim3(1), data); }},
    {"launch_cluster_beyond_threads", 0,
     [](int* data) -> int { return launch_with(cluster_of(8), dim3(8), dim3(1024), data); }},
    {"launch_with_a_priority_of_nonsense", 0,
     [](int* data) -> int {
       cudaLaunchAttribute one = attribute_of(cudaLaunchAttributePriority);
       one.val.priority = 12345;
       return launch_with(one, dim3(1), dim3(1), data);
     }},
    {"launch_with_a_cluster_policy_of_nonsense", 1,
     [](int* data) -> int {
       cudaLaunchAttribute one = attribute_of(cudaLaunchAttributeClusterSchedulingPolicyPreference);
       one.val.clusterSchedulingPolicyPreference = static_cast<cudaClusterSchedulingPolicy>(77);
       return launch_with(one, dim3(1), dim3(1), data);
     }},
    {"launch_with_a_domain_of_nonsense", 1,
     [](int* data) -> int {
       cudaLaunchAttribute one = attribute_of(cudaLaunchAttributeMemSyncDomain);
       one.val.memSyncDomain = static_cast<cudaLaunchMemSyncDomain>(77);
       return launch_with(one, dim3(1), dim3(1), data);
     }},
    {"launch_cooperative_of_two", 0,
     [](int* data) -> int {
       cudaLaunchAttribute one = attribute_of(cudaLaunchAttributeCooperative);
       one.val.cooperative = 2;
       return launch_with(one, dim3(1), dim3(1), data);
     }},
    {"launch_cooperative_attribute_too_large", 720,
     [](int* data) -> int {
       cudaLaunchAttribute one = attribute_of(cudaLaunchAttributeCooperative);
       one.val.cooperative = 1;
       return launch_with(one, dim3(1 << 20), dim3(1), data);
     }},
    {"launch_programmatic_event_of_null", 0,
     [](int* data) -> int {
       cudaLaunchAttribute one = attribute_of(cudaLaunchAttributeProgrammaticEvent);
       return launch_with(one, dim3(1), dim3(1), data);
     }, 400},
    {"launch_ignored_attribute", 0,
     [](int* data) -> int { return launch_with(attribute_of(cudaLaunchAttributeIgnore), dim3(1), dim3(1), data); }},
    {"launch_ex_without_block", 1,
     [](int* data) -> int { return launch_with(attribute_of(cudaLaunchAttributeIgnore), dim3(1), dim3(0), data); }},
    {"launch_ex_stream_destroyed", 400,
     [](int* data) -> int {
       return launch_with(attribute_of(cudaLaunchAttributeIgnore), dim3(1), dim3(1), data, 0, destroyed_stream());
     },
     kCrash},
    {"launch_cooperative_of_null", 98,
     [](int*) -> int { return cudaLaunchCooperativeKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr); }},
    {"launch_of_a_symbol", 400,
     [](int*) -> int {
       return cudaLaunchKernel(reinterpret_cast<const void*>(&symbol), dim3(1), dim3(1), nullptr, 0, nullptr);
     }},
    {"launch_error_does_not_stay", 1000,
     [](int* data) -> int {
       kernel<<<1, 2048>>>(data);
       cudaGetLastError();
       return 1000 + launch_and_wait(data);
     }},
    {"launch_error_is_seen_twice_by_peeking", 1,
     [](int* data) -> int {
       kernel<<<1, 2048>>>(data);
       cudaPeekAtLastError();
       return cudaPeekAtLastError();
     }},
    {"launch_error_goes_when_taken", 0,
     [](int* data) -> int {
       kernel<<<1, 2048>>>(data);
       cudaGetLastError();
       return cudaGetLastError();
     }},
    {"launch_error_of_another_thread", 0,
     [](int* data) -> int {
       kernel<<<1, 2048>>>(data);
       return in_thread([](int*) -> int { return cudaGetLastError(); }, data);
     }},
    {"launch_error_outlives_a_good_call", 1,
     [](int* data) -> int {
       kernel<<<1, 2048>>>(data);
       cudaMemset(data, 0, 4);
       return cudaGetLastError();
     }},

    // Devices, limits and names.
    {"device_minus_one", 101, [](int*) -> int { return cudaSetDevice(-1); }},
    {"device_init_of_none", 101, [](int*) -> int { return cudaInitDevice(99, 0, 0); }},
    {"device_init_bad_flags", 1, [](int*) -> int { return cudaInitDevice(0, 0xffff, 0xff); }},
    {"device_flags_of_two_kinds", 1,
     [](int*) -> int { return cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceScheduleYield); }},
    {"device_flags_null", 1, [](int*) -> int { return cudaGetDeviceFlags(nullptr); }},
    {"device_reset_twice", 0,
     [](int*) -> int {
       cudaDeviceReset();
       return cudaDeviceReset();
     }},
    {"device_properties_of_minus_one", 101,
     [](int*) -> int {
       cudaDeviceProp all;
       return cudaGetDeviceProperties(&all, -1);
     }},
    {"device_attribute_zero", 1,
     [](int*) -> int {
       int value;
       return cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(0), 0);
     }},
    {"device_bus_id_null", 1, [](int*) -> int { return cudaDeviceGetPCIBusId(nullptr, 64, 0); }},
    {"device_peer_of_none", 101,
     [](int*) -> int {
       int can;
       return cudaDeviceCanAccessPeer(&can, 0, 99);
     }},
    {"device_peer_null", 1, [](int*) -> int { return cudaDeviceCanAccessPeer(nullptr, 0, 0); }},
    {"device_valid_devices_of_zero", 0, [](int*) -> int { return cudaSetValidDevices(nullptr, 0); }},
    {"limit_of_prints_after_a_kernel", 0,
     [](int* data) -> int {
       launch_and_wait(data);
       return cudaDeviceSetLimit(cudaLimitPrintfFifoSize, std::size_t{1} << 22);
     }},
    {"limit_of_the_heap_after_a_kernel", 0,
     [](int* data) -> int {
       launch_and_wait(data);
       return cudaDeviceSetLimit(cudaLimitMallocHeapSize, std::size_t{1} << 24);
     }},
    {"limit_of_the_stack_of_nothing", 0, [](int*) -> int { return cudaDeviceSetLimit(cudaLimitStackSize, 0); }},
    {"limit_of_depth", 0, [](int*) -> int { return cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 3); }, 215},
    {"limit_of_fetches_huge", 0, [](int*) -> int { return cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 4096); }, 1},
    {"limit_of_persisting_lines_huge", 2,
     [](int*) -> int { return cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, std::size_t{1} << 40); }, 1},
    {"limit_asked_of_no_name", 1,
     [](int*) -> int {
       std::size_t value;
       return cudaDeviceGetLimit(&value, static_cast<cudaLimit>(99));
     }},
    {"error_text_of_no_error", 1023,
     [](int*) -> int { return 1000 + static_cast<int>(std::strlen(cudaGetErrorString(static_cast<cudaError_t>(12345)))); }},
    {"error_name_of_no_error", 1023,
     [](int*) -> int { return 1000 + static_cast<int>(std::strlen(cudaGetErrorName(static_cast<cudaError_t>(-7)))); }},
    {"versions_null", 1, [](int*) -> int { return cudaRuntimeGetVersion(nullptr); }},
    {"profiler_stopped_first", 0, [](int*) -> int { return cudaProfilerStop(); }},

    // Kernels and occupancy.
    {"kernel_cluster_size_of_nonsense", 0,
     [](int*) -> int { return cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 77); }},
    {"kernel_required_cluster_negative", 801,
     [](int*) -> int { return cudaFuncSetAttribute(kernel, cudaFuncAttributeRequiredClusterWidth, -4); }, 1},
    {"kernel_required_cluster_of_100", 801,
     [](int*) -> int { return cudaFuncSetAttribute(kernel, cudaFuncAttributeRequiredClusterWidth, 100); }, 0},
    {"kernel_name_null", 1, [](int*) -> int { return cudaFuncGetName(nullptr, reinterpret_cast<const void*>(kernel)); }},
    {"kernel_name_of_none", 400,
     [](int*) -> int {
       const char* name;
       return cudaFuncGetName(&name, host);
     }},
    {"kernel_parameter_too_far", 1,
     [](int*) -> int {
       std::size_t at, bytes;
       return cudaFuncGetParamInfo(reinterpret_cast<const void*>(kernel), 5, &at, &bytes);
     }},
    {"kernel_parameter_is_there", 1008,
     [](int*) -> int {
       std::size_t at = 0, bytes = 0;
       const int code = cudaFuncGetParamInfo(reinterpret_cast<const void*>(large_kernel), 1, &at, &bytes);
       return code != 0 ? code : 1000 + static_cast<int>(bytes);
     }},
    {"kernel_handle_null", 1, [](int*) -> int { return cudaGetKernel(nullptr, reinterpret_cast<const void*>(kernel)); }},
    {"kernel_handle_of_none", 400,
     [](int*) -> int {
       cudaKernel_t found;
       return cudaGetKernel(&found, host);
     }, 98},
    {"function_of_none", 400,
     [](int*) -> int {
       cudaFunction_t found;
       return cudaGetFuncBySymbol(&found, host);
     }, 98},
    {"occupancy_with_huge_shared", 1000,
     [](int*) -> int {
       int count = 7;
       const int code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, 32, std::size_t{1} << 40);
       return code != 0 ? code : 1000 + count;
     }, 1032},
    {"occupancy_available_of_no_blocks", 1,
     [](int*) -> int {
       std::size_t bytes;
       return cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 0, 32);
     }},
    {"occupancy_available_of_many_blocks", 1,
     [](int*) -> int {
       std::size_t bytes;
       return cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 1 << 20, 32);
     }},
    {"occupancy_cluster_null", 1,
     [](int*) -> int { return cudaOccupancyMaxPotentialClusterSize(nullptr, kernel, nullptr); }, kCrash},
    {"occupancy_clusters_of_null", 1,
     [](int*) -> int {
       int count;
       return cudaOccupancyMaxActiveClusters(&count, kernel, nullptr);
     }, kCrash},
    {"library_of_null", 1,
     [](int*) -> int {
       cudaLibrary_t library;
       return cudaLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0);
     }},
    {"library_of_words", 200,
     [](int*) -> int {
       cudaLibrary_t library;
       return cudaLibraryLoadData(&library, "no PTX at all", nullptr, nullptr, 0, nullptr, nullptr, 0);
     }, 0},
    {"library_of_no_file", 301,
     [](int*) -> int {
       cudaLibrary_t library;
       return cudaLibraryLoadFromFile(&library, "/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0);
     }},
    {"library_kernel_of_no_name", 500,
     [](int*) -> int {
       cudaLibrary_t library;
       cudaKernel_t found;
       cudaLibraryLoadData(&library, kAddModule, nullptr, nullptr, 0, nullptr, nullptr, 0);
       return cudaLibraryGetKernel(&found, library, "nothing");
     }},
    {"library_variable_of_no_name", 500,
     [](int*) -> int {
       cudaLibrary_t library;
       void* found;
       std::size_t bytes;
       cudaLibraryLoadData(&library, kAddModule, nullptr, nullptr, 0, nullptr, nullptr, 0);
       return cudaLibraryGetGlobal(&found, &bytes, library, "nothing");
     }},
    {"library_unloaded_twice", 400,
     [](int*) -> int {
       cudaLibrary_t library;
       cudaLibraryLoadData(&library, kAddModule, nullptr, nullptr, 0, nullptr, nullptr, 0);
       cudaLibraryUnload(library);
       return cudaLibraryUnload(library);
     },
     kCrash},
    {"library_unload_null", 400, [](int*) -> int { return cudaLibraryUnload(nullptr); }},

    // The driver by name: 1000 + ten times the result, and one where an address came.
    {"entry_point_of_the_runtime", 1010, [](int*) -> int { return entry_point("cudaMalloc", 12000); }},
    {"entry_point_of_no_letters", 1010, [](int*) -> int { return entry_point("", 12000); }},
    {"entry_point_before_all_versions", 1001, [](int*) -> int { return entry_point("cuLibraryLoadData", 4000); }, 1020},
    {"entry_point_of_a_far_version", 1, [](int*) -> int { return entry_point("cuMemAlloc", 99990); }},
    {"entry_point_with_a_suffix", 1010, [](int*) -> int { return entry_point("cuMemAlloc_v2", 12000); }},
    {"entry_point_bad_flags", 1, [](int*) -> int { return entry_point("cuMemAlloc", 12000, 0xff00); }},

    // Threads, forks and signals.
    {"thread_with_a_small_stack", 0,
     [](int* data) -> int {
       pthread_attr_t about;
       pthread_attr_init(&about);
       pthread_attr_setstacksize(&about, 65536);
       pthread_t made;
       static int* shared;
       static int code = -3;
       shared = data;
       if (pthread_create(&made, &about, [](void*) -> void* {
             code = launch_and_wait(shared);
             return nullptr;
           }, nullptr) != 0) {
         return -4;
       }
       pthread_join(made, nullptr);
       return code;
     }},
    {"thread_leaves_its_stream", 0,
     [](int* data) -> int {
       static cudaStream_t stream;
       in_thread([](int*) -> int { return cudaStreamCreate(&stream); }, data);
       kernel<<<1, 1, 0, stream>>>(data);
       return cudaStreamSynchronize(stream);
     }},
    {"thread_ends_in_the_middle", 0,
     [](int* data) -> int {
       pthread_t made;
       static int* shared;
       shared = data;
       pthread_create(&made, nullptr, [](void*) -> void* {
         kernel<<<1, 1>>>(shared);
         pthread_exit(nullptr);
       }, nullptr);
       pthread_join(made, nullptr);
       return cudaDeviceSynchronize();
     }},
    {"child_mallocs", 0, [](int* data) -> int { return in_child([](int*) { return call_malloc(); }, data); }, 3},
    {"child_launches", 0, [](int* data) -> int { return in_child(launch_and_wait, data); }, 3},
    {"child_asks_for_the_last_error", 0,
     [](int* data) -> int { return in_child([](int*) { return call_last_error(); }, data); }},
    {"parent_goes_on_after_a_child", 0,
     [](int* data) -> int {
       in_child([](int*) { return 0; }, data);
       return launch_and_wait(data);
     }},
    {"commands_are_run_beside_it", 0, [](int* data) -> int { return std::system("true") + launch_and_wait(data); }},
    {"signals_all_the_time", 0,
     [](int* data) -> int {
       struct sigaction handler = {};
       handler.sa_handler = [](int) { alarms = alarms + 1; };
       sigaction(SIGALRM, &handler, nullptr);
       const itimerval often = {{0, 500}, {0, 500}};
       setitimer(ITIMER_REAL, &often, nullptr);
       int code = 0;
       for (int i = 0; i < 500 && code == 0; ++i) {
         void* made;
         code = launch_and_wait(data);
         if (code == 0) code = cudaMalloc(&made, 4096);
         if (code == 0) code = cudaFree(made);
       }
       const itimerval never = {};
       setitimer(ITIMER_REAL, &never, nullptr);
       return code;
     }},
    {"signal_handler_launches", 0,
     [](int* data) -> int {
       static int* shared;
       shared = data;
       std::signal(SIGUSR1, [](int) { kernel<<<1, 1>>>(shared); });
       std::raise(SIGUSR1);
       return cudaDeviceSynchronize();
     }},
    {"files_are_all_closed", 0,
     [](int* data) -> int {
       for (int file = 3; file < 1024; ++file) close(file);
       return launch_and_wait(data);
     }, 719},  // the card is one of them
};

}  // namespace call_codes
