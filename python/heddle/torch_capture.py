# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operators in CUDA graphs.

While a stream captures, nothing runs. An operator that runs on the CPU (torch_fallback) is run all the same, because
only then its results have shapes, and what it wrote to is put back. It becomes a host function of the graph, which
runs it again, on the same bytes, each time the graph is launched. Its tensors live as long as the process, as those of
a graph must live as long as the graph.
"""

import torch

from . import card

_kept = []  # host functions of graphs, and through them the tensors


def is_on():
    """Whether the current stream captures."""
    return torch.cuda.is_current_stream_capturing()


def refuse_shapes(operator):
    """An operator whose results have shapes, or are numbers, that only a run can tell."""
    if {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output} & set(operator.tags):
        raise RuntimeError(
            f"{operator} cannot be captured in a CUDA graph: what it makes depends on values (CUDA error: operation "
            "not permitted when stream is capturing)"
        )


class Written:
    """What an operator writes to, as it was before."""

    def __init__(self, hosts):
        tensors = (one for host in hosts for one in (host if isinstance(host, (list, tuple)) else [host]))
        self.before = [(one, one.clone()) for one in tensors if isinstance(one, torch.Tensor)]

    def put_back(self):
        for host, before in self.before:
            if host.shape == before.shape:
                host.copy_(before)


def add(compute, args, kwargs, results, outputs):
    """The operator as a node of the graph. `results` are pairs: where in what it returns, and the bytes of the card that
    this goes to; `outputs` are pairs of what it writes to and where that goes, of those that it has moved."""
    inference = torch.is_inference_mode_enabled()

    def run(_):
        with torch.inference_mode(inference), torch.no_grad():
            made = compute(*args, **kwargs)
            for place, to in results:
                to.copy_(made if place is None else made[place])
            for one, to in outputs:
                to.copy_(one)

    _kept.append(card.launch_host_function(torch.cuda.current_stream().cuda_stream, run))
