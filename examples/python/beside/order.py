# SPDX-License-Identifier: Apache-2.0
# Each program reads the element that the one before it writes. See docs/beside.md.
import os

import torch
import triton
import triton.language as tl

DEV = "cpu" if os.environ.get("TRITON_INTERPRET") else "cuda"


@triton.jit
def shift(x, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at + 1, tl.load(x + at))  # reads what the program before it writes


x = torch.arange(4097, device=DEV, dtype=torch.float32)
shift[(4,)](x, BLOCK=1024)
print("right", torch.equal(x[1:].cpu(), torch.arange(4096, dtype=torch.float32)))
