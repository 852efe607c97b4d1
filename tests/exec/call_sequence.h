// SPDX-License-Identifier: Apache-2.0
//
// Calls of the runtime and the driver in an order that somebody chooses, with handles that are alive, destroyed,
// of another kind or made up, sizes of every magnitude, and null where a pointer is wanted. Each call must come
// back with a code that has a name, in a process that still works.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

namespace call_sequence {

// Where the choices come from: random numbers, or the bytes of a fuzzer.
class Choices {
 public:
  virtual ~Choices() = default;
  virtual std::uint64_t below(std::uint64_t count) = 0;
  virtual std::uint64_t bits() = 0;
};

inline Choices* choices = nullptr;
inline const void* kernel = nullptr;    // adds `value` to data[threadIdx.x]: (int* data, int value)
inline const void* variable = nullptr;  // of 64 bytes
// Of the host; as large as any copy that is not refused.
inline std::vector<char> host(1 << 20);

inline std::uint64_t below(std::uint64_t count) { return choices->below(count); }
inline bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }

// Handles that were given once; most are still alive.
inline std::vector<void*> handles[6];
enum Kind { kMemory, kStream, kEvent, kGraph, kNode, kExec };

inline void* pick(Kind kind) {
  if (chance(3)) return nullptr;
  if (chance(3)) return reinterpret_cast<void*>(choices->bits());
  const Kind from = chance(5) ? static_cast<Kind>(below(6)) : kind;
  return handles[from].empty() ? nullptr : handles[from][below(handles[from].size())];
}

template <class T>
T pick(Kind kind) {
  return static_cast<T>(pick(kind));
}

inline void keep(Kind kind, cudaError_t code, void* handle) {
  if (code == cudaSuccess && handle != nullptr && handles[kind].size() < 64) handles[kind].push_back(handle);
}

// The place for a result, or null.
template <class T>
T* out(T& place) {
  return chance(5) ? nullptr : &place;
}

inline size_t size() {
  switch (below(6)) {
    case 0: return 0;
    case 1: return below(64);
    case 2: return 64;
    case 3: return below(5000);
    case 4: return choices->bits();
    default: return below(std::uint64_t{1} << below(48));
  }
}

// Made up, it would be the host's own memory, which every copy must trust.
inline void* device() {
  return handles[kMemory].empty() || chance(5) ? nullptr : handles[kMemory][below(handles[kMemory].size())];
}
inline void* host_or_device() { return chance(50) ? device() : host.data(); }

// No more than the host's side has, unless it cannot be reached at all.
inline size_t copy_size() {
  const size_t bytes = size();
  return bytes > host.size() && bytes < std::uint64_t{1} << 47 ? host.size() : bytes;
}

constexpr int kMostChildren = 8;
inline int children = 0;

inline int called = 0;
inline void host_function(void* data) { ++*static_cast<int*>(data); }

inline cudaError_t launch() {
  void* data = pick(kMemory);
  int value = 1;
  void* arguments[] = {&data, &value};
  // Memory that is too small would end the run with a report, which is another test.
  cudaPointerAttributes about = {};
  size_t bytes = 0;
  CUdeviceptr begin = 0;
  if (cudaPointerGetAttributes(&about, data) != cudaSuccess || about.type != cudaMemoryTypeDevice)
    return cudaSuccess;
  static const auto range = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function, 12000, cudaEnableDefault, &found);
    return reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t*, CUdeviceptr)>(function);
  }();
  if (range(&begin, &bytes, reinterpret_cast<CUdeviceptr>(data)) != CUDA_SUCCESS || bytes < 64)
    return cudaSuccess;
  const dim3 block = chance(5) ? dim3(static_cast<unsigned>(below(3000))) : dim3(16);
  if (block.x > 16 && block.x <= 1024) return cudaSuccess;
  return cudaLaunchKernel(chance(95) ? kernel : pick(kMemory), dim3(1), block, arguments, chance(95) ? 0 : size(),
                          pick<cudaStream_t>(kStream));
}

inline cudaError_t add_kernel_node() {
  void* data = handles[kMemory].empty() ? nullptr : handles[kMemory][0];
  int value = 1;
  void* arguments[] = {&data, &value};
  cudaKernelNodeParams parameters = {};
  parameters.func = chance(90) ? const_cast<void*>(kernel) : pick(kGraph);
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(16);
  parameters.kernelParams = chance(95) ? arguments : nullptr;
  cudaGraphNode_t node = nullptr, dependency = pick<cudaGraphNode_t>(kNode);
  const cudaError_t code =
      cudaGraphAddKernelNode(out(node), pick<cudaGraph_t>(kGraph), &dependency, below(2), out(parameters));
  keep(kNode, code, node);
  return code;
}

using Call = std::function<cudaError_t()>;

inline const std::vector<Call> calls = {
    [] {
      void* made = nullptr;
      const size_t bytes = chance(80) ? 64 + below(4096) : size();
      const cudaError_t code =
          cudaMalloc(out(made), bytes > 1 << 22 && bytes < std::uint64_t{1} << 40 ? 64 : bytes);
      keep(kMemory, code, made);
      return code;
    },
    [] { return chance(20) ? cudaFree(pick(kMemory)) : cudaSuccess; },
    [] {
      return cudaMemcpy(host_or_device(), host_or_device(), copy_size(), static_cast<cudaMemcpyKind>(below(6)));
    },
    [] {
      return cudaMemcpyAsync(host_or_device(), host_or_device(), copy_size(), cudaMemcpyDefault,
                             pick<cudaStream_t>(kStream));
    },
    [] { return cudaMemset(device(), 1, size()); },
    [] { return cudaMemset2DAsync(device(), size(), 0, size(), size(), pick<cudaStream_t>(kStream)); },
    [] { return cudaMemcpyToSymbol(variable, host.data(), below(100), below(100), cudaMemcpyHostToDevice); },
    [] {
      cudaStream_t made = nullptr;
      const cudaError_t code = cudaStreamCreateWithFlags(out(made), static_cast<unsigned>(below(3)));
      keep(kStream, code, made);
      return code;
    },
    [] { return chance(10) ? cudaStreamDestroy(pick<cudaStream_t>(kStream)) : cudaSuccess; },
    [] { return cudaStreamSynchronize(pick<cudaStream_t>(kStream)); },
    [] { return cudaDeviceSynchronize(); },
    [] {
      cudaEvent_t made = nullptr;
      const cudaError_t code = cudaEventCreateWithFlags(out(made), static_cast<unsigned>(below(10)));
      keep(kEvent, code, made);
      return code;
    },
    [] { return chance(10) ? cudaEventDestroy(pick<cudaEvent_t>(kEvent)) : cudaSuccess; },
    [] { return cudaEventRecord(pick<cudaEvent_t>(kEvent), pick<cudaStream_t>(kStream)); },
    [] {
      return cudaStreamWaitEvent(pick<cudaStream_t>(kStream), pick<cudaEvent_t>(kEvent), chance(90) ? 0 : 1);
    },
    [] { return cudaEventQuery(pick<cudaEvent_t>(kEvent)); },
    [] {
      float time;
      return cudaEventElapsedTime(out(time), pick<cudaEvent_t>(kEvent), pick<cudaEvent_t>(kEvent));
    },
    [] { return cudaLaunchHostFunc(pick<cudaStream_t>(kStream), chance(95) ? host_function : nullptr, &called); },
    launch,
    launch,
    [] {
      return cudaStreamBeginCapture(pick<cudaStream_t>(kStream), static_cast<cudaStreamCaptureMode>(below(4)));
    },
    [] {
      cudaGraph_t made = nullptr;
      const cudaError_t code = cudaStreamEndCapture(pick<cudaStream_t>(kStream), out(made));
      keep(kGraph, code, made);
      return code;
    },
    [] {
      cudaStreamCaptureStatus status;
      unsigned long long id;
      cudaGraph_t graph;
      const cudaGraphNode_t* nodes = nullptr;
      size_t count = 0;
      return cudaStreamGetCaptureInfo(pick<cudaStream_t>(kStream), out(status), out(id), out(graph), out(nodes),
                                      nullptr, out(count));
    },
    [] {
      cudaGraph_t made = nullptr;
      const cudaError_t code = cudaGraphCreate(out(made), below(20) == 0);
      keep(kGraph, code, made);
      return code;
    },
    [] { return chance(20) ? cudaGraphDestroy(pick<cudaGraph_t>(kGraph)) : cudaSuccess; },
    [] {
      cudaGraph_t made = nullptr;
      const cudaError_t code = cudaGraphClone(out(made), pick<cudaGraph_t>(kGraph));
      keep(kGraph, code, made);
      return code;
    },
    add_kernel_node,
    add_kernel_node,
    [] {
      cudaGraphNode_t node = nullptr, dependency = pick<cudaGraphNode_t>(kNode);
      const cudaError_t code =
          cudaGraphAddMemcpyNode1D(out(node), pick<cudaGraph_t>(kGraph), &dependency, below(2), host_or_device(),
                                   host_or_device(), copy_size(), static_cast<cudaMemcpyKind>(below(6)));
      keep(kNode, code, node);
      return code;
    },
    [] {
      cudaGraphNode_t node = nullptr;
      cudaMemsetParams parameters = {};
      parameters.dst = device();
      parameters.elementSize = static_cast<unsigned>(below(6));
      parameters.width = size();
      parameters.height = chance(80) ? 1 : size();
      const cudaError_t code =
          cudaGraphAddMemsetNode(out(node), pick<cudaGraph_t>(kGraph), nullptr, below(2), out(parameters));
      keep(kNode, code, node);
      return code;
    },
    [] {
      cudaGraphNode_t node = nullptr;
      const cudaHostNodeParams function = {host_function, &called};
      const cudaError_t code = cudaGraphAddHostNode(out(node), pick<cudaGraph_t>(kGraph), nullptr, 0, &function);
      keep(kNode, code, node);
      return code;
    },
    [] {
      // One that is put into itself doubles, which in a dozen calls takes longer than all others.
      if (++children > kMostChildren) return cudaSuccess;
      cudaGraphNode_t node = nullptr;
      const cudaError_t code =
          cudaGraphAddChildGraphNode(out(node), pick<cudaGraph_t>(kGraph), nullptr, 0, pick<cudaGraph_t>(kGraph));
      keep(kNode, code, node);
      return code;
    },
    [] {
      const cudaGraphNode_t from = pick<cudaGraphNode_t>(kNode), to = pick<cudaGraphNode_t>(kNode);
      return cudaGraphAddDependencies(pick<cudaGraph_t>(kGraph), &from, &to, nullptr, below(2));
    },
    [] { return chance(30) ? cudaGraphDestroyNode(pick<cudaGraphNode_t>(kNode)) : cudaSuccess; },
    [] {
      cudaGraphExec_t made = nullptr;
      const cudaError_t code =
          cudaGraphInstantiate(out(made), pick<cudaGraph_t>(kGraph), chance(95) ? 0 : below(32));
      keep(kExec, code, made);
      return code;
    },
    [] { return chance(20) ? cudaGraphExecDestroy(pick<cudaGraphExec_t>(kExec)) : cudaSuccess; },
    [] { return cudaGraphLaunch(pick<cudaGraphExec_t>(kExec), pick<cudaStream_t>(kStream)); },
    [] { return cudaGraphUpload(pick<cudaGraphExec_t>(kExec), pick<cudaStream_t>(kStream)); },
    [] {
      cudaGraphExecUpdateResultInfo result;
      return cudaGraphExecUpdate(pick<cudaGraphExec_t>(kExec), pick<cudaGraph_t>(kGraph), out(result));
    },
    [] {
      return cudaGraphNodeSetEnabled(pick<cudaGraphExec_t>(kExec), pick<cudaGraphNode_t>(kNode),
                                     static_cast<unsigned>(below(2)));
    },
    [] {
      size_t count = below(20);
      cudaGraphNode_t nodes[20];
      return cudaGraphGetNodes(pick<cudaGraph_t>(kGraph), chance(50) ? nodes : nullptr, out(count));
    },
};

// All is gone but the process; it must still work.
inline bool still_works() {
  for (auto& list : handles) list.clear();
  children = 0;
  cudaDeviceReset();
  int* data = nullptr;
  int values[16] = {};
  if (cudaMalloc(&data, sizeof(values)) != cudaSuccess || cudaMemset(data, 0, sizeof(values)) != cudaSuccess)
    return false;
  int value = 3;
  void* arguments[] = {&data, &value};
  if (cudaLaunchKernel(kernel, dim3(1), dim3(16), arguments, 0, nullptr) != cudaSuccess) return false;
  if (cudaMemcpy(values, data, sizeof(values), cudaMemcpyDeviceToHost) != cudaSuccess) return false;
  return values[0] == 3 && values[15] == 3;
}

}  // namespace call_sequence
