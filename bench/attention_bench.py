#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heddle's attention beside cuDNN's, through torch's scaled_dot_product_attention, in one run on one GPU.

    attention_bench.py build/gpu-sm90a/bench/libheddle_attention.so [--rounds 21] [--errors]

Bursts: 2 ms of launches in a CUDA graph over four sets of random tensors, then a pause of 12 ms; the kernels take turns in
random order; medians. --errors compares both with float64 first.
"""
import argparse
import ctypes
import math
import random
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

TOKENS = 16384
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
SETS = 4


def load(path):
    library = ctypes.CDLL(path)
    library.heddle_attention.restype = ctypes.c_char_p
    library.heddle_attention.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_int] * 8 + [ctypes.c_void_p]

    def attention(q, k, v, o, lse, is_causal):
        batches, heads, queries, head_dim = q.shape
        error = library.heddle_attention(
            q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr(), 0 if lse is None else lse.data_ptr(), batches,
            heads, k.shape[1], queries, k.shape[2], head_dim, int(q.dtype == torch.float16), int(is_causal),
            torch.cuda.current_stream().cuda_stream)
        if error is not None:
            sys.exit(error.decode())

    return attention


def cudnn(q, k, v, is_causal):
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def reference(q, k, v, is_causal):
    """In float64; the last query sees the last key, and one that sees none has zeros."""
    sharing = q.shape[1] // k.shape[1]
    k, v = (t.double().repeat_interleave(sharing, 1) for t in (k, v))
    scores = q.double() @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(k.shape[2] - q.shape[2])
        scores = scores.masked_fill(~seen, -math.inf)
    return torch.softmax(scores, -1).nan_to_num(0) @ v, torch.logsumexp(scores, -1)


def random_tensors(batches, heads, key_heads, queries, keys, head_dim, dtype=torch.bfloat16):
    def normal(heads, rows):
        return torch.randn(batches, heads, rows, head_dim, device="cuda", dtype=dtype)

    return normal(heads, queries), normal(key_heads, keys), normal(key_heads, keys)


def errors(attention, count):
    """Random shapes, with outputs of NaNs before; the largest errors of both kernels."""
    chooser = random.Random(11)
    worst = {}
    for i in range(count):
        head_dim = chooser.choice((64, 128))
        dtype = chooser.choice((torch.bfloat16, torch.float16))
        key_heads = chooser.choice((1, 2, 3))
        heads = key_heads * chooser.choice((1, 2, 4))
        queries = chooser.choice((1, 17, 64, 200, 333, 512, 1000))
        keys = queries if i % 2 == 0 else chooser.choice((1, 100, 128, 257, 640, 1500))
        is_causal = chooser.random() < 0.5
        q, k, v = random_tensors(chooser.choice((1, 2)), heads, key_heads, queries, keys, head_dim, dtype)
        o = torch.full_like(q, math.nan)
        lse = torch.full(q.shape[:3], math.nan, device="cuda")
        attention(q, k, v, o, lse, is_causal)
        expected, expected_lse = reference(q, k, v, is_causal)
        entry = worst.setdefault((str(dtype).removeprefix("torch."), head_dim), [0.0, 0.0, 0.0])
        if o.isnan().any() or lse.isnan().any():
            sys.exit(f"NaN: {q.shape}, {k.shape}, causal {is_causal}")
        entry[0] = max(entry[0], (o.double() - expected).abs().max().item())
        both = torch.where(expected_lse.isinf() & (lse == expected_lse), 0.0, (lse.double() - expected_lse).abs())
        entry[1] = max(entry[1], both.max().item())
        if heads == key_heads and (not is_causal or queries == keys) and queries >= 64 and keys >= 64:
            entry[2] = max(entry[2], (cudnn(q, k, v, is_causal).double() - expected).abs().max().item())
    for (dtype, head_dim), (of_o, of_lse, of_cudnn) in sorted(worst.items()):
        print(f"largest error, {dtype}, head {head_dim}: o {of_o:.5f}, lse {of_lse:.1e}; cuDNN's o {of_cudnn:.5f}")


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


def point(attention, head_dim, is_causal, length, rounds):
    heads, batches = 2048 // head_dim, TOKENS // length
    flops = 4 * batches * heads * length * length * head_dim / (2 if is_causal else 1)
    count = max(1, round(2e-3 / (flops / 500e12)))
    sets = [random_tensors(batches, heads, heads, length, length, head_dim) for _ in range(SETS)]
    o = torch.empty_like(sets[0][0])
    graphs = {
        "cudnn": graph_of(lambda i: cudnn(*sets[i % SETS], is_causal), count),
        "heddle": graph_of(lambda i: attention(*sets[i % SETS], o, None, is_causal), count),
    }
    times = measure(graphs, count, rounds)
    return {name: flops / ms / 1e9 for name, ms in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--errors", type=int, default=0, metavar="SHAPES", help="so many random shapes against float64")
    arguments = parser.parse_args()
    attention = load(arguments.library)
    torch.manual_seed(1)
    random.seed(1)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}, "
          f"cuDNN {torch.backends.cudnn.version()}")
    if arguments.errors > 0:
        errors(attention, arguments.errors)
    ratios = []
    print("| head | mask | tokens | cuDNN TFLOP/s | heddle TFLOP/s | ratio |\n| --- | --- | --- | --- | --- | --- |")
    for head_dim in (128, 64):
        for is_causal in (False, True):
            for length in LENGTHS:
                rates = point(attention, head_dim, is_causal, length, arguments.rounds)
                ratios.append(rates["heddle"] / rates["cudnn"])
                print(f"| {head_dim} | {'causal' if is_causal else 'none'} | {length} | {rates['cudnn']:.0f} | "
                      f"{rates['heddle']:.0f} | {ratios[-1]:.3f} |", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of the ratios {mean:.3f}, least {min(ratios):.3f}")


if __name__ == "__main__":
    main()
