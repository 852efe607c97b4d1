# SPDX-License-Identifier: Apache-2.0
"""PTX in the simulated SM, on arrays of this process.

module = heddle.load("saxpy.ptx")                       # a file, or the text itself
saxpy = module["saxpy"]
report = saxpy[(4,), (128,)](n, 2.0, x, y)              # raises KernelError where it is stopped

kernel = heddle.load(compiled)                          # what triton.compile() returns
kernel[(grid,)](x, y, out, n)
"""

import ctypes
import os
import pathlib
import struct

from . import _library
from .arrays import merged, span_of
from .report import KernelError
from .tensor_map import TensorMap

__all__ = ["Kernel", "Module", "load"]

_FLOATS = {2: "e", 4: "f", 8: "d"}


def load(source, name=None):
    """A Module of PTX text, or of the file of that name; a Kernel of what triton.compile() returns."""
    if hasattr(source, "asm") and hasattr(source, "metadata"):
        return _of_triton(source)
    if isinstance(source, bytes):
        source = source.decode()
    if isinstance(source, str) and "\n" in source:
        return Module(source, name or "module.ptx")
    path = pathlib.Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"'{path}' is no file, and as text of PTX it would have more than one line")
    return Module(path.read_text(), name or path.name)


def _of_triton(compiled):
    if "ptx" not in compiled.asm:
        raise TypeError(
            f"the compiled kernel has {', '.join(compiled.asm)} and no PTX; compile it for a target 'cuda'"
        )
    metadata = compiled.metadata
    kernel = Module(compiled.asm["ptx"], f"{metadata.name}.ptx")[metadata.name]
    cluster = tuple(getattr(metadata, "cluster_dims", None) or (getattr(metadata, "num_ctas", 1), 1, 1))
    kernel.block = kernel.required_block or (metadata.num_warps * 32, 1, 1)
    kernel.cluster = cluster if cluster != (1, 1, 1) else None
    kernel.shared_bytes = metadata.shared
    kernel.is_triton = True
    return kernel


def _triple(dims, what):
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    if not 1 <= len(dims) <= 3 or not all(isinstance(one, int) and 0 <= one < 2**32 for one in dims):
        raise ValueError(f"{what} is {dims}; one to three whole numbers")
    return dims + (1,) * (3 - len(dims))


class Module:
    """The kernels of a text of PTX, by name."""

    def __init__(self, text, name="module.ptx"):
        library = _library.library()
        self._handle = library.heddle_module_load(text.encode(), os.fspath(name).encode())
        if not self._handle:
            raise ValueError(_library.error())
        self.target = library.heddle_module_target(self._handle).decode()
        self.kernels = {}
        for index in range(library.heddle_module_kernel_count(self._handle)):
            raw = _library.Kernel()
            library.heddle_module_kernel(self._handle, index, raw)
            kernel = Kernel(self, raw)
            self.kernels[kernel.name] = kernel

    def __del__(self):
        if getattr(self, "_handle", None):
            _library.library().heddle_module_free(self._handle)

    def __getitem__(self, name):
        if name not in self.kernels:
            raise KeyError(f"no kernel '{name}'; there are {', '.join(self.kernels) or 'none'}")
        return self.kernels[name]


class Kernel:
    """One kernel. `kernel[grid, block](*arguments, **options)` launches it; see launch()."""

    def __init__(self, module, raw):
        self.module = module
        self.name = raw.name.decode()
        self.parameters = [
            (one.name.decode(), one.bytes, one.offset, bool(one.is_float))
            for one in raw.parameters[: raw.parameter_count]
        ]
        self.parameter_bytes = raw.parameter_bytes
        self.required_block = tuple(raw.required_block) if all(raw.required_block) else None
        self.unsupported = raw.unsupported.decode()
        self.block = self.required_block
        self.cluster = None
        self.shared_bytes = 0
        self.is_triton = False

    def __getitem__(self, shape):
        grid, block = (shape, None)
        if isinstance(shape, tuple) and len(shape) == 2 and any(isinstance(one, tuple) for one in shape):
            grid, block = shape
        return lambda *arguments, **options: self.launch(grid, block, *arguments, **options)

    def launch(
        self,
        grid,
        block,
        *arguments,
        arch=None,
        cluster=None,
        shared_bytes=None,
        sms=0,
        schedule=None,
        schedules=0,
        seed=1,
        pct=0,
        budget=0,
        races=True,
        strict=False,
        accept=(),
        check=True,
        print=None,
    ):
        """Runs the kernel to its end and returns the Report.

        Arguments are arrays, whose address the kernel gets, and numbers, which are converted to the type of
        the parameter. The options are those of `heddle exec`; `arch` is sm90 or sm100, and where it is left out
        the one that the PTX is for. With check=False nothing is raised for a kernel that is stopped. `print` is
        called with what the kernel prints.
        """
        block = block or self.block
        if block is None:
            raise TypeError(f"{self.name}: how many threads? kernel[grid, block](...)")
        parameters, spans = self._pack(arguments)
        regions = merged(spans)
        names = {span.begin: f"argument {index}" for index, span in reversed(list(enumerate(spans)))}
        raw_regions = (_library.Region * len(regions))(
            *(_library.Region(names[begin].encode(), begin, size, writable) for begin, size, writable in regions)
        )
        accepted = (ctypes.c_char_p * len(accept))(*(rule.encode() for rule in accept))
        said = (
            _library.PRINT(lambda _, text, size: print(ctypes.string_at(text, size).decode(errors="replace")))
            if print
            else _library.PRINT()
        )
        launch = _library.Launch(
            kernel=self.name.encode(),
            arch=(arch or self._arch()).encode(),
            grid=_triple(grid, "the grid"),
            block=_triple(block, "the block"),
            cluster=_triple(cluster or self.cluster, "the cluster") if cluster or self.cluster else (0, 0, 0),
            dynamic_shared_bytes=self.shared_bytes if shared_bytes is None else shared_bytes,
            parameters=ctypes.cast(parameters, ctypes.c_void_p),
            parameter_bytes=self.parameter_bytes,
            regions=raw_regions,
            region_count=len(regions),
            sms=sms,
            schedule=schedule.encode() if schedule else None,
            schedules=schedules,
            seed=seed,
            pct_depth=pct,
            budget=budget,
            check_races=races,
            strict=strict,
            accepted=accepted,
            accepted_count=len(accept),
            print=said,
        )
        library = _library.library()
        handle = library.heddle_module_launch(self.module._handle, launch)
        if not handle:
            raise ValueError(_library.error())
        report = _library.take_report(library, handle)
        if check and not report.ok:
            raise KernelError(report)
        return report

    def _arch(self):
        return "sm100" if self.module.target.startswith(("sm_100", "sm_103")) else "sm90"

    def _pack(self, arguments):
        """The bytes of the parameters, and the memory of the arguments among them."""
        expected = len(self.parameters)
        # Triton adds pointers to scratch memory at the end, which are null where a kernel needs none.
        hidden = 2 if self.is_triton and len(arguments) + 2 == expected else 0
        if len(arguments) + hidden != expected:
            raise TypeError(f"{self.name} takes {expected} arguments, and got {len(arguments)}")
        packed = ctypes.create_string_buffer(self.parameter_bytes or 1)
        spans = []
        for argument, (name, size, offset, is_float) in zip(arguments, self.parameters):
            value = self._value(argument, f"{self.name}: {name}", size, is_float, spans)
            ctypes.memmove(ctypes.addressof(packed) + offset, value, size)
        return packed, spans

    def _value(self, argument, what, size, is_float, spans):
        """The bytes of one parameter; its memory, if it has any, is added to `spans`."""
        if isinstance(argument, TensorMap):
            if size != len(argument.bytes):
                raise TypeError(f"{what} has {size} bytes, and a tensor map has {len(argument.bytes)}")
            spans.append(argument.span)
            return argument.bytes
        is_number = isinstance(argument, (bool, int, float)) or _is_scalar(argument)
        span = None if is_number else span_of(argument)
        if span is None:
            return _bytes_of(argument, size, is_float, what)
        if size != 8:
            raise TypeError(f"{what} has {size} bytes, and an array's address has 8")
        spans.append(span)
        return span.pointer.to_bytes(8, "little")


def _is_scalar(value):
    """A number of numpy or ctypes, whose type is its own."""
    return isinstance(value, ctypes._SimpleCData) or (
        hasattr(value, "dtype") and getattr(value, "shape", None) == () and not hasattr(value, "untyped_storage")
    )


def _bytes_of(value, size, is_float, what):
    if isinstance(value, ctypes._SimpleCData):
        raw = bytes(value)
    elif _is_scalar(value):
        raw = value.tobytes()
    elif value is None:
        raw = bytes(8)
    elif isinstance(value, float) or (is_float and isinstance(value, int)):
        if not is_float and isinstance(value, float):
            raise TypeError(f"{what} is an integer of {size} bytes, and {value} is none")
        if size not in _FLOATS:
            raise TypeError(f"{what} has {size} bytes; a float has 2, 4 or 8")
        raw = struct.pack("<" + _FLOATS[size], value)
    elif isinstance(value, int):
        low, high = -(1 << (8 * size - 1)), (1 << (8 * size)) - 1
        if not low <= value <= high:
            raise OverflowError(f"{what} has {size} bytes, which {value} does not fit; {low} to {high}")
        raw = (value & high).to_bytes(size, "little")
    else:
        raise TypeError(f"{what}: a {type(value).__name__}; an array or a number")
    if len(raw) != size:
        raise TypeError(f"{what} has {size} bytes, and a {type(value).__name__} has {len(raw)}")
    return raw
