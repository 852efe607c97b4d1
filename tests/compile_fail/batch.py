#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles many snippets at once and tells what the compiler says of each.

usage: batch.py KIND OUTPUT SNIPPET... -- COMPILER OPTION...

KIND is clang or nvcc. For each snippet the folder OUTPUT gets NAME.correct and NAME.misuse: what the compiler says of
it as it stands, and with MISUSE defined. Compiling them one by one would read the same headers hundreds of times.

Each snippet is in a namespace of its own. What a compiler says is told apart by the snippet that it mentions, and what
ptxas says by the kernel whose line it names. Errors of one kind hide those of another: no kernel reaches ptxas, and no
handle is followed by clang, in a file that is wrong as C++. So snippets are compiled together with those that must fail
as late as they do.
"""
import pathlib
import re
import subprocess
import sys

# What is said of a handle that is followed to its end, by clang's analysis and by ptxas.
LATE = {
    "clang": re.compile(r"while it is in the|must match at the entry|not in expected state"),
    "nvcc": re.compile(r"heddle_error_"),
}
# Where a diagnosis begins.
HEAD = {
    "clang": re.compile(r"^\S+:\d+:\d+: (?:fatal )?(?:error|warning):"),
    "nvcc": re.compile(r"^\S+\(\d+\): (?:catastrophic )?(?:error|warning)"),
}
PTXAS = re.compile(r"^ptxas .*, line (\d+); (?:error|warning)")
SNIPPET = re.compile(r"snippets/(\w+)\.cu")


def is_late(kind, snippet):
    text = snippet.read_text()
    expected = re.findall(rf"^// expect-{kind}: (.*)", text, re.M)
    return any(LATE[kind].search(line) for line in expected) or not expected


def write_source(path, kind, snippets, is_misuse):
    lines = ["#define MISUSE"] if is_misuse else []
    lines += ["#define MANY_SNIPPETS", '#include "tile_snippet.h"']
    # What a snippet includes must not be read inside its namespace; here it is read before.
    lines += sorted({line for snippet in snippets for line in re.findall(r"^#include <.*>", snippet.read_text(), re.M)})
    for snippet in snippets:
        lines += [f"namespace {snippet.stem} {{", f'#include "{snippet}"']
        if kind == "nvcc":
            lines += ["__global__ void kernel(Args args) {", '  Pipeline pipeline(args.barriers, "input");',
                      f"  {snippet.stem}::snippet(pipeline, args);", "}"]
        lines.append("}")
    path.write_text("\n".join(lines) + "\n")


def entries(ptx, names):
    """The snippet of each line of the PTX."""
    owner, owners = None, []
    for line in ptx.read_text().splitlines():
        if match := re.search(r"\.entry _ZN(\d+)(\w+)", line):
            owner = match[2][:int(match[1])]
        owners.append(owner if owner in names else None)
    return owners


def split(kind, said, owners):
    """Pairs of a snippet's name and what was said of it; the name is None where it is of none."""
    found, block = [], []

    def close():
        if block:
            text = "\n".join(block)
            mention = SNIPPET.search(text)
            found.append((mention[1] if mention else None, text))
            block.clear()

    for line in said.splitlines():
        if match := PTXAS.match(line):
            close()
            found.append((owners[int(match[1]) - 1], line))
        elif HEAD[kind].match(line):
            close()
            block.append(line)
        elif block:
            block.append(line)
    close()
    return found


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def compile_batch(kind, output, name, snippets, command, is_misuse):
    if not snippets:
        return {}
    source = output / f"{name}.cu"
    write_source(source, kind, snippets, is_misuse)
    names = {snippet.stem for snippet in snippets}
    owners = []
    if kind == "clang":
        status, said = run(command + ["-ferror-limit=0", str(source)])
    else:
        # nvcc keeps the PTX, whose lines ptxas names.
        status, said = run(command + ["-cubin", "--keep", "--keep-dir", str(output), str(source),
                                      "-o", str(output / f"{name}.cubin")])
        ptx = output / f"{name}.ptx"
        owners = entries(ptx, names) if ptx.exists() else []
    by_snippet = {stem: [] for stem in names}
    for stem, text in split(kind, said, owners):
        if stem not in by_snippet:
            sys.exit(f"{name}: this is said of no snippet of the batch:\n{text}")
        by_snippet[stem].append(text)
    if status != 0 and not any(by_snippet.values()):
        sys.exit(f"{name}: {command[0]} ends with status {status} and says:\n{said}")
    return by_snippet


def main(arguments):
    at = arguments.index("--")
    kind, output = arguments[0], pathlib.Path(arguments[1])
    snippets, command = [pathlib.Path(one) for one in arguments[2:at]], arguments[at + 1:]
    output.mkdir(parents=True, exist_ok=True)
    late = [one for one in snippets if is_late(kind, one)]
    early = [one for one in snippets if one not in late]
    batches = [("correct", snippets, False), ("late", late, True), ("early", early, True)]
    for name, batch, is_misuse in batches:
        for stem, texts in compile_batch(kind, output, name, batch, command, is_misuse).items():
            file = output / f"{stem}.{'misuse' if is_misuse else 'correct'}"
            file.write_text("".join(text + "\n" for text in texts))
    print(f"{len(late)} snippets that fail late and {len(early)} that fail early")


if __name__ == "__main__":
    main(sys.argv[1:])
