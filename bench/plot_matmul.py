#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the report of matmul_bench as an SVG: TFLOP/s of heddle and of cublasLt's best choice, shape by shape.

    matmul_bench --json report.json && bench/plot_matmul.py report.json docs/results/matmul_h200.svg
"""
import json
import sys

ROW, LEFT, WIDTH, TOP = 38, 175, 560, 76
BARS = (("heddle", "#2b6cb0", "heddle"), ("cublaslt_best", "#a0aec0", "cublasLt, best choice"))


def text(x, y, words, anchor="start", size=12, weight="normal"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
            f'fill="#1a202c">{words}</text>')


def draw(report):
    shapes = report["shapes"]
    most = max(s[key]["burst_tflops"] for s in shapes for key, _, _ in BARS)
    height = TOP + ROW * len(shapes) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 150} {height}" '
           f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>']
    out.append(text(12, 24, "C = A B, bf16: TFLOP/s in bursts, and the ratio to cublasLt's best choice", size=15, weight="bold"))
    version = report["cublaslt"]
    out.append(text(12, 44, f'{report["gpu"]}, {report["date"]}, CUDA {report["runtime_cuda"] // 1000}.'
                            f'{report["runtime_cuda"] % 1000 // 10}, cublasLt {version // 10000}.{version % 10000 // 100}, '
                            f'median of {report["rounds"]}'))
    for i, (_, colour, name) in enumerate(BARS):
        out.append(f'<rect x="{12 + 110 * i}" y="54" width="12" height="12" fill="{colour}"/>')
        out.append(text(28 + 110 * i, 65, name))
    for row, shape in enumerate(shapes):
        y = TOP + ROW * row
        out.append(text(LEFT - 10, y + 20, f'{shape["m"]} x {shape["n"]} x {shape["k"]}', anchor="end"))
        for i, (key, colour, _) in enumerate(BARS):
            value = shape[key]["burst_tflops"]
            out.append(f'<rect x="{LEFT}" y="{y + 4 + 14 * i}" width="{WIDTH * value / most:.1f}" height="13" fill="{colour}"/>')
            out.append(text(LEFT + WIDTH * value / most + 5, y + 15 + 14 * i, f"{value:.0f}", size=11))
        out.append(text(LEFT + WIDTH + 140, y + 20, f'{shape["ratio_to_best"]:.3f}', anchor="end", weight="bold"))
    mean = report["geometric_mean"]["ratio_to_best"]
    out.append(text(LEFT + WIDTH + 140, height - 12, f"geometric mean {mean:.3f}", anchor="end", weight="bold"))
    return "\n".join(out + ["</svg>", ""])


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: plot_matmul.py REPORT.json PLOT.svg")
    with open(sys.argv[1]) as file:
        report = json.load(file)
    with open(sys.argv[2], "w") as file:
        file.write(draw(report))


if __name__ == "__main__":
    main()
