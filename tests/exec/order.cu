// SPDX-License-Identifier: Apache-2.0
//
// order WHICH [mended]: host programs of the museum's fifth set, and legal ones. Streams, graphs, memory that the
// host shares, chains of dependent launches and grids that meet.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr unsigned kWords = 256;
constexpr size_t kBytes = kWords * sizeof(unsigned);

__global__ void fills(unsigned* to, unsigned value) { to[blockIdx.x * blockDim.x + threadIdx.x] = value; }

__global__ void doubles(const unsigned* from, unsigned* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i] * 2;
}

__global__ void fills_and_lets_go(unsigned* to) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  to[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// Does not touch what the launch before writes, and so may not think of waiting for it.
__global__ void passes_on(unsigned* other, bool waits) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  if (waits) asm volatile("griddepcontrol.wait;" ::: "memory");
  other[blockIdx.x * blockDim.x + threadIdx.x] = 2;
}

__global__ void waits_and_adds(const unsigned* from, unsigned* other) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  other[blockIdx.x * blockDim.x + threadIdx.x] += from[blockIdx.x * blockDim.x + threadIdx.x];
}

enum class Meets { kAll, kHalf, kNever };

// Each block reads what the next has written.
__global__ void grid_of_two_phases(unsigned* data, unsigned* out, Meets meets) {
  const auto grid = cooperative_groups::this_grid();
  data[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
  if (meets == Meets::kAll || (meets == Meets::kHalf && blockIdx.x % 2 == 0)) grid.sync();
  const unsigned next = (blockIdx.x + 1) % gridDim.x;
  out[blockIdx.x * blockDim.x + threadIdx.x] = data[next * blockDim.x + threadIdx.x];
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

void launch_cooperative(unsigned* data, unsigned* out, Meets meets) {
  void* arguments[] = {&data, &out, &meets};
  cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(grid_of_two_phases), dim3(4), dim3(64), arguments, 0,
                              nullptr);
}

cudaGraphExec_t graph_that_doubles(cudaStream_t stream, const unsigned* from, unsigned* to) {
  cudaGraph_t graph;
  cudaGraphExec_t instance;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  doubles<<<4, 64, 0, stream>>>(from, to);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&instance, graph, 0);
  cudaGraphDestroy(graph);
  return instance;
}

void CUDART_CB adds_one(void* words) {
  for (unsigned i = 0; i < kWords; ++i) static_cast<unsigned*>(words)[i] += 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  const bool mended = argc > 2;
  const auto is = [&](const char* name) { return std::strcmp(which, name) == 0; };
  unsigned *data, *other, *out, *pinned, *mapped;
  cudaMalloc(&data, kBytes);
  cudaMalloc(&other, kBytes);
  cudaMalloc(&out, kBytes);
  cudaMallocHost(&pinned, kBytes);
  cudaHostAlloc(&mapped, kBytes, cudaHostAllocMapped);
  cudaMemset(data, 0, kBytes);
  cudaMemset(other, 0, kBytes);
  cudaMemset(out, 0, kBytes);
  std::memset(pinned, 0, kBytes);
  std::memset(mapped, 0, kBytes);
  cudaStream_t first, second, blocking;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaStreamCreate(&blocking);
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaDeviceSynchronize();
  const auto order = [&] {
    cudaEventRecord(event, first);
    cudaStreamWaitEvent(second, event, 0);
  };

  // The second of three waits for nothing, so that the third waits for the second alone.
  if (is("chain_of_three")) {
    fills_and_lets_go<<<4, 64, 0, first>>>(data);
    launch_dependent(first, passes_on, other, mended);
    launch_dependent(first, waits_and_adds, data, other);
  }
  // The host fills a buffer again while its copy may be under way.
  if (is("pinned_filled_again")) {
    for (unsigned turn = 0; turn < 2; ++turn) {
      for (unsigned i = 0; i < kWords; ++i) pinned[i] = turn * 100 + i;
      cudaMemcpyAsync(turn == 0 ? data : other, pinned, kBytes, cudaMemcpyHostToDevice, first);
      if (mended) cudaStreamSynchronize(first);
    }
  }
  // A memset of the legacy stream does not wait for the host, and a stream that does not block not for it.
  if (is("memset_beside_a_stream")) {
    if (mended) cudaMemsetAsync(data, 1, kBytes, first);
    else cudaMemset(data, 1, kBytes);
    doubles<<<4, 64, 0, first>>>(data, out);
  }
  // Two instances of one graph write the same words.
  if (is("two_instances_of_a_graph")) {
    const cudaGraphExec_t one = graph_that_doubles(first, data, out);
    const cudaGraphExec_t two = graph_that_doubles(first, other, out);
    cudaGraphLaunch(one, first);
    if (mended) order();
    cudaGraphLaunch(two, second);
  }
  // From one stream into pinned memory, from there into another stream.
  if (is("bounced_through_pinned_memory")) {
    fills<<<4, 64, 0, first>>>(data, 5);
    cudaMemcpyAsync(pinned, data, kBytes, cudaMemcpyDeviceToHost, first);
    if (mended) order();
    cudaMemcpyAsync(other, pinned, kBytes, cudaMemcpyHostToDevice, second);
  }
  if (is("two_streams_write_mapped_memory")) {
    fills<<<4, 64, 0, first>>>(mapped, 5);
    if (mended) order();
    doubles<<<4, 64, 0, second>>>(mapped, mapped);
  }
  if (is("half_of_a_grid_meets")) launch_cooperative(data, out, mended ? Meets::kAll : Meets::kHalf);
  if (is("grid_does_not_meet")) launch_cooperative(data, out, mended ? Meets::kAll : Meets::kNever);
  // The event is recorded again for the second kernel, after the wait took the first one.
  if (is("event_recorded_again")) {
    fills<<<4, 64, 0, first>>>(data, 1);
    cudaEventRecord(event, first);
    if (!mended) cudaStreamWaitEvent(second, event, 0);
    doubles<<<4, 64, 0, first>>>(data, other);
    cudaEventRecord(event, first);
    if (mended) cudaStreamWaitEvent(second, event, 0);
    doubles<<<4, 64, 0, second>>>(other, out);
  }

  // Legal ones.
  if (is("two_buffers_in_turn")) {
    unsigned* buffers[] = {data, other};
    cudaEvent_t filled[2], done[2];
    for (unsigned i = 0; i < 2; ++i) {
      cudaEventCreateWithFlags(&filled[i], cudaEventDisableTiming);
      cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming);
    }
    for (unsigned k = 0; k < 5; ++k) {
      cudaStreamWaitEvent(first, done[k % 2], 0);  // nothing, in the first two turns
      fills<<<4, 64, 0, first>>>(buffers[k % 2], k);
      cudaEventRecord(filled[k % 2], first);
      cudaStreamWaitEvent(second, filled[k % 2], 0);
      doubles<<<4, 64, 0, second>>>(buffers[k % 2], out);
      cudaEventRecord(done[k % 2], second);
    }
  }
  if (is("legacy_stream_between_blocking_ones")) {
    fills<<<4, 64, 0, blocking>>>(data, 3);
    doubles<<<4, 64>>>(data, other);
    doubles<<<4, 64, 0, blocking>>>(other, out);
  }
  if (is("capture_forked_and_joined")) {
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal);
    fills<<<4, 64, 0, first>>>(data, 4);
    order();
    doubles<<<4, 64, 0, first>>>(data, other);
    doubles<<<4, 64, 0, second>>>(data, out);
    cudaEventRecord(event, second);
    cudaStreamWaitEvent(first, event, 0);
    doubles<<<4, 64, 0, first>>>(out, data);
    cudaStreamEndCapture(first, &graph);
    cudaGraphInstantiate(&instance, graph, 0);
    for (unsigned i = 0; i < 2; ++i) cudaGraphLaunch(instance, first);
  }
  if (is("host_function_in_order")) {
    fills<<<4, 64, 0, first>>>(data, 6);
    cudaMemcpyAsync(pinned, data, kBytes, cudaMemcpyDeviceToHost, first);
    cudaLaunchHostFunc(first, adds_one, pinned);
    cudaMemcpyAsync(other, pinned, kBytes, cudaMemcpyHostToDevice, first);
    doubles<<<4, 64, 0, first>>>(other, out);
  }
  if (is("managed_between_host_and_device")) {
    unsigned* managed;
    cudaMallocManaged(&managed, kBytes);
    for (unsigned turn = 0; turn < 2; ++turn) {
      for (unsigned i = 0; i < kWords; ++i) managed[i] += i + turn;
      doubles<<<4, 64>>>(managed, out);
      doubles<<<4, 64>>>(out, managed);
      cudaDeviceSynchronize();
    }
    std::printf("managed[3] is %u\n", managed[3]);
    cudaFree(managed);
  }
  if (is("memory_of_a_stream_handed_on")) {
    unsigned* taken;
    cudaMallocAsync(&taken, kBytes, first);
    fills<<<4, 64, 0, first>>>(taken, 8);
    order();
    doubles<<<4, 64, 0, second>>>(taken, out);
    cudaFreeAsync(taken, second);
  }
  if (is("grid_meets_three_times")) {
    for (unsigned i = 0; i < 3; ++i) launch_cooperative(data, out, Meets::kAll);
  }

  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  unsigned result[kWords];
  cudaMemcpy(result, out, kBytes, cudaMemcpyDeviceToHost);
  std::printf("%s is over: %u\n", which, result[7]);
  return 0;
}
