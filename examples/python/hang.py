# SPDX-License-Identifier: Apache-2.0
"""A Gluon kernel that hangs on a card: one warp loads tiles into a ring of two stages, four others add them up.

    heddle exec --arch sm90 python hang.py           # says why
    heddle exec --arch sm90 python hang.py mended
"""
import sys

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

TILE, STAGES = 64, 2


@gluon.jit
def load(source, tiles, full, empty, count, STAGES: gl.constexpr):
    for i in range(count):
        stage = i % STAGES
        mbarrier.wait(empty.index(stage), (i // STAGES & 1) ^ 1)
        mbarrier.expect(full.index(stage), source.block_type.nbytes)
        tma.async_load(source, [i * 64, 0], full.index(stage), tiles.index(stage))


@gluon.jit
def add(target, tiles, full, empty, count, STAGES: gl.constexpr, GIVES_BACK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    sums = gl.zeros([64, 64], gl.float32, layout)
    for i in range(count):
        stage = i % STAGES
        mbarrier.wait(full.index(stage), i // STAGES & 1)
        sums += tiles.index(stage).load(layout).to(gl.float32)
        if GIVES_BACK:
            mbarrier.arrive(empty.index(stage), count=1)
    rows = gl.arange(0, 64, gl.SliceLayout(1, layout))[:, None]
    cols = gl.arange(0, 64, gl.SliceLayout(0, layout))[None, :]
    gl.store(target + rows * 64 + cols, sums)


@gluon.jit
def sum_tiles(source, target, count, STAGES: gl.constexpr, GIVES_BACK: gl.constexpr):
    tiles = gl.allocate_shared_memory(source.dtype, [STAGES] + source.block_type.shape, source.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    gl.warp_specialize(
        [(add, (target, tiles, full, empty, count, STAGES, GIVES_BACK)), (load, (source, tiles, full, empty, count, STAGES))],
        [1], [24])


gives_back = sys.argv[1:] == ["mended"]
source = torch.ones(8 * TILE, TILE, dtype=torch.float16, device="cuda")
target = torch.zeros(TILE, TILE, device="cuda")
layout = gl.NVMMASharedLayout.get_default_for([TILE, TILE], gl.float16)
sum_tiles[(1,)](TensorDescriptor.from_tensor(source, [TILE, TILE], layout), target, 8, STAGES, gives_back, num_warps=4)
assert torch.equal(target.cpu(), torch.full((TILE, TILE), 8.0))
print("the sums are right")
