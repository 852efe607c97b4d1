# SPDX-License-Identifier: Apache-2.0
"""heddle: GPU kernels for Hopper and Blackwell in a simulated SM, without a GPU.

    import heddle, numpy
    x = numpy.arange(1024, dtype=numpy.float32)
    heddle.load("scale.ptx")["scale"][(8,), (128,)](x, 2.0, x.size)

Programs that launch kernels by themselves (Triton, PyTorch) are run by `heddle exec python script.py`, and test
suites by `pytest --heddle sm100`. docs/python.md has the guide.
"""

from . import _library
from .ptx import Kernel, Module, load
from .report import Finding, Involved, KernelError, Place, Report
from .tensor_map import TensorMap

__all__ = ["Finding", "Involved", "Kernel", "KernelError", "Module", "Place", "Report", "TensorMap", "load"]


def __getattr__(name):
    if name == "device":  # of torch.ops.heddle; imports PyTorch
        from .torch_ops import device

        return device
    if name == "__version__":
        return _library.library().heddle_version().decode()
    raise AttributeError(f"module 'heddle' has no attribute '{name}'")
