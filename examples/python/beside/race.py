# SPDX-License-Identifier: Apache-2.0
# Four programs add to one element by load and store. See docs/beside.md.
import os

import torch
import triton
import triton.language as tl

DEV = "cpu" if os.environ.get("TRITON_INTERPRET") else "cuda"


@triton.jit
def total(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out, tl.load(out) + tl.sum(tl.load(x + at)))


x = torch.ones(4096, device=DEV)
out = torch.zeros(1, device=DEV)
total[(4,)](x, out, BLOCK=1024)
print("sum", out.item())
