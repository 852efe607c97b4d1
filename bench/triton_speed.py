# SPDX-License-Identifier: Apache-2.0
"""triton_speed.py HEDDLE: how long Triton kernels take on the simulated card, with all checks, and in Triton's own
interpreter (TRITON_INTERPRET=1), which checks nothing. Each kernel is launched twice, and the second launch counts, so that
compiling is left out. Results are compared with PyTorch."""

import json
import math
import os
import subprocess
import sys
import time

import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(a + at, mask=at < n) + tl.load(b + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(at < columns, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    result = centred * scale * tl.load(weight + at, mask=at < columns) + tl.load(bias + at, mask=at < columns)
    tl.store(out + row * columns + at, result, mask=at < columns)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, k, BK):
        left = tl.load(a + rows[:, None] * k + (step + inner)[None, :])
        right = tl.load(b + (step + inner)[:, None] * n + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@triton.jit
def attention(q, k, v, out, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    begin = tl.program_id(1) * length * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    width = tl.arange(0, D)
    query = tl.load(q + begin + rows[:, None] * D + width[None, :])
    total = tl.zeros((BM, D), dtype=tl.float32)
    largest = tl.full((BM,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((BM,), dtype=tl.float32)
    for step in range(0, length, BN):
        keys = step + tl.arange(0, BN)
        scores = tl.dot(query, tl.load(k + begin + keys[None, :] * D + width[:, None])) * scale
        newest = tl.maximum(largest, tl.max(scores, axis=1))
        powers = tl.exp(scores - newest[:, None])
        fade = tl.exp(largest - newest)
        weight = weight * fade + tl.sum(powers, axis=1)
        values = tl.load(v + begin + keys[:, None] * D + width[None, :])
        total = tl.dot(powers.to(tl.float16), values, total * fade[:, None])
        largest = newest
    tl.store(out + begin + rows[:, None] * D + width[None, :], (total / weight[:, None]).to(tl.float16))


def problem_add(device):
    n = 1 << 20
    a, b = torch.randn(2, n).to(device)
    out = torch.empty(n, device=device)
    return lambda: add[(n // 1024,)](a, b, out, n, BLOCK=1024), out, (a + b, 1e-6)


def problem_softmax(device):
    x = torch.randn(1024, 1024).to(device)
    out = torch.empty_like(x)
    return lambda: softmax[(1024,)](x, out, 1024, BLOCK=1024), out, (torch.softmax(x, 1), 1e-5)


def problem_layer_norm(device):
    x = torch.randn(1024, 1024).to(device)
    weight, bias = torch.randn(2, 1024).to(device)
    out = torch.empty_like(x)
    wanted = torch.nn.functional.layer_norm(x, (1024,), weight, bias)
    return lambda: layer_norm[(1024,)](x, weight, bias, out, 1024, BLOCK=1024), out, (wanted, 1e-4)


def problem_matmul(device):
    a, b = torch.randn(2, 512, 512).to(torch.float16).to(device)
    c = torch.empty(512, 512, dtype=torch.float16, device=device)
    wanted = (a.float() @ b.float()).half()
    return lambda: matmul[(4, 4)](a, b, c, 512, 512, 512, BM=128, BN=128, BK=64), c, (wanted, 0.1)


def problem_attention(device):
    q, k, v = torch.randn(3, 2, 1024, 64).to(torch.float16).to(device)
    out = torch.empty_like(q)
    wanted = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float()).half()
    run = lambda: attention[(16, 2)](q, k, v, out, 1024, 1 / math.sqrt(64), D=64, BM=64, BN=64)
    return run, out, (wanted, 0.01)


PROBLEMS = {
    "vector add 1M": problem_add,
    "softmax 1024x1024": problem_softmax,
    "layer norm 1024x1024": problem_layer_norm,
    "matmul 512 cubed": problem_matmul,
    "attention 2x1024x64": problem_attention,
}


def measure(name):
    """Seconds of the second launch, in this process."""
    torch.manual_seed(1)
    interprets = os.environ.get("TRITON_INTERPRET") == "1"
    run, out, (wanted, tolerance) = PROBLEMS[name]("cpu" if interprets else "cuda")
    seconds = 0.0
    for _ in range(2):
        begin = time.perf_counter()
        run()
        if not interprets:
            torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
    difference = (out.float() - wanted.float()).abs().max().item()
    assert difference <= tolerance, (name, difference)
    return seconds


def main():
    if sys.argv[1] == "--one":
        print(json.dumps(measure(sys.argv[2])))
        return
    ratios = []
    print(f"Triton {triton.__version__}, PyTorch {torch.__version__}, {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores")
    print(f"{'kernel':22} {'simulated sm90':>15} {'interpreter':>12} {'ratio':>6}")
    for name in PROBLEMS:
        command = [sys.executable, __file__, "--one", name]
        ours = subprocess.run([sys.argv[1], "exec", "--arch", "sm90", *command], capture_output=True, text=True, check=True)
        theirs = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "TRITON_INTERPRET": "1"}
        )
        times = [float(one.stdout.split()[-1]) for one in (ours, theirs)]
        ratios.append(times[1] / times[0])
        print(f"{name:22} {times[0]:13.2f} s {times[1]:10.2f} s {ratios[-1]:6.2f}")
    print(f"{'geometric mean':49} {math.exp(sum(map(math.log, ratios)) / len(ratios)):9.2f}")


if __name__ == "__main__":
    main()
