# SPDX-License-Identifier: Apache-2.0
# Legal where both programs are resident: program 0 waits for what program 1 sets. See docs/beside.md.
import os

import torch
import triton
import triton.language as tl

DEV = "cpu" if os.environ.get("TRITON_INTERPRET") else "cuda"


@triton.jit
def wait(flag, out):
    if tl.program_id(0) == 0:
        while tl.atomic_add(flag, 0) == 0:
            pass
        tl.store(out, 1)
    else:
        tl.atomic_xchg(flag, 1)


flag, out = (torch.zeros(1, device=DEV, dtype=torch.int32) for _ in range(2))
wait[(2,)](flag, out)
print("out", out.item())
