# SPDX-License-Identifier: Apache-2.0
"""Kernels that Triton has compiled, launched on arrays without PyTorch's CUDA, and without `heddle exec`."""

import unittest

import heddle
import torch
import triton
import triton.language as tl
from heddle.triton_cublas import CublasLt
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def scale_kernel(x, factor, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n)
    tl.store(x + offsets, values * factor, mask=offsets < n)


@triton.jit
def reverse_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + BLOCK - 1 - offsets, tl.cumsum(tl.load(x + offsets), 0))


def compiled(kernel, signature, capability, **constants):
    source = ASTSource(kernel, {**signature, **{name: "constexpr" for name in constants}}, constants)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32))


class Compiled(unittest.TestCase):
    def test_both_architectures(self):
        for capability in (90, 100):
            kernel = heddle.load(
                compiled(scale_kernel, {"x": "*fp32", "factor": "fp32", "n": "i32"}, capability, BLOCK=256)
            )
            x = torch.arange(600.0)
            self.assertTrue(kernel[(3,)](x, 2.5, 600, schedules=2).ok)
            torch.testing.assert_close(x, torch.arange(600.0) * 2.5)

    def test_shared_memory_and_warps_are_the_kernels_own(self):
        kernel = heddle.load(compiled(reverse_kernel, {"x": "*i32", "out": "*i32"}, 90, BLOCK=512))
        x, out = torch.ones(512, dtype=torch.int32), torch.zeros(512, dtype=torch.int32)
        kernel[1](x, out)
        self.assertEqual(out.tolist(), list(range(512, 0, -1)))

    def test_a_mistake_has_the_line_of_the_script(self):
        kernel = heddle.load(compiled(scale_kernel, {"x": "*fp32", "factor": "fp32", "n": "i32"}, 100, BLOCK=256))
        with self.assertRaises(heddle.KernelError) as caught:
            kernel[(3,)](torch.zeros(600), 2.5, 601)
        finding = caught.exception.report.findings[0]
        self.assertEqual((finding.code, finding.file), ("global_out_of_bounds", "triton_test.py"))
        kernel[(3,)](torch.zeros(600), 2.5, 600)

    def test_numbers_are_judged(self):
        kernel = heddle.load(compiled(scale_kernel, {"x": "*fp32", "factor": "fp32", "n": "i32"}, 100, BLOCK=256))
        with self.assertRaisesRegex(TypeError, "scale_kernel takes 5 arguments, and got 2"):
            kernel[(3,)](torch.zeros(600), 2.5)


def tiled(scales):
    """As cuBLAS wants scales: 32 x 4 x 4 of each 128 x 4."""
    rows, columns = scales.shape
    tiles = torch.zeros(rows * columns, dtype=torch.uint8)
    for r in range(rows):
        for c in range(columns):
            tile = r // 128 * (columns // 4) + c // 4
            tiles[512 * tile + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scales[r, c]
    return tiles


class Blas(unittest.TestCase):
    """What stands for Triton's handle of cuBLASLt under `heddle exec`."""

    def setUp(self):
        torch.manual_seed(3)
        self.blas = CublasLt(torch.empty(0))

    def test_sums_and_products(self):
        a, b, c = (torch.randn(shape).half() for shape in ((8, 16), (4, 16), (8, 4)))
        d = torch.empty(8, 4, dtype=torch.float16)
        self.blas.matmul(a, b, d)
        torch.testing.assert_close(d, (a.double() @ b.double().T).half(), atol=1e-2, rtol=1e-2)
        self.blas.gemm(a, b, c, d, 2.0, -1.0)
        torch.testing.assert_close(d, (2 * (a.double() @ b.double().T) - c).half(), atol=1e-2, rtol=1e-2)

    def test_scales_lie_in_tiles(self):
        a, b = (torch.randn(rows, 256).to(torch.float8_e4m3fn) for rows in (256, 128))
        scales = [torch.randint(124, 131, (side.shape[0], 8), dtype=torch.uint8) for side in (a, b)]
        wide = [
            side.double() * 2.0 ** (scale.double() - 127).repeat_interleave(32, 1)
            for side, scale in zip((a, b), scales)
        ]
        d = torch.empty(256, 128)
        self.blas.block_scaled_matmul_mxfp8(a, b, d, *(tiled(scale) for scale in scales))
        torch.testing.assert_close(d, (wide[0] @ wide[1].T).float(), atol=1e-2, rtol=1e-3)

    def test_two_numbers_to_a_byte(self):
        numbers = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6]
        codes = torch.randint(0, 16, (128, 64))
        packed = (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8)
        scale = torch.full((128, 4), 0x40, dtype=torch.uint8)  # 2 in e4m3
        wide = 2 * torch.tensor(numbers, dtype=torch.float64)[codes]
        d = torch.empty(128, 128)
        self.blas.block_scaled_matmul_nvfp4(packed, packed, d, tiled(scale), tiled(scale))
        torch.testing.assert_close(d, (wide @ wide.T).float())


if __name__ == "__main__":
    unittest.main()
