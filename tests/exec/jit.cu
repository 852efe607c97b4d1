// SPDX-License-Identifier: Apache-2.0
//
// A program that compiles its kernels while it runs, and loads machine code: with NVRTC, which it is linked
// against, and with nvJitLink, which it is linked against and opens, too.
#include "expect.h"

#include <cuda.h>
#include <dlfcn.h>
#include <nvJitLink.h>
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

struct JitLink {
  decltype(&nvJitLinkCreate) create = nvJitLinkCreate;
  decltype(&nvJitLinkAddData) add = nvJitLinkAddData;
  decltype(&nvJitLinkComplete) complete = nvJitLinkComplete;
  decltype(&nvJitLinkGetLinkedCubinSize) size = nvJitLinkGetLinkedCubinSize;
  decltype(&nvJitLinkGetLinkedCubin) get = nvJitLinkGetLinkedCubin;
  decltype(&nvJitLinkDestroy) destroy = nvJitLinkDestroy;
};

// As a program finds them that opens the library: with or without a version in their names.
JitLink opened() {
  void* library = dlopen("libnvJitLink.so.13", RTLD_NOW);
  EXPECT(library != nullptr);
  JitLink link;
  const auto find = [&]<class Function>(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    EXPECT(function != nullptr);
  };
  find(link.create, "__nvJitLinkCreate_13_0");
  find(link.add, "__nvJitLinkAddData_13_0");
  find(link.complete, "nvJitLinkComplete");
  find(link.size, "nvJitLinkGetLinkedCubinSize");
  find(link.get, "__nvJitLinkGetLinkedCubin_13_0");
  find(link.destroy, "nvJitLinkDestroy");
  return link;
}

std::string linked(const JitLink& with, const std::vector<std::string>& units) {
  nvJitLinkHandle linker = nullptr;
  const char* options[] = {"-arch=sm_90"};
  EXPECT(with.create(&linker, 1, options) == NVJITLINK_SUCCESS);
  for (const std::string& unit : units)
    EXPECT(with.add(linker, NVJITLINK_INPUT_PTX, unit.c_str(), unit.size(), "unit") == NVJITLINK_SUCCESS);
  EXPECT(with.complete(linker) == NVJITLINK_SUCCESS);
  std::size_t bytes = 0;
  EXPECT(with.size(linker, &bytes) == NVJITLINK_SUCCESS && bytes != 0);
  std::string image(bytes, '\0');
  EXPECT(with.get(linker, image.data()) == NVJITLINK_SUCCESS);
  EXPECT(with.destroy(&linker) == NVJITLINK_SUCCESS);
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
  for (const JitLink& with : {opened(), JitLink()})
    run(linked(with, {ptx(kCaller), ptx(kCallee)}), "apply", {4, 5, 6}, 0, {8, 10, 12});
  // A name that no library has is still not there.
  EXPECT(dlsym(RTLD_DEFAULT, "nvrtcNoSuchFunction") == nullptr);
  return result();
}
