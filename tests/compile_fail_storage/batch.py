#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles all snippets with their mistakes in one file and tells what the compiler says of each.

usage: batch.py OUTPUT SNIPPET... -- COMPILER OPTION...

Each snippet is in a namespace of its own. The folder OUTPUT gets a file for each of them, with the errors that mention it:
those in it, and those in headers whose instantiation began there. Errors of one kind hide those of another (what is
wrong in both of nvcc's passes is not told of device code alone), and an error that two snippets share is told once; so
those of which nothing was said are compiled together again, as long as that tells of more. What is left is for
check_snippet.cmake, which compiles it alone.
"""
import pathlib
import re
import subprocess
import sys

# The line of an error, and those that a compiler may write before it: where it is, and what was instantiated there.
ERROR = re.compile(r"^\S+(?::\d+:\d+: |\(\d+\): )(?:fatal |catastrophic )?(?:error|warning)")
BEFORE = re.compile(r"^In file included from |^ +from |^\S+: (?:In|At) |^\S+: +(?:recursively )?required ")


def errors_of(text):
    """Each error with the lines that belong to it."""
    errors, lines, has_error = [], [], False
    for line in text.splitlines(keepends=True):
        is_error = bool(ERROR.match(line))
        if has_error and (is_error or BEFORE.match(line)):
            errors.append("".join(lines))
            lines, has_error = [], False
        lines.append(line)
        has_error = has_error or is_error
    return errors + ["".join(lines)] if has_error else errors


def compile_together(source, snippets, command):
    """What the compiler says of each snippet."""
    texts = [snippet.read_text() for snippet in snippets]
    # What a snippet includes must not be read inside its namespace; here it is read before.
    lines = ["#define MISUSE"] + sorted({line for text in texts for line in re.findall(r"^#include <.*>", text, re.M)})
    for snippet in snippets:
        lines += [f"namespace {snippet.stem} {{", f'#include "{snippet}"', "}"]
    source.write_text("\n".join(lines) + "\n")
    done = subprocess.run(command + [str(source)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    errors = errors_of(done.stdout)
    return {snippet: "".join(one for one in errors if f"snippets/{snippet.name}" in one) for snippet in snippets}


def main(arguments):
    at = arguments.index("--")
    output, command = pathlib.Path(arguments[0]), arguments[at + 1:]
    snippets = [pathlib.Path(one) for one in arguments[1:at]]
    output.mkdir(parents=True, exist_ok=True)
    rest = snippets
    while rest:
        said = compile_together(output / "misuses.cpp", rest, command)
        silent = [snippet for snippet in rest if not said[snippet]]
        for snippet in rest:
            (output / f"{snippet.stem}.said").write_text(said[snippet])
        if len(silent) == len(rest):
            break
        rest = silent
    print(f"errors of {len(snippets) - len(rest)} of {len(snippets)} snippets")
    if len(rest) == len(snippets):
        sys.exit(f"{command[0]} says nothing of any misuse")


if __name__ == "__main__":
    main(sys.argv[1:])
