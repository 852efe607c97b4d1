// SPDX-License-Identifier: Apache-2.0
//
// The driver's own interface, linked as libcuda: a module from PTX, its kernel and its variable.
#include <cuda.h>

#include <cstdio>
#include <cstring>

namespace {

int failures = 0;

void expect(CUresult got, CUresult wanted, const char* what, int line) {
  if (got == wanted) return;
  const char* name = nullptr;
  cuGetErrorName(got, &name);
  std::printf("line %d: %s gave %s\n", line, what, name);
  ++failures;
}

#define EXPECT(call, code) expect((call), (code), #call, __LINE__)
#define EXPECT_OK(call) EXPECT(call, CUDA_SUCCESS)

const char* const kPtx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 factor = 3;
.visible .entry scale(.param .u64 data, .param .u32 add)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<6>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [add];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  ld.global.u32 %r4, [factor];
  mad.lo.u32 %r5, %r3, %r4, %r1;
  st.global.u32 [%rd3], %r5;
  ret;
}
)";

// Two texts that need one another. Both have a $text of their own.
const char* const kCaller = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 result) plus(.param .b32 value);
.global .align 4 .u32 $text = 100;
.visible .entry caller(.param .u64 data)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [data];
  ld.global.u32 %r1, [$text];
  {
    .param .b32 in;
    .param .b32 out;
    st.param.b32 [in], %r1;
    call (out), plus, (in);
    ld.param.b32 %r2, [out];
  }
  st.global.u32 [%rd1], %r2;
  ret;
}
)";
const char* const kCallee = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 $text = 11;
.visible .func (.param .b32 result) plus(.param .b32 value)
{
  .reg .b32 %r<4>;
  ld.param.b32 %r1, [value];
  ld.global.u32 %r2, [$text];
  add.u32 %r3, %r1, %r2;
  st.param.b32 [result], %r3;
  ret;
}
)";

void link(CUdeviceptr data) {
  CUlinkState linker;
  void* image = nullptr;
  std::size_t bytes = 0;
  EXPECT_OK(cuLinkCreate(0, nullptr, nullptr, &linker));
  EXPECT_OK(cuLinkAddData(linker, CU_JIT_INPUT_PTX, const_cast<char*>(kCaller), std::strlen(kCaller) + 1,
                          "caller", 0, nullptr, nullptr));
  EXPECT_OK(cuLinkAddData(linker, CU_JIT_INPUT_PTX, const_cast<char*>(kCallee), std::strlen(kCallee) + 1,
                          "callee", 0, nullptr, nullptr));
  EXPECT_OK(cuLinkComplete(linker, &image, &bytes));
  CUmodule module;
  CUfunction function;
  EXPECT_OK(cuModuleLoadData(&module, image));
  EXPECT_OK(cuLinkDestroy(linker));
  EXPECT_OK(cuModuleGetFunction(&function, module, "caller"));
  void* arguments[] = {&data};
  unsigned result = 0;
  EXPECT_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  EXPECT_OK(cuMemcpyDtoH(&result, data, sizeof(result)));
  if (result != 111) ++failures;
}

// The driver's own way to graphs, which launches of the driver are captured into.
void capture(CUfunction function, CUdeviceptr data) {
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  unsigned add = 7;
  void* arguments[] = {&data, &add};
  EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(cuMemsetD32Async(data, 1, 32, stream));
  EXPECT_OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  EXPECT_OK(cuStreamEndCapture(stream, &graph));
  CUgraphNode nodes[2];
  std::size_t count = 2;
  EXPECT_OK(cuGraphGetNodes(graph, nodes, &count));
  EXPECT_OK(cuGraphInstantiate(&exec, graph, 0));
  EXPECT_OK(cuGraphLaunch(exec, stream));
  EXPECT_OK(cuStreamSynchronize(stream));
  unsigned result = 0;
  EXPECT_OK(cuMemcpyDtoH(&result, data, sizeof(result)));
  if (count != 2 || result != 17) ++failures;
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  EXPECT_OK(cuGraphKernelNodeGetParams(nodes[1], &parameters));
  add = 9;
  parameters.kernelParams = arguments;
  EXPECT_OK(cuGraphExecKernelNodeSetParams(exec, nodes[1], &parameters));
  EXPECT_OK(cuGraphLaunch(exec, stream));
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_OK(cuMemcpyDtoH(&result, data, sizeof(result)));
  if (result != 19) ++failures;
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

}  // namespace

// A program that was written for CUDA 12.0 names a device by its number; CUDA 12.2 has a place in memory there.
void calls_are_of_the_version_that_is_asked_for() {
  CUdeviceptr data = 0;
  EXPECT_OK(cuMemAllocManaged(&data, 4096, CU_MEM_ATTACH_GLOBAL));
  void *prefetch = nullptr, *advise = nullptr;
  EXPECT_OK(cuGetProcAddress("cuMemPrefetchAsync", &prefetch, 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr));
  EXPECT_OK(cuGetProcAddress("cuMemAdvise", &advise, 12010, CU_GET_PROC_ADDRESS_DEFAULT, nullptr));
  EXPECT_OK(reinterpret_cast<CUresult (*)(CUdeviceptr, std::size_t, CUdevice, CUstream)>(prefetch)(data, 4096, 0,
                                                                                                   nullptr));
  EXPECT_OK(reinterpret_cast<CUresult (*)(CUdeviceptr, std::size_t, CUmem_advise, CUdevice)>(advise)(
      data, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
  for (const char* name : {"cuMemPrefetchAsync", "cuMemAdvise"}) {
    void *old = nullptr, *current = nullptr;
    EXPECT_OK(cuGetProcAddress(name, &old, 12010, CU_GET_PROC_ADDRESS_DEFAULT, nullptr));
    EXPECT_OK(cuGetProcAddress(name, &current, 12020, CU_GET_PROC_ADDRESS_DEFAULT, nullptr));
    if (old == current) ++failures;
  }
  EXPECT_OK(cuMemFree(data));
}

// Of the blocks that fill an SM the largest is taken: the function says that those above 256 threads need too
// much.
void the_best_block_fills_an_sm(CUfunction function) {
  int grid = 0, threads = 0;
  EXPECT_OK(cuOccupancyMaxPotentialBlockSize(&grid, &threads, function, nullptr, 0, 0));
  if (threads != 1024 || grid % 2 != 0 || grid == 0) ++failures;
  const int sms = grid / 2;
  EXPECT_OK(cuOccupancyMaxPotentialBlockSize(&grid, &threads, function, nullptr, 0, 200));
  if (threads != 128 || grid != 16 * sms) ++failures;
  const auto shared_of = [](int size) -> std::size_t { return size > 256 ? 200'000 : 0; };
  EXPECT_OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &threads, function, shared_of, 0, 0, 0));
  if (threads != 256 || grid != 8 * sms) ++failures;
  EXPECT(cuOccupancyMaxPotentialBlockSize(nullptr, &threads, function, nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT(cuOccupancyMaxPotentialBlockSize(&grid, &threads, nullptr, nullptr, 0, 0), CUDA_ERROR_INVALID_HANDLE);
}

int main() {
  EXPECT_OK(cuInit(0));
  CUdevice device;
  CUcontext context;
  EXPECT_OK(cuDeviceGet(&device, 0));
  EXPECT_OK(cuDevicePrimaryCtxRetain(&context, device));
  EXPECT_OK(cuCtxSetCurrent(context));
  CUmodule module;
  EXPECT_OK(cuModuleLoadData(&module, kPtx));
  EXPECT(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\nnonsense"), CUDA_ERROR_INVALID_PTX);
  CUfunction function;
  EXPECT(cuModuleGetFunction(&function, module, "none"), CUDA_ERROR_NOT_FOUND);
  EXPECT_OK(cuModuleGetFunction(&function, module, "scale"));
  the_best_block_fills_an_sm(function);
  CUdeviceptr factor, data;
  std::size_t bytes = 0;
  EXPECT_OK(cuModuleGetGlobal(&factor, &bytes, module, "factor"));
  EXPECT_OK(cuMemsetD32(factor, 10, 1));
  EXPECT_OK(cuMemAlloc(&data, 32 * sizeof(int)));
  int host[32];
  for (int i = 0; i < 32; ++i) host[i] = i;
  EXPECT_OK(cuMemcpyHtoD(data, host, sizeof(host)));
  unsigned add = 7;
  void* arguments[] = {&data, &add};
  EXPECT_OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  EXPECT(cuLaunchKernel(function, 1, 1, 1, 2000, 1, 1, 0, nullptr, arguments, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  struct {
    CUdeviceptr data;
    unsigned add;
  } packed = {data, 1};
  std::size_t packed_bytes = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes,
                   CU_LAUNCH_PARAM_END};
  EXPECT_OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  packed_bytes = 8;
  EXPECT(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_OK(cuMemcpyDtoH(host, data, sizeof(host)));
  for (int i = 0; i < 32; ++i) {
    if (host[i] != (i * 10 + 7) * 10 + 1) ++failures;
  }
  capture(function, data);
  link(data);
  calls_are_of_the_version_that_is_asked_for();
  std::size_t whole = 0;
  EXPECT_OK(cuPointerGetAttribute(&whole, CU_POINTER_ATTRIBUTE_RANGE_SIZE, data + 4));
  if (whole != sizeof(host)) ++failures;
  EXPECT(cuModuleLoad(&module, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_OK(cuMemFree(data));
  EXPECT_OK(cuModuleUnload(module));
  std::puts(failures == 0 ? "all is well" : "something failed");
  return failures == 0 ? 0 : 1;
}
