# SPDX-License-Identifier: Apache-2.0
"""What the operators of torch.ops.heddle share: which card, outputs, streams, and what is prepared once for operands of the
same shapes, strides and types."""

import contextvars

import torch

from . import _library

ROW_BYTES = 16  # a row begins at a multiple of it
OUTPUTS = {torch.bfloat16: b"bf16", torch.float16: b"fp16", torch.float32: b"fp32"}
card = contextvars.ContextVar("heddle_device", default="sim:sm100")  # the simulated one, for CPU tensors

# Shape, stride and type of an output on the CPU, or on the current GPU: what the code that torch.compile writes calls, in a
# third of torch.empty's time.
_guards = getattr(torch._C._dynamo, "guards", None)
_empty_on_cpu = getattr(_guards, "_empty_strided_cpu", None) or (
    lambda shape, stride, dtype: torch.empty_strided(shape, stride, dtype=dtype)
)
_empty_on_gpu = getattr(_guards, "_empty_strided_cuda", None) or (
    lambda shape, stride, dtype: torch.empty_strided(shape, stride, dtype=dtype, device="cuda")
)
_current_gpu = getattr(torch._C, "_cuda_getDevice", None)  # neither is there in a PyTorch without CUDA
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_transform = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", lambda: None)


def is_plain(*tensors):
    """Whether nothing, such as torch.compile or torch.func, watches them, and they lie in memory as they are: then they
    need not go through the dispatcher again."""
    if torch._C._len_torch_dispatch_stack() != 0 or _transform() is not None:
        return False
    for tensor in tensors:
        if type(tensor) not in _PLAIN or tensor.layout != torch.strided or not (tensor.is_cuda or tensor.is_cpu):
            return False
        if tensor.is_neg():  # a view whose signs the dispatcher turns
            return False
    return True


def on_current_gpu(function):
    """A function whose first argument is a tensor, called with that tensor's GPU as the current one."""

    def run(first, *others, **named):
        if not first.is_cuda or first.get_device() == _current_gpu():
            return function(first, *others, **named)
        with torch.cuda.device(first.device):
            return function(first, *others, **named)

    return run


def empty(like, shape, stride, dtype):
    """Beside a tensor that is on the CPU or on the current GPU."""
    return (_empty_on_gpu if like.is_cuda else _empty_on_cpu)(shape, stride, dtype)


def stream_of(tensor):
    return _current_stream(tensor.get_device())


def pitch_of(cols, dtype):
    """Of a matrix whose rows begin where the copy engine wants them."""
    step = ROW_BYTES // dtype.itemsize
    return max(step, (cols + step - 1) // step * step)


def packed(shape):
    """The stride of a tensor without gaps."""
    stride, step = [], 1
    for size in reversed(shape):
        stride.append(step)
        step *= max(size, 1)
    return tuple(reversed(stride))


def check(failed):
    if failed:
        raise RuntimeError(_library.error())


class Prepared(dict):
    """By what a call depends on; everything is forgotten when there is much of it."""

    _MOST = 4096

    def put(self, key, value):
        if len(self) >= self._MOST:
            self.clear()
        self[key] = value
        return value
