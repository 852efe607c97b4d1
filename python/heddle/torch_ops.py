# SPDX-License-Identifier: Apache-2.0
"""torch.ops.heddle.matmul: heddle's kernels as an operator of PyTorch. torch_attention.py has the other one.

    import torch, heddle.torch_ops
    with heddle.device("sim:sm100"):
        out = torch.ops.heddle.matmul(a, b)          # [M, K] @ [K, N] on CPU tensors, by a Blackwell kernel

CPU tensors are multiplied in the simulated SM (sim:sm100 unless told), CUDA tensors by the kernels for the GPU,
in the current stream. There are gradients, and fake tensors, so that torch.compile takes it as it is. Types:
float16, bfloat16, and float32, whose elements the tensor cores take as tf32. Sums are in float.
"""

import contextlib
import functools
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p

import torch

from . import _library, torch_call
from .torch_call import OUTPUTS, ROW_BYTES

__all__ = ["device"]

_TYPES = {torch.bfloat16: b"bf16", torch.float16: b"fp16", torch.float32: b"tf32"}
_DEVICES = ("sim:sm90", "sim:sm100")


@contextlib.contextmanager
def device(name):
    """The simulated SM that multiplies CPU tensors: sim:sm90 or sim:sm100."""
    if name not in _DEVICES:
        raise ValueError(f"device '{name}'; {' or '.join(_DEVICES)}. CUDA tensors are multiplied where they are")
    token = torch_call.card.set(name)
    try:
        yield
    finally:
        torch_call.card.reset(token)


@functools.cache
def _calls():
    library = _library.library()
    if not hasattr(library, "heddle_matmul"):
        raise RuntimeError("heddle::matmul: heddle was built without its kernels (HEDDLE_KERNELS=OFF)")
    return _library.declare(
        library,
        {
            "heddle_matmul": (c_int, [POINTER(_library.MatmulCall), c_char_p]),
            "heddle_matmul_of_addresses": (c_int, [POINTER(_library.MatmulCall)] + 5 * [c_void_p]),
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
    if out_dtype not in OUTPUTS:
        raise RuntimeError(f"heddle::matmul: out_dtype is {out_dtype}; {', '.join(map(str, OUTPUTS))}")
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
    return stride[inner] == 1 and outer >= shape[inner] and outer * item % ROW_BYTES == 0


def _operand(tensor, k_dim, takes_mn_major):
    """(is_mn_major, pitch) where a kernel can read rows as they lie; None where they must be copied."""
    shape, stride, item = tensor.shape, tensor.stride(), tensor.element_size()
    if _is_readable(shape, stride, k_dim, item):
        return 0, stride[1 - k_dim]
    if takes_mn_major and _is_readable(shape, stride, 1 - k_dim, item):
        return 1, stride[k_dim]
    return None


def _by_k(tensor, k_dim):
    """A copy with rows along K."""
    rows = tensor if k_dim == 1 else tensor.t()
    made = torch.empty(rows.shape[0], torch_call.pitch_of(rows.shape[1], rows.dtype), dtype=rows.dtype, device=rows.device)
    return made[:, : rows.shape[1]].copy_(rows)


class _Prepared:
    """What does not change from one call to the next with operands of the same shapes, strides and types."""

    __slots__ = ("m", "n", "pitch", "call", "by_reference", "shape", "stride", "copies_a", "copies_b")

    def __init__(self, a, b, bias, out_dtype, is_hopper):
        _check(a, b, bias, out_dtype)
        self.m, self.n = a.shape[0], b.shape[1]
        # Kernels for Hopper read A along K alone.
        a_place = _operand(a, 1, takes_mn_major=not is_hopper)
        b_place = _operand(b, 0, takes_mn_major=True)
        self.copies_a, self.copies_b = a_place is None, b_place is None
        # What is copied is prepared again.
        a_place, b_place = a_place or (0, 0), b_place or (0, 0)
        self.pitch = torch_call.pitch_of(self.n, out_dtype)
        self.shape, self.stride = (self.m, self.pitch), (self.pitch, 1)
        self.call = _library.MatmulCall(
            m=self.m,
            n=self.n,
            k=a.shape[1],
            batches=1,
            a_type=_TYPES[a.dtype],
            b_type=_TYPES[a.dtype],
            out_type=OUTPUTS[out_dtype],
            a_is_mn_major=a_place[0],
            b_is_mn_major=b_place[0],
            a_pitch=a_place[1],
            b_pitch=b_place[1],
            out_pitch=self.pitch,
            alpha=1,
        )
        self.by_reference = byref(self.call)


_prepared = torch_call.Prepared()


def _prepare(a, b, bias, out_dtype):
    # A name of a simulated card stands for what a GPU's own number says.
    card = None if a.is_cuda else torch_call.card.get()
    key = (a.shape, a.stride(), a.dtype, a.device, b.shape, b.stride(), b.dtype, b.device, out_dtype, card)
    if bias is not None:
        key += (bias.shape, bias.dtype, bias.device)
    return _prepared.get(key) or _prepared.put(key, _Prepared(a, b, bias, out_dtype, _is_hopper(a.device)))


def _is_hopper(device):
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device)[0] == 9
    return torch_call.card.get() == "sim:sm90"


@torch_call.on_current_gpu
def _multiply(a, b, bias=None, out_dtype=None):
    out_dtype = out_dtype or a.dtype
    prepared = _prepare(a, b, bias, out_dtype)
    a_address, b_address = a.data_ptr(), b.data_ptr()
    if prepared.copies_a or prepared.copies_b or (a_address | b_address) % ROW_BYTES != 0:
        if prepared.copies_a or a_address % ROW_BYTES != 0:
            a = _by_k(a, 1)
        if prepared.copies_b or b_address % ROW_BYTES != 0:
            b = _by_k(b, 0).t()  # it is read by rows of K, which are its columns
        return _multiply(a, b, bias, out_dtype)
    if bias is not None:
        bias = bias.contiguous()
    out = torch_call.empty(a, prepared.shape, prepared.stride, out_dtype)
    addresses = a_address, b_address, out.data_ptr(), None if bias is None else bias.data_ptr()
    if a.is_cuda:
        torch_call.check(
            _calls().heddle_matmul_of_addresses(prepared.by_reference, *addresses, torch_call.stream_of(a))
        )
    else:
        call = _library.MatmulCall.from_buffer_copy(prepared.call)
        call.a, call.b, call.out, call.bias = addresses
        torch_call.check(_calls().heddle_matmul(call, torch_call.card.get().encode()))
    return out if prepared.pitch == prepared.n else out[:, : prepared.n].contiguous()


# By hand and not by torch.library.custom_op, whose wrappers take longer than all the rest of a call.
_operators = torch.library.Library("heddle", "DEF")
_operators.define(
    "matmul(Tensor a, Tensor b, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)
matmul = torch.ops.heddle.matmul
_matmul = matmul.default
for _key in ("CPU", "CUDA"):
    _operators.impl("matmul", _multiply, _key)


@torch.library.register_fake("heddle::matmul", lib=_operators)
def _(a, b, bias=None, out_dtype=None):
    _check(a, b, bias, out_dtype or a.dtype)
    return a.new_empty(a.shape[0], b.shape[1], dtype=out_dtype or a.dtype)


class _Gradients(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, bias, out_dtype):
        ctx.save_for_backward(a, b)
        ctx.bias_dtype = bias.dtype if bias is not None else None
        return _below_autograd(a, b, bias, out_dtype)

    @staticmethod
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        gradient_in = gradient.to(a.dtype)
        grad_a = matmul(gradient_in, b.t()) if ctx.needs_input_grad[0] else None
        grad_b = matmul(a.t(), gradient_in) if ctx.needs_input_grad[1] else None
        has_bias = ctx.bias_dtype is not None and ctx.needs_input_grad[2]
        return grad_a, grad_b, gradient.sum(0).to(ctx.bias_dtype) if has_bias else None, None


def _below_autograd(a, b, bias, out_dtype):
    if torch_call.is_plain(*((a, b) if bias is None else (a, b, bias))):
        return _multiply(a, b, bias, out_dtype)
    with torch._C._AutoDispatchBelowAutograd():
        return _matmul(a, b, bias, out_dtype)


def _with_gradients(a, b, bias=None, out_dtype=None):
    if torch.is_grad_enabled() and (
        a.requires_grad or b.requires_grad or (bias is not None and bias.requires_grad)
    ):
        return _Gradients.apply(a, b, bias, out_dtype)
    return _below_autograd(a, b, bias, out_dtype)


_operators.impl("matmul", _with_gradients, "Autograd")

from . import torch_grouped as _torch_grouped  # noqa: E402,F401  its operators are registered with these
from . import torch_attention  # noqa: E402, F401: torch.ops.heddle.attention
