# Adds two vectors with a kernel of Triton's, and compares with PyTorch:
#   heddle exec --arch sm100 python add.py
# [add]
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    sums = tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, sums, mask=mask)


x = torch.rand(5000, device="cuda")
y = 2 * torch.rand(5000, device="cuda")
out = torch.empty_like(x)
add_kernel[(triton.cdiv(5000, 1024),)](x, y, out, 5000, BLOCK=1024)
assert torch.equal(out, x + y)
print("the sums are right")
# [add]
