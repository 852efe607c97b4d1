# SPDX-License-Identifier: Apache-2.0
"""The memory behind an argument of a kernel: numpy arrays, CPU tensors of PyTorch, and Python's own buffers."""

import ctypes
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Span:
    """`pointer` is what the kernel gets; the bytes that it may reach lie from `begin` on."""

    pointer: int
    begin: int
    bytes: int
    is_writable: bool
    owner: Any  # keeps the bytes


def span_of(value):
    """The memory of `value`, or None if it is no array."""
    if hasattr(value, "untyped_storage"):
        return _of_tensor(value)
    if hasattr(value, "__array_interface__"):
        return _of_array(value)
    try:
        view = memoryview(value)
    except TypeError:
        return None
    return _of_buffer(value, view)


def _of_tensor(tensor):
    if tensor.device.type != "cpu":
        raise TypeError(f"a tensor on {tensor.device}; the simulated SM takes tensors on the CPU: tensor.cpu()")
    storage = tensor.untyped_storage()
    return Span(tensor.data_ptr(), storage.data_ptr(), storage.nbytes(), True, tensor)


def _of_array(array):
    interface = array.__array_interface__
    pointer, is_read_only = interface["data"]
    strides = interface.get("strides")
    itemsize = int(interface["typestr"][2:])
    shape = interface["shape"]
    if 0 in shape:
        return Span(pointer, pointer, 0, not is_read_only, array)
    low = high = 0
    if strides is None:
        count = 1
        for extent in shape:
            count *= extent
        high = (count - 1) * itemsize
    else:
        for extent, stride in zip(shape, strides):
            reach = (extent - 1) * stride
            low, high = low + min(reach, 0), high + max(reach, 0)
    return Span(pointer, pointer + low, high - low + itemsize, not is_read_only, array)


def _of_buffer(value, view):
    if not view.contiguous:
        raise TypeError("a buffer with gaps; the kernel gets an address, so its bytes must follow one another")
    if view.readonly:
        # ctypes takes no address of a buffer that cannot be written: the kernel gets a copy.
        copy = ctypes.create_string_buffer(bytes(view), view.nbytes)
        return Span(ctypes.addressof(copy), ctypes.addressof(copy), view.nbytes, False, copy)
    held = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B") if view.nbytes else view)
    return Span(ctypes.addressof(held), ctypes.addressof(held), view.nbytes, True, held)


def merged(spans):
    """Regions that do not overlap, as (begin, bytes, is_writable): arguments may share memory."""
    regions = []
    for span in sorted((one for one in spans if one.bytes), key=lambda one: one.begin):
        if regions and span.begin < regions[-1][0] + regions[-1][1]:
            begin, size, is_writable = regions[-1]
            end = max(begin + size, span.begin + span.bytes)
            regions[-1] = (begin, end - begin, is_writable or span.is_writable)
        else:
            regions.append((span.begin, span.bytes, span.is_writable))
    return regions
