#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_cost.py HEDDLE [--cutlass "PROGRAM ARGS"] [--triton "PYTHON SCRIPT ARGS"] [--runs N]

What the checks cost: the processor time of launches with all of them over the time without (--no-races), the least
of N runs of each. Of the Hopper matmul as C++ (of the whole command), and of programs that are given: one of
CUTLASS's, a script of Triton's."""
import argparse
import os
import platform
import re
import resource
import shlex
import subprocess
import sys

STATS = re.compile(r"\(([0-9.]+) of processor time\)")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def matmul(heddle, flags):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run([heddle, "matmul", "--m", "512", "--n", "512", "--k", "512", "--device", "sim:sm90", *flags])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def program(heddle, words, flags):
    said = STATS.search(run([heddle, "exec", "--stats", *flags, *words]).stderr)
    if said is None:
        sys.exit(f"{shlex.join(words)}: no statistics; does it launch anything?")
    return float(said[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heddle")
    parser.add_argument("--cutlass", help="a program and its arguments")
    parser.add_argument("--triton", help="Python, a script and its arguments")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if options.runs < 1:
        sys.exit(f"--runs {options.runs}: 1 or more")
    heddle = os.path.abspath(options.heddle)
    workloads = [("Hopper matmul, 512 x 512 x 512, C++", lambda flags: matmul(heddle, flags))]
    for name, text in (("CUTLASS", options.cutlass), ("Triton", options.triton)):
        if text:
            words = shlex.split(text)
            label = f"{name}: {' '.join(os.path.basename(word) for word in words)}"
            workloads.append((label, lambda flags, words=words: program(heddle, words, flags)))
    print(f"{platform.machine()}, {os.cpu_count()} cores; {run([heddle, '--version']).stdout.strip()}\n")
    print("| program | all checks, s | without, s | cost |\n| --- | --- | --- | --- |")
    for name, measure in workloads:
        # One after the other, so that what else the machine does falls on both.
        pairs = [(measure([]), measure(["--no-races"])) for _ in range(options.runs)]
        checked, plain = (min(column) for column in zip(*pairs))
        print(f"| {name} | {checked:.2f} | {plain:.2f} | {checked / plain:.1f} x |")


if __name__ == "__main__":
    main()
