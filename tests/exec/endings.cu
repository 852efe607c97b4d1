// SPDX-License-Identifier: Apache-2.0
//
// endings CASE: programs that end, or take something away, while the card is in use. Each case must come to its
// end by itself, with the status and the text that CMakeLists.txt asks for.
#include <cuda.h>
#include <cuda_runtime.h>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace {

__global__ void add_one(int* to) { *to += 1; }

__global__ void never_ends(int* to) {
  for (;;) atomicAdd(to, 1);
}

__global__ void prints(int lines) {
  for (int i = 0; i < lines; ++i) printf("a line of a kernel that prints more than a program should hold back\n");
}

__global__ void empty() {}

int* data = nullptr;
std::atomic<bool> launches_at_exit = false;

int launch_and_read() {
  add_one<<<1, 1>>>(data);
  int value = -1;
  const cudaError_t code = cudaMemcpy(&value, data, sizeof(value), cudaMemcpyDeviceToHost);
  return code == cudaSuccess ? value : -static_cast<int>(code);
}

// Destructors run when main is over, those of a thread before those of globals.
struct AtExit {
  ~AtExit() {
    if (!launches_at_exit) return;
    for (int i = 0; i < 99; ++i) add_one<<<1, 1>>>(data);
    std::printf("at exit %d\n", launch_and_read());
    std::fflush(stdout);
  }
} at_exit;

struct AtEndOfThread {
  ~AtEndOfThread() { std::printf("at the end of a thread %d\n", launch_and_read()); }
};

void in_thread_destructors() {
  std::thread([] {
    thread_local AtEndOfThread here;
    static_cast<void>(&here);
    launch_and_read();
  }).join();
  thread_local AtEndOfThread here;
  static_cast<void>(&here);
  launches_at_exit = true;
}

void while_a_kernel_runs() {
  std::thread([] { never_ends<<<1, 1>>>(data); }).detach();
  usleep(100'000);  // so that it is in the launch; what the test asks for holds before that, too
}

int depth = 0;
void launch_again(void*) {
  if (++depth < 100'000) cudaLaunchHostFunc(nullptr, launch_again, nullptr);
}

void in_host_functions() {
  cudaLaunchHostFunc(nullptr, launch_again, nullptr);
  int made = 0;
  cudaStreamAddCallback(
      nullptr,
      [](cudaStream_t, cudaError_t, void* result) {
        void* memory;
        *static_cast<int*>(result) = cudaMalloc(&memory, 64);
      },
      &made, 0);
  std::printf("depth %d code %d\n", depth, made);
}

// While a function of a graph runs another thread gives everything back.
void with_a_reset_in_a_graph() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphCreate(&graph, 0);
  for (int i = 0; i < 4; ++i) {  // branches
    cudaGraphNode_t node;
    const cudaHostNodeParams resets = {[](void*) { std::thread([] { cudaDeviceReset(); }).join(); }, nullptr};
    cudaGraphAddHostNode(&node, graph, nullptr, 0, &resets);
  }
  cudaGraphInstantiate(&exec, graph, 0);
  const int code = cudaGraphLaunch(exec, nullptr);
  std::printf("launch %d wait %d\n", code, static_cast<int>(cudaDeviceSynchronize()));
}

const char* const kModule = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";

// The module of a graph's kernel is gone, and others have come to its place.
void with_a_module_that_is_gone() {
  cudaLibrary_t library;
  cudaKernel_t kernel;
  cudaLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0);
  cudaLibraryGetKernel(&kernel, library, "k");
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t exec;
  cudaKernelNodeParams all = {};
  all.func = kernel;
  all.gridDim = all.blockDim = dim3(1);
  cudaGraphCreate(&graph, 0);
  const int added = cudaGraphAddKernelNode(&node, graph, nullptr, 0, &all);
  cudaGraphInstantiate(&exec, graph, 0);
  const int before = cudaGraphLaunch(exec, nullptr);
  cudaLibraryUnload(library);
  for (int i = 0; i < 100; ++i) {
    cudaLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  std::printf("added %d before %d after %d\n", added, before, static_cast<int>(cudaGraphLaunch(exec, nullptr)));
}

// Dependencies that were made last to first take no longer than others.
void with_a_long_graph() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphCreate(&graph, 0);
  std::vector<cudaGraphNode_t> nodes(100'000);
  for (cudaGraphNode_t& node : nodes) cudaGraphAddEmptyNode(&node, graph, nullptr, 0);
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    cudaGraphAddDependencies(graph, &nodes[i], &nodes[i - 1], nullptr, 1);
  }
  const int made = cudaGraphInstantiate(&exec, graph, 0);
  std::printf("made %d launch %d\n", made, static_cast<int>(cudaGraphLaunch(exec, nullptr)));
}

// The processor time that a capture of so many nodes takes to end. What is joined early is looked for from there.
double seconds_to_end(int nodes) {
  cudaStream_t stream, other;
  cudaEvent_t event;
  cudaStreamCreate(&stream);
  cudaStreamCreate(&other);
  cudaEventCreate(&event);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(other, event, 0);
  cudaMemsetAsync(data, 0, 4, other);
  cudaEventRecord(event, other);
  cudaStreamWaitEvent(stream, event, 0);
  for (int i = 1; i < nodes; ++i) cudaMemsetAsync(data, 0, 4, stream);
  cudaGraph_t graph;
  const std::clock_t begin = std::clock();
  const int code = cudaStreamEndCapture(stream, &graph);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::size_t made = 0;
  cudaGraphGetNodes(graph, nullptr, &made);
  std::printf("code %d nodes %zu\n", code, made);
  cudaGraphDestroy(graph);
  return seconds;
}

// Four times as many take four times as long, and not sixteen times.
void with_a_long_capture() {
  const double few = seconds_to_end(50'000);
  const double many = seconds_to_end(200'000);
  std::printf("%s\n", many < 10 * (few + 0.005) ? "in proportion" : "too long");
}

// Each in the one after it: copied as a whole, and again, and walked through to its end.
void with_nested_graphs() {
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphCreate(&graph, 0);
  cudaGraphAddEmptyNode(&node, graph, nullptr, 0);
  int code = 0;
  for (int depth = 0; code == 0 && depth < 20'000; ++depth) {
    cudaGraph_t outer;
    cudaGraphCreate(&outer, 0);
    code = cudaGraphAddChildGraphNode(&node, outer, nullptr, 0, graph);
    if (code == 0) {
      cudaGraphDestroy(graph);
      graph = outer;
    }
  }
  // The innermost has no room either.
  cudaGraph_t inner = graph, child;
  while (cudaGraphChildGraphNodeGetGraph(
             [&] {
               std::size_t one = 1;
               cudaGraphNode_t first = nullptr;
               cudaGraphGetNodes(inner, &first, &one);
               return first;
             }(),
             &child) == cudaSuccess) {
    inner = child;
  }
  cudaGraph_t empty_graph;
  cudaGraphCreate(&empty_graph, 0);
  const int deeper = cudaGraphAddChildGraphNode(&node, inner, nullptr, 0, empty_graph);
  cudaGraphExec_t exec;
  const int made = cudaGraphInstantiate(&exec, graph, 0);
  std::printf("code %d deeper %d made %d launch %d destroy %d\n", code, deeper, made,
              static_cast<int>(cudaGraphLaunch(exec, nullptr)), static_cast<int>(cudaGraphDestroy(graph)));
}

void* pages() { return mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

void with_unmapped_memory() {
  void* gone = pages();
  void* read_only = pages();
  cudaHostRegister(gone, 65536, 0);
  mprotect(read_only, 65536, PROT_READ);
  const int refused = cudaHostRegister(read_only, 65536, 0);
  munmap(gone, 65536);
  const int copied = cudaMemcpy(data, gone, 64, cudaMemcpyHostToDevice);
  add_one<<<1, 1>>>(static_cast<int*>(gone));
  std::printf("register %d copy %d wait %d\n", refused, copied, static_cast<int>(cudaDeviceSynchronize()));
}

void without_files() {
  const rlimit none = {3, 3};
  setrlimit(RLIMIT_NOFILE, &none);
  cudaLibrary_t library;
  static char here[64];
  const int loaded = cudaLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0);
  std::printf("load %d register %d launch %d\n", loaded, static_cast<int>(cudaHostRegister(here, 64, 0)),
              launch_and_read());
}

void with_a_cancelled_thread() {
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        for (;;) {
          prints<<<1, 1>>>(1);
          cudaDeviceSynchronize();
          pthread_testcancel();
        }
        return nullptr;
      },
      nullptr);
  usleep(50'000);
  pthread_cancel(thread);
  pthread_join(thread, nullptr);
  std::printf("value %d\n", launch_and_read());
}

// At most, so far.
long resident_kilobytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// What is held back, and what is kept for CTAs that have ended, does not grow.
void of_any_length() {
  empty<<<10'000, 1>>>();
  prints<<<1, 32>>>(100);
  cudaDeviceSynchronize();
  const long before = resident_kilobytes();
  empty<<<400'000, 1>>>();
  prints<<<1, 32>>>(4'000);
  const cudaError_t code = cudaDeviceSynchronize();
  const long grown = resident_kilobytes() - before;
  std::fprintf(stderr, "code %d, grown by %s\n", static_cast<int>(code),
               grown < 12'000 ? "little" : std::to_string(grown).c_str());
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case kCases[] = {{"in_thread_destructors", in_thread_destructors},
                           {"while_a_kernel_runs", while_a_kernel_runs},
                           {"in_host_functions", in_host_functions},
                           {"with_a_reset_in_a_graph", with_a_reset_in_a_graph},
                           {"with_a_module_that_is_gone", with_a_module_that_is_gone},
                           {"with_a_long_graph", with_a_long_graph},
                           {"with_a_long_capture", with_a_long_capture},
                           {"with_nested_graphs", with_nested_graphs},
                           {"with_unmapped_memory", with_unmapped_memory},
                           {"without_files", without_files},
                           {"with_a_cancelled_thread", with_a_cancelled_thread},
                           {"of_any_length", of_any_length}};

}  // namespace

int main(int argc, char** argv) {
  cudaMalloc(&data, 64);
  cudaMemset(data, 0, 64);
  for (const Case& one : kCases) {
    if (argc < 2 || std::strcmp(one.name, argv[1]) != 0) continue;
    one.run();
    return 0;
  }
  return 99;
}
