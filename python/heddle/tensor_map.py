# SPDX-License-Identifier: Apache-2.0
"""Tensor maps: what kernels that copy tiles with TMA take for a matrix.

heddle.TensorMap(x, box=(64, 64), swizzle="128B")      # an argument, in the place of x
"""

import ctypes

from . import _library
from .arrays import span_of

__all__ = ["TensorMap"]

_BYTES = 128
_TYPES = {
    "u1": "u8",
    "u2": "u16",
    "u4": "u32",
    "u8": "u64",
    "i4": "i32",
    "i8": "i64",
    "f2": "f16",
    "f4": "f32",
    "f8": "f64",
    "torch.uint8": "u8",
    "torch.int32": "i32",
    "torch.int64": "i64",
    "torch.float16": "f16",
    "torch.bfloat16": "bf16",
    "torch.float32": "f32",
    "torch.float64": "f64",
}


class TensorMap:
    """The map of an array of numpy or a CPU tensor of PyTorch, whose last dimension is contiguous.

    `box` is the tile that one copy moves, in elements, in the order of the array's shape. `type` is one of
    heddle/c_api.h's, where the array's own is not what the copy engine should take it for.
    """

    def __init__(self, array, box, swizzle="none", type=None):
        self.span = span_of(array)
        if hasattr(array, "untyped_storage"):
            item, kind = array.element_size(), str(array.dtype)
            shape, strides = tuple(array.shape), tuple(stride * item for stride in array.stride())
        elif hasattr(array, "__array_interface__"):
            item, kind = array.itemsize, array.__array_interface__["typestr"][1:]
            shape, strides = array.shape, array.strides
        else:
            raise TypeError(f"a tensor map of a {array.__class__.__name__}; an array of numpy or a CPU tensor")
        box = tuple(box)
        if not 1 <= len(shape) <= 5 or len(box) != len(shape):
            raise ValueError(f"a box of {box} in an array of {shape}; one to five dimensions, as many in both")
        if strides[-1] != item:
            raise ValueError(f"the last dimension has elements {strides[-1]} bytes apart; {item}, without gaps")
        if type is None and kind not in _TYPES:
            raise TypeError(f"the copy engine has no type {kind}; name one, such as type='u8'")
        tensor = _library.Tensor(
            type=(type or _TYPES[kind]).encode(),
            rank=len(shape),
            address=self.span.pointer,
            dims=shape[::-1],
            strides=strides[-2::-1],
            box=box[::-1],
            swizzle=swizzle.encode(),
        )
        made = ctypes.create_string_buffer(_BYTES)
        if _library.library().heddle_tensor_map(tensor, made):
            raise ValueError(_library.error())
        self.bytes = made.raw
