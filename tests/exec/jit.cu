// SPDX-License-Identifier: Apache-2.0
//
// A program that compiles its kernels while it runs, and loads machine code: with NVRTC, which it is linked
// against, and with nvJitLink, which it opens itself.
#include "expect.h"

#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <string>
#include <vector>

namespace {

constexpr const char* kScale = R"(extern "C" __global__ void scale(int* data, int factor) {
  data[threadIdx.x] *= factor;
})";
constexpr const char* kCaller = R"(extern "C" __device__ int twice(int value);
extern "C" __global__ void apply(int* data) { data[threadIdx.x] = twice(data[threadIdx.x]); })";
constexpr const char* kCallee = R"(extern "C" __device__ int twice(int value) { return 2 * value; })";

nvrtcProgram compile(const char* source, std::vector<const char*> options) {
  nvrtcProgram program = nullptr;
  EXPECT(nvrtcCreateProgram(&program, source, "source.cu", 0, nullptr, nullptr) == NVRTC_SUCCESS);
  EXPECT(nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data()) == NVRTC_SUCCESS);
  return program;
}

std::string machine_code(const char* source) {
  nvrtcProgram program = compile(source, {"-arch=sm_90"});
  std::size_t bytes = 0;
  EXPECT(nvrtcGetCUBINSize(program, &bytes) == NVRTC_SUCCESS && bytes != 0);
  std::string image(bytes, '\0');
  EXPECT(nvrtcGetCUBIN(program, image.data()) == NVRTC_SUCCESS);
  nvrtcDestroyProgram(&program);
  return image;
}

std::string ptx(const char* source) {
  nvrtcProgram program = compile(source, {"-arch=compute_90", "-rdc=true"});
  std::size_t bytes = 0;
  EXPECT(nvrtcGetCUBINSize(program, &bytes) == NVRTC_SUCCESS && bytes == 0);  // it has none, here as elsewhere
  EXPECT(nvrtcGetPTXSize(program, &bytes) == NVRTC_SUCCESS);
  std::string text(bytes, '\0');
  EXPECT(nvrtcGetPTX(program, text.data()) == NVRTC_SUCCESS);
  nvrtcDestroyProgram(&program);
  return text;
}

// As nvJitLink.h has it, whose functions carry a version in their names.
std::string link(const std::vector<std::string>& units) {
  void* library = dlopen("libnvJitLink.so.13", RTLD_NOW);
  EXPECT(library != nullptr);
  const auto find = [&]<class Function>(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    EXPECT(function != nullptr);
  };
  int (*create)(void**, unsigned, const char**);
  int (*add)(void*, int, const void*, std::size_t, const char*);
  int (*complete)(void*);
  int (*size)(void*, std::size_t*);
  int (*get)(void*, void*);
  int (*destroy)(void**);
  find(create, "__nvJitLinkCreate_13_0");
  find(add, "__nvJitLinkAddData_13_0");
  find(complete, "nvJitLinkComplete");
  find(size, "nvJitLinkGetLinkedCubinSize");
  find(get, "__nvJitLinkGetLinkedCubin_13_0");
  find(destroy, "nvJitLinkDestroy");
  void* linker = nullptr;
  const char* options[] = {"-arch=sm_90"};
  EXPECT(create(&linker, 1, options) == 0);
  constexpr int kPtx = 2;
  for (const std::string& unit : units) EXPECT(add(linker, kPtx, unit.c_str(), unit.size(), "unit") == 0);
  EXPECT(complete(linker) == 0);
  std::size_t bytes = 0;
  EXPECT(size(linker, &bytes) == 0 && bytes != 0);
  std::string image(bytes, '\0');
  EXPECT(get(linker, image.data()) == 0);
  EXPECT(destroy(&linker) == 0);
  return image;
}

void run(const std::string& image, const char* name, std::vector<int> values, int factor,
         std::vector<int> expected) {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  EXPECT(cuModuleLoadData(&module, image.data()) == CUDA_SUCCESS);
  EXPECT(cuModuleGetFunction(&kernel, module, name) == CUDA_SUCCESS);
  CUdeviceptr data = 0;
  EXPECT(cuMemAlloc(&data, 4 * values.size()) == CUDA_SUCCESS);
  EXPECT(cuMemcpyHtoD(data, values.data(), 4 * values.size()) == CUDA_SUCCESS);
  void* arguments[] = {&data, &factor};
  EXPECT(cuLaunchKernel(kernel, 1, 1, 1, static_cast<unsigned>(values.size()), 1, 1, 0, nullptr, arguments,
                        nullptr) == CUDA_SUCCESS);
  EXPECT(cuMemcpyDtoH(values.data(), data, 4 * values.size()) == CUDA_SUCCESS);
  EXPECT(values == expected);
  EXPECT(cuMemFree(data) == CUDA_SUCCESS);
}

}  // namespace

int main() {
  EXPECT(cudaFree(nullptr) == cudaSuccess);  // makes the context
  run(machine_code(kScale), "scale", {1, 2, 3}, 7, {7, 14, 21});
  run(link({ptx(kCaller), ptx(kCallee)}), "apply", {4, 5, 6}, 0, {8, 10, 12});
  // A name that no library has is still not there.
  EXPECT(dlsym(RTLD_DEFAULT, "nvrtcNoSuchFunction") == nullptr);
  return result();
}
