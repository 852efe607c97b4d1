// SPDX-License-Identifier: Apache-2.0
//
// overlap WHICH: work in several streams, and launches that depend on another programmatically. Each mistake has
// a twin in which one thing orders the two.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__global__ void writes(int* data) { data[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

__global__ void reads(const int* data, int* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = data[i];
}

__global__ void counts(int* counter) { atomicAdd(counter, 1); }

__global__ void triggers_and_writes(int* data) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

__global__ void triggers_and_waits() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// One warp waits for the launch before; a barrier hands that on to the others, if there is one.
__global__ void waits_and_reads(const int* data, int* out, bool waits, bool meets) {
  __shared__ int done;
  if (threadIdx.x < 32 && waits) asm volatile("griddepcontrol.wait;" ::: "memory");
  if (threadIdx.x == 0) done = 1;
  if (meets) __syncthreads();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (meets || threadIdx.x >= 32) out[i] = data[i];
}

template <class... Parameters, class... Arguments>
void launch_dependent(cudaStream_t stream, bool is_programmatic, void (*kernel)(Parameters...),
                      Arguments... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = is_programmatic;
  cudaLaunchConfig_t config = {};
  config.gridDim = 2;
  config.blockDim = 64;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* name) { return std::strcmp(which, name) == 0; };
  constexpr size_t kBytes = 128 * sizeof(int);
  int *data, *out, *host;
  cudaMalloc(&data, kBytes);
  cudaMalloc(&out, kBytes);
  cudaMallocHost(&host, kBytes);
  cudaMemset(data, 0, kBytes);
  cudaStream_t first, second, blocking;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaStreamCreate(&blocking);
  cudaEvent_t event;
  cudaEventCreate(&event);
  const auto order = [&] {
    cudaEventRecord(event, first);
    cudaStreamWaitEvent(second, event, 0);
  };

  if (is("streams") || is("streams_event") || is("streams_wait") || is("streams_disjoint")) {
    writes<<<1, 64, 0, first>>>(data);
    if (is("streams_event")) order();
    if (is("streams_wait")) cudaStreamSynchronize(first);
    reads<<<1, 64, 0, second>>>(is("streams_disjoint") ? data + 64 : data, out);
  }
  if (is("event_too_early")) {
    order();
    writes<<<2, 64, 0, first>>>(data);
    reads<<<2, 64, 0, second>>>(data, out);
  }
  if (is("wait_of_another_stream")) {
    writes<<<2, 64, 0, first>>>(data);
    cudaStreamSynchronize(second);
    reads<<<2, 64, 0, second>>>(data, out);
  }
  if (is("default_stream") || is("default_stream_blocking")) {
    writes<<<2, 64, 0, is("default_stream") ? first : blocking>>>(data);
    reads<<<2, 64>>>(data, out);
  }
  if (is("blocking_after_default")) {
    writes<<<2, 64>>>(data);
    reads<<<2, 64, 0, blocking>>>(data, out);
  }
  if (is("copy") || is("copy_event")) {
    writes<<<2, 64, 0, first>>>(data);
    if (is("copy_event")) order();
    cudaMemcpyAsync(host, data, kBytes, cudaMemcpyDeviceToHost, second);
  }
  if (is("fill") || is("fill_event")) {
    cudaMemsetAsync(data, 1, kBytes, first);
    if (is("fill_event")) order();
    reads<<<2, 64, 0, second>>>(data, out);
  }
  if (is("copies")) {  // two mistakes, neither with a place in a source file
    for (int* part : {data, out}) {
      cudaMemsetAsync(part, 1, kBytes, first);
      cudaMemcpyAsync(host, part, kBytes, cudaMemcpyDeviceToHost, second);
    }
  }
  // Memory of a stream's own order.
  if (is("taken") || is("taken_event") || is("given_back") || is("given_back_event")) {
    int* own = nullptr;
    cudaMallocAsync(&own, kBytes, first);
    if (!is("taken")) order();
    writes<<<2, 64, 0, second>>>(own);
    cudaEventRecord(event, second);
    if (!is("given_back")) cudaStreamWaitEvent(first, event, 0);
    cudaFreeAsync(own, first);
  }
  if (is("counter")) {
    counts<<<2, 64, 0, first>>>(data);
    counts<<<2, 64, 0, second>>>(data);
  }
  if (is("dependent") || is("dependent_waits") || is("dependent_does_not_meet") || is("not_programmatic")) {
    triggers_and_writes<<<2, 64, 0, first>>>(data);
    launch_dependent(first, !is("not_programmatic"), waits_and_reads, data, out,
                     !is("dependent") && !is("not_programmatic"), !is("dependent_does_not_meet"));
  }
  // The launch between lets the last one begin before it has waited for the first. All others know that the first
  // is complete: there is no other stream.
  if (is("dependent_of_dependent") || is("dependent_of_dependent_waits")) {
    for (cudaStream_t stream : {first, second, blocking}) cudaStreamDestroy(stream);
    triggers_and_writes<<<2, 64>>>(data);
    launch_dependent(nullptr, true, triggers_and_waits);
    launch_dependent(nullptr, true, waits_and_reads, data, out, is("dependent_of_dependent_waits"), true);
  }
  if (is("not_triggered")) {
    writes<<<2, 64, 0, first>>>(data);
    launch_dependent(first, true, waits_and_reads, data, out, false, true);
  }
  // The same in graphs: a branch is a stream of its own, and a graph is a piece of work of its stream.
  const auto launch_captured = [&](auto&& work) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal);
    work();
    cudaStreamEndCapture(first, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, first);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  };
  if (is("branches") || is("branches_joined") || is("branches_disjoint")) {
    launch_captured([&] {
      order();
      writes<<<1, 64, 0, first>>>(data);
      if (is("branches_joined")) order();
      reads<<<1, 64, 0, second>>>(is("branches_disjoint") ? data + 64 : data, out);
      cudaEventRecord(event, second);
      cudaStreamWaitEvent(first, event, 0);
    });
  }
  if (is("graph") || is("graph_event") || is("graph_same_stream")) {
    launch_captured([&] {
      order();
      writes<<<1, 64, 0, second>>>(data);
      writes<<<1, 64, 0, first>>>(data + 64);
      cudaEventRecord(event, second);
      cudaStreamWaitEvent(first, event, 0);
    });
    if (is("graph_event")) order();
    reads<<<1, 64, 0, is("graph_same_stream") ? first : second>>>(data, out);
  }
  if (is("graph_copy") || is("graph_copy_event")) {
    writes<<<2, 64, 0, second>>>(data);
    cudaEventRecord(event, second);
    if (is("graph_copy_event")) cudaStreamWaitEvent(first, event, 0);
    launch_captured([&] { cudaMemcpyAsync(host, data, kBytes, cudaMemcpyDeviceToHost, first); });
  }
  if (is("graph_dependent") || is("graph_dependent_waits")) {
    launch_captured([&] {
      triggers_and_writes<<<2, 64, 0, first>>>(data);
      launch_dependent(first, true, waits_and_reads, data, out, is("graph_dependent_waits"), true);
    });
  }
  std::printf("wait %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 7;
}
