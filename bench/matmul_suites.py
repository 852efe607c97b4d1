#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heddle's grouped matmuls and those of FP8 beside torch's, in one run on one GPU.

    matmul_suites.py build/gpu-sm90a/bench/libheddle_matmul.so --suite moe|fp8 [--rounds 11] [--every-config]
        [--out docs/results/matmul_h200_moe.md]

Bursts: 2 ms of launches in a CUDA graph over sets of random tensors that together are larger than the L2 cache, then a
pause of 12 ms; the kernels take turns in random order; medians. Every kernel's output is compared with products in
float32, group by group, after it was filled with NaNs.
"""
import argparse
import ctypes
import math
import random
import sys

import torch

from bursts import graph_of, measure

MOE = {
    "8 x 1024": ([1024] * 8, 14336, 4096),
    "8 x 1024, long K": ([1024] * 8, 4096, 14336),
    "64 x 256": ([256] * 64, 2048, 7168),
    "128 x 64": ([64] * 128, 4096, 2048),
    "uneven": ([4000, 2000, 1000, 600, 300, 200, 80, 12], 14336, 4096),
}


FP8 = ((4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 2048), (128, 7168, 16384))
BLOCKWISE = ((4096, 7168, 2048), (4096, 24576, 1536), (4096, 2112, 7168), (4096, 7168, 16384), (128, 7168, 16384),
             (64, 2112, 7168), (8192, 8192, 8192))
ENDS, COUNTS, ALL = range(3)
NONE, TENSORS, ROWS, BLOCKS = range(4)


class Matmul(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("groups", "m", "n", "k", "rows", "is_fp8", "scaling", "is_exact",
                                                  "expected_rows")]


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        grouped = self.library.heddle_matmul_grouped
        grouped.restype = ctypes.c_char_p
        grouped.argtypes = [ctypes.POINTER(Matmul)] + [ctypes.c_void_p] * 6 + [ctypes.c_char_p, ctypes.c_void_p]
        self.library.heddle_matmul_grouped_configs.restype = ctypes.c_char_p

    @staticmethod
    def problem(a, b, rows, scaling=NONE, is_exact=False):
        groups, n, k = b.shape
        return Matmul(groups, a.shape[0], n, k, rows, int(a.dtype == torch.float8_e4m3fn), scaling, int(is_exact), 0)

    def configs(self, problem):
        return self.library.heddle_matmul_grouped_configs(ctypes.byref(problem)).decode().split(",")

    def run(self, problem, a, b, group_rows, out, scales=(None, None), config=""):
        def address(tensor):
            return None if tensor is None else tensor.data_ptr()

        error = self.library.heddle_matmul_grouped(
            ctypes.byref(problem), a.data_ptr(), b.data_ptr(), address(group_rows), address(scales[0]),
            address(scales[1]), out.data_ptr(), config.encode(), torch.cuda.current_stream().cuda_stream)
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


def compare(kernels, count, rounds, flops):
    """Rates in TFLOP/s of functions that take the number of a set."""
    times = measure({name: graph_of(work, count) for name, work in kernels.items()}, count, rounds)
    return {name: flops / ms / 1e9 for name, ms in times.items()}


LINES = []


def say(line):
    """To the terminal, and to the file of results."""
    print(line, flush=True)
    LINES.append(line)


def row(name, rates, base, ratios, note=""):
    """A line of a table: the peer, heddle's choice and their ratio; every configuration that was asked for is only
    printed."""
    ratios.append(rates["heddle"] / rates[base])
    say(f"| {name} | {rates[base]:.0f} | {rates['heddle']:.0f} | {ratios[-1]:.3f} | {note} |")
    others = [f"{key} {rate:.0f}" for key, rate in rates.items() if key not in (base, "heddle")]
    if others:
        print("   " + ", ".join(others), flush=True)


def summary(ratios):
    say(f"\nGeometric mean of the ratios {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, least "
        f"{min(ratios):.3f}.\n")


def moe(library, rounds, every_config):
    torch.manual_seed(1)
    ratios = []
    say("bf16 beside `torch._grouped_mm`.\n\n"
        "| groups, N, K | torch TFLOP/s | heddle TFLOP/s | ratio | |\n| --- | --- | --- | --- | --- |")
    for name, (rows, n, k) in MOE.items():
        m, groups = sum(rows), len(rows)
        a = [torch.randn(m, k, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
        b = [torch.randn(groups, n, k, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
        ends = ends_of(rows)
        out = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
        problem = library.problem(a[0], b[0], ENDS)
        kernels = {"torch": lambda i: torch._grouped_mm(a[i % 2], b[i % 2].transpose(1, 2), offs=ends)}
        for config in ["", *(library.configs(problem) if every_config else [])]:
            out.fill_(math.nan)
            library.run(problem, a[0], b[0], ends, out, config=config)
            error = worst_error(out, a[0], b[0], rows)
            if error > 1e-2:
                print(f"{name}: configuration '{config}' is wrong: {error:.3g}")
            kernels[config or "heddle"] = lambda i, config=config: library.run(problem, a[i % 2], b[i % 2], ends, out,
                                                                              config=config)
        flops = 2 * m * n * k
        rates = compare(kernels, max(1, round(2e-3 / (flops / 600e12))), rounds, flops)
        row(f"{name}, {n}, {k}", rates, "torch", ratios)
        del a, b, out, kernels
    summary(ratios)


def fp8_of(rows, cols):
    return torch.randn(rows, cols, device="cuda").to(torch.float8_e4m3fn)


def fp8_scales(scaling, m, n, k):
    """Of A and B, as heddle takes them."""
    if scaling == TENSORS:
        shapes = (1,), (1,)
    elif scaling == ROWS:
        shapes = (m,), (n,)
    else:
        shapes = ((k + 127) // 128, (m + 3) // 4 * 4), ((n + 127) // 128, (k + 127) // 128)
    return tuple(torch.rand(shape, device="cuda") + 0.5 for shape in shapes)


def fp8_product(a, b, scales, scaling):
    """In float32, of numbers times their scales."""
    a_scale, b_scale = scales
    if scaling == TENSORS:
        return (a.float() * a_scale) @ (b.float() * b_scale).t()
    if scaling == ROWS:
        return (a.float() * a_scale[:, None]) @ (b.float() * b_scale[:, None]).t()
    of_a = a_scale[:, :a.shape[0]].t().repeat_interleave(128, 1)[:, :a.shape[1]]
    of_b = b_scale.repeat_interleave(128, 0)[:b.shape[0]].repeat_interleave(128, 1)[:, :b.shape[1]]
    return (a.float() * of_a) @ (b.float() * of_b).t()


def moe_fp8(library, rounds, every_config):
    """Groups in e4m3: with scales of rows beside torch's kernel for them, and blockwise, which torch has none for."""
    torch.manual_seed(1)
    ratios = []
    say("e4m3 beside `torch._scaled_grouped_mm`, which has a scale for each row; at the right heddle's blockwise kernel.\n"
        "\n| groups, N, K | torch TFLOP/s | heddle TFLOP/s | ratio | |\n| --- | --- | --- | --- | --- |")
    for name, (rows, n, k) in MOE.items():
        m, groups = sum(rows), len(rows)
        a = [fp8_of(m, k) for _ in range(2)]
        b = [fp8_of(groups * n, k).view(groups, n, k) for _ in range(2)]
        ends = ends_of(rows)
        out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        scales = {ROWS: (torch.rand(m, device="cuda") + 0.5, torch.rand(groups, n, device="cuda") + 0.5),
                  BLOCKS: (torch.rand((k + 127) // 128, (m + 3) // 4 * 4, device="cuda") + 0.5,
                           torch.rand(groups, (n + 127) // 128, (k + 127) // 128, device="cuda") + 0.5)}
        kernels, note = {}, ""
        try:
            def of_torch(i):
                return torch._scaled_grouped_mm(a[i % 2], b[i % 2].transpose(1, 2), scales[ROWS][0], scales[ROWS][1],
                                                offs=ends, out_dtype=torch.bfloat16, use_fast_accum=True)
            of_torch(0)
            kernels["torch"] = of_torch
        except Exception as refused:  # noqa: BLE001
            note = f"torch: {str(refused).splitlines()[0][:120]}; "
        for scaling, label in ((ROWS, "heddle"), (BLOCKS, "blockwise")):
            problem = library.problem(a[0], b[0], ENDS, scaling)
            for config in ["", *(library.configs(problem) if every_config else [])]:
                out.fill_(math.nan)
                library.run(problem, a[0], b[0], ends, out, scales[scaling], config)
                first, error = 0, 0.0
                for group, count in enumerate(rows):
                    of_a, of_b = scales[scaling]
                    of_a = of_a[first:first + count] if scaling == ROWS else of_a[:, first:first + count]
                    wanted = fp8_product(a[0][first:first + count], b[0][group], (of_a, of_b[group]), scaling)
                    worst = (out[first:first + count].float() - wanted).abs().nan_to_num(math.inf).max()
                    error = max(error, (worst / wanted.abs().max()).item())
                    first += count
                    if group >= 8:
                        break
                if error > 2e-2:
                    note += f"{label} {config} is wrong: {error:.2g}; "
                kernels[config or label] = lambda i, p=problem, s=scaling, c=config: library.run(
                    p, a[i % 2], b[i % 2], ends, out, scales[s], c)
        flops = 2 * m * n * k
        rates = compare(kernels, max(1, round(2e-3 / (flops / 1000e12))), rounds, flops)
        rates.setdefault("torch", math.nan)
        row(f"{name}, {n}, {k}", rates, "torch", ratios, f"{note}blockwise {rates['blockwise']:.0f}")
        del a, b, out, kernels
    summary(ratios)


def torch_fp8(a, b, scales, scaling, is_exact):
    """torch's kernel for the same, which is cublasLt's first choice, or CUTLASS's for rows."""
    a_scale, b_scale = scales
    if scaling == ROWS:
        a_scale, b_scale = a_scale[:, None], b_scale[None, :]
    elif scaling == BLOCKS:
        # As cublasLt wants them: those of A along M, rows of B's on multiples of four.
        padded = torch.zeros(b_scale.shape[0], (b_scale.shape[1] + 3) // 4 * 4, device="cuda")
        padded[:, :b_scale.shape[1]] = b_scale
        a_scale, b_scale = a_scale.t(), padded[:, :b_scale.shape[1]].t()
    return lambda: torch._scaled_mm(a, b.t(), scale_a=a_scale, scale_b=b_scale, out_dtype=torch.bfloat16,
                                    use_fast_accum=not is_exact and scaling != BLOCKS)


def fp8(library, shapes, scaling, is_exact, rounds, every_config):
    torch.manual_seed(1)
    ratios = []
    kind = ("", "one scale", "a scale for each row", "blockwise")[scaling]
    say(f"e4m3, {kind}{', added up in float every 128 of K' if is_exact else ''}, beside `torch._scaled_mm`.\n\n"
        "| M, N, K | torch TFLOP/s | heddle TFLOP/s | ratio | largest error over largest number |\n"
        "| --- | --- | --- | --- | --- |")
    for m, n, k in shapes:
        count_of_sets = max(2, min(8, 400_000_000 // (m * k + n * k)))
        sets = [(fp8_of(m, k), fp8_of(n, k)) for _ in range(count_of_sets)]
        scales = fp8_scales(scaling, m, n, k)
        out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        problem = library.problem(sets[0][0], sets[0][1][None], ALL, scaling, is_exact)
        wanted = fp8_product(*sets[0], scales, scaling)
        largest = wanted.abs().max().item()

        def error_of(got):
            return (got.float() - wanted).abs().nan_to_num(math.inf).max().item() / largest

        calls = [torch_fp8(a, b, scales, scaling, is_exact) for a, b in sets]
        kernels = {}
        try:
            error = error_of(calls[0]())
            kernels["torch"] = lambda i: calls[i % count_of_sets]()
            note = f"torch {error:.1e}"
        except Exception as refused:  # noqa: BLE001: whatever it is, the others can be measured
            note = f"torch: {str(refused).splitlines()[0][:200]}"
        for config in ["", *(library.configs(problem) if every_config else [])]:
            out.fill_(math.nan)
            library.run(problem, sets[0][0], sets[0][1], None, out, scales, config)
            error = error_of(out)
            if config == "":
                note += f", heddle {error:.1e}"
            if error > 2e-2:
                note += f"; configuration '{config}' is wrong"
            kernels[config or "heddle"] = lambda i, config=config: library.run(
                problem, *sets[i % count_of_sets], None, out, scales, config)
        flops = 2 * m * n * k
        rates = compare(kernels, max(1, round(2e-3 / (flops / 1000e12))), rounds, flops)
        rates.setdefault("torch", math.nan)
        row(f"{m}, {n}, {k}", rates, "torch", ratios, note)
        del sets, out, wanted, kernels, calls
    summary(ratios)


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
        problem = library.problem(a, b, COUNTS if are_counts else ENDS)
        for config in library.configs(problem):
            out.fill_(math.nan)
            library.run(problem, a, b, numbers, out, config=config)
            error = worst_error(out, a, b, counts, places if are_counts else None)
            written = (~out.isnan()).sum().item()
            if error > 1e-2 or written != sum(counts) * n:
                sys.exit(f"wrong: {config}, {counts}, counts {are_counts}, m {m}, n {n}, k {k}: error {error:.3g}, "
                         f"{written} written of {sum(counts) * n}")
    print(f"{count} random problems are right in every configuration")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--suite", choices=["moe", "fp8"], default="moe")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--every-config", action="store_true")
    parser.add_argument("--out", help="a file for the tables, too")
    parser.add_argument("--random", type=int, default=0, metavar="PROBLEMS", help="so many random problems first")
    arguments = parser.parse_args()
    library = Library(arguments.library)
    random.seed(1)
    say(f"# Matmuls of the suite `{arguments.suite}` on an {torch.cuda.get_device_name()}\n\n"
        f"Made by `bench/matmul_suites.py LIBRARY --suite {arguments.suite} --rounds {arguments.rounds}`: torch "
        f"{torch.__version__}, CUDA {torch.version.cuda}; bursts of 2 ms and pauses, in random order, medians; every "
        "output compared with float32.\n")
    if arguments.random > 0:
        random_groups(library, arguments.random)
    if arguments.suite == "moe":
        moe(library, arguments.rounds, arguments.every_config)
        moe_fp8(library, arguments.rounds, arguments.every_config)
    else:
        for scaling, is_exact, shapes in ((TENSORS, False, FP8), (TENSORS, True, FP8), (ROWS, False, FP8[:1]),
                                          (BLOCKS, False, BLOCKWISE)):
            fp8(library, shapes, scaling, is_exact, arguments.rounds, arguments.every_config)
    if arguments.out is not None:
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write("\n".join(LINES).rstrip() + "\n")


if __name__ == "__main__":
    main()
