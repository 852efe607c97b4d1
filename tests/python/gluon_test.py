# SPDX-License-Identifier: Apache-2.0
"""A Gluon kernel with planted mistakes, each reported with the line of this file, and its twin without.

Run by `heddle exec python gluon_test.py`.
"""

import pathlib
import unittest

import torch
from heddle import card
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

TILE = 64


@gluon.jit
def negate_kernel(source, target, count, MISTAKE: gl.constexpr):
    """target = -source, tile by tile: the copy engine loads and stores, threads compute."""
    tile = gl.allocate_shared_memory(source.dtype, source.block_type.shape, source.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    if MISTAKE != "no init":
        mbarrier.init(full, count=1)
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    row = gl.program_id(0) * 64
    mbarrier.expect(full, source.block_type.nbytes + (16 if MISTAKE == "long expect" else 0))
    if MISTAKE == "second arrival":
        mbarrier.arrive(full, count=1)
    tma.async_load(source, [row, 0], full, tile)
    if MISTAKE != "no wait":
        mbarrier.wait(full, phase=0)
    values = tile.load(layout)
    tile.store(-values)
    fence_async_shared()
    tma.async_store(target, [row, 0], tile)
    if MISTAKE != "no store wait":
        tma.store_wait(0)
    if MISTAKE == "bad address":
        gl.store(count + gl.num_programs(0), 1)
    else:
        gl.store(count + gl.program_id(0), 1)


# The code of each, and what the line that it names begins with.
EXPECTED = {
    "no init": ("uninitialised_barrier", "mbarrier.expect("),
    "long expect": ("deadlock", "mbarrier.wait("),
    "second arrival": ("over_arrival", "mbarrier.arrive("),
    "no wait": ("race", "tile.store("),
    "no store wait": ("exit_in_flight", "tma.async_store("),  # formal: Triton's own kernels do it
    "bad address": ("global_out_of_bounds", "gl.store(count + gl.num_programs(0)"),
}


def launch(mistake):
    """The reports of a launch, and whether its output is right."""
    layout = gl.NVMMASharedLayout.get_default_for([TILE, TILE], gl.float16)
    source = torch.randn(2 * TILE, TILE, dtype=torch.float16, device="cuda")
    target, count = torch.zeros_like(source), torch.zeros(2, dtype=torch.int32, device="cuda")
    descriptors = [TensorDescriptor.from_tensor(one, [TILE, TILE], layout) for one in (source, target)]
    negate_kernel[(2,)](*descriptors, count, mistake, num_warps=4)
    reports = card.take_reports()
    card.mend()
    return reports, torch.equal(target, -source)


class Gluon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        card.keep_reports()

    def test_each_mistake_is_reported_with_its_line(self):
        source = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
        for mistake, (code, line) in EXPECTED.items():
            with self.subTest(mistake=mistake):
                reports, _ = launch(mistake)
                self.assertEqual(len(reports), 1)
                found = [one for one in reports[0].findings if one.code == code]
                self.assertEqual([one.file for one in found], ["gluon_test.py"], str(reports[0]))
                named = source[found[0].line - 1].strip()
                self.assertTrue(named.startswith(line), f"{named}\n{reports[0]}")
                self.assertEqual(found[0].has_stopped, code != "exit_in_flight")

    def test_without_a_mistake_nothing_stops_it(self):
        reports, is_right = launch("none")
        self.assertTrue(is_right)
        codes = {code for code, _ in EXPECTED.values()}
        told = [one for report in reports for one in report.findings if one.code in codes]
        self.assertEqual(told, [])


if __name__ == "__main__":
    unittest.main()
