// SPDX-License-Identifier: Apache-2.0
//
// every_call CALLS SEED COUNT [failing]: COUNT calls of those that the file CALLS lists (call_signatures.py),
// each with words of its kinds: numbers, null, handles of every kind, memory of the card and of the host, structs
// of such words. Each must come back; now and then all is given back, and a kernel must run. With `failing` one
// of the first allocations of most calls fails: the program's operator new stands for that of all libraries.
#include "expect.h"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

long allocations_left = -1;  // until one fails; -1: none does
long failed_allocations = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    ++failed_allocations;
    return nullptr;
  }
  return alignment == 0 ? std::malloc(bytes + (bytes == 0))
                        : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(align));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 0); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using Word = std::uint64_t;
using Function = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
constexpr std::size_t kWords = 12;

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }
__device__ int variable[16];

constexpr char kModule[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 word;\n"
    ".visible .entry none(.param .u32 value) { ret; }\n";

struct Call {
  std::string name, letters;
  Function function;
};

// What a crash says.
const Call* going_on = nullptr;
std::array<Word, kWords> given = {};
long number = 0;

void crashed(int signal) {
  std::printf("signal %d in call %ld, %s(", signal, number, going_on == nullptr ? "?" : going_on->name.c_str());
  for (const Word word : given) std::printf("%#llx ", static_cast<unsigned long long>(word));
  std::printf(")\n");
  std::fflush(stdout);
  _exit(1);
}

// Behind the host's memory is the program's own, so that no number of elements may reach it.
constexpr std::size_t kHostBytes = std::size_t{64} << 20;
// Words in structs are numbers and places at once: this much from here on is the program's, too.
constexpr Word kLow = 0x20000;
constexpr std::size_t kLowBytes = std::size_t{1} << 24;

class Words {
 public:
  explicit Words(Word seed) : engine_(seed) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    host_ = static_cast<char*>(mmap(nullptr, kHostBytes, PROT_READ | PROT_WRITE, flags, -1, 0));
    has_low_ = mmap(reinterpret_cast<void*>(kLow), kLowBytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE,
                    -1, 0) == reinterpret_cast<void*>(kLow);
  }

  Word below(Word count) { return engine_() % count; }

  // Handles that are alive, of every kind, and memory.
  void renew() {
    handles_.clear();
    memory_.clear();
    void* made = nullptr;
    const auto keep = [&](std::vector<Word>& list, int code) {
      if (code == 0) list.push_back(reinterpret_cast<Word>(made));
    };
    const auto handle = [&](auto&& make) { keep(handles_, make()); };
    for (int i = 0; i < 2; ++i) {
      keep(memory_, cudaMalloc(&made, 4096));
      keep(memory_, cudaMallocManaged(&made, 4096));
      keep(memory_, cudaHostAlloc(&made, 4096, 0));
      keep(memory_, cudaMallocAsync(&made, 4096, cudaStream_t{}));
      keep(memory_, cudaGetSymbolAddress(&made, variable));
      handle([&] { return cudaStreamCreate(reinterpret_cast<cudaStream_t*>(&made)); });
      handle([&] { return cudaEventCreate(reinterpret_cast<cudaEvent_t*>(&made)); });
      handle([&] { return cudaGraphCreate(reinterpret_cast<cudaGraph_t*>(&made), 0); });
      const auto graph = static_cast<cudaGraph_t>(made);
      handle([&] { return cudaGraphAddEmptyNode(reinterpret_cast<cudaGraphNode_t*>(&made), graph, nullptr, 0); });
      void* data = reinterpret_cast<void*>(memory_[0]);
      int value = 1;
      void* arguments[] = {&data, &value};
      cudaKernelNodeParams launch = {};
      launch.func = reinterpret_cast<void*>(add);
      launch.gridDim = launch.blockDim = dim3(1);
      launch.kernelParams = arguments;
      handle([&] {
        return cudaGraphAddKernelNode(reinterpret_cast<cudaGraphNode_t*>(&made), graph, nullptr, 0, &launch);
      });
      handle([&] { return cudaGraphInstantiate(reinterpret_cast<cudaGraphExec_t*>(&made), graph, 0); });
      handle([&] { return cudaDeviceGetDefaultMemPool(reinterpret_cast<cudaMemPool_t*>(&made), 0); });
      handle([&] {
        return cudaLibraryLoadData(reinterpret_cast<cudaLibrary_t*>(&made), kModule, nullptr, nullptr, 0, nullptr,
                                   nullptr, 0);
      });
      const auto library = static_cast<cudaLibrary_t>(made);
      handle([&] { return cudaLibraryGetKernel(reinterpret_cast<cudaKernel_t*>(&made), library, "none"); });
      handle([&] {
        return cudaGetFuncBySymbol(reinterpret_cast<cudaFunction_t*>(&made), reinterpret_cast<const void*>(add));
      });
      handle([&] {
        return driver<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(reinterpret_cast<CUmodule*>(&made),
                                                                            kModule);
      });
      handle(
          [&] { return driver<CUresult(CUcontext*)>("cuCtxGetCurrent")(reinterpret_cast<CUcontext*>(&made)); });
    }
    cudaGetLastError();
  }

  template <class Type>
  static Type* driver(const char* name) {
    return reinterpret_cast<Type*>(dlsym(RTLD_DEFAULT, name));
  }

  // How many of something there are is true, unless there is no place for them.
  void begin_call() { is_huge_ = below(8) == 0; }

  // A word for a letter of call_signatures.py.
  Word word(char kind) {
    switch (kind) {
      case 'n': {
        constexpr Word kNumbers[] = {0, 0, 0, 1, 1, 2, 3, 4, 7, 16, 64, 255};
        if (is_huge_ && below(2) == 0) return below(2) == 0 ? ~Word{0} : engine_();
        return kNumbers[below(std::size(kNumbers))];
      }
      case 'h': return below(6) == 0 ? below(5) : below(8) == 0 ? place() : below(8) == 0 ? memory() : handle();
      case 'r':
        if (below(4) == 0) return reinterpret_cast<Word>(add);
        if (below(6) == 0) return reinterpret_cast<Word>(&variable);
        if (below(4) == 0) return reinterpret_cast<Word>(kModule);
        [[fallthrough]];
      case 'v': return below(6) == 0 ? 0 : below(3) == 0 ? place() : memory() + (below(6) == 0 ? below(8192) : 0);
      case 'p': return is_huge_ || below(8) == 0 ? 0 : place();
      case 'q': return is_huge_ || below(8) == 0 ? 0 : place() + 4096 * kPages;
      case 's': {
        constexpr const char* kTexts[] = {nullptr, "", "none", "word", "cuMemAlloc", "/dev/null", kModule};
        return reinterpret_cast<Word>(kTexts[below(std::size(kTexts))]);
      }
      default: return below(2) == 0 ? 1 | Word{1} << 32 : below(64);
    }
  }

  // What is in the places: nothing, or words; behind them handles.
  void fill() {
    for (Word page = 0; page < 2 * kPages; ++page) {
      auto* words = reinterpret_cast<Word*>(host_ + 4096 * page);
      const bool is_empty = below(3) == 0;
      for (int i = 0; i < 512; ++i) words[i] = page >= kPages ? handle() : is_empty ? 0 : inside();
    }
  }

 private:
  static constexpr Word kPages = 8;

  Word handle() { return handles_.empty() ? 0 : handles_[below(handles_.size())]; }
  Word memory() { return memory_.empty() ? 0 : memory_[below(memory_.size())]; }
  Word place() { return reinterpret_cast<Word>(host_) + 4096 * below(kPages); }

  // A number and a place at once, as nobody knows which it is taken for.
  Word inside() { return below(2) == 0 || !has_low_ ? 0 : kLow + 8 * below(16); }

  std::mt19937_64 engine_;
  std::vector<Word> handles_, memory_;
  char* host_ = nullptr;
  bool has_low_ = false;
  bool is_huge_ = false;
};

bool still_works() {
  cudaDeviceReset();
  CUcontext context = nullptr;
  static const auto retain = Words::driver<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain");
  static const auto make_current = Words::driver<CUresult(CUcontext)>("cuCtxSetCurrent");
  retain(&context, 0);
  make_current(context);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  cudaGetLastError();
  int* data = nullptr;
  int values[16] = {};
  EXPECT_OK(cudaMalloc(&data, sizeof(values)));
  EXPECT_OK(cudaMemset(data, 0, sizeof(values)));
  add<<<1, 16>>>(data, 3);
  EXPECT_OK(cudaGetLastError());
  EXPECT_OK(cudaMemcpy(values, data, sizeof(values), cudaMemcpyDeviceToHost));
  EXPECT(values[0] == 3 && values[15] == 3);
  return failures == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  Words words(std::strtoull(argv[2], nullptr, 10));
  const long count = std::atol(argv[3]);
  const bool fails = argc > 4;
  std::vector<Call> calls;
  std::ifstream names(argv[1]);
  for (std::string name, letters; names >> name >> letters;) {
    // These return texts.
    if (name == "cudaGetErrorName" || name == "cudaGetErrorString") continue;
    if (void* function = dlsym(RTLD_DEFAULT, name.c_str())) {
      calls.push_back({name, letters, reinterpret_cast<Function>(function)});
    }
  }
  std::vector<long> successes(calls.size());
  struct sigaction action = {};
  action.sa_handler = crashed;
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) sigaction(signal, &action, nullptr);
  EXPECT(calls.size() > 400 && still_works());
  words.renew();
  for (number = 0; number < count; ++number) {
    const std::size_t which = words.below(calls.size());
    going_on = &calls[which];
    words.begin_call();
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::string& letters = going_on->letters;
      given[i] = words.word(i < letters.size() ? letters[i] : 'n');
    }
    words.fill();
    allocations_left = fails && words.below(4) != 0 ? static_cast<long>(words.below(12)) : -1;
    const auto code =
        static_cast<int>(going_on->function(given[0], given[1], given[2], given[3], given[4], given[5], given[6],
                                            given[7], given[8], given[9], given[10], given[11]));
    allocations_left = -1;
    successes[which] += code == 0;
    const char* name = cudaGetErrorName(static_cast<cudaError_t>(code));
    if (name == nullptr || name[0] != 'c') {
      std::printf("call %ld, %s, gave %d\n", number, going_on->name.c_str(), code);
      ++failures;
    }
    if (number % 200 == 199) {
      if (!still_works()) {
        std::printf("the card does not work after call %ld\n", number);
        return 1;
      }
      words.renew();
    }
  }
  const auto never = std::count(successes.begin(), successes.end(), 0);
  std::printf("\n%zu functions, %zu of them with success at some time; %ld allocations failed\n", calls.size(),
              calls.size() - static_cast<std::size_t>(never), failed_allocations);
  return result();
}
