# SPDX-License-Identifier: Apache-2.0
"""triton_speed.py HEDDLE [--growth|--threads]: how long Triton kernels take on the simulated card, with all checks, and in Triton's own
interpreter (TRITON_INTERPRET=1), which checks nothing. Each kernel is launched twice, and the second launch counts, so that
compiling is left out. Results are compared with PyTorch. Beside other work the processor's time says more than the clock.
--growth has larger and smaller problems, --threads one under several schedules on more and more host threads."""

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


def problem_add(device, n=1 << 20):
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


def problem_matmul(device, n=512):
    a, b = torch.randn(2, n, n).to(torch.float16).to(device)
    c = torch.empty(n, n, dtype=torch.float16, device=device)
    wanted = (a.float() @ b.float()).half()
    return lambda: matmul[(n // 128, n // 128)](a, b, c, n, n, n, BM=128, BN=128, BK=64), c, (wanted, 0.1)


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

GROWTH = {
    **{f"vector add {n}": lambda device, n=n: problem_add(device, n) for n in (1 << 18, 1 << 20, 1 << 22)},
    **{f"matmul {n} cubed": lambda device, n=n: problem_matmul(device, n) for n in (256, 512, 1024)},
}


def measure(name):
    """Seconds of the second launch, by the clock and of the processor, in this process."""
    torch.manual_seed(1)
    interprets = os.environ.get("TRITON_INTERPRET") == "1"
    run, out, (wanted, tolerance) = {**PROBLEMS, **GROWTH}[name]("cpu" if interprets else "cuda")
    for _ in range(2):
        begin, processor = time.perf_counter(), time.process_time()
        run()
        if not interprets:
            torch.cuda.synchronize()
        seconds = time.perf_counter() - begin, time.process_time() - processor
    difference = (out.float() - wanted.float()).abs().max().item()
    assert difference <= tolerance, (name, difference)
    return seconds


def run_one(name, heddle=None, *options):
    """What measure() returns in a process of its own: on the simulated card, or in the interpreter."""
    command = [sys.executable, __file__, "--one", name]
    if heddle is not None:
        command = [heddle, "exec", "--arch", "sm90", *options, *command]
    environment = os.environ if heddle is not None else {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def compare(heddle):
    ratios = []
    print("| kernel | simulated sm90, all checks: clock | processor | interpreter: clock | processor | ratio of processor times |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in PROBLEMS:
        ours, theirs = run_one(name, heddle), run_one(name)
        ratios.append(theirs[1] / ours[1])
        times = " | ".join(f"{seconds:.2f} s" for seconds in (*ours, *theirs))
        print(f"| {name} | {times} | {ratios[-1]:.2f} |", flush=True)
    print(f"| geometric mean | | | | | {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} |")


def growth(heddle):
    print("| kernel | processor |")
    print("| --- | --- |")
    for name in GROWTH:
        print(f"| {name} | {run_one(name, heddle)[1]:.2f} s |", flush=True)


def threads(heddle):
    """A launch runs in one host thread; launches under further schedules are shared among them."""
    print("| softmax 1024x1024 under 8 schedules | clock | processor |")
    print("| --- | --- | --- |")
    for cores in range(1, os.cpu_count() + 1):
        pinned = ["taskset", "-c", f"0-{cores - 1}"]
        command = [heddle, "exec", "--arch", "sm90", "--schedules", "7", sys.executable, __file__, "--one", "softmax 1024x1024"]
        done = subprocess.run([*pinned, *command], capture_output=True, text=True, check=True)
        clock, processor = json.loads(done.stdout.splitlines()[-1])
        print(f"| {cores} host threads | {clock:.2f} s | {processor:.2f} s |", flush=True)


def main():
    if sys.argv[1] == "--one":
        print(json.dumps(measure(sys.argv[2])))
        return
    what = {"--growth": growth, "--threads": threads}.get(sys.argv[2] if len(sys.argv) > 2 else "", compare)
    print(f"Triton {triton.__version__}, PyTorch {torch.__version__}, {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores\n")
    what(sys.argv[1])


if __name__ == "__main__":
    main()
