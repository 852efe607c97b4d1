# SPDX-License-Identifier: Apache-2.0
"""Times of functions on a GPU, one beside another: bursts of launches in CUDA graphs, in random order, with pauses."""

import random
import time

import torch


def graph_of(work, count):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(count):
            work(i)
    return graph


def measure(graphs, count, rounds):
    times = {name: [] for name in graphs}
    for _ in range(rounds):
        names = list(graphs)
        random.shuffle(names)
        for name in names:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graphs[name].replay()
            end.record()
            torch.cuda.synchronize()
            times[name].append(begin.elapsed_time(end) / count)
            time.sleep(0.012)
    return {name: sorted(values)[len(values) // 2] for name, values in times.items()}
