# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own operators on the simulated card.

They are machine code, which cannot be run, so each is run on the CPU instead, on the same bytes: the operands are
CPU tensors that lie where the card's memory does. It is registered with PyTorch's dispatcher for the key CUDA,
operator by operator, so it holds in all threads, below autograd, and whatever calls the operator.

Random numbers are drawn by the CPU as the card's generator says (torch_random).
"""

import contextlib
import ctypes
import math
import sys

import torch

from . import card, torch_capture, torch_random
from .torch_cells import CELLS
from .torch_sdpa import FUSED

# What needs no kernel: it takes memory, or only looks at it from elsewhere.
_KEEP = {
    "_reshape_alias",
    "as_strided",
    "empty.memory_format",
    "empty_strided",
    "record_stream",
    "resize_",
    "set_",
    "set_.source_Storage",
    "set_.source_Storage_storage_offset",
    "set_.source_Tensor",
    "view",
    "view_as_complex",
    "view_as_real",
    "_local_scalar_dense",
    "_pin_memory",
    "is_pinned",
    "is_set_to",
}

# Not registered for CUDA, because what they do there is no operator, or one that only a GPU has.
_ADD = ["copy_", "convolution", "convolution_backward", "_foreach_copy_"]

# What the CPU sums in half precision and every GPU in float, with how many of the results have the operands'
# type; the others, means and deviations, stay floats.
_IN_FLOAT = {
    "native_layer_norm": 1,
    "native_layer_norm_backward": 3,
    "native_batch_norm": 1,
    "native_batch_norm_backward": 3,
    "native_group_norm_backward": 3,
}
# Operators that have a kernel for CUDA alone, made of others.
_MADE_OF_OTHERS = {
    **CELLS,
    **FUSED,
    "mm.dtype": lambda one, other, dtype: torch.mm(one.to(dtype), other.to(dtype)),
    "bmm.dtype": lambda one, other, dtype: torch.bmm(one.to(dtype), other.to(dtype)),
    "addmm.dtype": lambda to, one, other, dtype, **scales: torch.addmm(
        to.to(dtype), one.to(dtype), other.to(dtype), **scales
    ),
    "baddbmm.dtype": lambda to, one, other, dtype, **scales: torch.baddbmm(
        to.to(dtype), one.to(dtype), other.to(dtype), **scales
    ),
}
_HALVES = (torch.float16, torch.bfloat16)

# Pieces of a view that are asked one by one whether anything orders them with other streams.
_MOST_RUNS = 1024

_library = None


def install(_module=None):
    """Registers all of it, once."""
    global _library
    if _library is not None:
        return
    if torch.version.cuda is None:
        print(
            f"heddle exec: this PyTorch ({torch.__version__}) was built without CUDA and finds no card. The wheels of "
            "PyPI for Linux have it: pip install torch",
            file=sys.stderr,
        )
        return
    _library = torch.library.Library("aten", "IMPL")
    names = torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")
    prefix = "aten::"
    names = [name[len(prefix) :] for name in names if name.startswith(prefix)]
    for name in [*names, *_ADD]:
        if name in _KEEP:
            continue
        operator = _find(name)
        if operator is not None:
            _library.impl(name, _fallback(operator), "CUDA", **_OVERRIDE)
    # `heddle exec` has PyTorch ask the card for each tensor, and not its cache; freeing one is as in the cache.
    card.free_quietly()
    # What only a GPU has is not chosen, so that operators are made of others.
    torch.backends.cudnn.enabled = False
    for enable in ("enable_flash_sdp", "enable_mem_efficient_sdp", "enable_cudnn_sdp"):
        if hasattr(torch.backends.cuda, enable):
            getattr(torch.backends.cuda, enable)(False)


_OVERRIDE = (
    {"allow_override": True} if "allow_override" in torch.library.Library.impl.__code__.co_varnames else {}
)


def _find(name):
    packet, _, overload = name.partition(".")
    try:
        return getattr(getattr(torch.ops.aten, packet), overload or "default")
    except AttributeError:
        return None


class _Aliases:
    """The CPU's view of the card's tensors in one call, and the way back."""

    def __init__(self, name, is_captured):
        self.name = name  # of the operator
        self.is_captured = is_captured  # it becomes a node of a graph: nothing is ordered now
        self.generator = None  # of the card, that was given
        self.originals = {}  # by the address of the storage here: a tensor of the card
        self.device = None

    def to_host(self, value, writes=False):
        if isinstance(value, torch.Tensor):
            return self.tensor_to_host(value, writes) if value.device.type == "cuda" else value
        if isinstance(value, torch.device):
            if value.type == "cuda":
                self.device = value
                return torch.device("cpu")
            return value
        if isinstance(value, torch.Generator) and value.device.type == "cuda":
            self.generator = value
            return torch.default_generator  # it stands for that one while the operator runs
        if isinstance(value, (list, tuple)):
            return type(value)(self.to_host(one, writes) for one in value)
        return value

    def tensor_to_host(self, tensor, writes):
        self.device = tensor.device
        storage = tensor.untyped_storage()
        size = storage.nbytes()
        if size == 0:
            return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
        stream = torch.cuda.current_stream(tensor.device).cuda_stream
        runs = [] if self.is_captured else _runs(tensor, most=_MOST_RUNS)
        codes = [card.order(self.name, stream, begin, length, writes) for begin, length in runs]
        code, address = card.host_address(storage.data_ptr(), size, writes and _is_all(tensor, size))
        if code != 0 or any(codes):
            # A kernel broke the card: PyTorch has its own words for that.
            torch.cuda.synchronize()
            raise RuntimeError(f"a tensor's memory is not that of the simulated card (code {code})")
        if writes and not _is_all(tensor, size):
            _note_written(tensor)
        held = torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=torch.uint8).untyped_storage()
        self.originals[held.data_ptr()] = tensor
        host = torch.empty(0, dtype=tensor.dtype)
        host.set_(held, tensor.storage_offset(), tensor.shape, tensor.stride())
        if tensor.is_conj():
            host = torch._conj(host)
        return torch._neg_view(host) if tensor.is_neg() else host

    def is_new(self, host):
        """Whether an operator has made it, and not a view of what it was given."""
        if not isinstance(host, torch.Tensor) or host.device.type != "cpu" or host.layout != torch.strided:
            return False
        storage = host.untyped_storage()
        return storage.nbytes() != 0 and storage.data_ptr() not in self.originals

    def to_card(self, value):
        if isinstance(value, torch.Tensor):
            return self.tensor_to_card(value)
        if isinstance(value, (list, tuple)):
            return type(value)(self.to_card(one) for one in value)
        return value

    def tensor_to_card(self, host):
        if host.device.type != "cpu" or host.layout != torch.strided:
            return host
        storage = host.untyped_storage()
        original = self.originals.get(storage.data_ptr()) if storage.nbytes() else None
        if original is not None:
            return original.as_strided(host.shape, host.stride(), host.storage_offset())
        made = torch.empty(storage.nbytes(), dtype=torch.uint8, device=self.device)
        if storage.nbytes():
            _, address = card.host_address(made.data_ptr(), storage.nbytes(), True)
            ctypes.memmove(address, storage.data_ptr(), storage.nbytes())
        result = torch.empty(0, dtype=host.dtype, device=self.device)
        return result.set_(made.untyped_storage(), host.storage_offset(), host.shape, host.stride())


def _is_all(tensor, size):
    return tensor.numel() * tensor.element_size() == size


def _runs(tensor, most=None):
    """(address, bytes) of what a view takes, row by row, as it lies in memory; nothing if there are more than `most`."""
    if tensor.numel() == 0:
        return []
    item = tensor.element_size()
    dims = sorted(((stride, extent) for stride, extent in zip(tensor.stride(), tensor.shape) if extent > 1))
    run = 1
    while dims and dims[0][0] <= run:
        stride, extent = dims.pop(0)
        run = max(run, stride * (extent - 1) + run)
    if most is not None and math.prod(extent for _, extent in dims) > most:
        return []
    offsets = [0]
    for stride, extent in dims:
        offsets = [base + stride * index for index in range(extent) for base in offsets]
    return [(tensor.data_ptr() + offset * item, run * item) for offset in offsets]


def _note_written(tensor):
    """The bytes of a view mean something from now on."""
    for begin, length in _runs(tensor):
        card.host_address(begin, length, True)


def _fallback(operator):
    arguments = operator._schema.arguments
    writes = [one.alias_info is not None and one.alias_info.is_write for one in arguments]
    writes_by_name = {one.name: write for one, write in zip(arguments, writes)}
    rounded = _IN_FLOAT.get(operator._schema.name[len("aten::") :])
    is_copy = operator._schema.name == "aten::copy_"
    compute = _with_numbers(operator) if rounded is None else _in_float(operator, rounded)

    draws = torch_random.draws(operator)
    name = f"{operator} of PyTorch"

    def run(*args, **kwargs):
        is_captured = torch_capture.is_on()
        if is_captured:
            torch_capture.refuse_shapes(operator)
        aliases = _Aliases(name, is_captured)
        host_args = [aliases.to_host(one, write) for one, write in zip(args, writes)]
        host_kwargs = {name: aliases.to_host(one, writes_by_name[name]) for name, one in kwargs.items()}
        given_to_write = [
            (one, host)
            for one, host, write in (
                *zip(args, host_args, writes),
                *((kwargs[name], host_kwargs[name], writes_by_name[name]) for name in kwargs),
            )
            if write
        ]
        outputs = [
            (one, host) for one, host in given_to_write if isinstance(one, torch.Tensor) and one.device.type == "cuda"
        ]
        written = torch_capture.Written([host for _, host in given_to_write]) if is_captured else None
        # A generator cannot be asked while a stream captures; a graph draws from the CPU's own.
        random = draws and not is_captured
        with torch_random.drawn_for(aliases.generator) if random else contextlib.nullcontext():
            done, result = _compute(operator, compute, host_args, host_kwargs)
        if is_captured:
            written.put_back()
        moved = [(one, host) for one, host in outputs if _bring_back(one, host, aliases)]
        if is_copy and _waits(*args, **kwargs):
            torch.cuda.current_stream().synchronize()
        given = {id(host): one for one, host in outputs}
        is_many = isinstance(result, (list, tuple))
        if is_many:
            made = type(result)(given[id(one)] if id(one) in given else aliases.to_card(one) for one in result)
        else:
            made = given[id(result)] if id(result) in given else aliases.to_card(result)
        if is_captured:
            pairs = [*enumerate(zip(result, made))] if is_many else [(None, (result, made))]
            results = [
                (place, aliases.to_host(there, True))
                for place, (here, there) in pairs
                if id(here) not in given and aliases.is_new(here)
            ]
            moves = [(host, aliases.to_host(one, True)) for one, host in moved]
            torch_capture.add(done, host_args, host_kwargs, results, moves)
        return made

    return run


def _compute(operator, compute, args, kwargs):
    """What did it, and what it made."""
    try:
        return compute, compute(*args, **kwargs)
    except NotImplementedError as error:
        others = _made_of_others(operator)
        result = NotImplemented if others is None else others(*args, **kwargs)
        if result is NotImplemented:
            raise NotImplementedError(
                f"{operator} has a kernel for CUDA alone, which is machine code, so it cannot run on the "
                "simulated card; heddle runs PyTorch's operators on the CPU"
            ) from error
        return others, result


def _made_of_others(operator):
    """A function of other operators that does the same, as PyTorch itself has them for its compiler; None: there is none.
    It writes to none of its arguments."""
    if any(one.alias_info is not None and one.alias_info.is_write for one in operator._schema.arguments):
        return None
    own = _MADE_OF_OTHERS.get(str(operator)[len("aten.") :])
    if own is not None:
        return own
    from torch._decomp import decomposition_table  # a second to import, so only where it is needed

    return decomposition_table.get(operator)


def _with_numbers(operator):
    """The operator where PyTorch hands over a number for a tensor, as in `tensor & 1`: its overload for numbers."""
    tensors = [str(one.type) == "Tensor" for one in operator._schema.arguments]

    def run(*args, **kwargs):
        if any(is_tensor and isinstance(one, (bool, int, float, complex)) for one, is_tensor in zip(args, tensors)):
            return operator.overloadpacket(*args, **kwargs)
        return operator(*args, **kwargs)

    return run


def _waits(to, source, non_blocking=False):
    """Whether the host waits for a copy: one between it and the card, unless told otherwise."""
    return to.device != source.device and not non_blocking


def _in_float(operator, rounded):
    """The operator on floats, the first of its results rounded to the type of the first operand."""

    def run(*args, **outputs):
        dtype = args[0].dtype
        if outputs or dtype not in _HALVES:
            return operator(*args, **outputs)
        floats = [one.float() if isinstance(one, torch.Tensor) and one.dtype in _HALVES else one for one in args]
        results = operator(*floats)
        halves = (one.to(dtype) if isinstance(one, torch.Tensor) else one for one in results[:rounded])
        return (*halves, *results[rounded:])

    return run


def _bring_back(tensor, host, aliases):
    """An output that the operator has given another shape, or other memory, has it on the card, too: then true."""
    if host.untyped_storage().data_ptr() in aliases.originals and host.shape == tensor.shape:
        return False
    if host.numel() == 0 and tensor.numel() == 0 and host.shape == tensor.shape:
        return False
    made = aliases.tensor_to_card(host)
    tensor.set_(made.untyped_storage(), made.storage_offset(), made.shape, made.stride())
    return True
