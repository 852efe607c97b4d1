# SPDX-License-Identifier: Apache-2.0
"""The simulated card of this process, if `heddle exec` runs it: src/runtime/calls/heddle.cpp by ctypes."""

import ctypes
import functools
import traceback
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_void_p

from . import _library

_HOST_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p)

_CALLS = {
    "heddle_exec_host_bytes": (c_int, [c_void_p, c_size_t, c_int, POINTER(c_void_p)]),
    "heddle_exec_order": (c_int, [c_char_p, c_void_p, c_void_p, c_size_t, c_int]),
    "heddle_exec_free_quietly": (None, []),
    "heddle_exec_keep_reports": (None, []),
    "heddle_exec_take_report": (c_void_p, []),
    "heddle_exec_fail": (None, []),
    "heddle_exec_mend": (None, []),
    "heddle_exec_keep_ptx": (None, [c_char_p]),
    "cudaLaunchHostFunc": (c_int, [c_void_p, _HOST_FUNCTION, c_void_p]),
    **_library.REPORT_CALLS,
}


@functools.cache
def _runtime():
    # `heddle exec` loads it before all others, so the process itself has its functions.
    try:
        return _library.declare(ctypes.CDLL(None), _CALLS)
    except AttributeError:
        return None


def is_simulated():
    """Whether this process runs against the simulated card."""
    return _runtime() is not None


def host_address(address, size, writes):
    """(code, address) of the bytes of device memory in this process; the code is one of CUDA's."""
    found = c_void_p()
    code = _runtime().heddle_exec_host_bytes(address, size, writes, found)
    return code, found.value


def order(name, stream, address, size, writes):
    """The code of an operator that is about to touch bytes of the card, as work of a stream."""
    return _runtime().heddle_exec_order(name.encode(), stream, address, size, writes)


def launch_host_function(stream, function):
    """A function of the host as work of a stream. What is returned must live as long as it can be called. When it raises,
    nobody is there to catch that: it is printed, and the card is broken, as by an assertion of a kernel."""

    def run(data):
        try:
            function(data)
        except BaseException:
            traceback.print_exc()
            _runtime().heddle_exec_fail()

    kept = _HOST_FUNCTION(run)
    code = _runtime().cudaLaunchHostFunc(stream, kept, None)
    if code != 0:
        raise RuntimeError(f"a function of the host cannot be work of this stream (code {code} of CUDA)")
    return kept


def free_quietly():
    """From now on memory is taken and given back as from a cache: freeing does not wait for the card, and does not fail on
    one that a kernel broke; both are allowed while a stream captures."""
    _runtime().heddle_exec_free_quietly()


def keep_reports():
    """From now on reports wait for take_reports() and are not printed."""
    _runtime().heddle_exec_keep_reports()


def take_reports():
    """What launches found since the last time."""
    runtime = _runtime()
    reports = []
    while handle := runtime.heddle_exec_take_report():
        reports.append(_library.take_report(runtime, handle))
    return reports


def mend():
    """Makes a card that a kernel broke work again; its memory stays as it is."""
    _runtime().heddle_exec_mend()


def keep_ptx(text):
    """The PTX of machine code that will be loaded, by the names of its kernels."""
    _runtime().heddle_exec_keep_ptx(text.encode())
