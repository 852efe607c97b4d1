# SPDX-License-Identifier: Apache-2.0
"""CUDA's driver by ctypes, for programs that `heddle exec` runs: enough to launch a kernel."""

import ctypes


def _call(name, *arguments):
    code = getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name}: code {code}")


def launch(ptx, kernel, threads, words=64):
    """Runs a kernel whose parameter is an array of `words` numbers, and returns them."""
    context, module, function, memory = (ctypes.c_void_p() for _ in range(4))
    _call("cuInit", 0)
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    _call("cuCtxSetCurrent", context)
    _call("cuModuleLoadData", ctypes.byref(module), ptx.encode())
    _call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
    _call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4 * words))
    _call("cuMemsetD32_v2", memory, 0, ctypes.c_size_t(words))
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    _call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, arguments, None)
    out = (ctypes.c_uint32 * words)()
    _call("cuMemcpyDtoH_v2", out, memory, ctypes.c_size_t(4 * words))
    return list(out)
