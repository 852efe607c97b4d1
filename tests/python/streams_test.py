# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton's on PyTorch's streams. Run by `heddle exec python streams_test.py`."""

import contextlib
import unittest

import torch
import triton
import triton.language as tl
from heddle import card


@triton.jit
def fill_kernel(out, value, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), value + tl.zeros([BLOCK], tl.float32))


@triton.jit
def copy_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets))


def hand_over(waits):
    """One stream fills, another copies; between the two a tensor comes and goes, which orders nothing."""
    x, out = torch.zeros(128, device="cuda"), torch.zeros(128, device="cuda")
    torch.cuda.synchronize()
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        fill_kernel[(1,)](x, 3.0, BLOCK=128)
        torch.empty(1000, device="cuda")
    if waits:
        second.wait_stream(first)
    with contextlib.suppress(RuntimeError):  # of a card that a kernel broke
        with torch.cuda.stream(second):
            copy_kernel[(1,)](x, out, BLOCK=128)
    reports = card.take_reports()
    card.mend()
    return [one.code for report in reports for one in report.stopped], out


def add_beside(waits):
    """One stream fills; another adds, with an operator of PyTorch's."""
    x = torch.zeros(128, device="cuda")
    torch.cuda.synchronize()
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        fill_kernel[(1,)](x, 3.0, BLOCK=128)
    if waits:
        second.wait_stream(first)
    with torch.cuda.stream(second):
        return x + 1


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        card.keep_reports()

    def test_streams_that_nothing_orders(self):
        self.assertEqual(hand_over(waits=False)[0], ["global_race"])

    def test_operator_beside_a_kernel(self):
        with self.assertRaisesRegex(RuntimeError, "unspecified launch failure"):
            add_beside(waits=False)
        self.assertEqual([one.stopped[0].code for one in card.take_reports()], ["global_race"])
        card.mend()

    def test_operator_that_waits_for_a_kernel(self):
        self.assertEqual(add_beside(waits=True).sum().item(), 4 * 128)

    def test_copy_to_the_host_waits(self):
        x = torch.zeros(128, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            fill_kernel[(1,)](x, 3.0, BLOCK=128)
            x.cpu()
        with torch.cuda.stream(torch.cuda.Stream()):
            self.assertEqual((x + 1).sum().item(), 4 * 128)

    def test_tensors_of_a_broken_card_are_freed(self):
        x = torch.ones(1000, device="cuda") + 1
        fill_kernel[(1,)](torch.empty(100, device="cuda"), 3.0, BLOCK=128)  # 28 too many
        del x  # PyTorch ends the process if this fails
        with self.assertRaisesRegex(RuntimeError, "illegal memory access"):
            torch.ones(1, device="cuda")
        self.assertEqual([one.stopped[0].code for one in card.take_reports()], ["global_out_of_bounds"])
        card.mend()
        self.assertEqual(torch.ones(2, device="cuda").sum().item(), 2)

    def test_cublas_can_be_made_and_refuses_what_it_does_not_know(self):
        from triton._C.libtriton import nvidia

        handle = nvidia.cublas.CublasLt(torch.empty(16, device="cuda"))  # Triton's own ends the process with a crash
        with self.assertRaisesRegex(NotImplementedError, "CublasLt.convolve: cuBLAS is machine code"):
            handle.convolve(None, None, None)

    def test_streams_that_wait(self):
        codes, out = hand_over(waits=True)
        torch.cuda.synchronize()  # the comparison is in another stream
        self.assertEqual(codes, [])
        self.assertTrue(torch.equal(out, torch.full((128,), 3.0, device="cuda")))


if __name__ == "__main__":
    unittest.main()
