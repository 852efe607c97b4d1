# SPDX-License-Identifier: Apache-2.0
"""Tools that compile kernels while a program runs, under `heddle exec`: tools_test.py TOOL. A first kernel and one with
shared memory, atomics or a reduction, each compared with numpy."""

import sys

import numpy as np

N = 1000
VALUES = np.arange(N, dtype=np.float32)

ADD = r"""extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}"""
SUM = r"""extern "C" __global__ void sum(const float* a, float* out, int n) {
  __shared__ float parts[8];
  float part = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) part += a[i];
  for (int o = 16; o; o /= 2) part += __shfl_down_sync(~0u, part, o);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = part;
  __syncthreads();
  if (threadIdx.x == 0) { float all = 0; for (int i = 0; i < 8; ++i) all += parts[i]; *out = all; }
}"""


def numba():
    from numba import cuda, float32

    @cuda.jit
    def add(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    @cuda.jit
    def matmul(a, b, c):
        tile_a = cuda.shared.array((16, 16), float32)
        tile_b = cuda.shared.array((16, 16), float32)
        column, row = cuda.grid(2)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for k in range(a.shape[1] // 16):
            tile_a[y, x] = a[row, x + k * 16]
            tile_b[y, x] = b[y + k * 16, column]
            cuda.syncthreads()
            for j in range(16):
                total += tile_a[y, j] * tile_b[j, x]
            cuda.syncthreads()
        c[row, column] = total

    sums = cuda.device_array(N, np.float32)
    add[8, 128](cuda.to_device(VALUES), cuda.to_device(VALUES), sums)
    assert (sums.copy_to_host() == 2 * VALUES).all()
    a, b = np.random.default_rng(1).random((2, 64, 64), dtype=np.float32)
    product = cuda.device_array((64, 64), np.float32)
    matmul[(4, 4), (16, 16)](cuda.to_device(a), cuda.to_device(b), product)
    np.testing.assert_allclose(product.copy_to_host(), a @ b, rtol=1e-4)


def cupy():
    import cupy as cp

    values = cp.asarray(VALUES)
    sums = cp.zeros(N, cp.float32)
    cp.RawKernel(ADD, "add")((8,), (128,), (values, values, sums, np.int32(N)))
    assert (cp.asnumpy(sums) == 2 * VALUES).all()
    total = cp.zeros(1, cp.float32)
    cp.RawKernel(SUM, "sum")((1,), (256,), (values, total, np.int32(N)))
    assert float(cp.asnumpy(total)[0]) == VALUES.sum()
    np.testing.assert_allclose(cp.asnumpy(cp.sqrt(values) + 1), np.sqrt(VALUES) + 1, rtol=1e-6)
    assert float(values.sum()) == VALUES.sum()


def cuda_core():
    from cuda.bindings import driver, runtime
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

    device = Device()
    device.set_current()
    stream = device.create_stream()
    arch = "".join(str(part) for part in device.compute_capability)

    def kernel(source, name):
        program = Program(source, code_type="c++", options=ProgramOptions(arch=f"sm_{arch}"))
        return program.compile("cubin").get_kernel(name)

    def allocate(size):
        error, pointer = driver.cuMemAlloc(size)
        assert error == 0
        return int(pointer)

    values, sums, total = allocate(4 * N), allocate(4 * N), allocate(4)
    found = np.zeros(N, np.float32)
    driver.cuMemcpyHtoD(values, VALUES.ctypes.data, 4 * N)
    launch(stream, LaunchConfig(grid=8, block=128), kernel(ADD, "add"), values, values, sums, np.int32(N))
    launch(stream, LaunchConfig(grid=1, block=256), kernel(SUM, "sum"), values, total, np.int32(N))
    stream.sync()
    driver.cuMemcpyDtoH(found.ctypes.data, sums, 4 * N)
    assert (found == 2 * VALUES).all()
    driver.cuMemcpyDtoH(found.ctypes.data, total, 4)
    assert found[0] == VALUES.sum()
    # The runtime that cuda.bindings has linked in, and stripped.
    error, properties = runtime.cudaGetDeviceProperties(0)
    assert error == 0 and properties.name.startswith(b"heddle simulated"), error
    error, pointer = runtime.cudaMalloc(100)
    assert error == 0 and runtime.cudaFree(pointer)[0] == 0


def warp():
    import warp as wp

    wp.config.quiet = True

    @wp.kernel
    def add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
        i = wp.tid()
        c[i] = a[i] + b[i]

    @wp.kernel
    def squares(vectors: wp.array(dtype=wp.vec3), total: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(total, 0, wp.dot(vectors[i], vectors[i]))

    values = wp.array(VALUES, device="cuda")
    sums = wp.zeros(N, dtype=float, device="cuda")
    wp.launch(add, N, inputs=[values, values, sums], device="cuda")
    assert (sums.numpy() == 2 * VALUES).all()
    vectors = np.random.default_rng(1).random((N, 3), dtype=np.float32)
    total = wp.zeros(1, dtype=float, device="cuda")
    wp.launch(squares, N, inputs=[wp.array(vectors, dtype=wp.vec3, device="cuda"), total], device="cuda")
    np.testing.assert_allclose(total.numpy()[0], (vectors * vectors).sum(), rtol=1e-4)


def cutlass():
    import cutlass.cute as cute
    from cuda.bindings import driver
    from cutlass.cute.runtime import make_ptr
    import cutlass as c

    @cute.kernel
    def add(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
        x, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        size, _, _ = cute.arch.block_dim()
        i = block * size + x
        if i < cute.size(out):
            out[i] = a[i] + b[i]

    @cute.jit
    def run(a: cute.Pointer, b: cute.Pointer, out: cute.Pointer):
        layout = cute.make_layout(N)
        tensors = [cute.make_tensor(pointer, layout) for pointer in (a, b, out)]
        add(*tensors).launch(grid=(8, 1, 1), block=(128, 1, 1))

    c.cuda.initialize_cuda_context()
    addresses = []
    for _ in range(2):
        error, address = driver.cuMemAlloc(4 * N)
        assert error == 0
        addresses.append(int(address))
    driver.cuMemcpyHtoD(addresses[0], VALUES.ctypes.data, 4 * N)
    pointers = [make_ptr(c.Float32, address, cute.AddressSpace.gmem) for address in addresses]
    run(pointers[0], pointers[0], pointers[1])
    found = np.zeros(N, np.float32)
    assert driver.cuMemcpyDtoH(found.ctypes.data, addresses[1], 4 * N)[0] == 0
    assert (found == 2 * VALUES).all()



def tilelang():
    import tilelang as tl
    import tilelang.language as T
    import torch

    @tl.jit(out_idx=[-1])
    def add(n: int):
        @T.prim_func
        def main(a: T.Tensor((n,), "float32"), b: T.Tensor((n,), "float32"), sums: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, 128), threads=128) as block:
                for i in T.Parallel(128):
                    if block * 128 + i < n:
                        sums[block * 128 + i] = a[block * 128 + i] + b[block * 128 + i]

        return main

    @tl.jit(out_idx=[-1])
    def softmax(rows: int, columns: int):
        @T.prim_func
        def main(x: T.Tensor((rows, columns), "float32"), out: T.Tensor((rows, columns), "float32")):
            with T.Kernel(rows, threads=128) as row:
                values = T.alloc_fragment((1, columns), "float32")
                number = T.alloc_fragment((1,), "float32")
                T.copy(x[row, 0], values)
                T.reduce_max(values, number, dim=1)
                for i, j in T.Parallel(1, columns):
                    values[i, j] = T.exp(values[i, j] - number[i])
                T.reduce_sum(values, number, dim=1)
                for i, j in T.Parallel(1, columns):
                    values[i, j] = values[i, j] / number[i]
                T.copy(values, out[row, 0])

        return main

    values = torch.from_numpy(VALUES).cuda()
    assert torch.equal(add(N)(values, values), 2 * values)
    x = torch.randn(4, 256, device="cuda")
    torch.testing.assert_close(softmax(4, 256)(x), torch.softmax(x, 1))


if __name__ == "__main__":
    {"numba": numba, "cupy": cupy, "cuda.core": cuda_core, "warp": warp, "cutlass": cutlass, "tilelang": tilelang}[sys.argv[1]]()
    print(f"{sys.argv[1]} agrees with numpy")
