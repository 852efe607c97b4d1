// SPDX-License-Identifier: Apache-2.0
//
// workspaces WHICH [mended]: host programs of the museum's seventh set, and legal ones. Counters that launches
// leave behind, one workspace for two streams, memory that is filled and given back while others use it.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr unsigned kWords = 256;
constexpr size_t kBytes = kWords * sizeof(unsigned);

__global__ void fills(unsigned* to, unsigned value) { to[blockIdx.x * blockDim.x + threadIdx.x] = value; }

__global__ void adds(const unsigned* from, unsigned* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i] + 1;
}

// Every block writes its part and counts itself; the last one adds them all up, and leaves the counter as it is.
__global__ void sums_by_the_last_block(const unsigned* from, unsigned* parts, unsigned* counter, unsigned* out) {
  __shared__ bool is_last;
  parts[blockIdx.x * blockDim.x + threadIdx.x] = from[blockIdx.x * blockDim.x + threadIdx.x];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(counter, 1) >= gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  unsigned sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += parts[i * blockDim.x + threadIdx.x];
  out[threadIdx.x] = sum;
}

__global__ void fills_and_lets_go(unsigned* to) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  to[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

template <class... Parameters, class... Arguments>
void launch_dependent(cudaStream_t stream, void (*kernel)(Parameters...), Arguments... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 4;
  config.blockDim = 64;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

}  // namespace

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  const bool mended = argc > 2;
  const auto is = [&](const char* name) { return std::strcmp(which, name) == 0; };
  unsigned *data, *other, *out, *parts, *counter;
  for (unsigned** p : {&data, &other, &out, &parts, &counter}) {
    cudaMalloc(p, kBytes);
    cudaMemset(*p, 0, kBytes);
  }
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaDeviceSynchronize();
  // What comes in `second` from here on waits for what is in `first` until here.
  const auto order = [&] {
    cudaEventRecord(event, first);
    cudaStreamWaitEvent(second, event, 0);
  };

  if (is("output_filled_behind_the_wait_of_the_other_stream")) {
    // https://github.com/deepseek-ai/DeepEP/pull/600
    if (!mended) order();
    cudaMemsetAsync(out, 0xff, kBytes, first);
    if (mended) order();
    fills<<<4, 64, 0, second>>>(out, 5);
  } else if (is("memory_of_a_stream_given_back_by_cudaFree")) {
    // https://github.com/kokkos/kokkos/issues/9307
    unsigned* memory;
    cudaMallocAsync(&memory, kBytes, first);
    fills<<<4, 64, 0, first>>>(memory, 1);
    if (mended) cudaStreamSynchronize(first);
    cudaFree(memory);
  } else if (is("counter_left_by_the_launch_before")) {
    sums_by_the_last_block<<<4, 64, 0, first>>>(data, parts, counter, out);
    if (mended) cudaMemsetAsync(counter, 0, 4, first);
    fills<<<4, 64, 0, first>>>(data, 3);
    sums_by_the_last_block<<<4, 64, 0, first>>>(data, parts, counter, out);
  } else if (is("one_workspace_for_two_streams")) {
    adds<<<4, 64, 0, first>>>(data, parts);
    adds<<<4, 64, 0, first>>>(parts, out);
    unsigned* workspace = mended ? counter : parts;
    adds<<<4, 64, 0, second>>>(data, workspace);
    adds<<<4, 64, 0, second>>>(workspace, other);
  } else if (is("captured_fill_beside_the_kernel_that_it_clears_for")) {
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal);
    order();
    cudaMemsetAsync(parts, 0, kBytes, second);
    if (mended) cudaEventRecord(event, second);
    if (mended) cudaStreamWaitEvent(first, event, 0);
    adds<<<4, 64, 0, first>>>(parts, out);
    cudaEventRecord(event, second);
    cudaStreamWaitEvent(first, event, 0);
    cudaStreamEndCapture(first, &graph);
    cudaGraphInstantiate(&instance, graph, 0);
    cudaGraphLaunch(instance, first);
  } else if (is("memory_given_back_by_cudaFree_under_a_kernel")) {
    // Not taken in the order of a stream: cudaFree waits.
    fills<<<4, 64, 0, first>>>(data, 1);
    cudaFree(data);
  } else if (is("dependent_launch_behind_a_fill")) {
    // The launch before is no kernel, so there is nothing that could let it begin early.
    fills_and_lets_go<<<4, 64, 0, first>>>(data);
    cudaMemsetAsync(data, 1, kBytes, first);
    launch_dependent(first, adds, data, out);
  } else if (is("memory_given_back_behind_an_event")) {
    unsigned* memory;
    cudaMallocAsync(&memory, kBytes, first);
    fills<<<4, 64, 0, first>>>(memory, 1);
    order();
    adds<<<4, 64, 0, second>>>(memory, out);
    cudaFreeAsync(memory, second);
  } else if (is("graph_launched_twice_in_one_stream")) {
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal);
    cudaMemsetAsync(counter, 0, 4, first);
    sums_by_the_last_block<<<4, 64, 0, first>>>(data, parts, counter, out);
    cudaStreamEndCapture(first, &graph);
    cudaGraphInstantiate(&instance, graph, 0);
    for (int i = 0; i < 2; ++i) cudaGraphLaunch(instance, first);
  } else if (is("host_waits_for_one_stream_and_goes_on_in_another")) {
    fills<<<4, 64, 0, first>>>(data, 2);
    cudaStreamSynchronize(first);
    adds<<<4, 64, 0, second>>>(data, out);
  } else if (is("two_streams_write_halves_of_one_buffer")) {
    fills<<<2, 64, 0, first>>>(data, 1);
    fills<<<2, 64, 0, second>>>(data + 128, 2);
    order();
    adds<<<4, 64, 0, second>>>(data, out);
  } else if (is("rows_copied_over_those_of_a_kernel")) {
    fills<<<1, 8, 0, first>>>(data + 32, 1);
    if (mended) order();
    cudaMemcpy2DAsync(data, 64, other, 64, 32, 4, cudaMemcpyDeviceToDevice, second);
  } else if (is("kernel_over_the_last_row_of_a_copy")) {
    cudaMemcpy2DAsync(data, 64, other, 64, 32, 4, cudaMemcpyDeviceToDevice, first);
    if (mended) order();
    fills<<<1, 8, 0, second>>>(data + 48, 1);
  } else if (is("columns_copied_beside_those_of_a_kernel")) {
    // Each row has 64 bytes, of which the copies have the first 32, and kernels the others.
    for (unsigned* matrix : {data, other, out}) fills<<<1, 8, 0, first>>>(matrix + 8, 1);
    cudaMemset2DAsync(data, 64, 1, 32, 4, second);
    cudaMemcpy2DAsync(out, 64, data, 64, 32, 4, cudaMemcpyDeviceToDevice, second);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(data, 64, 32, 2);
    copy.dstPtr = make_cudaPitchedPtr(other, 64, 32, 2);
    copy.extent = make_cudaExtent(32, 2, 2);
    copy.kind = cudaMemcpyDeviceToDevice;
    cudaMemcpy3DAsync(&copy, second);
    cudaMemcpy2DAsync(out + 8, 64, other + 8, 64, 32, 4, cudaMemcpyDeviceToDevice, first);
    for (unsigned* matrix : {data, other, out}) fills<<<1, 8, 0, first>>>(matrix + 24, 1);
  } else {
    std::printf("no such program\n");
    return 2;
  }
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::printf("%s is over\n", which);
  return 0;
}
