#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heddle's grouped matmuls beside torch's, in one run on one GPU.

    matmul_suites.py build/gpu-sm90a/bench/libheddle_matmul.so --suite moe [--rounds 11] [--every-config]

Bursts: 2 ms of launches in a CUDA graph over sets of random tensors that together are larger than the L2 cache, then a
pause of 12 ms; the kernels take turns in random order; medians. Every kernel's output is compared with products in
float32, group by group, after it was filled with NaNs.
"""
import argparse
import ctypes
import math
import random
import sys
import time

import torch

MOE = {
    "8 x 1024": ([1024] * 8, 14336, 4096),
    "8 x 1024, long K": ([1024] * 8, 4096, 14336),
    "64 x 256": ([256] * 64, 2048, 7168),
    "128 x 64": ([64] * 128, 4096, 2048),
    "uneven": ([4000, 2000, 1000, 600, 300, 200, 80, 12], 14336, 4096),
}


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        grouped = self.library.heddle_matmul_grouped
        grouped.restype = ctypes.c_char_p
        grouped.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int] * 6 + [ctypes.c_char_p, ctypes.c_void_p]
        self.library.heddle_matmul_grouped_configs.restype = ctypes.c_char_p

    def configs(self):
        return self.library.heddle_matmul_grouped_configs().decode().split(",")

    def grouped(self, a, b, group_rows, out, are_counts=False, expected_rows=0, config=""):
        groups, n, k = b.shape
        error = self.library.heddle_matmul_grouped(
            a.data_ptr(), b.data_ptr(), group_rows.data_ptr(), out.data_ptr(), groups, a.shape[0], n, k,
            int(are_counts), expected_rows, config.encode(), torch.cuda.current_stream().cuda_stream)
        if error is not None:
            sys.exit(error.decode())


def ends_of(rows):
    return torch.tensor(rows, device="cuda", dtype=torch.int32).cumsum(0, dtype=torch.int32)


def worst_error(out, a, b, rows, places=None):
    """The largest difference from float32's product, over the largest magnitude of it."""
    worst, largest, first = 0.0, 0.0, 0
    for group, count in enumerate(rows):
        begin = first if places is None else group * places
        wanted = a[begin:begin + count].float() @ b[group].float().t()
        if count > 0:
            worst = max(worst, (out[begin:begin + count].float() - wanted).abs().nan_to_num(math.inf).max().item())
            largest = max(largest, wanted.abs().max().item())
        first += count
    return worst / max(largest, 1e-30)


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


def compare(kernels, count, rounds, flops):
    """Rates in TFLOP/s of functions that take the number of a set."""
    times = measure({name: graph_of(work, count) for name, work in kernels.items()}, count, rounds)
    return {name: flops / ms / 1e9 for name, ms in times.items()}


def moe(library, rounds, every_config):
    torch.manual_seed(1)
    ratios = []
    for name, (rows, n, k) in MOE.items():
        m, groups = sum(rows), len(rows)
        a = [torch.randn(m, k, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
        b = [torch.randn(groups, n, k, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
        ends = ends_of(rows)
        out = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
        kernels = {"torch": lambda i: torch._grouped_mm(a[i % 2], b[i % 2].transpose(1, 2), offs=ends)}
        for config in ["", *(library.configs() if every_config else [])]:
            out.fill_(math.nan)
            library.grouped(a[0], b[0], ends, out, config=config)
            error = worst_error(out, a[0], b[0], rows)
            if error > 1e-2:
                print(f"{name}: configuration '{config}' is wrong: {error:.3g}")
            kernels[config or "heddle"] = lambda i, config=config: library.grouped(a[i % 2], b[i % 2], ends, out,
                                                                                  config=config)
        flops = 2 * m * n * k
        rates = compare(kernels, max(1, round(2e-3 / (flops / 600e12))), rounds, flops)
        ratios.append(rates["heddle"] / rates["torch"])
        print(f"| {name} | {n} | {k} | {rates['torch']:.0f} | {rates['heddle']:.0f} | {ratios[-1]:.3f} |"
              + "".join(f" {key} {rate:.0f}" for key, rate in rates.items() if key not in ("torch", "heddle")),
              flush=True)
        del a, b, out, kernels
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, least {min(ratios):.3f}")


def random_groups(library, count):
    """Random sizes, ends and counts, numbers that make no sense among them: nothing outside of groups changes."""
    chooser = random.Random(5)
    for i in range(count):
        groups, k, n = chooser.randint(1, 20), 8 * chooser.randint(1, 60), 8 * chooser.randint(1, 90)
        places = chooser.choice((1, 40, 150, 300))
        m = groups * places
        counts = [min(chooser.choice((0, 1, 17, 64, 130, 255, 300)), places) for _ in range(groups)]
        are_counts = i % 2 == 1
        a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(groups, n, k, device="cuda", dtype=torch.bfloat16)
        out = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
        numbers = torch.tensor(counts, device="cuda", dtype=torch.int32) if are_counts else ends_of(counts)
        if i % 5 == 4 and not are_counts:
            numbers = torch.cat([numbers[:-1], torch.tensor([2**31 - 1], device="cuda", dtype=torch.int32)])
            counts = counts[:-1] + [m - sum(counts[:-1])]
        for config in library.configs():
            out.fill_(math.nan)
            library.grouped(a, b, numbers, out, are_counts, config=config)
            error = worst_error(out, a, b, counts, places if are_counts else None)
            written = (~out.isnan()).sum().item()
            if error > 1e-2 or written != sum(counts) * n:
                sys.exit(f"wrong: {config}, {counts}, counts {are_counts}, m {m}, n {n}, k {k}: error {error:.3g}, "
                         f"{written} written of {sum(counts) * n}")
    print(f"{count} random problems are right in every configuration")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--suite", choices=["moe"], default="moe")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--every-config", action="store_true")
    parser.add_argument("--random", type=int, default=0, metavar="PROBLEMS", help="so many random problems first")
    arguments = parser.parse_args()
    library = Library(arguments.library)
    random.seed(1)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    if arguments.random > 0:
        random_groups(library, arguments.random)
    print("| groups | N | K | torch TFLOP/s | heddle TFLOP/s | ratio |\n| --- | --- | --- | --- | --- | --- |")
    moe(library, arguments.rounds, arguments.every_config)


if __name__ == "__main__":
    main()
