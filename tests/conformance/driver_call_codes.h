// SPDX-License-Identifier: Apache-2.0
//
// Calls of the driver that a program gets wrong, and modules that no card can run.
// Codes as an H200 gave them (driver 580.159.04, 2026-11-19).
#pragma once

#include "more_call_codes.h"

namespace call_codes {

inline const WrongCall kWrongDriverCalls[] = {
    {"driver_init_bad_flags", 1, [](int*) -> int { return driver<decltype(cuInit)>("cuInit")(1); }},
    {"driver_device_of_no_number", 101,
     [](int*) -> int {
       CUdevice device;
       return driver<decltype(cuDeviceGet)>("cuDeviceGet")(&device, 99);
     }},
    {"driver_name_null", 1,
     [](int*) -> int { return driver<decltype(cuDeviceGetName)>("cuDeviceGetName")(nullptr, 8, 0); }},
    {"driver_context_of_no_device", 101,
     [](int*) -> int {
       CUcontext context;
       return driver<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, 99);
     }},
    {"driver_context_release_of_no_device", 101,
     [](int*) -> int { return driver<decltype(cuDevicePrimaryCtxRelease)>("cuDevicePrimaryCtxRelease")(99); }},
    {"driver_context_state_of_no_device", 101,
     [](int*) -> int {
       unsigned flags;
       int active;
       return driver<decltype(cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState")(99, &flags, &active);
     }},
    {"driver_context_destroy_null", 1,
     [](int*) -> int { return driver<decltype(cuCtxDestroy)>("cuCtxDestroy")(nullptr); }},
    {"driver_context_push_null", 1,
     [](int*) -> int { return driver<decltype(cuCtxPushCurrent)>("cuCtxPushCurrent")(nullptr); }},
    {"driver_without_context", 201,
     [](int*) -> int {
       CUdeviceptr made;
       driver<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(nullptr);
       return driver<decltype(cuMemAlloc)>("cuMemAlloc")(&made, 64);
     }},
    {"runtime_without_context", 0,
     [](int*) -> int {
       void* made;
       driver<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(nullptr);
       return cudaMalloc(&made, 64);
     }},
    {"driver_current_of_none", 1000,
     [](int*) -> int {
       CUcontext context = nullptr;
       driver<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(nullptr);
       const int code = driver<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent")(&context);
       return code != 0 ? code : 1000 + (context == nullptr ? 0 : 1);
     }},
    {"driver_pop_twice", 201,
     [](int*) -> int {
       CUcontext context;
       driver<decltype(cuCtxPopCurrent)>("cuCtxPopCurrent")(&context);
       return driver<decltype(cuCtxPopCurrent)>("cuCtxPopCurrent")(&context);
     }},
    {"driver_function_of_no_name", 500,
     [](int*) -> int {
       CUfunction found;
       return driver<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(&found, add_module(), "nothing");
     }},
    {"driver_function_of_null_name", 1,
     [](int*) -> int {
       CUfunction found;
       return driver<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(&found, add_module(), nullptr);
     }},
    {"driver_function_of_null_module", 400,
     [](int*) -> int {
       CUfunction found;
       return driver<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(&found, nullptr, "add");
     }},
    {"driver_global_of_no_name", 500,
     [](int*) -> int {
       CUdeviceptr found;
       return driver<decltype(cuModuleGetGlobal)>("cuModuleGetGlobal")(&found, nullptr, add_module(), "nothing");
     }},
    {"driver_global_of_a_kernel", 1,
     [](int*) -> int {
       CUdeviceptr found;
       return driver<decltype(cuModuleGetGlobal)>("cuModuleGetGlobal")(&found, nullptr, add_module(), "add");
     }},
    {"driver_unload_null", 400,
     [](int*) -> int { return driver<decltype(cuModuleUnload)>("cuModuleUnload")(nullptr); }},
    {"driver_attribute_of_no_name", 1,
     [](int*) -> int {
       int value;
       return driver<decltype(cuFuncGetAttribute)>("cuFuncGetAttribute")(
           &value, static_cast<CUfunction_attribute>(99), add_function());
     }},
    {"driver_attribute_that_is_read_only", 1,
     [](int*) -> int {
       return driver<decltype(cuFuncSetAttribute)>("cuFuncSetAttribute")(add_function(),
                                                                         CU_FUNC_ATTRIBUTE_NUM_REGS, 4);
     }},
    {"driver_launch_null", 400,
     [](int*) -> int {
       return driver<decltype(cuLaunchKernel)>("cuLaunchKernel")(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                                                                 nullptr);
     }},
    {"driver_launch_tall_grid", 1,
     [](int* data) -> int {
       void* arguments[] = {&data};
       return driver<decltype(cuLaunchKernel)>("cuLaunchKernel")(add_function(), 1, 65536, 1, 1, 1, 1, 0, nullptr,
                                                                 arguments, nullptr);
     }},
    {"driver_launch_two_ways", 1,
     [](int* data) -> int {
       void* arguments[] = {&data};
       std::size_t bytes = sizeof(data);
       void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &data, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                        CU_LAUNCH_PARAM_END};
       return driver<decltype(cuLaunchKernel)>("cuLaunchKernel")(add_function(), 1, 1, 1, 1, 1, 1, 0, nullptr,
                                                                 arguments, extra);
     }},
    {"driver_launch_short_buffer", 1,
     [](int* data) -> int {
       std::size_t bytes = 4;
       void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &data, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                        CU_LAUNCH_PARAM_END};
       return driver<decltype(cuLaunchKernel)>("cuLaunchKernel")(add_function(), 1, 1, 1, 1, 1, 1, 0, nullptr,
                                                                 nullptr, extra);
     },
     0},
    {"driver_malloc_zero", 1,
     [](int*) -> int {
       CUdeviceptr made;
       return driver<decltype(cuMemAlloc)>("cuMemAlloc")(&made, 0);
     }},
    {"driver_managed_bad_flags", 1,
     [](int*) -> int {
       CUdeviceptr made;
       return driver<decltype(cuMemAllocManaged)>("cuMemAllocManaged")(&made, 64, 0);
     }},
    {"driver_host_alloc_bad_flags", 1,
     [](int*) -> int {
       void* made;
       return driver<decltype(cuMemHostAlloc)>("cuMemHostAlloc")(&made, 64, 0x100);
     }},
    {"driver_pitch_of_threes", 1,
     [](int*) -> int {
       CUdeviceptr made;
       std::size_t pitch;
       return driver<decltype(cuMemAllocPitch)>("cuMemAllocPitch")(&made, &pitch, 64, 4, 3);
     }},
    {"driver_free_null", 0, [](int*) -> int { return driver<decltype(cuMemFree)>("cuMemFree")(0); }},
    {"driver_free_inside", 1,
     [](int* data) -> int {
       return driver<decltype(cuMemFree)>("cuMemFree")(reinterpret_cast<CUdeviceptr>(data) + 4);
     }},
    {"driver_range_of_the_host", 500,
     [](int*) -> int {
       CUdeviceptr begin;
       std::size_t bytes;
       return driver<decltype(cuMemGetAddressRange)>("cuMemGetAddressRange")(&begin, &bytes,
                                                                             reinterpret_cast<CUdeviceptr>(host));
     }},
    {"driver_attribute_of_the_host", 1,
     [](int*) -> int {
       std::uint64_t value;
       return driver<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute")(
           &value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(host));
     }},
    {"driver_pointer_attribute_of_no_name", 1,
     [](int* data) -> int {
       std::uint64_t value;
       return driver<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute")(
           &value, static_cast<CUpointer_attribute>(99), reinterpret_cast<CUdeviceptr>(data));
     }},
    {"driver_fill_misaligned", 1,
     [](int* data) -> int {
       return driver<decltype(cuMemsetD32)>("cuMemsetD32")(reinterpret_cast<CUdeviceptr>(data) + 1, 0, 4);
     }},
    {"driver_copy_to_null", 1,
     [](int*) -> int { return driver<decltype(cuMemcpyHtoD)>("cuMemcpyHtoD")(0, host, 4); }},
    {"driver_copy_2d_null", 1, [](int*) -> int { return driver<decltype(cuMemcpy2D)>("cuMemcpy2D")(nullptr); }},
    {"driver_stream_bad_flags", 1,
     [](int*) -> int {
       CUstream made;
       return driver<decltype(cuStreamCreate)>("cuStreamCreate")(&made, 8);
     }},
    {"driver_event_bad_flags", 1,
     [](int*) -> int {
       CUevent made;
       return driver<decltype(cuEventCreate)>("cuEventCreate")(&made, 64);
     }},
    {"driver_event_record_null", 400,
     [](int*) -> int { return driver<decltype(cuEventRecord)>("cuEventRecord")(nullptr, nullptr); }},
    {"driver_limit_of_no_name", 1,
     [](int*) -> int { return driver<decltype(cuCtxSetLimit)>("cuCtxSetLimit")(static_cast<CUlimit>(99), 4); }},
    {"driver_error_of_no_name", 1,
     [](int*) -> int {
       const char* text;
       return driver<decltype(cuGetErrorName)>("cuGetErrorName")(static_cast<CUresult>(12345), &text);
     }},
    {"driver_tensor_map_null", 1,
     [](int* data) -> int {
       const cuuint64_t extents[] = {64}, pitches[] = {256};
       const cuuint32_t box[] = {64}, steps[] = {1};
       return driver<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled")(
           nullptr, CU_TENSOR_MAP_DATA_TYPE_INT32, 1, data, extents, pitches, box, steps,
           CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
     }},
    {"module_of_an_empty_text", 200, [](int*) -> int { return load_module(""); }},
    {"module_of_nothing_but_a_head", 0, [](int*) -> int { return load_text(""); }},
    {"module_of_an_elf_head", 200,
     [](int*) -> int {
       static char image[4096] = "\177ELF\2\1\1";
       return load_module(image);
     }},
    {"module_of_a_fat_head", 209,
     [](int*) -> int {
       static const std::uint32_t image[1024] = {0xBA55'ED50, 0x0010'0001};
       return load_module(image);
     }},
    {"module_for_another_card", 218,
     [](int*) -> int { return load_module(".version 8.7\n.target sm_100a\n.address_size 64\n"); }},
    {"module_of_two_of_a_name", 218,
     [](int*) -> int { return load_text(".visible .entry a()\n{\nret;\n}\n.visible .entry a()\n{\nret;\n}\n"); }},
    {"module_of_two_variables_of_a_name", 218,
     [](int*) -> int { return load_text(".global .b32 a;\n.global .b32 a;\n"); }},
    {"module_of_a_missing_label", 218,
     [](int*) -> int { return load_text(".visible .entry a()\n{\nbra nowhere;\n}\n"); }},
    {"module_of_a_missing_register", 218,
     [](int*) -> int { return load_text(".visible .entry a()\n{\nmov.u32 %r1, 1;\nret;\n}\n"); }},
    {"module_of_an_open_brace", 218, [](int*) -> int { return load_text(".visible .entry a()\n{\nret;\n"); }},
    {"module_of_a_function_without_body", 0,
     [](int*) -> int { return load_text(".extern .func f();\n.visible .entry a()\n{\ncall f;\nret;\n}\n"); },
     218},
    {"module_of_too_much_shared", 218,
     [](int*) -> int {
       return load_text(".visible .entry a()\n{\n.shared .b8 x[300000];\nst.shared.u8 [x], 1;\nret;\n}\n");
     }},
    {"module_of_too_much_local", 218,
     [](int*) -> int {
       return load_text(".visible .entry a()\n{\n.local .b8 x[16777216];\nst.local.u8 [x], 1;\nret;\n}\n");
     },
     0},
    {"module_of_a_huge_variable", 218,
     [](int*) -> int { return load_text(".visible .global .b8 x[1099511627776];\n"); }, 2},
    {"module_of_bad_letters", 218,
     [](int*) -> int { return load_text(".visible .entry \xff\xfe()\n{\nret;\n}\n"); }},
    {"module_of_a_variable_of_itself", 0, [](int*) -> int { return load_text(".visible .global .u64 a = a;\n"); },
     218},
    {"module_of_too_many_initial_values", 218,
     [](int*) -> int { return load_text(".visible .global .u32 a[2] = {1, 2, 3};\n"); }},
    {"module_of_a_negative_array", 218, [](int*) -> int { return load_text(".visible .global .u32 a[-1];\n"); }},
    {"module_of_an_alignment_of_three", 218,
     [](int*) -> int { return load_text(".visible .global .align 3 .b8 a[4];\n"); }},
    {"module_of_a_call_to_itself", 0,
     [](int*) -> int {
       return load_text(".func f()\n{\ncall f;\nret;\n}\n.visible .entry a()\n{\ncall f;\nret;\n}\n");
     }},
};

}  // namespace call_codes
