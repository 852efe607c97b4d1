# SPDX-License-Identifier: Apache-2.0
"""torch.ops.heddle.matmul_grouped and matmul_scaled: Hopper's matmuls of groups of rows, and of FP8 with scales.

    torch.ops.heddle.matmul_grouped(a, b, ends)                  # [M, K], [groups, K, N], int32 [groups] -> [M, N]
    torch.ops.heddle.matmul_scaled(a, b, a_scales, b_scales)     # FP8 [M, K] @ [K, N], K contiguous in both

Rows of A from one end to the next are multiplied by that group's B; rows from the last end on are zeros. Scales are one
number for each operand, or one for each row of A and each column of B, or one for each 128 numbers along K ([M, K / 128]) and
each block of 128 x 128 ([K / 128, N / 128]), rounded up. CPU tensors are multiplied in the simulated Hopper SM. No
gradients.
"""

from ctypes import POINTER, c_char_p, c_int, c_void_p
import functools

import torch

from . import _library, torch_call
from .torch_call import OUTPUTS, ROW_BYTES
from .torch_ops import _operators

_FP8 = {torch.float8_e4m3fn: b"e4m3", torch.float8_e5m2: b"e5m2"}
_BLOCK = 128


@functools.cache
def _calls():
    call = POINTER(_library.MatmulGroupedCall)
    return _library.declare(
        _library.library(),
        {
            "heddle_matmul_grouped": (c_int, [call, c_char_p]),
            "heddle_matmul_grouped_in_stream": (c_int, [call, c_void_p]),
        },
    )


def _require(holds, operator, text):
    if not holds:
        raise RuntimeError(f"heddle::{operator}: {text}")


def _check_operands(operator, a, b, dims, others):
    for name, tensor, count in (("a", a, 2), ("b", b, dims), *others):
        _require(tensor.dim() in count if isinstance(count, tuple) else tensor.dim() == count, operator,
                 f"{name} has {tensor.dim()} dimensions; it must have {count}")
        _require(tensor.device == a.device, operator,
                 f"expected all tensors to be on the same device, but a is on {a.device} and {name} on {tensor.device}")
    _require(a.shape[1] == b.shape[-2], operator,
             f"a and b shapes cannot be multiplied ({tuple(a.shape)} and {tuple(b.shape)})")
    _require(b.shape[-1] % 8 == 0, operator, f"b has {b.shape[-1]} columns; they come in eights")


def _is_readable(tensor):
    """Whether K is contiguous, rows are where the copy engine wants them, and groups follow one another."""
    item = tensor.element_size()
    stride, shape = tensor.stride(), tensor.shape
    return (stride[-1] == 1 and stride[-2] >= shape[-1] and stride[-2] * item % ROW_BYTES == 0
            and (tensor.dim() == 2 or shape[0] == 1
                 or (stride[0] >= stride[1] * shape[1] and stride[0] * item % ROW_BYTES == 0)))


def _by_rows(tensor):
    """As it lies, or a copy that is readable."""
    if _is_readable(tensor) and tensor.data_ptr() % ROW_BYTES == 0:
        return tensor
    made = tensor.new_empty(*tensor.shape[:-1], torch_call.pitch_of(tensor.shape[-1], tensor.dtype))
    return made[..., : tensor.shape[-1]].copy_(tensor)


def _run(call, tensor):
    if tensor.is_cuda:
        torch_call.check(_calls().heddle_matmul_grouped_in_stream(call, torch_call.stream_of(tensor)))
    else:
        torch_call.check(_calls().heddle_matmul_grouped(call, b"sim:sm90"))


def _key(*tensors):
    parts = []
    for one in tensors:
        parts += one.shape, one.stride(), one.dtype, one.device
    return tuple(parts)


_prepared = torch_call.Prepared()  # calls without their addresses; None: an operand has to be copied


def _grouped_shape(a, b, ends, out_dtype):
    _check_operands("matmul_grouped", a, b, 3, [("ends", ends, 1)])
    _require(a.dtype == b.dtype == torch.bfloat16, "matmul_grouped", f"a is {a.dtype} and b {b.dtype}; torch.bfloat16")
    _require(ends.dtype == torch.int32 and ends.shape[0] == b.shape[0], "matmul_grouped",
             f"ends has {ends.shape[0]} numbers of {ends.dtype}; {b.shape[0]} of torch.int32, one for each group")
    _require(out_dtype in OUTPUTS, "matmul_grouped", f"out_dtype is {out_dtype}; {', '.join(map(str, OUTPUTS))}")


def _prepare_grouped(a, b, ends, out_dtype):
    _grouped_shape(a, b, ends, out_dtype)
    by_rows = b.transpose(1, 2)
    if not (_is_readable(a) and _is_readable(by_rows) and ends.is_contiguous()):
        return None
    return _library.MatmulGroupedCall(
        groups=b.shape[0], m=a.shape[0], n=by_rows.shape[1], k=a.shape[1], rows=b"ends", scaling=b"none", a_type=b"bf16",
        b_type=b"bf16", out_type=OUTPUTS[out_dtype], a_pitch=a.stride(0), b_pitch=by_rows.stride(1),
        b_group_stride=by_rows.stride(0) if b.shape[0] > 1 else 0)


@torch_call.on_current_gpu
def _grouped(a, b, ends, out_dtype=None):
    out_dtype = out_dtype or a.dtype
    key = ("grouped", out_dtype, *_key(a, b, ends))
    found = _prepared[key] if key in _prepared else _prepared.put(key, _prepare_grouped(a, b, ends, out_dtype))
    if found is None or (a.data_ptr() | b.data_ptr()) % ROW_BYTES != 0:
        return _grouped(_by_rows(a), _by_rows(b.transpose(1, 2)).transpose(1, 2), ends.contiguous(), out_dtype)
    out = a.new_zeros((a.shape[0], b.shape[2]), dtype=out_dtype)
    if out.numel() == 0:
        return out
    call = _library.MatmulGroupedCall.from_buffer_copy(found)
    call.a, call.b, call.group_rows, call.out = a.data_ptr(), b.data_ptr(), ends.data_ptr(), out.data_ptr()
    _run(call, out)
    return out


def _scaling(a, b, a_scales, b_scales):
    """Which of the three kinds of scales these are."""
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    blocks = -(-k // _BLOCK)
    kinds = {b"tensors": ((1,), (1,)), b"rows": ((m,), (n,)), b"blocks": ((m, blocks), (blocks, -(-n // _BLOCK)))}
    shapes = tuple(tuple(scales.shape) or (1,) for scales in (a_scales, b_scales))
    for kind, wanted in kinds.items():
        if shapes == wanted:
            return kind
    raise RuntimeError(f"heddle::matmul_scaled: scales of shapes {shapes[0]} and {shapes[1]}; "
                       + ", ".join(f"{x} and {y}" for x, y in kinds.values()))


def _scaled_shape(a, b, a_scales, b_scales, out_dtype):
    _check_operands("matmul_scaled", a, b, 2, [("a_scales", a_scales, (0, 1, 2)), ("b_scales", b_scales, (0, 1, 2))])
    _require(a.dtype in _FP8 and b.dtype == torch.float8_e4m3fn, "matmul_scaled",
             f"a is {a.dtype} and b {b.dtype}; torch.float8_e4m3fn, and a may be torch.float8_e5m2")
    _require(a_scales.dtype == b_scales.dtype == torch.float32, "matmul_scaled",
             f"scales are {a_scales.dtype} and {b_scales.dtype}; torch.float32")
    _require(out_dtype in OUTPUTS, "matmul_scaled", f"out_dtype is {out_dtype}; {', '.join(map(str, OUTPUTS))}")
    return _scaling(a, b, a_scales, b_scales)


def _prepare_scaled(a, b, a_scales, b_scales, out_dtype, exact):
    scaling = _scaled_shape(a, b, a_scales, b_scales, out_dtype)
    by_rows = b.t()
    if not (_is_readable(a) and _is_readable(by_rows)):
        return None
    return _library.MatmulGroupedCall(
        groups=1, m=a.shape[0], n=by_rows.shape[0], k=a.shape[1], rows=b"all", scaling=scaling, a_type=_FP8[a.dtype],
        b_type=b"e4m3", out_type=OUTPUTS[out_dtype], is_exact=int(exact or scaling == b"blocks"), a_pitch=a.stride(0),
        b_pitch=by_rows.stride(0), a_scales_pitch=_scales_pitch(a) if scaling == b"blocks" else 0)


def _scales_pitch(a):
    """Rows of [K / 128, M] begin at multiples of 16 bytes."""
    return -(-a.shape[0] // 4) * 4


def _scales_by_k(a, a_scales):
    by_k = a_scales.new_zeros(a_scales.shape[1], _scales_pitch(a))
    by_k[:, : a.shape[0]] = a_scales.t()
    return by_k


@torch_call.on_current_gpu
def _scaled(a, b, a_scales, b_scales, out_dtype=None, exact=False):
    out_dtype = out_dtype or torch.bfloat16
    key = ("scaled", out_dtype, exact, *_key(a, b, a_scales, b_scales))
    if key in _prepared:
        found = _prepared[key]
    else:
        found = _prepared.put(key, _prepare_scaled(a, b, a_scales, b_scales, out_dtype, exact))
    if found is None or (a.data_ptr() | b.data_ptr()) % ROW_BYTES != 0:
        return _scaled(_by_rows(a), _by_rows(b.t()).t(), a_scales, b_scales, out_dtype, exact)
    shape = a.shape[0], b.shape[1]
    out = torch_call.empty(a, shape, (shape[1], 1), out_dtype)
    if out.numel() == 0:
        return out
    if found.a_scales_pitch != 0:
        a_scales, b_scales = _scales_by_k(a, a_scales), b_scales.t()
    a_scales, b_scales = a_scales.contiguous(), b_scales.contiguous()
    call = _library.MatmulGroupedCall.from_buffer_copy(found)
    call.a, call.b, call.out = a.data_ptr(), b.data_ptr(), out.data_ptr()
    call.a_scales, call.b_scales = a_scales.data_ptr(), b_scales.data_ptr()
    _run(call, out)
    return out


def _register(schema, function, shape_of):
    name = schema[: schema.index("(")]
    _operators.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CPU", "CUDA"):
        _operators.impl(name, function, key)

    def without_gradients(*arguments, **named):
        tensors = [one for one in (*arguments, *named.values()) if isinstance(one, torch.Tensor)]
        _require(not (torch.is_grad_enabled() and any(one.requires_grad for one in tensors)), name,
                 "it has no gradients; call it under torch.no_grad(), or with tensors that require none")
        if torch_call.is_plain(*tensors):
            return function(*arguments, **named)
        with torch._C._AutoDispatchBelowAutograd():
            return getattr(torch.ops.heddle, name).default(*arguments, **named)

    _operators.impl(name, without_gradients, "Autograd")
    torch.library.register_fake(f"heddle::{name}", shape_of, lib=_operators)


def _fake_grouped(a, b, ends, out_dtype=None):
    _grouped_shape(a, b, ends, out_dtype or a.dtype)
    return a.new_empty(a.shape[0], b.shape[2], dtype=out_dtype or a.dtype)


def _fake_scaled(a, b, a_scales, b_scales, out_dtype=None, exact=False):
    _scaled_shape(a, b, a_scales, b_scales, out_dtype or torch.bfloat16)
    return a.new_empty(a.shape[0], b.shape[1], dtype=out_dtype or torch.bfloat16)


_register("matmul_grouped(Tensor a, Tensor b, Tensor ends, ScalarType? out_dtype=None) -> Tensor", _grouped, _fake_grouped)
_register("matmul_scaled(Tensor a, Tensor b, Tensor a_scales, Tensor b_scales, ScalarType? out_dtype=None, "
          "bool exact=False) -> Tensor", _scaled, _fake_scaled)
