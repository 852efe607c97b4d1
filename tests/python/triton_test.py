# SPDX-License-Identifier: Apache-2.0
"""Kernels that Triton has compiled, launched on arrays without PyTorch's CUDA, and without `heddle exec`."""

import unittest

import heddle
import torch
import triton
import triton.language as tl
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


if __name__ == "__main__":
    unittest.main()
