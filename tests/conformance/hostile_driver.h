// SPDX-License-Identifier: Apache-2.0
//
// Calls of the driver that only a hostile program makes, and PTX that no compiler would.
// Codes as an H200 gave them (driver 580.159.04, 2026-11-19).
#pragma once

#include "hostile_launches.h"

#include <string>

namespace call_codes {

#define DRIVER(call) driver<decltype(call)>(#call)

inline CUdeviceptr address(const void* of) { return reinterpret_cast<CUdeviceptr>(of); }

inline int launch_driver(CUfunction function, unsigned grid, unsigned block, unsigned shared, void** arguments,
                         void** extra) {
  return DRIVER(cuLaunchKernel)(function, grid, 1, 1, block, 1, 1, shared, nullptr, arguments, extra);
}

struct Tiled {
  int type = CU_TENSOR_MAP_DATA_TYPE_INT32;
  unsigned rank = 2;
  std::size_t offset = 0;
  cuuint64_t extents[5] = {64, 16, 1, 1, 1}, pitches[5] = {256, 4096, 4096, 4096, 4096};
  cuuint32_t box[5] = {32, 4, 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
  int interleave = 0, swizzle = 0, promotion = 0, fill = 0;
};

inline int encode(const Tiled& all, int* data) {
  CUtensorMap map;
  return DRIVER(cuTensorMapEncodeTiled)(
      &map, static_cast<CUtensorMapDataType>(all.type), all.rank, reinterpret_cast<char*>(data) + all.offset,
      all.extents, all.pitches, all.box, all.steps, static_cast<CUtensorMapInterleave>(all.interleave),
      static_cast<CUtensorMapSwizzle>(all.swizzle), static_cast<CUtensorMapL2promotion>(all.promotion),
      static_cast<CUtensorMapFloatOOBfill>(all.fill));
}

template <class Change>
int encode_with(int* data, Change&& change) {
  Tiled all;
  change(all);
  return encode(all, data);
}

inline int proc_address(const char* name, int version, cuuint64_t flags) {
  void* found = host;
  auto result = static_cast<CUdriverProcAddressQueryResult>(77);
  const int code = DRIVER(cuGetProcAddress)(name, &found, version, flags, &result);
  return code != 0 ? code : 1000 + 10 * static_cast<int>(result) + (found == nullptr ? 0 : 1);
}

inline int copy_2d(const CUDA_MEMCPY2D& all) { return DRIVER(cuMemcpy2D)(&all); }

inline CUDA_MEMCPY2D rows_to(int* data) {
  CUDA_MEMCPY2D all = {};
  all.srcMemoryType = CU_MEMORYTYPE_HOST;
  all.srcHost = host;
  all.srcPitch = 64;
  all.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  all.dstDevice = address(data);
  all.dstPitch = 64;
  all.WidthInBytes = 16;
  all.Height = 2;
  return all;
}

inline std::string many(const char* word, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += word;
  return text;
}

inline int load_long(const std::string& body) { return load_text(body.c_str()); }

inline int load_with_option(int option, void* value) {
  CUmodule module;
  auto which = static_cast<CUjit_option>(option);
  return DRIVER(cuModuleLoadDataEx)(&module, kAddModule, 1, &which, &value);
}

inline const WrongCall kHostileDriver[] = {
    // Contexts and devices.
    {"driver_wait_without_context", 201,
     [](int*) -> int {
       DRIVER(cuCtxSetCurrent)(nullptr);
       return driver<CUresult()>("cuCtxSynchronize")();
     }, 719},
    {"driver_device_without_context", 201,
     [](int*) -> int {
       CUdevice device;
       DRIVER(cuCtxSetCurrent)(nullptr);
       return driver<CUresult(CUdevice*)>("cuCtxGetDevice")(&device);
     }, 719},
    {"driver_version_of_null_context", 1000,
     [](int*) -> int {
       unsigned version;
       const int code = DRIVER(cuCtxGetApiVersion)(nullptr, &version);
       return code != 0 ? code : 1000;
     }},
    {"driver_cache_nonsense", 1,
     [](int*) -> int { return DRIVER(cuCtxSetCacheConfig)(static_cast<CUfunc_cache>(99)); }},
    {"driver_flags_null", 1, [](int*) -> int { return DRIVER(cuCtxGetFlags)(nullptr); }},
    {"driver_limit_null", 1, [](int*) -> int { return DRIVER(cuCtxGetLimit)(nullptr, CU_LIMIT_STACK_SIZE); }},
    {"driver_released_too_often", 0,
     [](int*) -> int {
       for (int i = 0; i < 3; ++i) DRIVER(cuDevicePrimaryCtxRelease)(0);
       return DRIVER(cuDevicePrimaryCtxRelease)(0);
     }, 201},
    {"driver_malloc_after_release", 0,
     [](int*) -> int {
       CUdeviceptr made;
       for (int i = 0; i < 3; ++i) DRIVER(cuDevicePrimaryCtxRelease)(0);
       return DRIVER(cuMemAlloc)(&made, 64);
     }, kCrash},
    {"driver_attribute_zero", 1,
     [](int*) -> int {
       int value;
       return DRIVER(cuDeviceGetAttribute)(&value, static_cast<CUdevice_attribute>(0), 0);
     }},
    {"driver_attribute_of_device_minus_one", 101,
     [](int*) -> int {
       int value;
       return DRIVER(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, -1);
     }},
    {"driver_name_of_no_length", 1,
     [](int*) -> int {
       char name[4];
       return DRIVER(cuDeviceGetName)(name, 0, 0);
     }, kCrash},
    {"driver_name_cut", 0,
     [](int*) -> int {
       char name[4];
       return DRIVER(cuDeviceGetName)(name, 4, 0);
     }},
    {"driver_uuid_null", 1, [](int*) -> int { return DRIVER(cuDeviceGetUuid)(nullptr, 0); }},
    {"driver_bus_id_short", 1,
     [](int*) -> int {
       char text[5];
       return DRIVER(cuDeviceGetPCIBusId)(text, 5, 0);
     }},
    {"driver_capability_null", 1, [](int*) -> int { return DRIVER(cuDeviceComputeCapability)(nullptr, nullptr, 0); }},
    {"driver_version_null", 1, [](int*) -> int { return DRIVER(cuDriverGetVersion)(nullptr); }},
    {"driver_text_of_no_error", 1,
     [](int*) -> int {
       const char* text;
       return DRIVER(cuGetErrorString)(static_cast<CUresult>(12345), &text);
     }},

    // Memory.
    {"driver_malloc_huge", 2,
     [](int*) -> int {
       CUdeviceptr made;
       return DRIVER(cuMemAlloc)(&made, std::size_t{1} << 60);
     }},
    {"driver_pitch_of_nothing", 0,
     [](int*) -> int {
       CUdeviceptr made;
       std::size_t pitch;
       return DRIVER(cuMemAllocPitch)(&made, &pitch, 0, 4, 4);
     }, 1},
    {"driver_host_alloc_of_nothing", 1,
     [](int*) -> int {
       void* made;
       return DRIVER(cuMemHostAlloc)(&made, 0, 0);
     }, 0},
    {"driver_free_host_null", 0, [](int*) -> int { return DRIVER(cuMemFreeHost)(nullptr); }},
    {"driver_free_twice", 1,
     [](int* data) -> int {
       DRIVER(cuMemFree)(address(data));
       return DRIVER(cuMemFree)(address(data));
     }},
    {"driver_free_async_null", 0, [](int*) -> int { return DRIVER(cuMemFreeAsync)(0, nullptr); }},
    {"driver_range_of_null_places", 0,
     [](int* data) -> int { return DRIVER(cuMemGetAddressRange)(nullptr, nullptr, address(data)); }},
    {"driver_range_past_the_end", 500,
     [](int* data) -> int {
       CUdeviceptr begin;
       std::size_t bytes;
       return DRIVER(cuMemGetAddressRange)(&begin, &bytes, address(data) + (std::uint64_t{1} << 40));
     }},
    {"driver_copy_past_the_end", 1,
     [](int* data) -> int { return DRIVER(cuMemcpyDtoH)(host, address(data), 8192); }},
    {"driver_copy_to_the_host_null", 1,
     [](int* data) -> int { return DRIVER(cuMemcpyDtoH)(nullptr, address(data), 4); }},
    {"driver_copy_of_two_hosts", 0,
     [](int*) -> int { return DRIVER(cuMemcpy)(address(host), address(host + 64), 4); }},
    {"driver_copy_of_nothing", 0, [](int*) -> int { return DRIVER(cuMemcpy)(0, 0, 0); }},
    {"driver_copy_device_of_the_host", 1,
     [](int* data) -> int { return DRIVER(cuMemcpyDtoD)(address(data), address(host), 4); }},
    {"driver_fill_of_shorts_misaligned", 1,
     [](int* data) -> int { return DRIVER(cuMemsetD16)(address(data) + 1, 0, 4); }},
    {"driver_fill_of_nothing", 0, [](int* data) -> int { return DRIVER(cuMemsetD8)(address(data), 0, 0); }},
    {"driver_fill_that_wraps", 1,
     [](int* data) -> int { return DRIVER(cuMemsetD32)(address(data), 0, (std::size_t{1} << 62) + 1); }, 0},
    {"driver_fill_2d_over_pitch", 1,
     [](int* data) -> int { return DRIVER(cuMemsetD2D8)(address(data), 8, 0, 16, 2); }},
    {"driver_fill_2d_odd_pitch", 0,
     [](int* data) -> int { return DRIVER(cuMemsetD2D32)(address(data), 10, 0, 2, 2); }, 1},
    {"driver_copy_2d_kind_of_nonsense", 1,
     [](int* data) -> int {
       CUDA_MEMCPY2D all = rows_to(data);
       all.srcMemoryType = static_cast<CUmemorytype>(99);
       return copy_2d(all);
     }},
    {"driver_copy_2d_of_a_null_array", 400,
     [](int* data) -> int {
       CUDA_MEMCPY2D all = rows_to(data);
       all.srcMemoryType = CU_MEMORYTYPE_ARRAY;
       return copy_2d(all);
     }, 1},
    {"driver_copy_2d_pitch_too_small", 1,
     [](int* data) -> int {
       CUDA_MEMCPY2D all = rows_to(data);
       all.srcPitch = 8;
       return copy_2d(all);
     }},
    {"driver_copy_2d_of_no_width", 0,
     [](int* data) -> int {
       CUDA_MEMCPY2D all = rows_to(data);
       all.WidthInBytes = 0;
       return copy_2d(all);
     }},
    {"driver_copy_2d_offset_that_wraps", 1,
     [](int* data) -> int {
       CUDA_MEMCPY2D all = rows_to(data);
       all.dstXInBytes = ~std::size_t{0} - 7;
       return copy_2d(all);
     }},
    {"driver_copy_2d_rows_that_wrap", 1,
     [](int* data) -> int {
       CUDA_MEMCPY2D all = rows_to(data);
       all.dstY = std::size_t{1} << 60;
       return copy_2d(all);
     }, 0},
    {"driver_copy_2d_without_pitch", 1,
     [](int* data) -> int {
       CUDA_MEMCPY2D all = rows_to(data);
       all.srcPitch = all.dstPitch = 0;
       return copy_2d(all);
     }, 0},
    {"driver_copy_3d_null", 1, [](int*) -> int { return DRIVER(cuMemcpy3D)(nullptr); }},
    {"driver_copy_3d_height_too_small", 1,
     [](int* data) -> int {
       CUDA_MEMCPY3D all = {};
       all.srcMemoryType = CU_MEMORYTYPE_HOST;
       all.srcHost = host;
       all.srcPitch = 16;
       all.srcHeight = 1;
       all.dstMemoryType = CU_MEMORYTYPE_DEVICE;
       all.dstDevice = address(data);
       all.dstPitch = 16;
       all.dstHeight = 4;
       all.WidthInBytes = 16;
       all.Height = 4;
       all.Depth = 2;
       return DRIVER(cuMemcpy3D)(&all);
     }},
    {"driver_register_nothing", 1, [](int*) -> int { return DRIVER(cuMemHostRegister)(host, 0, 0); }},
    {"driver_pointer_attribute_null", 1,
     [](int* data) -> int {
       return DRIVER(cuPointerGetAttribute)(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(data));
     }},
    {"driver_pointer_attributes_of_none", 1,
     [](int* data) -> int { return DRIVER(cuPointerGetAttributes)(0, nullptr, nullptr, address(data)); }},
    {"driver_pointer_context_of_the_host", 1,
     [](int*) -> int {
       CUcontext context;
       return DRIVER(cuPointerGetAttribute)(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address(host));
     }},
    {"driver_pointer_range_inside", 1000,
     [](int* data) -> int {
       CUdeviceptr begin = 0;
       const int code = DRIVER(cuPointerGetAttribute)(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address(data + 5));
       return code != 0 ? code : begin == address(data) ? 1000 : 1001;
     }},

    // Streams, events, modules and functions.
    {"driver_stream_wait_for_null", 400,
     [](int*) -> int { return DRIVER(cuStreamWaitEvent)(nullptr, nullptr, 0); }},
    {"driver_stream_destroy_default", 400, [](int*) -> int { return DRIVER(cuStreamDestroy)(nullptr); }},
    {"driver_stream_flags_null", 1, [](int*) -> int { return DRIVER(cuStreamGetFlags)(nullptr, nullptr); }},
    {"driver_event_destroy_null", 400, [](int*) -> int { return DRIVER(cuEventDestroy)(nullptr); }},
    {"driver_event_that_is_a_module", 400,
     [](int*) -> int { return DRIVER(cuEventQuery)((CUevent)(void*)add_module()); }, kCrash},
    {"driver_host_function_null", 1, [](int*) -> int { return DRIVER(cuLaunchHostFunc)(nullptr, nullptr, nullptr); }},
    {"driver_module_unloaded_twice", 400,
     [](int*) -> int {
       CUmodule module = add_module();
       DRIVER(cuModuleUnload)(module);
       return DRIVER(cuModuleUnload)(module);
     }},
    {"driver_module_that_is_a_stream", 400,
     [](int*) -> int {
       CUfunction found;
       return DRIVER(cuModuleGetFunction)(&found, (CUmodule)(void*)new_stream(), "add");
     }},
    {"driver_function_of_an_unloaded_module", 400,
     [](int* data) -> int {
       CUmodule module = add_module();
       CUfunction found;
       void* arguments[] = {&data};
       DRIVER(cuModuleGetFunction)(&found, module, "add");
       DRIVER(cuModuleUnload)(module);
       return launch_driver(found, 1, 1, 0, arguments, nullptr);
     },
     kCrash},
    {"driver_function_of_no_letters", 500,
     [](int*) -> int {
       CUfunction found;
       return DRIVER(cuModuleGetFunction)(&found, add_module(), "");
     }, 1},
    {"driver_global_null_places", 0,
     [](int*) -> int { return DRIVER(cuModuleGetGlobal)(nullptr, nullptr, add_module(), "word"); }, 1},
    {"driver_global_of_null_module", 400,
     [](int*) -> int {
       CUdeviceptr found;
       return DRIVER(cuModuleGetGlobal)(&found, nullptr, nullptr, "word");
     }},
    {"driver_module_option_of_no_name", 0, [](int*) -> int { return load_with_option(999, nullptr); }, 1},
    {"driver_module_option_negative", 0, [](int*) -> int { return load_with_option(-1, nullptr); }, 1},
    {"driver_module_max_registers", 0,
     [](int*) -> int { return load_with_option(CU_JIT_MAX_REGISTERS, reinterpret_cast<void*>(16)); }},
    {"driver_module_optimisation_of_99", 0,
     [](int*) -> int { return load_with_option(CU_JIT_OPTIMIZATION_LEVEL, reinterpret_cast<void*>(99)); }},
    {"driver_module_target_of_nonsense", 0,
     [](int*) -> int { return load_with_option(CU_JIT_TARGET, reinterpret_cast<void*>(7)); }, 200},
    {"driver_module_log_without_size", 0,
     [](int*) -> int { return load_with_option(CU_JIT_INFO_LOG_BUFFER, host); }, 1},
    {"driver_function_attribute_null", 1,
     [](int*) -> int {
       return DRIVER(cuFuncGetAttribute)(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, add_function());
     }},
    {"driver_function_attribute_of_null", 400,
     [](int*) -> int {
       int value;
       return DRIVER(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr);
     }},
    {"driver_function_cache_nonsense", 1,
     [](int*) -> int { return DRIVER(cuFuncSetCacheConfig)(add_function(), static_cast<CUfunc_cache>(99)); }},
    {"driver_function_module_null", 1, [](int*) -> int { return DRIVER(cuFuncGetModule)(nullptr, add_function()); }},
    {"driver_function_loaded", 0, [](int*) -> int { return DRIVER(cuFuncLoad)(add_function()); }, kCrash},
    {"driver_function_parameter_too_far", 1,
     [](int*) -> int {
       std::size_t at, bytes;
       return DRIVER(cuFuncGetParamInfo)(add_function(), 1, &at, &bytes);
     }, kCrash},
    {"driver_launch_of_nothing", 1,
     [](int* data) -> int {
       void* arguments[] = {&data};
       return launch_driver(add_function(), 0, 1, 0, arguments, nullptr);
     }},
    {"driver_launch_without_parameters", 1,
     [](int*) -> int { return launch_driver(add_function(), 1, 1, 0, nullptr, nullptr); }},
    {"driver_launch_shared_huge", 1,
     [](int* data) -> int {
       void* arguments[] = {&data};
       return launch_driver(add_function(), 1, 1, ~0u, arguments, nullptr);
     }},
    {"driver_launch_long_buffer", 1,
     [](int*) -> int {
       std::size_t bytes = 64;
       void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, host, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
       return launch_driver(add_function(), 1, 1, 0, nullptr, extra);
     }, 701},
    {"driver_launch_empty_extra", 1,
     [](int*) -> int {
       void* extra[] = {CU_LAUNCH_PARAM_END};
       return launch_driver(add_function(), 1, 1, 0, nullptr, extra);
     }},
    {"driver_launch_extra_of_nonsense", 1,
     [](int*) -> int {
       void* extra[] = {reinterpret_cast<void*>(77), host, CU_LAUNCH_PARAM_END};
       return launch_driver(add_function(), 1, 1, 0, nullptr, extra);
     }},
    {"driver_launch_null_buffer", 1,
     [](int*) -> int {
       std::size_t bytes = 8;
       void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, nullptr, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                        CU_LAUNCH_PARAM_END};
       return launch_driver(add_function(), 1, 1, 0, nullptr, extra);
     }},
    {"driver_launch_that_is_a_module", 400,
     [](int* data) -> int {
       void* arguments[] = {&data};
       return launch_driver((CUfunction)(void*)add_module(), 1, 1, 0, arguments, nullptr);
     }, kCrash},
    {"driver_launch_ex_null", 1,
     [](int*) -> int { return DRIVER(cuLaunchKernelEx)(nullptr, add_function(), nullptr, nullptr); }},
    {"driver_occupancy_block_null", 1,
     [](int*) -> int {
       return DRIVER(cuOccupancyMaxPotentialBlockSize)(nullptr, nullptr, add_function(), nullptr, 0, 0);
     }},
    {"driver_library_kernel_of_null", 400,
     [](int*) -> int {
       CUkernel found;
       return DRIVER(cuLibraryGetKernel)(&found, nullptr, "add");
     }},
    {"driver_linker_of_nothing", 1,
     [](int*) -> int {
       CUlinkState linker;
       void* image;
       std::size_t bytes;
       DRIVER(cuLinkCreate)(0, nullptr, nullptr, &linker);
       return DRIVER(cuLinkComplete)(linker, &image, &bytes);
     }, 0},
    {"driver_linker_null", 1, [](int*) -> int { return DRIVER(cuLinkCreate)(0, nullptr, nullptr, nullptr); }},
    {"driver_linker_of_no_type", 1,
     [](int*) -> int {
       CUlinkState linker;
       DRIVER(cuLinkCreate)(0, nullptr, nullptr, &linker);
       return DRIVER(cuLinkAddData)(linker, static_cast<CUjitInputType>(77), const_cast<char*>(kAddModule),
                                    sizeof(kAddModule), "add", 0, nullptr, nullptr);
     }},
    {"driver_linker_of_no_file", 301,
     [](int*) -> int {
       CUlinkState linker;
       DRIVER(cuLinkCreate)(0, nullptr, nullptr, &linker);
       return DRIVER(cuLinkAddFile)(linker, CU_JIT_INPUT_PTX, "/no/such/file", 0, nullptr, nullptr);
     }},

    // Names: 1000 + ten times the result, and one where an address came.
    {"proc_address_of_none", 1010, [](int*) -> int { return proc_address("cuNoSuchCall", 12000, 0); }},
    {"proc_address_of_the_runtime", 1010, [](int*) -> int { return proc_address("cudaMalloc", 12000, 0); }},
    {"proc_address_null", 1, [](int*) -> int { return proc_address(nullptr, 12000, 0); }, kCrash},
    {"proc_address_of_no_letters", 1010, [](int*) -> int { return proc_address("", 12000, 0); }},
    {"proc_address_of_no_version", 1001, [](int*) -> int { return proc_address("cuMemAlloc", 0, 0); }, 1020},
    {"proc_address_of_a_far_version", 1, [](int*) -> int { return proc_address("cuMemAlloc", 99990, 0); }},
    {"proc_address_negative_version", 1010, [](int*) -> int { return proc_address("cuMemAlloc", -1, 0); }, 1001},
    {"proc_address_bad_flags", 1, [](int*) -> int { return proc_address("cuMemAlloc", 12000, 0xff00); }},
    {"proc_address_too_new", 1001, [](int*) -> int { return proc_address("cuLibraryLoadData", 11000, 0); }, 1020},

    // Tensor maps.
    {"map_fine", 0, [](int* data) -> int { return encode({}, data); }},
    {"map_of_no_rank", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.rank = 0; }); }},
    {"map_of_rank_six", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.rank = 6; }); }},
    {"map_of_no_type", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.type = 99; }); }},
    {"map_misaligned", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.offset = 8; }); }},
    {"map_of_null", 0, [](int*) -> int { return encode({}, nullptr); }},
    {"map_of_the_host", 0, [](int*) -> int { return encode({}, reinterpret_cast<int*>(reinterpret_cast<std::uintptr_t>(host + 16) & ~std::uintptr_t{63})); }},
    {"map_pitch_of_8", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.pitches[0] = 264; }); }},
    {"map_pitch_huge", 1,
     [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.pitches[0] = cuuint64_t{1} << 40; }); }},
    {"map_pitch_below_the_row", 0,
     [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.pitches[0] = 16; }); }},
    {"map_box_of_none", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.box[1] = 0; }); }},
    {"map_box_of_257", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.box[1] = 257; }); }},
    {"map_box_of_12_bytes", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.box[0] = 3; }); }},
    {"map_extent_of_none", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.extents[1] = 0; }); }},
    {"map_extent_huge", 1,
     [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.extents[1] = (cuuint64_t{1} << 32) + 1; }); }},
    {"map_step_of_none", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.steps[1] = 0; }); }},
    {"map_step_of_nine", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.steps[1] = 9; }); }},
    {"map_interleave_nonsense", 1,
     [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.interleave = 9; }); }},
    {"map_swizzle_nonsense", 801, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.swizzle = 99; }); }, 1},
    {"map_swizzle_of_too_wide_a_box", 1,
     [](int* data) -> int {
       return encode_with(data, [](Tiled& all) { all.box[0] = 64, all.swizzle = CU_TENSOR_MAP_SWIZZLE_128B; });
     }},
    {"map_promotion_nonsense", 1,
     [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.promotion = 9; }); }},
    {"map_fill_nonsense", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.fill = 9; }); }},
    {"map_fill_nan_of_integers", 1, [](int* data) -> int { return encode_with(data, [](Tiled& all) { all.fill = 1; }); }},
    {"map_replaced_null", 1, [](int* data) -> int { return DRIVER(cuTensorMapReplaceAddress)(nullptr, data); }, kCrash},
    {"map_replaced_misaligned", 1,
     [](int* data) -> int {
       CUtensorMap map = {};
       return DRIVER(cuTensorMapReplaceAddress)(&map, reinterpret_cast<char*>(data) + 8);
     }},
};

}  // namespace call_codes
