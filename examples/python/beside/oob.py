# SPDX-License-Identifier: Apache-2.0
# A mask with `<=` for `<`: the last program reads and writes one element too many. See docs/beside.md.
import os

import torch
import triton
import triton.language as tl

DEV = "cpu" if os.environ.get("TRITON_INTERPRET") else "cuda"


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at <= n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


n = 5000
x, y = torch.rand(n, device=DEV), torch.rand(n, device=DEV)
out = torch.empty_like(x)
add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
print("equal", torch.equal(out, x + y))
