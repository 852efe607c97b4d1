# SPDX-License-Identifier: Apache-2.0
"""Triton's handle of cuBLAS on the simulated card.

cuBLAS is machine code, which cannot be run, so it cannot be created; Triton does not look at that and destroys what was never
made when the program ends, which crashes. In its place is a handle that can be made, and refuses what it is asked to do.
"""


class CublasLt:
    """Stands for triton._C.libtriton.nvidia.cublas.CublasLt."""

    def __init__(self, workspace=None):
        self._workspace = workspace

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotImplementedError(
            f"CublasLt.{name}: cuBLAS is machine code, which the simulated card cannot run; torch.matmul runs on the CPU"
        )


def install(libtriton):
    """`libtriton` is the module triton._C.libtriton."""
    cublas = getattr(getattr(libtriton, "nvidia", None), "cublas", None)
    if hasattr(cublas, "CublasLt"):
        cublas.CublasLt = CublasLt
