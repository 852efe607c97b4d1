# SPDX-License-Identifier: Apache-2.0
"""programs_table.py HEDDLE [--only REGEX] [--write docs/programs.md]: programs of others on the simulated card.

Their code is not here: it is looked for in folders that are given, each a checkout or what was built of one.
  --triton FOLDER    python/tutorials of Triton's repository, and --triton-python, an interpreter with Triton, PyTorch and
                     pytest; its folder gluon has Gluon's tutorials
  --cute FOLDER      examples/python/CuTeDSL/cute of CUTLASS's, and --tools-python, one with CuTe DSL, CuPy and the like
  --cutlass FOLDER   CUTLASS's examples, built: a program for each number (docs/exec.md has nvcc's options)
  --cub PROGRAM      bench/exec_cub.cu, built
What is not there is left out; rows that the file has of programs which were not run stay. A verdict is the program's own: its comparison, by its status."""

import argparse
import datetime
import os
import re
import resource
import shlex
import subprocess

TOOLS = "{tools} {here}/../tests/python/tools_test.py"
CUTE_ONCE = "--warmup_iterations 0 --iterations 1"

# Gluon's tutorials are test files. Of those with large matrices, the tests with the smallest: (file, architectures, tests).
GLUON = [
    ("01-intro", "sm90 sm100", "test"),
    ("02-layouts", "sm90 sm100", "1d or inout"),
    ("03-async-copy", "sm90", "1d_cpasync or (pipelined and 4000)"),
    ("04-tma", "sm90 sm100", "message or 1d_tma or (pipelined and 4000)"),
    ("05-wgmma", "sm90", "small_mma or (208 and 64-64-64)"),
    ("06-tcgen05", "sm100", "tmem_example or small_mma or (208 and 64-64-64)"),
    ("07-persistence", "sm90 sm100", "pipelined and 208 and 64-64-64"),
    ("08-warp-specialization", "sm90 sm100", "(elementwise and 4000) or (matmul and 208)"),
    ("09-tma-gather-scatter", "sm100", "(gather or scatter) and not matmul and 8-16"),
    ("10-tcgen05-copy", "sm100", "nvmma_shared and 32"),
    ("11-tcgen05-mma-scaled", "sm100", "scaled_pipelined and 128-128 and 128-1"),
    ("13-conv-im2col", "sm90 sm100", "im2col and not conv2d"),
    ("14-multicta", "sm90 sm100", "64-64 or two_cta or multicast or tma_tcgen05"),
]

# (what, architectures, command)
PROGRAMS = [
    *((f"Triton tutorial {name}", "sm90 sm100", f"{{triton_python}} {{triton}}/{name}.py") for name in [
        "01-vector-add", "02-fused-softmax", "03-matrix-multiplication", "04-low-memory-dropout", "05-layer-norm",
        "07-extern-functions", "08-grouped-gemm", "11-programmatic-dependent-launch"]),
    *((f"{name}: vector add and another", "sm90 sm100", f"{TOOLS} {tool}") for name, tool in [
        ("numba-cuda", "numba"), ("CuPy", "cupy"), ("cuda.core", "cuda.core"), ("Warp", "warp"), ("CuTe DSL", "cutlass")]),
    ("CuTe DSL elementwise_add", "sm90 sm100", "{tools} {cute}/ampere/kernel/elementwise/elementwise_add.py --M 128 --N 128"),
    ("CuTe DSL Hopper dense_gemm", "sm90",
     f"{{tools}} {{cute}}/hopper/kernel/dense_gemm/dense_gemm.py --mnkl 128,128,64,1 --tile_shape_mn 128,128 {CUTE_ONCE}"),
    ("CuTe DSL Hopper dense_gemm_persistent", "sm90",
     f"{{tools}} {{cute}}/hopper/kernel/dense_gemm/dense_gemm_persistent.py --mnkl 256,256,128,1 {CUTE_ONCE}"),
    ("CuTe DSL Hopper fmha", "sm90",
     f"{{tools}} {{cute}}/hopper/kernel/attention/fmha.py --q_shape 1,128,1,64 --k_shape 1,128,1,64 {CUTE_ONCE}"),
    ("CuTe DSL Blackwell dense_gemm", "sm100",
     f"{{tools}} {{cute}}/blackwell/kernel/dense_gemm/dense_gemm.py --mnkl 128,128,128,1 {CUTE_ONCE}"),
    ("CuTe DSL Blackwell dense_gemm_persistent", "sm100",
     f"{{tools}} {{cute}}/blackwell/kernel/dense_gemm/dense_gemm_persistent.py --mnkl 256,256,128,1 {CUTE_ONCE}"),
    ("CuTe DSL Blackwell fmha", "sm100",
     "{tools} {cute}/blackwell/kernel/attention/fmha/fmha.py --q_shape 1,256,1,64 --k_shape 1,256,1,64 " + CUTE_ONCE),
    *((f"Gluon tutorial {name}", architectures,
       f"{{triton_python}} -m pytest -q -p no:cacheprovider {{triton}}/gluon/{name}.py -k '{tests}'")
      for name, architectures, tests in GLUON),
    *((f"CUB and Thrust: {part}", "sm90 sm100", f"{{cub}} {part}") for part in [
        "sort", "scan", "reduce", "select", "histogram", "runs", "block", "thrust"]),
    ("CUTLASS 48", "sm90", "{cutlass}/48 --m=256 --n=256 --k=128 --iterations=0"),
    ("CUTLASS 54", "sm90", "{cutlass}/54 --m=256 --n=256 --k=128 --iterations=0"),
    ("CUTLASS 70, fp16", "sm100", "{cutlass}/70fp16 --m=512 --n=512 --k=128 --iterations=0"),
    ("CUTLASS 72a", "sm100", "{cutlass}/72a --m=512 --n=512 --k=256 --iterations=0"),
    ("CuTe tutorial wgmma_tma_sm90", "sm90", "{cutlass}/wgmma_tma 256 256 256"),
    # Two tiles along K where its ring has three stages: it loads a third that nobody waits for.
    ("CuTe tutorial wgmma_tma_sm90, K of 128", "sm90", "{cutlass}/wgmma_tma 256 256 128"),
    ("CuTe tutorial Blackwell 05", "sm100", "{cutlass}/c05"),
]

# What a report or refusal begins with; the first is the reason.
REASON = re.compile(r"^(\[[a-z_]+\](?! formal).*|heddle exec: .*(?:is not there|cannot be run|unsupported).*|\w*Error: .*)$", re.M)


def run(command):
    """(verdict, processor seconds)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        status, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        status, said = None, ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if status is None:
        return "more than 600 s", seconds
    if status == 0:
        return "passes, formal findings" if "] formal: " in said else "passes", seconds
    reason = REASON.search(said)
    return f"status {status}: {reason[0][:160] if reason else 'no reason given'}", seconds


def versions(python):
    names = ["torch", "triton", "numba-cuda", "cupy-cuda13x", "cuda-core", "warp-lang", "nvidia-cutlass-dsl"]
    code = (
        "import importlib.metadata as m\n"
        f"for n in {names!r}:\n"
        "    try: print(n, m.version(n))\n"
        "    except m.PackageNotFoundError: pass\n"
    )
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.split("\n")[:-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heddle")
    parser.add_argument("--only", default="")
    parser.add_argument("--write")
    for name in ("triton", "triton-python", "cute", "tools-python", "cutlass", "cub"):
        parser.add_argument(f"--{name}", default="")
    given = parser.parse_args()
    places = {
        "here": os.path.dirname(os.path.abspath(__file__)),
        "triton": given.triton,
        "triton_python": given.triton_python,
        "cute": given.cute,
        "tools": given.tools_python,
        "cutlass": given.cutlass,
        "cub": given.cub,
    }
    rows = read_rows(given.write)
    for what, architectures, command in PROGRAMS:
        needs = re.findall(r"\{(\w+)\}", command)
        if not re.search(given.only, what) or not all(places[one] for one in needs):
            continue
        for arch in architectures.split():
            words = shlex.split(command.format(**places))
            if not all(os.path.exists(word) for word in words if word.startswith("/")):
                continue
            verdict, seconds = run([given.heddle, "exec", "--arch", arch, *words])
            rows[what, arch] = f"| {verdict.replace('|', '/')} | {seconds:.1f} s | {datetime.date.today()} |"
            print(f"| {what} | {arch} {rows[what, arch]}", flush=True)
            if given.write:
                write(given.write, rows, [one for one in (given.triton_python, given.tools_python) if one])


def read_rows(path):
    """What is behind program and architecture in each row of the table."""
    rows = {}
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                row = re.match(r"\| (.+?) \| (sm\d+) (\| .* \|)$", line)
                if row:
                    rows[row[1], row[2]] = row[3]
    return rows


def write(path, rows, pythons):
    used = sorted({version for python in pythons for version in versions(python)})
    order = {what: number for number, (what, _, _) in enumerate(PROGRAMS)}
    text = [
        "# Programs of others on the simulated card",
        "",
        "Made by `bench/programs_table.py`, which says where each is from; run with no option but `--arch`. The seconds are",
        "those of the processor for the whole program, with other work beside it. A program passes by its own comparison.",
        f"With {', '.join(used)}.",
        "",
        "| program | architecture | verdict | time | date |",
        "| --- | --- | --- | --- | --- |",
        *(f"| {what} | {arch} {row}" for (what, arch), row in sorted(rows.items(), key=lambda one: order.get(one[0][0], 0))),
        "",
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(text))


if __name__ == "__main__":
    main()
