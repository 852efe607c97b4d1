# SPDX-License-Identifier: Apache-2.0
"""torch.ops.heddle.matmul: heddle's kernels as an operator of PyTorch.

    import torch, heddle.torch_ops
    with heddle.device("sim:sm100"):
        out = torch.ops.heddle.matmul(a, b)          # [M, K] @ [K, N] on CPU tensors, by a Blackwell kernel

CPU tensors are multiplied in the simulated SM (sim:sm100 unless told), CUDA tensors by the kernels for the GPU,
in the current stream. There are gradients, and fake tensors, so that torch.compile takes it as it is. Types:
float16, bfloat16, and float32, whose elements the tensor cores take as tf32. Sums are in float.
"""

import contextlib
import contextvars
import functools
from ctypes import POINTER, c_char_p, c_int, c_void_p
from typing import Optional

import torch

from . import _library

__all__ = ["device"]

_TYPES = {torch.bfloat16: b"bf16", torch.float16: b"fp16", torch.float32: b"tf32"}
_OUTPUTS = {torch.bfloat16: b"bf16", torch.float16: b"fp16", torch.float32: b"fp32"}
_DEVICES = ("sim:sm90", "sim:sm100")
_ROW_BYTES = 16  # a row begins at a multiple of it
_device = contextvars.ContextVar("heddle_device", default="sim:sm100")


@contextlib.contextmanager
def device(name):
    """The simulated SM that multiplies CPU tensors: sim:sm90 or sim:sm100."""
    if name not in _DEVICES:
        raise ValueError(f"device '{name}'; {' or '.join(_DEVICES)}. CUDA tensors are multiplied where they are")
    token = _device.set(name)
    try:
        yield
    finally:
        _device.reset(token)


@functools.cache
def _calls():
    library = _library.library()
    if not hasattr(library, "heddle_matmul"):
        raise RuntimeError("heddle::matmul: heddle was built without its kernels (HEDDLE_KERNELS=OFF)")
    return _library.declare(
        library,
        {
            "heddle_matmul": (c_int, [POINTER(_library.MatmulCall), c_char_p]),
            "heddle_matmul_in_stream": (c_int, [POINTER(_library.MatmulCall), c_void_p]),
        },
    )


def _check(a, b, bias, out_dtype):
    for name, tensor, dims in (("a", a, 2), ("b", b, 2), ("bias", bias, 1)):
        if tensor is None:
            continue
        if tensor.dim() != dims:
            raise RuntimeError(f"heddle::matmul: {name} has {tensor.dim()} dimensions; it must have {dims}")
        if tensor.device != a.device:
            raise RuntimeError(
                f"heddle::matmul: expected all tensors to be on the same device, but a is on {a.device} and "
                f"{name} on {tensor.device}"
            )
    if a.dtype not in _TYPES:
        raise RuntimeError(f"heddle::matmul: a is {a.dtype}; {', '.join(map(str, _TYPES))}")
    if b.dtype != a.dtype:
        raise RuntimeError(
            f"heddle::matmul: expected a and b to have the same dtype, but got {a.dtype} and {b.dtype}"
        )
    if out_dtype not in _OUTPUTS:
        raise RuntimeError(f"heddle::matmul: out_dtype is {out_dtype}; {', '.join(map(str, _OUTPUTS))}")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"heddle::matmul: a and b shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
            f"{b.shape[0]}x{b.shape[1]})"
        )
    if bias is not None and (bias.dtype != out_dtype or bias.shape[0] != b.shape[1]):
        raise RuntimeError(
            f"heddle::matmul: bias has {bias.shape[0]} elements of {bias.dtype}; {b.shape[1]} of {out_dtype}"
        )


def _is_readable(shape, stride, inner, item):
    """Whether rows along dimension `inner` are what the copy engine takes."""
    outer = stride[1 - inner]
    return stride[inner] == 1 and outer >= shape[inner] and outer * item % _ROW_BYTES == 0


def _padded(rows, cols, dtype, device):
    """A matrix whose rows begin where the copy engine wants them."""
    step = _ROW_BYTES // dtype.itemsize
    pitch = max(step, (cols + step - 1) // step * step)
    made = torch.empty(rows, pitch, dtype=dtype, device=device)
    return made if pitch == cols else made[:, :cols]


def _operand(tensor, k_dim, takes_mn_major):
    """(is_mn_major, pitch) where a kernel can read it as it lies; None where it must be copied."""
    shape, stride, item = tensor.shape, tensor.stride(), tensor.element_size()
    if tensor.data_ptr() % _ROW_BYTES != 0:
        return None
    if _is_readable(shape, stride, k_dim, item):
        return 0, stride[1 - k_dim]
    if takes_mn_major and _is_readable(shape, stride, 1 - k_dim, item):
        return 1, stride[k_dim]
    return None


def _by_k(tensor, k_dim):
    """A copy with rows along K."""
    rows = tensor if k_dim == 1 else tensor.t()
    copy = _padded(*rows.shape, rows.dtype, rows.device)
    return copy.copy_(rows)


@functools.lru_cache(maxsize=4096)
def _plan(m, n, k, dtype, out_dtype, a_place, b_place):
    """What a call says that does not change from one to the next of the same shape."""
    return bytes(
        _library.MatmulCall(
            m=m,
            n=n,
            k=k,
            batches=1,
            a_type=_TYPES[dtype],
            b_type=_TYPES[dtype],
            out_type=_OUTPUTS[out_dtype],
            a_is_mn_major=a_place[0],
            b_is_mn_major=b_place[0],
            a_pitch=a_place[1],
            b_pitch=b_place[1],
            alpha=1,
        )
    )


def _is_hopper(device):
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device)[0] == 9
    return _device.get() == "sim:sm90"


def _multiply(a, b, bias, out_dtype):
    out_dtype = out_dtype or a.dtype
    _check(a, b, bias, out_dtype)
    m, k = a.shape
    n = b.shape[1]
    device = a.device
    # Kernels for Hopper read A along K alone.
    a_place = _operand(a, 1, takes_mn_major=not _is_hopper(device))
    if a_place is None:
        a = _by_k(a, 1)
        a_place = 0, a.stride(0)
    b_place = _operand(b, 0, takes_mn_major=True)
    if b_place is None:
        b = _by_k(b, 0)
        b_place = 0, b.stride(0)
    out = _padded(m, n, out_dtype, device)
    call = _library.MatmulCall.from_buffer_copy(_plan(m, n, k, a.dtype, out_dtype, a_place, b_place))
    call.out_pitch = out.stride(0)
    call.a, call.b, call.out = a.data_ptr(), b.data_ptr(), out.data_ptr()
    if bias is not None:
        bias = bias.contiguous()
        call.bias = bias.data_ptr()
    if device.type == "cpu":
        failed = _calls().heddle_matmul(call, _device.get().encode())
    elif device.index == torch.cuda.current_device():
        failed = _calls().heddle_matmul_in_stream(call, torch.cuda.current_stream(device).cuda_stream)
    else:
        with torch.cuda.device(device):
            failed = _calls().heddle_matmul_in_stream(call, torch.cuda.current_stream(device).cuda_stream)
    if failed:
        raise RuntimeError(_library.error())
    return out if out.is_contiguous() else out.contiguous()


@torch.library.custom_op("heddle::matmul", mutates_args=(), device_types=("cpu", "cuda"))
def matmul(
    a: torch.Tensor, b: torch.Tensor, bias: Optional[torch.Tensor] = None, out_dtype: Optional[torch.dtype] = None
) -> torch.Tensor:
    """a @ b + bias by heddle's kernels: [M, K] @ [K, N], bias of N elements."""
    return _multiply(a, b, bias, out_dtype)


@matmul.register_fake
def _(a, b, bias=None, out_dtype=None):
    _check(a, b, bias, out_dtype or a.dtype)
    return a.new_empty(a.shape[0], b.shape[1], dtype=out_dtype or a.dtype)


def _setup(ctx, inputs, output):
    a, b, bias, _ = inputs
    ctx.save_for_backward(a, b)
    ctx.bias_dtype = bias.dtype if bias is not None else None


def _backward(ctx, gradient):
    a, b = ctx.saved_tensors
    gradient_in = gradient.to(a.dtype)
    grad_a = matmul(gradient_in, b.t()) if ctx.needs_input_grad[0] else None
    grad_b = matmul(a.t(), gradient_in) if ctx.needs_input_grad[1] else None
    has_bias = ctx.bias_dtype is not None and ctx.needs_input_grad[2]
    return grad_a, grad_b, gradient.sum(0).to(ctx.bias_dtype) if has_bias else None, None


matmul.register_autograd(_backward, setup_context=_setup)
