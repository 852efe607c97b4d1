# SPDX-License-Identifier: Apache-2.0
"""libheddle.so by ctypes: include/heddle/c_api.h, structure by structure."""

import ctypes
import functools
import pathlib
from ctypes import POINTER, c_char_p, c_float, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

from .report import Finding, Place, Report


class Parameter(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("bytes", c_size_t), ("offset", c_size_t), ("is_float", c_int)]


class Kernel(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("parameters", POINTER(Parameter)),
        ("parameter_count", c_size_t),
        ("parameter_bytes", c_size_t),
        ("max_threads", c_uint32),
        ("required_block", c_uint32 * 3),
        ("required_cluster", c_uint32 * 3),
        ("static_shared_bytes", c_size_t),
        ("unsupported", c_char_p),
    ]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("type", c_char_p),
        ("rank", c_uint32),
        ("address", c_void_p),
        ("dims", c_uint64 * 5),
        ("strides", c_uint64 * 4),
        ("box", c_uint32 * 5),
        ("swizzle", c_char_p),
    ]


class Region(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("begin", c_void_p), ("bytes", c_size_t), ("is_writable", c_int)]


PRINT = ctypes.CFUNCTYPE(None, c_void_p, POINTER(ctypes.c_char), c_size_t)


class Launch(ctypes.Structure):
    _fields_ = [
        ("kernel", c_char_p),
        ("arch", c_char_p),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("cluster", c_uint32 * 3),
        ("dynamic_shared_bytes", c_size_t),
        ("parameters", c_void_p),
        ("parameter_bytes", c_size_t),
        ("regions", POINTER(Region)),
        ("region_count", c_size_t),
        ("sms", c_uint32),
        ("schedule", c_char_p),
        ("schedules", c_uint32),
        ("seed", c_uint64),
        ("pct_depth", c_uint32),
        ("budget", c_uint64),
        ("check_races", c_int),
        ("strict", c_int),
        ("accepted", POINTER(c_char_p)),
        ("accepted_count", c_size_t),
        ("print", PRINT),
        ("print_context", c_void_p),
    ]


class CFinding(ctypes.Structure):
    _fields_ = [
        ("code", c_char_p),
        ("verdict", c_char_p),
        ("text", c_char_p),
        ("accepted_by", c_char_p),
        ("places", POINTER(c_char_p)),
        ("place_count", c_size_t),
        ("times", c_uint64),
        ("has_stopped", c_int),
    ]


class MatmulCall(ctypes.Structure):
    _fields_ = [
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("batches", c_int64),
        ("a_type", c_char_p),
        ("b_type", c_char_p),
        ("out_type", c_char_p),
        ("a_is_mn_major", c_int),
        ("b_is_mn_major", c_int),
        ("a_pitch", c_int64),
        ("b_pitch", c_int64),
        ("out_pitch", c_int64),
        ("a_batch_stride", c_int64),
        ("b_batch_stride", c_int64),
        ("out_batch_stride", c_int64),
        ("alpha", c_float),
        ("beta", c_float),
        ("a", c_void_p),
        ("b", c_void_p),
        ("out", c_void_p),
        ("bias", c_void_p),
        ("sms", c_uint32),
        ("schedule", c_char_p),
    ]


class MatmulGroupedCall(ctypes.Structure):
    _fields_ = [
        ("groups", c_int64),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("rows", c_char_p),
        ("scaling", c_char_p),
        ("a_type", c_char_p),
        ("b_type", c_char_p),
        ("out_type", c_char_p),
        ("is_exact", c_int),
        ("a_pitch", c_int64),
        ("b_pitch", c_int64),
        ("out_pitch", c_int64),
        ("b_group_stride", c_int64),
        ("a_scales_pitch", c_int64),
        ("a", c_void_p),
        ("b", c_void_p),
        ("group_rows", c_void_p),
        ("out", c_void_p),
        ("a_scales", c_void_p),
        ("b_scales", c_void_p),
        ("sms", c_uint32),
        ("schedule", c_char_p),
    ]


class AttentionStrides(ctypes.Structure):
    _fields_ = [("row", c_int64), ("head", c_int64), ("batch", c_int64)]


class AttentionCall(ctypes.Structure):
    _fields_ = [
        ("batches", c_int64),
        ("heads", c_int64),
        ("key_heads", c_int64),
        ("queries", c_int64),
        ("keys", c_int64),
        ("head_dim", c_int64),
        ("value_dim", c_int64),
        ("type", c_char_p),
        ("is_causal", c_int),
        ("window", c_int64),
        ("soft_cap", c_float),
        ("scale", c_float),
        ("q_strides", AttentionStrides),
        ("k_strides", AttentionStrides),
        ("v_strides", AttentionStrides),
        ("o_strides", AttentionStrides),
        ("q", c_void_p),
        ("k", c_void_p),
        ("v", c_void_p),
        ("o", c_void_p),
        ("lse", c_void_p),
        ("sinks", c_void_p),
        ("query_rows", c_int64),
        ("key_rows", c_int64),
        ("query_offsets", c_void_p),
        ("key_offsets", c_void_p),
        ("sms", c_uint32),
        ("schedule", c_char_p),
    ]


REPORT_CALLS = {
    "heddle_report_count": (c_size_t, [c_void_p]),
    "heddle_report_finding": (c_int, [c_void_p, c_size_t, POINTER(CFinding)]),
    "heddle_report_kernel": (c_char_p, [c_void_p]),
    "heddle_report_schedule": (c_char_p, [c_void_p]),
    "heddle_report_instructions": (c_uint64, [c_void_p]),
    "heddle_report_free": (None, [c_void_p]),
}

_CALLS = {
    "heddle_version": (c_char_p, []),
    "heddle_error": (c_char_p, []),
    "heddle_module_load": (c_void_p, [c_char_p, c_char_p]),
    "heddle_module_free": (None, [c_void_p]),
    "heddle_module_target": (c_char_p, [c_void_p]),
    "heddle_module_kernel_count": (c_size_t, [c_void_p]),
    "heddle_module_kernel": (c_int, [c_void_p, c_size_t, POINTER(Kernel)]),
    "heddle_tensor_map": (c_int, [POINTER(Tensor), c_void_p]),
    "heddle_module_launch": (c_void_p, [c_void_p, POINTER(Launch)]),
    **REPORT_CALLS,
}


def declare(library, calls):
    """Tells ctypes the types of these functions of a library."""
    for name, (result, arguments) in calls.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


@functools.cache
def library():
    package = pathlib.Path(__file__).parent
    # Inside the package in a wheel; where CMake installed it, lib/libheddle.so beside lib/heddle/python/heddle.
    for path in (package / "lib" / "libheddle.so", package.parents[2] / "libheddle.so"):
        if path.is_file():
            return declare(ctypes.CDLL(str(path)), _CALLS)
    raise ImportError(f"libheddle.so is not beside {package}; install heddle with pip, or with cmake --install")


def error():
    return library().heddle_error().decode()


def take_report(owner, handle):
    """A report of the library `owner` as an object; the handle is given back."""
    try:
        findings = []
        for index in range(owner.heddle_report_count(handle)):
            raw = CFinding()
            owner.heddle_report_finding(handle, index, raw)
            findings.append(
                Finding(
                    code=raw.code.decode(),
                    verdict=raw.verdict.decode(),
                    text=raw.text.decode(errors="replace"),
                    places=tuple(
                        Place.parse(raw.places[p].decode(errors="replace")) for p in range(raw.place_count)
                    ),
                    times=raw.times,
                    accepted_by=raw.accepted_by.decode(),
                    has_stopped=bool(raw.has_stopped),
                )
            )
        return Report(
            kernel=owner.heddle_report_kernel(handle).decode(),
            schedule=owner.heddle_report_schedule(handle).decode(),
            instructions=owner.heddle_report_instructions(handle),
            findings=tuple(findings),
        )
    finally:
        owner.heddle_report_free(handle)
