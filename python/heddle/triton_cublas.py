# SPDX-License-Identifier: Apache-2.0
"""Triton's handle of cuBLAS on the simulated card.

cuBLAS is machine code, which cannot be run, so it cannot be created; Triton does not look at that and destroys what was never
made when the program ends, which crashes. In its place is a handle that multiplies the same tensors by PyTorch, and refuses
what it does not know.
"""

_FP4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def _scales(scales, rows, columns):
    """Rows x columns of scales out of cuBLAS's tiles of 128 x 4, of which a row of tiles lies together."""
    import torch

    tiles = scales.flatten().view(torch.uint8).reshape(-(-rows // 128), -(-columns // 4), 32, 4, 4)
    return tiles.permute(0, 3, 2, 1, 4).reshape(-(-rows // 128) * 128, -1)[:rows, :columns].contiguous()


def _unpacked(fp4):
    """Two numbers of each byte, the lower half first."""
    import torch

    table = torch.tensor(_FP4 + [-x for x in _FP4], device=fp4.device)
    codes = torch.stack([fp4 & 15, fp4 >> 4], dim=-1).flatten(-2)
    return table[codes.long()]


class CublasLt:
    """Stands for triton._C.libtriton.nvidia.cublas.CublasLt: D = A B^T, both with rows of K."""

    def __init__(self, workspace=None):
        self._workspace = workspace

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotImplementedError(
            f"CublasLt.{name}: cuBLAS is machine code, which the simulated card cannot run; torch.matmul runs on the CPU"
        )

    def matmul(self, a, b, c):
        c.copy_(a.float() @ b.float().T)

    def gemm(self, a, b, c, d, alpha, beta):
        d.copy_(alpha * (a.float() @ b.float().T) + beta * c.float())

    def block_scaled_matmul_mxfp8(self, a, b, output, scale_a, scale_b):
        import torch

        sides = []
        for side, scales in ((a, scale_a), (b, scale_b)):
            exponents = _scales(scales, side.shape[0], side.shape[1] // 32).float() - 127
            sides.append(side.float() * torch.exp2(exponents).repeat_interleave(32, dim=1))
        output.copy_(sides[0] @ sides[1].T)

    def block_scaled_matmul_nvfp4(self, a, b, output, scale_a, scale_b):
        import torch

        sides = []
        for side, scales in ((a, scale_a), (b, scale_b)):
            numbers = _unpacked(side.view(torch.uint8))
            factors = _scales(scales, numbers.shape[0], numbers.shape[1] // 16).view(torch.float8_e4m3fn).float()
            sides.append(numbers * factors.repeat_interleave(16, dim=1))
        output.copy_(sides[0] @ sides[1].T)


def install(libtriton):
    """`libtriton` is the module triton._C.libtriton."""
    cublas = getattr(getattr(libtriton, "nvidia", None), "cublas", None)
    if hasattr(cublas, "CublasLt"):
        cublas.CublasLt = CublasLt
