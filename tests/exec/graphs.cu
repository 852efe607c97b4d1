// SPDX-License-Identifier: Apache-2.0
//
// Graphs: captured from streams and made node by node, launched, changed and launched again. The same program
// runs on a card.
#include "expect.h"

#include <cuda.h>

#include <vector>

namespace {

constexpr int kCount = 256;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void add(int* data, int value, int count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < static_cast<unsigned>(count)) data[i] += value;
}

__global__ void multiply(int* data, int factor, int count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < static_cast<unsigned>(count)) data[i] *= factor;
}

__global__ void cluster_size(int* out) {
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<int>(size);
}

struct Fixture {
  int* data = nullptr;
  int* host = nullptr;
  cudaStream_t stream = nullptr, other = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;

  Fixture() {
    EXPECT_OK(cudaMalloc(&data, kBytes));
    EXPECT_OK(cudaMallocHost(&host, kBytes));
    EXPECT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    EXPECT_OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    EXPECT_OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    EXPECT_OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  }
};

// Two branches between a fill and a copy.
cudaGraph_t capture_fork(Fixture& f) {
  cudaGraph_t graph = nullptr;
  EXPECT_OK(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeGlobal));
  EXPECT_OK(cudaMemsetAsync(f.data, 0, kBytes, f.stream));
  add<<<2, 128, 0, f.stream>>>(f.data, 1, kCount);
  EXPECT_OK(cudaEventRecord(f.fork, f.stream));
  EXPECT_OK(cudaStreamWaitEvent(f.other, f.fork, 0));
  add<<<1, 128, 0, f.other>>>(f.data, 2, 128);
  add<<<1, 128, 0, f.stream>>>(f.data + 128, 3, 128);
  EXPECT_OK(cudaEventRecord(f.join, f.other));
  EXPECT_OK(cudaStreamWaitEvent(f.stream, f.join, 0));
  EXPECT_OK(cudaMemcpyAsync(f.host, f.data, kBytes, cudaMemcpyDeviceToHost, f.stream));
  EXPECT_OK(cudaStreamEndCapture(f.stream, &graph));
  return graph;
}

void captured_work_runs_when_launched(Fixture& f) {
  for (int i = 0; i < kCount; ++i) f.host[i] = -1;
  cudaGraph_t graph = capture_fork(f);
  EXPECT(f.host[0] == -1);
  size_t nodes = 0, roots = 0, edges = 0;
  EXPECT_OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_OK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT_OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT(nodes == 5 && roots == 1 && edges == 5);
  cudaGraphExec_t exec;
  EXPECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_OK(cudaGraphUpload(exec, f.stream));
  for (int i = 0; i < 3; ++i) EXPECT_OK(cudaGraphLaunch(exec, f.stream));
  EXPECT_OK(cudaStreamSynchronize(f.stream));
  EXPECT(f.host[0] == 3 && f.host[127] == 3 && f.host[128] == 4 && f.host[255] == 4);
  // What was made of the graph outlives it.
  EXPECT_OK(cudaGraphDestroy(graph));
  f.host[0] = 0;
  EXPECT_OK(cudaGraphLaunch(exec, nullptr));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT(f.host[0] == 3);
  EXPECT_OK(cudaGraphExecDestroy(exec));
}

// The arguments are those of the time of the capture.
void arguments_are_kept(Fixture& f) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int value = 5;
  EXPECT_OK(cudaMemsetAsync(f.data, 0, kBytes, f.stream));
  EXPECT_OK(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeThreadLocal));
  add<<<2, 128, 0, f.stream>>>(f.data, value, kCount);
  value = 7;
  EXPECT_OK(cudaStreamEndCapture(f.stream, &graph));
  EXPECT_OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  EXPECT_OK(cudaGraphLaunch(exec, f.stream));
  EXPECT_OK(cudaGraphLaunch(exec, f.stream));
  EXPECT_OK(cudaMemcpyAsync(f.host, f.data, kBytes, cudaMemcpyDefault, f.stream));
  EXPECT_OK(cudaStreamSynchronize(f.stream));
  EXPECT(f.host[0] == 10 && f.host[255] == 10);
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
}

void kernels_of_a_graph_are_changed(Fixture& f) {
  cudaGraph_t graph;
  cudaGraphNode_t fill, kernel;
  cudaGraphExec_t exec;
  EXPECT_OK(cudaGraphCreate(&graph, 0));
  cudaMemsetParams zero = {};
  zero.dst = f.data;
  zero.elementSize = 4;
  zero.value = 2;
  zero.width = kCount;
  zero.height = 1;
  EXPECT_OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero));
  int value = 1, count = kCount;
  void* arguments[] = {&f.data, &value, &count};
  cudaKernelNodeParams launch = {};
  launch.func = reinterpret_cast<void*>(add);
  launch.gridDim = dim3(2);
  launch.blockDim = dim3(128);
  launch.kernelParams = arguments;
  EXPECT_OK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
  EXPECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  const auto run = [&] {
    EXPECT_OK(cudaGraphLaunch(exec, f.stream));
    EXPECT_OK(cudaMemcpyAsync(f.host, f.data, kBytes, cudaMemcpyDefault, f.stream));
    EXPECT_OK(cudaStreamSynchronize(f.stream));
    return f.host[200];
  };
  EXPECT(run() == 3);
  // Of the graph that is launched.
  value = 40;
  EXPECT_OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
  EXPECT(run() == 42);
  launch.func = reinterpret_cast<void*>(multiply);
  EXPECT_OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
  EXPECT(run() == 80);
  zero.value = 3;
  EXPECT_OK(cudaGraphExecMemsetNodeSetParams(exec, fill, &zero));
  EXPECT(run() == 120);
  EXPECT_OK(cudaGraphNodeSetEnabled(exec, kernel, 0));
  EXPECT(run() == 3);
  unsigned is_enabled = 1;
  EXPECT_OK(cudaGraphNodeGetEnabled(exec, kernel, &is_enabled));
  EXPECT(is_enabled == 0);
  // Of the graph that it was made from, which has not changed since.
  cudaKernelNodeParams now = {};
  EXPECT_OK(cudaGraphKernelNodeGetParams(kernel, &now));
  EXPECT(now.gridDim.x == 2 && now.blockDim.x == 128 && *static_cast<int*>(now.kernelParams[1]) == 1);
  now.func = reinterpret_cast<void*>(add);
  value = 9;
  now.kernelParams = arguments;
  EXPECT_OK(cudaGraphKernelNodeSetParams(kernel, &now));
  cudaGraphExecUpdateResultInfo result = {};
  EXPECT_OK(cudaGraphNodeSetEnabled(exec, kernel, 1));
  EXPECT_OK(cudaGraphExecUpdate(exec, graph, &result));
  EXPECT(run() == 11);
  // Another shape is no update.
  cudaGraphNode_t last;
  EXPECT_OK(cudaGraphAddEmptyNode(&last, graph, &kernel, 1));
  EXPECT_CODE(cudaGraphExecUpdate(exec, graph, &result), cudaErrorGraphExecUpdateFailure);
  EXPECT(result.result == cudaGraphExecUpdateErrorTopologyChanged);
  EXPECT(cudaGetLastError() == cudaErrorGraphExecUpdateFailure);
  EXPECT(run() == 11);
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
}

void count_call(void* calls) { ++*static_cast<int*>(calls); }

// All kinds of nodes, a graph in a graph, and dependencies that are added and removed.
void nodes_of_all_kinds(Fixture& f) {
  cudaGraph_t inner, graph;
  cudaGraphNode_t in, kernel, out, host, child, first;
  cudaGraphExec_t exec;
  EXPECT_OK(cudaGraphCreate(&inner, 0));
  int value = 4, count = kCount;
  void* arguments[] = {&f.data, &value, &count};
  cudaKernelNodeParams launch = {};
  launch.func = reinterpret_cast<void*>(multiply);
  launch.gridDim = dim3(2);
  launch.blockDim = dim3(128);
  launch.kernelParams = arguments;
  EXPECT_OK(cudaGraphAddKernelNode(&kernel, inner, nullptr, 0, &launch));

  std::vector<int> input(kCount, 6), output(kCount);
  int calls = 0;
  EXPECT_OK(cudaGraphCreate(&graph, 0));
  EXPECT_OK(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
  EXPECT_OK(
      cudaGraphAddMemcpyNode1D(&in, graph, &first, 1, f.data, input.data(), kBytes, cudaMemcpyHostToDevice));
  EXPECT_OK(cudaGraphAddChildGraphNode(&child, graph, nullptr, 0, inner));
  EXPECT_OK(cudaGraphAddDependencies(graph, &in, &child, nullptr, 1));
  const cudaHostNodeParams function = {count_call, &calls};
  EXPECT_OK(cudaGraphAddHostNode(&host, graph, &child, 1, &function));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(f.data, kBytes, kCount, 1);
  copy.dstPtr = make_cudaPitchedPtr(output.data(), kBytes, kCount, 1);
  copy.extent = make_cudaExtent(kBytes, 1, 1);
  copy.kind = cudaMemcpyDeviceToHost;
  EXPECT_OK(cudaGraphAddMemcpyNode(&out, graph, &host, 1, &copy));
  cudaGraphNodeType type;
  EXPECT_OK(cudaGraphNodeGetType(child, &type));
  EXPECT(type == cudaGraphNodeTypeGraph);
  EXPECT_OK(cudaGraphNodeGetType(out, &type));
  EXPECT(type == cudaGraphNodeTypeMemcpy);
  size_t dependents = 0;
  EXPECT_OK(cudaGraphNodeGetDependentNodes(child, nullptr, nullptr, &dependents));
  EXPECT(dependents == 1);

  cudaGraph_t clone;
  EXPECT_OK(cudaGraphClone(&clone, graph));
  cudaGraphNode_t twin;
  EXPECT_OK(cudaGraphNodeFindInClone(&twin, host, clone));
  EXPECT(twin != host);
  EXPECT_OK(cudaGraphInstantiate(&exec, clone, 0));
  EXPECT_OK(cudaGraphDestroy(clone));
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaGraphDestroy(inner));
  EXPECT_OK(cudaGraphLaunch(exec, f.stream));
  EXPECT_OK(cudaStreamSynchronize(f.stream));
  EXPECT(calls == 1 && output[0] == 24 && output[255] == 24);
  input[0] = 5;
  EXPECT_OK(cudaGraphLaunch(exec, f.stream));
  EXPECT_OK(cudaStreamSynchronize(f.stream));
  EXPECT(calls == 2 && output[0] == 20);
  EXPECT_OK(cudaGraphExecDestroy(exec));
}

// A launch with attributes keeps them.
void clusters_are_captured(Fixture& f) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 4;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 8;
  config.blockDim = 32;
  config.stream = f.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  EXPECT_OK(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeRelaxed));
  EXPECT_OK(cudaLaunchKernelEx(&config, cluster_size, f.data));
  EXPECT_OK(cudaStreamEndCapture(f.stream, &graph));
  EXPECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_OK(cudaGraphLaunch(exec, f.stream));
  EXPECT_OK(cudaMemcpyAsync(f.host, f.data, kBytes, cudaMemcpyDefault, f.stream));
  EXPECT_OK(cudaStreamSynchronize(f.stream));
  EXPECT(f.host[0] == 4 && f.host[7] == 4);
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
}

// What libraries ask while a stream captures.
void a_capture_can_be_asked(Fixture& f) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  EXPECT_OK(cudaStreamIsCapturing(f.stream, &status));
  EXPECT(status == cudaStreamCaptureStatusNone);
  EXPECT_OK(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeGlobal));
  add<<<2, 128, 0, f.stream>>>(f.data, 1, kCount);
  unsigned long long id = 0;
  cudaGraph_t graph, ended;
  const cudaGraphNode_t* dependencies;
  size_t count;
  EXPECT_OK(cudaStreamGetCaptureInfo(f.stream, &status, &id, &graph, &dependencies, nullptr, &count));
  EXPECT(status == cudaStreamCaptureStatusActive && count == 1);
  // A node of one's own in the midst of it.
  cudaGraphNode_t before = dependencies[0], own;
  EXPECT_OK(cudaGraphAddEmptyNode(&own, graph, &before, 1));
  EXPECT_OK(cudaStreamUpdateCaptureDependencies(f.stream, &own, nullptr, 1, cudaStreamSetCaptureDependencies));
  add<<<2, 128, 0, f.stream>>>(f.data, 1, kCount);
  EXPECT_OK(cudaStreamEndCapture(f.stream, &ended));
  EXPECT(ended == graph);
  size_t nodes = 0, edges = 0;
  EXPECT_OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT(nodes == 3 && edges == 2);
  EXPECT_OK(cudaGraphDestroy(graph));
  // A thread that relaxes may take memory during a capture.
  int* memory = nullptr;
  EXPECT_OK(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT(mode == cudaStreamCaptureModeGlobal);
  EXPECT_OK(cudaMalloc(&memory, 1024));
  EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_OK(cudaStreamEndCapture(f.stream, &graph));
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaFree(memory));
}

}  // namespace

int main() {
  Fixture f;
  captured_work_runs_when_launched(f);
  arguments_are_kept(f);
  kernels_of_a_graph_are_changed(f);
  nodes_of_all_kinds(f);
  clusters_are_captured(f);
  a_capture_can_be_asked(f);
  return result();
}
