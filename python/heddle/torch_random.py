# SPDX-License-Identifier: Apache-2.0
"""Random numbers of PyTorch's operators on the simulated card.

The CPU draws them, but as the card's generator says: by its seed, and by how far it has come, which is what
torch.cuda.manual_seed() sets and torch.cuda.get_rng_state() saves. They are not a GPU's numbers.
"""

import collections
import contextlib
import threading

import torch

_STEP = 4  # of the offset of a card's generator, which is a multiple of it
_MOST_KEPT = 1024

_lock = threading.RLock()
_states = collections.OrderedDict()  # of the CPU's generator, by seed and offset of the card's


def draws(operator):
    return torch.Tag.nondeterministic_seeded in operator.tags


@contextlib.contextmanager
def drawn_for(generator):
    """While it lasts the CPU's own generator stands for one of the card."""
    if generator is None:
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
    own = torch.default_generator
    with _lock:
        seed, offset = generator.initial_seed(), generator.get_offset()
        before = own.get_state()
        known = _states.get((seed, offset))
        if known is None:
            own.manual_seed((seed + offset * 0x9E3779B97F4A7C15) % 2**63)
        else:
            own.set_state(known)
        try:
            yield
        finally:
            generator.set_offset(offset + _STEP)
            _states[seed, offset + _STEP] = own.get_state()
            if len(_states) > _MOST_KEPT:
                _states.popitem(last=False)
            own.set_state(before)
