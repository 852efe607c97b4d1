# SPDX-License-Identifier: Apache-2.0
"""torch.ops.heddle.attention: heddle's attention as an operator of PyTorch, forward alone.

    import torch, heddle.torch_ops
    o, lse = torch.ops.heddle.attention(q, k, v, is_causal=True)   # [batches, heads, rows, dim] each

Heads of k and v may be fewer, shared by groups of heads of q. `window`, `soft_cap`, `scale` and `sinks` are as
docs/attention.md has them. CPU tensors go to the simulated SM (heddle.device), CUDA tensors to the GPU's kernels in
the current stream; fake tensors are there for torch.compile.
"""

import functools
from ctypes import POINTER, c_char_p, c_int, c_void_p

import torch

from . import _library, torch_call
from .torch_call import ROW_BYTES

_TYPES = {torch.bfloat16: b"bf16", torch.float16: b"fp16"}


@functools.cache
def _calls():
    library = _library.library()
    if not hasattr(library, "heddle_attention"):
        raise RuntimeError("heddle::attention: heddle was built without its kernels (HEDDLE_KERNELS=OFF)")
    return _library.declare(
        library,
        {
            "heddle_attention": (c_int, [POINTER(_library.AttentionCall), c_char_p]),
            "heddle_attention_in_stream": (c_int, [POINTER(_library.AttentionCall), c_void_p]),
        },
    )


def _refuse(what):
    raise RuntimeError(f"heddle::attention: {what}")


def _check(q, k, v, scale, sinks):
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.dim() != 4:
            _refuse(f"{name} has {tensor.dim()} dimensions; it must have 4: batches, heads, rows, dim")
        if tensor.device != q.device:
            _refuse(f"expected all tensors to be on the same device, but q is on {q.device} and {name} on {tensor.device}")
        if tensor.dtype != q.dtype:
            _refuse(f"expected all tensors to have the same dtype, but q is {q.dtype} and {name} {tensor.dtype}")
    if q.dtype not in _TYPES:
        _refuse(f"q is {q.dtype}; {', '.join(map(str, _TYPES))}")
    if k.shape[0] != q.shape[0] or v.shape[0] != q.shape[0]:
        _refuse(f"q, k and v have {q.shape[0]}, {k.shape[0]} and {v.shape[0]} batches; as many of each")
    if k.shape[3] != q.shape[3]:
        _refuse(f"q has heads of {q.shape[3]} and k of {k.shape[3]}; of the same size")
    if v.shape[1:3] != k.shape[1:3]:
        _refuse(f"k is {tuple(k.shape)} and v {tuple(v.shape)}; with as many heads and rows")
    if scale == 0:
        _refuse("scale is 0; 1e-6 to 1e6, or None for 1 / sqrt(dim)")
    if sinks is not None and (sinks.dtype != torch.float32 or sinks.shape != q.shape[1:2] or sinks.device != q.device):
        _refuse(f"sinks are {tuple(sinks.shape)} of {sinks.dtype} on {sinks.device}; one float32 for each head of q, beside it")


def _is_readable(tensor):
    """Whether the copy engine can read its rows, but for where they begin."""
    row = ROW_BYTES // tensor.element_size()
    strides = [stride for stride, size in zip(tensor.stride()[:3], tensor.shape[:3]) if size > 1]
    return tensor.stride(3) == 1 and all(stride >= tensor.shape[3] and stride % row == 0 for stride in strides)


def _readable(tensor):
    """As it lies, or a copy."""
    return tensor if _is_readable(tensor) and tensor.data_ptr() % ROW_BYTES == 0 else tensor.contiguous()


def _strides(tensor):
    # Of what there is one of, torch keeps any number; 0: as if it lay without gaps.
    batch, head, row = (stride if size > 1 else 0 for stride, size in zip(tensor.stride()[:3], tensor.shape[:3]))
    return _library.AttentionStrides(row=row, head=head, batch=batch)


class _Prepared:
    """What does not change from one call to the next with operands of the same shapes, strides and types."""

    __slots__ = ("call", "copies", "o", "lse")

    def __init__(self, q, k, v, is_causal, window, soft_cap, scale, sinks):
        _check(q, k, v, scale, sinks)
        batches, heads, queries, head_dim = q.shape
        o, lse = (batches, heads, queries, v.shape[3]), (batches, heads, queries)
        self.o, self.lse = (o, torch_call.packed(o), q.dtype), (lse, torch_call.packed(lse), torch.float32)
        self.copies = not (_is_readable(q) and _is_readable(k) and _is_readable(v))
        self.call = _library.AttentionCall(
            batches=batches,
            heads=heads,
            key_heads=k.shape[1],
            queries=queries,
            keys=k.shape[2],
            head_dim=head_dim,
            value_dim=v.shape[3],
            type=_TYPES[q.dtype],
            is_causal=int(is_causal),
            window=window,
            soft_cap=soft_cap,
            scale=0.0 if scale is None else scale,
            q_strides=_strides(q),
            k_strides=_strides(k),
            v_strides=_strides(v),
        )


_prepared = torch_call.Prepared()


def _prepare(q, k, v, *options):
    sinks = options[-1]
    key = (q.shape, q.stride(), q.dtype, q.device, k.shape, k.stride(), k.dtype, k.device, v.shape, v.stride(), v.dtype, v.device,
           *options[:-1], None if sinks is None else (sinks.shape, sinks.dtype, sinks.device))
    return _prepared.get(key) or _prepared.put(key, _Prepared(q, k, v, *options))


@torch_call.on_current_gpu
def _attend(q, k, v, is_causal=False, window=0, soft_cap=0.0, scale=None, sinks=None):
    prepared = _prepare(q, k, v, is_causal, window, soft_cap, scale, sinks)
    if prepared.copies or (q.data_ptr() | k.data_ptr() | v.data_ptr()) % ROW_BYTES != 0:
        q, k, v = _readable(q), _readable(k), _readable(v)
        prepared = _prepare(q, k, v, is_causal, window, soft_cap, scale, sinks)
    o, lse = torch_call.empty(q, *prepared.o), torch_call.empty(q, *prepared.lse)
    if o.numel() == 0:
        return o, lse
    call = _library.AttentionCall.from_buffer_copy(prepared.call)
    call.q, call.k, call.v = q.data_ptr(), k.data_ptr(), v.data_ptr()
    call.o, call.lse = o.data_ptr(), lse.data_ptr()
    if sinks is not None:
        sinks = sinks.contiguous()
        call.sinks = sinks.data_ptr()
    if q.is_cuda:
        torch_call.check(_calls().heddle_attention_in_stream(call, torch_call.stream_of(q)))
    else:
        torch_call.check(_calls().heddle_attention(call, torch_call.card.get().encode()))
    return o, lse


def _without_gradients(q, k, v, **options):
    tensors = [tensor for tensor in (q, k, v, options.get("sinks")) if tensor is not None]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        _refuse("there is no gradient; call it under torch.no_grad()")
    if torch_call.is_plain(*tensors):
        return _attend(q, k, v, **options)
    with torch._C._AutoDispatchBelowAutograd():
        return torch.ops.heddle.attention.default(q, k, v, **options)


_operators = torch.library.Library("heddle", "FRAGMENT")
_operators.define(
    "attention(Tensor q, Tensor k, Tensor v, *, bool is_causal=False, int window=0, float soft_cap=0.0, "
    "float? scale=None, Tensor? sinks=None) -> (Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
for _key in ("CPU", "CUDA"):
    _operators.impl("attention", _attend, _key)
_operators.impl("attention", _without_gradients, "Autograd")


@torch.library.register_fake("heddle::attention", lib=_operators)
def _(q, k, v, is_causal=False, window=0, soft_cap=0.0, scale=None, sinks=None):
    _check(q, k, v, scale, sinks)
    return q.new_empty((*q.shape[:3], v.shape[3])), q.new_empty(q.shape[:3], dtype=torch.float32)
