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

from . import _library
from .torch_ops import _OUTPUTS, _ROW_BYTES, _is_plain, _operators, _pitch

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


def _by_rows(tensor):
    """With K contiguous, rows where the copy engine wants them, and groups one after another; a copy where they are not."""
    item = tensor.element_size()
    stride, shape = tensor.stride(), tensor.shape
    is_readable = (stride[-1] == 1 and stride[-2] >= shape[-1] and stride[-2] * item % _ROW_BYTES == 0
                   and tensor.data_ptr() % _ROW_BYTES == 0
                   and (tensor.dim() == 2 or shape[0] == 1
                        or (stride[0] >= stride[1] * shape[1] and stride[0] * item % _ROW_BYTES == 0)))
    if is_readable:
        return tensor
    made = tensor.new_empty(*tensor.shape[:-1], _pitch(tensor.shape[-1], tensor.dtype))
    return made[..., : tensor.shape[-1]].copy_(tensor)


def _run(call, tensor):
    calls = _calls()
    if tensor.device.type == "cpu":
        failed = calls.heddle_matmul_grouped(call, b"sim:sm90")
    else:
        with torch.cuda.device(tensor.device):
            stream = torch._C._cuda_getCurrentRawStream(tensor.device.index)
            failed = calls.heddle_matmul_grouped_in_stream(call, stream)
    if failed:
        raise RuntimeError(_library.error())


def _grouped_shape(a, b, ends, out_dtype):
    _check_operands("matmul_grouped", a, b, 3, [("ends", ends, 1)])
    _require(a.dtype == b.dtype == torch.bfloat16, "matmul_grouped", f"a is {a.dtype} and b {b.dtype}; torch.bfloat16")
    _require(ends.dtype == torch.int32 and ends.shape[0] == b.shape[0], "matmul_grouped",
             f"ends has {ends.shape[0]} numbers of {ends.dtype}; {b.shape[0]} of torch.int32, one for each group")
    _require(out_dtype in _OUTPUTS, "matmul_grouped", f"out_dtype is {out_dtype}; {', '.join(map(str, _OUTPUTS))}")


def _grouped(a, b, ends, out_dtype=None):
    out_dtype = out_dtype or a.dtype
    _grouped_shape(a, b, ends, out_dtype)
    a, b, ends = _by_rows(a), _by_rows(b.transpose(1, 2)), ends.contiguous()
    out = a.new_zeros(a.shape[0], b.shape[1], dtype=out_dtype)
    if out.numel() == 0:
        return out
    call = _library.MatmulGroupedCall(
        groups=b.shape[0], m=a.shape[0], n=b.shape[1], k=a.shape[1], rows=b"ends", scaling=b"none", a_type=b"bf16",
        b_type=b"bf16", out_type=_OUTPUTS[out_dtype], a_pitch=a.stride(0), b_pitch=b.stride(1),
        b_group_stride=b.stride(0) if b.shape[0] > 1 else 0, a=a.data_ptr(), b=b.data_ptr(), group_rows=ends.data_ptr(),
        out=out.data_ptr())
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
    _require(out_dtype in _OUTPUTS, "matmul_scaled", f"out_dtype is {out_dtype}; {', '.join(map(str, _OUTPUTS))}")
    return _scaling(a, b, a_scales, b_scales)


def _scaled(a, b, a_scales, b_scales, out_dtype=None, exact=False):
    out_dtype = out_dtype or torch.bfloat16
    scaling = _scaled_shape(a, b, a_scales, b_scales, out_dtype)
    a, b = _by_rows(a), _by_rows(b.t())
    out = torch.empty(a.shape[0], b.shape[0], dtype=out_dtype, device=a.device)
    if out.numel() == 0:
        return out
    pitch = 0
    if scaling == b"blocks":
        # Rows of [K / 128, M] begin at multiples of 16 bytes.
        pitch = -(-a.shape[0] // 4) * 4
        by_k = a_scales.new_zeros(a_scales.shape[1], pitch)
        by_k[:, : a.shape[0]] = a_scales.t()
        a_scales, b_scales = by_k, b_scales.t()
    a_scales, b_scales = a_scales.contiguous(), b_scales.contiguous()
    call = _library.MatmulGroupedCall(
        groups=1, m=a.shape[0], n=b.shape[0], k=a.shape[1], rows=b"all", scaling=scaling, a_type=_FP8[a.dtype],
        b_type=b"e4m3", out_type=_OUTPUTS[out_dtype], is_exact=int(exact or scaling == b"blocks"), a_pitch=a.stride(0),
        b_pitch=b.stride(0), a_scales_pitch=pitch, a=a.data_ptr(), b=b.data_ptr(), out=out.data_ptr(),
        a_scales=a_scales.data_ptr(), b_scales=b_scales.data_ptr())
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
        if _is_plain(*tensors):
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
