#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints reports of matmul_bench as the tables of docs/results.

    bench/table_matmul.py docs/results/matmul_h200.json docs/results/matmul_h200_held_out.json
"""
import json
import math
import sys


def mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def table(report):
    shapes = report["shapes"]
    sustained = any(s["heddle"]["sustained_us"] > 0 for s in shapes)
    head = ["M, N, K", "configuration", "heddle, TFLOP/s", "best", "first", "ratio to best", "to first",
            "without overlap, to best"]
    head += ["sustained: heddle", "best", "ratio"] if sustained else []
    yield head
    yield ["---"] * len(head)
    for s in shapes:
        row = [f'{s["m"]}, {s["n"]}, {s["k"]}', f'`{s["heddle"]["name"]}`']
        row += [f'{s[key]["burst_tflops"]:.1f}' for key in ("heddle", "cublaslt_best", "cublaslt_first")]
        row += [f'**{s["ratio_to_best"]:.3f}**', f'{s["ratio_to_first"]:.3f}', f'{s["ratio_alone_to_best"]:.3f}']
        if sustained:
            row += [f'{s[key]["sustained_tflops"]:.1f}' for key in ("heddle", "cublaslt_best")]
            row += [f'{s["sustained_ratio_to_best"]:.3f}']
        yield row
    means = [mean([s[key] for s in shapes]) for key in ("ratio_to_best", "ratio_to_first", "ratio_alone_to_best")]
    row = ["geometric mean", "", "", "", "", f"**{means[0]:.3f}**", f"{means[1]:.3f}", f"{means[2]:.3f}"]
    yield row + (["", "", f'{mean([s["sustained_ratio_to_best"] for s in shapes]):.3f}'] if sustained else [])


def summary(report):
    lines = []
    for key, what in (("ratio_to_best", "to best"), ("ratio_to_first", "to first"), ("ratio_alone_to_best", "without overlap, to best")):
        ratios = sorted(s[key] for s in report["shapes"])
        share = lambda least: sum(r >= least for r in ratios) / len(ratios)
        lines.append(f"{what}: geometric mean {mean(ratios):.3f}, least {ratios[0]:.3f}, 1.00 or more {share(1):.0%}, "
                     f"0.97 or more {share(0.97):.0%}, 0.93 or more {share(0.93):.0%}")
    return "\n".join(lines)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: table_matmul.py REPORT.json...")
    for path in sys.argv[1:]:
        with open(path) as file:
            report = json.load(file)
        for row in table(report):
            print("| " + " | ".join(row) + " |")
        print()
        print(summary(report))
        print()


if __name__ == "__main__":
    main()
