// SPDX-License-Identifier: Apache-2.0
//
// More calls that a program gets wrong: of pools, graphs, streams and memory, and from inside a function of the
// host.
// Codes as an H200 gave them (driver 580.159.04, 2026-11-19).
#pragma once

#include "call_codes.h"

#include <cstdint>
#include <string>

namespace call_codes {

inline cudaStream_t new_stream() {
  cudaStream_t made = nullptr;
  cudaStreamCreate(&made);
  return made;
}

inline cudaGraph_t new_graph() {
  cudaGraph_t made = nullptr;
  cudaGraphCreate(&made, 0);
  return made;
}

inline cudaGraphNode_t empty_node(cudaGraph_t graph) {
  cudaGraphNode_t made = nullptr;
  cudaGraphAddEmptyNode(&made, graph, nullptr, 0);
  return made;
}

inline int link(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
  return cudaGraphAddDependencies(graph, &from, &to, nullptr, 1);
}

inline cudaKernelNodeParams kernel_node(void** arguments) {
  cudaKernelNodeParams made = {};
  made.func = reinterpret_cast<void*>(kernel);
  made.gridDim = dim3(1);
  made.blockDim = dim3(1);
  made.kernelParams = arguments;
  return made;
}

inline cudaMemPool_t default_pool() {
  cudaMemPool_t pool = nullptr;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  return pool;
}

inline constexpr char kAddModule[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .b32 word;\n"
    ".visible .entry add(.param .u64 data)\n{\nret;\n}\n";

inline CUmodule add_module() {
  CUmodule module = nullptr;
  driver<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, kAddModule);
  return module;
}

inline CUfunction add_function() {
  CUfunction function = nullptr;
  driver<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(&function, add_module(), "add");
  return function;
}

// The code of a call that is made by a function of the host in a stream.
template <int (*call)()>
int in_host_function() {
  cudaStream_t stream = new_stream();
  int code = -3;
  cudaLaunchHostFunc(
      stream, [](void* result) { *static_cast<int*>(result) = call(); }, &code);
  const int wait = cudaStreamSynchronize(stream);
  return wait != 0 ? 2000 + wait : code;
}

template <int (*call)()>
int in_callback() {
  cudaStream_t stream = new_stream();
  int code = -3;
  cudaStreamAddCallback(
      stream, [](cudaStream_t, cudaError_t, void* result) { *static_cast<int*>(result) = call(); }, &code, 0);
  const int wait = cudaStreamSynchronize(stream);
  return wait != 0 ? 2000 + wait : code;
}

inline int call_malloc() {
  void* made;
  return cudaMalloc(&made, 64);
}
inline int call_get_device() {
  int device;
  return cudaGetDevice(&device);
}
inline int call_query() { return cudaStreamQuery(nullptr); }
inline int call_copy() { return cudaMemcpy(host, host + 64, 4, cudaMemcpyHostToHost); }
inline int call_create_event() {
  cudaEvent_t made;
  return cudaEventCreate(&made);
}
inline int call_last_error() { return cudaGetLastError(); }
inline int call_launch() {
  kernel<<<1, 1>>>(nullptr);
  return cudaPeekAtLastError();
}
inline int call_driver_version() {
  int version;
  return cudaDriverGetVersion(&version);
}

inline int pool_value(cudaMemPool_t pool, int which) {
  std::uint64_t value = 0;
  return cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(which), &value);
}

inline int load_text(const char* body) {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  text += body;
  return load_module(text.c_str());
}

inline const WrongCall kMoreWrongCalls[] = {
    {"pool_of_null_properties", 1,
     [](int*) -> int {
       cudaMemPool_t pool;
       return cudaMemPoolCreate(&pool, nullptr);
     }},
    {"pool_to_null", 1,
     [](int*) -> int {
       cudaMemPoolProps all = {};
       all.allocType = cudaMemAllocationTypePinned;
       all.location = {cudaMemLocationTypeDevice, 0};
       return cudaMemPoolCreate(nullptr, &all);
     }},
    {"pool_of_no_device", 1,
     [](int*) -> int {
       cudaMemPool_t pool;
       cudaMemPoolProps all = {};
       all.allocType = cudaMemAllocationTypePinned;
       all.location = {cudaMemLocationTypeDevice, 99};
       return cudaMemPoolCreate(&pool, &all);
     }},
    {"pool_of_no_kind", 1,
     [](int*) -> int {
       cudaMemPool_t pool;
       cudaMemPoolProps all = {};
       all.location = {cudaMemLocationTypeDevice, 0};
       return cudaMemPoolCreate(&pool, &all);
     }},
    {"pool_destroy_null", 1, [](int*) -> int { return cudaMemPoolDestroy(nullptr); }},
    {"pool_destroy_default", 1, [](int*) -> int { return cudaMemPoolDestroy(default_pool()); }},
    {"pool_default_of_no_device", 101,
     [](int*) -> int {
       cudaMemPool_t pool;
       return cudaDeviceGetDefaultMemPool(&pool, 99);
     }},
    {"pool_current_of_no_device", 1,
     [](int*) -> int {
       cudaMemPool_t pool;
       return cudaDeviceGetMemPool(&pool, 99);
     }},
    {"pool_default_null", 1, [](int*) -> int { return cudaDeviceGetDefaultMemPool(nullptr, 0); }},
    {"pool_set_null", 1, [](int*) -> int { return cudaDeviceSetMemPool(0, nullptr); }},
    {"pool_set_of_no_device", 1, [](int*) -> int { return cudaDeviceSetMemPool(99, default_pool()); }},
    {"pool_trim_null", 1, [](int*) -> int { return cudaMemPoolTrimTo(nullptr, 0); }},
    {"pool_attribute_of_no_name", 1, [](int*) -> int { return pool_value(default_pool(), 99); }},
    {"pool_attribute_null", 1,
     [](int*) -> int { return cudaMemPoolGetAttribute(default_pool(), cudaMemPoolAttrReleaseThreshold, nullptr); }},
    {"pool_attribute_of_null", 1, [](int*) -> int { return pool_value(nullptr, cudaMemPoolAttrReleaseThreshold); }},
    {"pool_set_attribute_of_no_name", 1,
     [](int*) -> int {
       std::uint64_t value = 0;
       return cudaMemPoolSetAttribute(default_pool(), static_cast<cudaMemPoolAttr>(99), &value);
     }},
    {"pool_set_attribute_null", 1,
     [](int*) -> int { return cudaMemPoolSetAttribute(default_pool(), cudaMemPoolAttrReleaseThreshold, nullptr); }, kCrash},
    {"pool_threshold_is_kept", 1077,
     [](int*) -> int {
       std::uint64_t value = 77;
       cudaMemPoolSetAttribute(default_pool(), cudaMemPoolAttrReleaseThreshold, &value);
       value = 0;
       cudaMemPoolGetAttribute(default_pool(), cudaMemPoolAttrReleaseThreshold, &value);
       return 1000 + static_cast<int>(value);
     }},
    {"malloc_from_null_pool", 1,
     [](int*) -> int {
       void* made;
       return cudaMallocFromPoolAsync(&made, 64, nullptr, nullptr);
     }},
    {"malloc_from_a_pool_async", 0,
     [](int*) -> int {
       void* made;
       return cudaMallocFromPoolAsync(&made, 64, default_pool(), nullptr);
     }},
    {"valid_devices_of_none", 101,
     [](int*) -> int {
       int device = 99;
       return cudaSetValidDevices(&device, 1);
     }},
    {"valid_devices_null", 1, [](int*) -> int { return cudaSetValidDevices(nullptr, 3); }},
    {"device_flags_nonsense", 1, [](int*) -> int { return cudaSetDeviceFlags(0xFFFF); }},
    {"choose_device_null", 1,
     [](int*) -> int {
       int device;
       return cudaChooseDevice(&device, nullptr);
     }},
    {"bus_id_short", 1,
     [](int*) -> int {
       char text[5];
       return cudaDeviceGetPCIBusId(text, 5, 0);
     }},
    {"access_to_itself", 0,
     [](int*) -> int {
       int can;
       return cudaDeviceCanAccessPeer(&can, 0, 0);
     }},
    {"peer_copy_of_no_device", 101,
     [](int* data) -> int { return cudaMemcpyPeer(data, 99, data + 64, 0, 4); }},
    {"limit_of_the_heap_huge", 2,
     [](int*) -> int { return cudaDeviceSetLimit(cudaLimitMallocHeapSize, ~std::size_t{0}); }, 0},
    {"limit_of_the_stack_huge", 1,
     [](int*) -> int { return cudaDeviceSetLimit(cudaLimitStackSize, std::size_t{1} << 40); }},
    {"limit_null", 1, [](int*) -> int { return cudaDeviceGetLimit(nullptr, cudaLimitStackSize); }},
    {"cache_config_nonsense", 1,
     [](int*) -> int { return cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(99)); }},
    {"kernel_cache_config_of_none", 400,
     [](int*) -> int { return cudaFuncSetCacheConfig(static_cast<const void*>(host), cudaFuncCachePreferL1); }},
    {"kernel_cache_config_nonsense", 1,
     [](int*) -> int { return cudaFuncSetCacheConfig(kernel, static_cast<cudaFuncCache>(99)); }},
    {"kernel_attribute_negative", 1,
     [](int*) -> int { return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, -1); }},
    {"kernel_attribute_of_no_name", 1,
     [](int*) -> int { return cudaFuncSetAttribute(kernel, static_cast<cudaFuncAttribute>(99), 1); }},
    {"kernel_carveout_nonsense", 1,
     [](int*) -> int {
       return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 101);
     }},
    {"occupancy_of_negative_threads", 1,
     [](int*) -> int {
       int count;
       return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, -1, 0);
     }},
    {"occupancy_of_too_many_threads", 1000,
     [](int*) -> int {
       int count = 7;
       const int code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, 1025, 0);
       return code != 0 ? code : 1000 + count;
     }},
    {"stream_priority_is_clamped", 1000,
     [](int*) -> int {
       cudaStream_t stream;
       int priority = 7;
       if (const int code = cudaStreamCreateWithPriority(&stream, 0, 100); code != 0) return code;
       cudaStreamGetPriority(stream, &priority);
       return 1000 + priority;
     }},
    {"stream_priority_null", 1, [](int*) -> int { return cudaStreamGetPriority(new_stream(), nullptr); }},
    {"stream_attribute_of_no_name", 1,
     [](int*) -> int {
       cudaStreamAttrValue value = {};
       return cudaStreamSetAttribute(new_stream(), static_cast<cudaStreamAttrID>(99), &value);
     }},
    {"stream_attribute_null", 1,
     [](int*) -> int {
       return cudaStreamSetAttribute(new_stream(), cudaStreamAttributeSynchronizationPolicy, nullptr);
     }, kCrash},
    {"stream_attach_device_memory", 1,
     [](int* data) -> int { return cudaStreamAttachMemAsync(new_stream(), data, 0, cudaMemAttachSingle); }},
    {"stream_attach_the_host", 1,
     [](int*) -> int { return cudaStreamAttachMemAsync(new_stream(), host, 0, cudaMemAttachSingle); }},
    {"stream_attach_bad_flags", 1,
     [](int*) -> int { return cudaStreamAttachMemAsync(new_stream(), managed(), 0, 99); }},
    {"stream_attach_part", 1,
     [](int*) -> int {
       return cudaStreamAttachMemAsync(new_stream(), managed(), 4, cudaMemAttachSingle);
     }},
    {"capture_of_no_mode", 1,
     [](int*) -> int { return cudaStreamBeginCapture(new_stream(), static_cast<cudaStreamCaptureMode>(9)); }},
    {"capture_twice", 401,
     [](int*) -> int {
       cudaStream_t stream = new_stream();
       cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
       return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
     }},
    {"capture_to_null", 0,
     [](int*) -> int {
       cudaStream_t stream = new_stream();
       cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
       return cudaStreamEndCapture(stream, nullptr);
     }},
    {"capture_mode_nonsense", 1,
     [](int*) -> int {
       auto mode = static_cast<cudaStreamCaptureMode>(9);
       return cudaThreadExchangeStreamCaptureMode(&mode);
     }, 0},
    {"capture_mode_null", 1, [](int*) -> int { return cudaThreadExchangeStreamCaptureMode(nullptr); }, kCrash},
    {"callback_bad_flags", 1,
     [](int*) -> int {
       return cudaStreamAddCallback(new_stream(), [](cudaStream_t, cudaError_t, void*) {}, nullptr, 1);
     }},
    {"event_query_null", 400, [](int*) -> int { return cudaEventQuery(nullptr); }},
    {"event_wait_for_null", 400, [](int*) -> int { return cudaEventSynchronize(nullptr); }},
    {"event_query_not_recorded", 0, [](int*) -> int { return cudaEventQuery(new_event()); }},
    {"event_record_bad_flags", 1,
     [](int*) -> int { return cudaEventRecordWithFlags(new_event(), nullptr, 99); }},
    {"event_record_external_outside", 401,
     [](int*) -> int { return cudaEventRecordWithFlags(new_event(), nullptr, cudaEventRecordExternal); }},
    {"event_of_processes_with_times", 1,
     [](int*) -> int {
       cudaEvent_t made;
       return cudaEventCreateWithFlags(&made, cudaEventInterprocess);
     }},
    {"host_function_mallocs", 800, [](int*) -> int { return in_host_function<call_malloc>(); }},
    {"host_function_asks_for_the_device", 800, [](int*) -> int { return in_host_function<call_get_device>(); }},
    {"host_function_queries", 800, [](int*) -> int { return in_host_function<call_query>(); }},
    {"host_function_copies", 800, [](int*) -> int { return in_host_function<call_copy>(); }},
    {"host_function_makes_an_event", 800, [](int*) -> int { return in_host_function<call_create_event>(); }},
    {"host_function_asks_for_the_error", 0, [](int*) -> int { return in_host_function<call_last_error>(); }},
    {"host_function_launches", 800, [](int*) -> int { return in_host_function<call_launch>(); }},
    {"host_function_asks_for_the_version", 0, [](int*) -> int { return in_host_function<call_driver_version>(); }},
    {"callback_mallocs", 800, [](int*) -> int { return in_callback<call_malloc>(); }},
    {"callback_launches", 800, [](int*) -> int { return in_callback<call_launch>(); }},
    {"graph_bad_flags", 1,
     [](int*) -> int {
       cudaGraph_t made;
       return cudaGraphCreate(&made, 1);
     }},
    {"graph_destroy_null", 1, [](int*) -> int { return cudaGraphDestroy(nullptr); }},
    {"graph_clone_null", 1,
     [](int*) -> int {
       cudaGraph_t made;
       return cudaGraphClone(&made, nullptr);
     }},
    {"graph_edge_to_itself", 1,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t node = empty_node(graph);
       return link(graph, node, node);
     }},
    {"graph_edge_twice", 1,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t one = empty_node(graph), two = empty_node(graph);
       link(graph, one, two);
       return link(graph, one, two);
     }},
    {"graph_edge_that_closes_a_circle", 0,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t one = empty_node(graph), two = empty_node(graph);
       link(graph, one, two);
       return link(graph, two, one);
     }},
    {"graph_circle_instantiated", 1,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphExec_t made;
       cudaGraphNode_t one = empty_node(graph), two = empty_node(graph);
       link(graph, one, two);
       link(graph, two, one);
       return cudaGraphInstantiate(&made, graph, 0);
     }},
    {"graph_edge_between_graphs", 1,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       return link(graph, empty_node(graph), empty_node(new_graph()));
     }},
    {"graph_edge_removed_that_is_not", 1,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t one = empty_node(graph), two = empty_node(graph);
       return cudaGraphRemoveDependencies(graph, &one, &two, nullptr, 1);
     }},
    {"graph_node_depends_on_another_graph", 1,
     [](int*) -> int {
       cudaGraphNode_t other = empty_node(new_graph()), made;
       return cudaGraphAddEmptyNode(&made, new_graph(), &other, 1);
     }},
    {"graph_node_depends_twice", 1,
     [](int*) -> int {
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t one = empty_node(graph), made;
       const cudaGraphNode_t both[] = {one, one};
       return cudaGraphAddEmptyNode(&made, graph, both, 2);
     }},
    {"graph_node_in_null", 1,
     [](int*) -> int {
       cudaGraphNode_t made;
       return cudaGraphAddEmptyNode(&made, nullptr, nullptr, 0);
     }},
    {"graph_nodes_to_null", 1, [](int*) -> int { return cudaGraphGetNodes(new_graph(), nullptr, nullptr); }},
    {"graph_kernel_of_null", 98,
     [](int*) -> int {
       cudaGraphNode_t made;
       cudaKernelNodeParams all = kernel_node(nullptr);
       all.func = nullptr;
       return cudaGraphAddKernelNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_kernel_of_none", 400,
     [](int*) -> int {
       cudaGraphNode_t made;
       cudaKernelNodeParams all = kernel_node(nullptr);
       all.func = host;
       return cudaGraphAddKernelNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_kernel_without_parameters", 1,
     [](int*) -> int {
       cudaGraphNode_t made;
       const cudaKernelNodeParams all = kernel_node(nullptr);
       return cudaGraphAddKernelNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_kernel_without_threads", 1,
     [](int* data) -> int {
       cudaGraphNode_t made;
       void* arguments[] = {&data};
       cudaKernelNodeParams all = kernel_node(arguments);
       all.blockDim = dim3(0);
       return cudaGraphAddKernelNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_kernel_null_node", 1,
     [](int* data) -> int {
       void* arguments[] = {&data};
       const cudaKernelNodeParams all = kernel_node(arguments);
       return cudaGraphAddKernelNode(nullptr, new_graph(), nullptr, 0, &all);
     }},
    {"graph_copy_to_nowhere", 1,
     [](int*) -> int {
       cudaGraphNode_t made;
       return cudaGraphAddMemcpyNode1D(&made, new_graph(), nullptr, 0, nullptr, host, 4, cudaMemcpyHostToDevice);
     }},
    {"graph_copy_past_the_end", 1,
     [](int* data) -> int {
       cudaGraphNode_t made;
       return cudaGraphAddMemcpyNode1D(&made, new_graph(), nullptr, 0, data, host, 8192, cudaMemcpyHostToDevice);
     }},
    {"graph_copy_of_nothing", 1,
     [](int* data) -> int {
       cudaGraphNode_t made;
       return cudaGraphAddMemcpyNode1D(&made, new_graph(), nullptr, 0, data, host, 0, cudaMemcpyHostToDevice);
     }},
    {"graph_copy_of_no_kind", 21,
     [](int* data) -> int {
       cudaGraphNode_t made;
       return cudaGraphAddMemcpyNode1D(&made, new_graph(), nullptr, 0, data, host, 4,
                                       static_cast<cudaMemcpyKind>(9));
     }},
    {"graph_fill_of_threes", 1,
     [](int* data) -> int {
       cudaGraphNode_t made;
       cudaMemsetParams all = {};
       all.dst = data;
       all.elementSize = 3;
       all.width = all.height = 1;
       return cudaGraphAddMemsetNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_fill_of_null", 1,
     [](int*) -> int {
       cudaGraphNode_t made;
       cudaMemsetParams all = {};
       all.elementSize = 1;
       all.width = all.height = 1;
       return cudaGraphAddMemsetNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_fill_past_the_end", 1,
     [](int* data) -> int {
       cudaGraphNode_t made;
       cudaMemsetParams all = {};
       all.dst = data;
       all.elementSize = 4;
       all.width = 2048;
       all.height = 1;
       return cudaGraphAddMemsetNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_fill_of_nothing", 1,
     [](int* data) -> int {
       cudaGraphNode_t made;
       cudaMemsetParams all = {};
       all.dst = data;
       all.elementSize = 4;
       return cudaGraphAddMemsetNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_host_function_of_null", 1,
     [](int*) -> int {
       cudaGraphNode_t made;
       const cudaHostNodeParams all = {};
       return cudaGraphAddHostNode(&made, new_graph(), nullptr, 0, &all);
     }},
    {"graph_event_of_null", 1,
     [](int*) -> int {
       cudaGraphNode_t made;
       return cudaGraphAddEventRecordNode(&made, new_graph(), nullptr, 0, nullptr);
     }},
    {"graph_child_of_itself", 0,
     [](int*) -> int {
       cudaGraphNode_t made;
       cudaGraph_t graph = new_graph();
       return cudaGraphAddChildGraphNode(&made, graph, nullptr, 0, graph);
     }, kCrash},
    {"graph_child_destroyed", 1,
     [](int*) -> int {
       cudaGraphNode_t made;
       cudaGraph_t child;
       cudaGraphAddChildGraphNode(&made, new_graph(), nullptr, 0, new_graph());
       cudaGraphChildGraphNodeGetGraph(made, &child);
       return cudaGraphDestroy(child);
     }},
    {"graph_type_of_null", 1,
     [](int*) -> int {
       cudaGraphNodeType type;
       return cudaGraphNodeGetType(nullptr, &type);
     }},
    {"graph_instantiate_bad_flags", 1,
     [](int*) -> int {
       cudaGraphExec_t made;
       return cudaGraphInstantiate(&made, new_graph(), 1 << 20);
     }},
    {"graph_instantiate_to_null", 1, [](int*) -> int { return cudaGraphInstantiate(nullptr, new_graph(), 0); }},
    {"graph_upload_null", 1, [](int*) -> int { return cudaGraphUpload(nullptr, nullptr); }},
    {"graph_exec_destroy_null", 1, [](int*) -> int { return cudaGraphExecDestroy(nullptr); }},
    {"graph_update_to_null", 0,
     [](int*) -> int {
       cudaGraphExec_t made;
       cudaGraphInstantiate(&made, new_graph(), 0);
       return cudaGraphExecUpdate(made, new_graph(), nullptr);
     }},
    {"graph_update_with_another", 910,
     [](int*) -> int {
       cudaGraphExec_t made;
       cudaGraphExecUpdateResultInfo result;
       cudaGraph_t other = new_graph();
       empty_node(other);
       cudaGraphInstantiate(&made, new_graph(), 0);
       return cudaGraphExecUpdate(made, other, &result);
     }},
    {"graph_enable_no_node", 1,
     [](int*) -> int {
       cudaGraphExec_t made;
       cudaGraphInstantiate(&made, new_graph(), 0);
       return cudaGraphNodeSetEnabled(made, nullptr, 0);
     }},
    {"graph_disable_an_empty_node", 1,
     [](int*) -> int {
       cudaGraphExec_t made;
       cudaGraph_t graph = new_graph();
       cudaGraphNode_t node = empty_node(graph);
       cudaGraphInstantiate(&made, graph, 0);
       return cudaGraphNodeSetEnabled(made, node, 0);
     }},
    {"graph_freed_memory_launched", 700,
     [](int*) -> int {
       int* gone;
       cudaGraphNode_t node;
       cudaGraph_t graph = new_graph();
       cudaGraphExec_t made;
       cudaMalloc(&gone, std::size_t{64} << 20);
       cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, gone, host, 4, cudaMemcpyHostToDevice);
       cudaGraphInstantiate(&made, graph, 0);
       cudaFree(gone);
       const int code = cudaGraphLaunch(made, nullptr);
       return code != 0 ? code : static_cast<int>(cudaDeviceSynchronize());
     }, 719},
    {"copy_from_freed", 1,
     [](int* data) -> int {
       cudaFree(data);
       return cudaMemcpy(host, data, 4, cudaMemcpyDeviceToHost);
     }},
    {"fill_of_freed", 1,
     [](int* data) -> int {
       cudaFree(data);
       return cudaMemset(data, 0, 4);
     }},
    {"copy_of_the_wrong_kind", 1,
     [](int* data) -> int { return cudaMemcpy(data, host, 4, cudaMemcpyDeviceToHost); }},
    {"copy_3d_null", 1, [](int*) -> int { return cudaMemcpy3D(nullptr); }},
    {"copy_3d_of_nothing", 0,
     [](int*) -> int {
       cudaMemcpy3DParms all = {};
       return cudaMemcpy3D(&all);
     }},
    {"host_alloc_huge", 2,
     [](int*) -> int {
       void* made;
       return cudaHostAlloc(&made, std::size_t{1} << 60, 0);
     }},
    {"host_alloc_zero", 0,
     [](int*) -> int {
       void* made;
       return cudaHostAlloc(&made, 0, 0);
     }},
    {"host_pointer_of_pageable", 1,
     [](int*) -> int {
       void* found;
       return cudaHostGetDevicePointer(&found, host, 0);
     }},
    {"host_pointer_bad_flags", 1,
     [](int*) -> int {
       void *found, *made;
       cudaHostAlloc(&made, 64, cudaHostAllocMapped);
       return cudaHostGetDevicePointer(&found, made, 99);
     }},
    {"host_pointer_of_device_memory", 1,
     [](int* data) -> int {
       void* found;
       return cudaHostGetDevicePointer(&found, data, 0);
     }},
    {"host_flags_of_device_memory", 1,
     [](int* data) -> int {
       unsigned flags;
       return cudaHostGetFlags(&flags, data);
     }},
    {"register_bad_flags", 1, [](int*) -> int { return cudaHostRegister(host, 64, 0x100); }},
    {"register_device_memory", 1, [](int* data) -> int { return cudaHostRegister(data, 64, 0); }},
    {"register_pinned", 1,
     [](int*) -> int {
       void* made;
       cudaHostAlloc(&made, 4096, 0);
       return cudaHostRegister(made, 4096, 0);
     }},
    {"unregister_inside", 1,
     [](int*) -> int {
       cudaHostRegister(host, 8192, 0);
       return cudaHostUnregister(host + 64);
     }},
    {"free_pinned_as_device", 1,
     [](int*) -> int {
       void* made;
       cudaHostAlloc(&made, 64, 0);
       return cudaFree(made);
     }},
    {"free_device_as_pinned", 1, [](int* data) -> int { return cudaFreeHost(data); }},
    {"free_managed_inside", 1, [](int*) -> int { return cudaFree(static_cast<char*>(managed()) + 256); }},
    {"free_managed_as_pinned", 1, [](int*) -> int { return cudaFreeHost(managed()); }},
    {"kind_of_freed", 1000,
     [](int* data) -> int {
       cudaPointerAttributes about;
       cudaFree(data);
       const int code = cudaPointerGetAttributes(&about, data);
       return code != 0 ? code : 1000 + about.type;
     }},
    {"kind_of_null", 1000,
     [](int*) -> int {
       cudaPointerAttributes about;
       const int code = cudaPointerGetAttributes(&about, nullptr);
       return code != 0 ? code : 1000 + about.type;
     }},
    {"pitch_of_nothing", 0,
     [](int*) -> int {
       void* made;
       std::size_t pitch;
       return cudaMallocPitch(&made, &pitch, 0, 4);
     }},
    {"advise_of_no_name", 1,
     [](int*) -> int {
       return cudaMemAdvise(managed(), 65536, static_cast<cudaMemoryAdvise>(99),
                            cudaMemLocation{cudaMemLocationTypeDevice, 0});
     }},
    {"prefetch_bad_flags", 1,
     [](int*) -> int {
       return cudaMemPrefetchAsync(managed(), 65536, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 9, nullptr);
     }},
    {"memory_info_null", 0,
     [](int*) -> int {
       std::size_t bytes;
       return cudaMemGetInfo(nullptr, &bytes);
     }},
    {"symbol_address_of_none", 13,
     [](int*) -> int {
       void* found;
       return cudaGetSymbolAddress(&found, static_cast<const void*>(host));
     }},
    {"symbol_copy_offset_wraps", 1,
     [](int*) -> int { return cudaMemcpyToSymbol(symbol, host, 4, ~std::size_t{0} - 1); }},
    {"symbol_copy_to_the_host", 21,
     [](int*) -> int { return cudaMemcpyToSymbol(symbol, host, 4, 0, cudaMemcpyDeviceToHost); }},
    {"symbol_copy_null", 1, [](int*) -> int { return cudaMemcpyToSymbol(symbol, nullptr, 4); }},
    {"entry_point_of_none", 0,
     [](int*) -> int {
       void* found;
       cudaDriverEntryPointQueryResult result;
       return cudaGetDriverEntryPointByVersion("cuNoSuchCall", &found, 12000, cudaEnableDefault, &result);
     }},
    {"entry_point_null", 1,
     [](int*) -> int {
       void* found;
       cudaDriverEntryPointQueryResult result;
       return cudaGetDriverEntryPointByVersion(nullptr, &found, 12000, cudaEnableDefault, &result);
     }, kCrash},
    {"launch_ex_null", 1, [](int*) -> int { return cudaLaunchKernelExC(nullptr, (const void*)kernel, nullptr); }, kCrash},
    {"launch_ex_attribute_of_no_name", 1,
     [](int* data) -> int {
       cudaLaunchConfig_t config = {};
       cudaLaunchAttribute attribute = {};
       attribute.id = static_cast<cudaLaunchAttributeID>(77);
       config.gridDim = config.blockDim = dim3(1);
       config.attrs = &attribute;
       config.numAttrs = 1;
       void* arguments[] = {&data};
       return cudaLaunchKernelExC(&config, (const void*)kernel, arguments);
     }},
    {"launch_ex_attributes_null", 1,
     [](int* data) -> int {
       cudaLaunchConfig_t config = {};
       config.gridDim = config.blockDim = dim3(1);
       config.numAttrs = 1;
       void* arguments[] = {&data};
       return cudaLaunchKernelExC(&config, (const void*)kernel, arguments);
     }},
    {"launch_without_arguments", 1,
     [](int*) -> int { return cudaLaunchKernel((const void*)kernel, dim3(1), dim3(1), nullptr, 0, nullptr); }},
    {"launch_of_a_null_argument", 1,
     [](int*) -> int {
       void* arguments[] = {nullptr};
       return cudaLaunchKernel((const void*)kernel, dim3(1), dim3(1), arguments, 0, nullptr);
     }},
    {"launch_too_wide_a_grid", 1,
     [](int* data) -> int {
       kernel<<<dim3(0x8000'0000u), 1>>>(data);
       return cudaGetLastError();
     }},
    {"launch_too_deep_a_block", 1,
     [](int* data) -> int {
       kernel<<<1, dim3(1, 1, 65)>>>(data);
       return cudaGetLastError();
     }},
    {"launch_1025_threads", 1,
     [](int* data) -> int {
       kernel<<<1, 1025>>>(data);
       return cudaGetLastError();
     }},
    {"launch_threads_that_wrap", 1,
     [](int* data) -> int {
       kernel<<<1, dim3(65536, 65536, 65536)>>>(data);
       return cudaGetLastError();
     }},
    {"launch_shared_huge", 1,
     [](int* data) -> int {
       kernel<<<1, 1, ~std::size_t{0}>>>(data);
       return cudaGetLastError();
     }},
    {"launch_cooperative_too_large", 720,
     [](int* data) -> int {
       void* arguments[] = {&data};
       return cudaLaunchCooperativeKernel((const void*)kernel, dim3(1 << 20), dim3(1), arguments, 0, nullptr);
     }},
};

}  // namespace call_codes
