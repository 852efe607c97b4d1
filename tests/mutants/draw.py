#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random mutants of the library's headers, and whether the unit tests that read them notice.

  tests/mutants/draw.py BUILD --seed 1 --count 60 [--listed members.tsv] [--tests 5] [--kernels 2] [--jobs 1] [--seconds 400] [--out mutants.tsv]

BUILD is a configured build by g++ where each test is a program of its own (-DHEDDLE_UNITY=OFF); what the tests link is
built first. Each mutant is one change in one line of a header under include/heddle: a comparison, an operator or a constant that is off, or a statement left out. It is compiled
into the unit tests that include the header, the quickest first, and after them into those of the library's kernels, with
the simulated SM as it is, and nothing is optimised: a test takes about two seconds. It is killed by the first that fails, crashes or runs over its time. What does not compile is
drawn again. --listed FILE takes the mutants of
a file instead, all of them: members.tsv has members that few kernels use. Runs with the same seed draw the same mutants: those that are in --out already are not run again, and the
last line says what came of all.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ("pipeline", "tile", "kernel")
SWAPS = [
    (" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
    (" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * "), (" % ", " / "), (" && ", " || "),
    (" || ", " && "), (" << ", " >> "), (" ^= ", " |= "), ("true", "false"), ("false", "true"),
    (" = 0;", " = 1;"), (" = 1;", " = 0;"), ("{0, 1}", "{0, 0}"), ("++", "--"), (" += ", " -= "),
    ("return !", "return "), ("if (!", "if ("),
]
STATEMENT = re.compile(r"^\s+[a-z_][\w.:<>, ()&*\[\]]*\(.*\);$")


def lines_of_code(path):
    """The numbers of lines that the simulated SM compiles, and that say something at run time."""
    depth_of_cuda = 0
    in_assert = False
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        text = line.strip()
        if text.startswith("#if HEDDLE_ON_CUDA"):
            depth_of_cuda = 1
        elif depth_of_cuda and text.startswith(("#else", "#endif")):
            depth_of_cuda = 0
        if "static_assert" in text:
            in_assert = True
        skipped = depth_of_cuda or in_assert or not text or text.startswith(("//", "#", "template", "using", "static_assert", "requires"))
        if in_assert and text.endswith(");"):
            in_assert = False
        if not skipped:
            yield number, line.rstrip("\n")


def all_mutants():
    """(header, line, before, after) for every change that fits."""
    for folder in FOLDERS:
        base = os.path.join(ROOT, "include", "heddle", folder)
        for name in sorted(os.listdir(base)):
            path = os.path.join(base, name)
            for number, line in lines_of_code(path):
                code = line.split("//")[0]
                for old, new in SWAPS:
                    at = code.find(old)
                    if at >= 0:
                        yield f"{folder}/{name}", number, line, line[:at] + new + line[at + len(old):]
                if STATEMENT.match(code) and "return" not in code:
                    yield f"{folder}/{name}", number, line, re.match(r"\s*", line).group() + ";"


def listed_mutants(path):
    """Those of a file, as all_mutants() gives them: each must still be a line of its header."""
    for row in open(path, encoding="utf-8"):
        if row.startswith("#"):
            continue
        header, which, before, after = row.rstrip("\n").split("\t")
        lines = open(os.path.join(ROOT, "include", "heddle", header), encoding="utf-8").read().split("\n")
        found = [(number, line) for number, line in enumerate(lines, 1) if line.strip() == before]
        if len(found) < int(which):
            raise SystemExit(f"{path}: {header} has no {which}. line that reads '{before}'")
        number, line = found[int(which) - 1]
        yield header, number, line, line.replace(before, after)


INCLUDE = re.compile(r'^\s*#include [<"](?:\.\./)*(?:heddle/)?([\w/]+\.h)[>"]', re.M)


def headers_of(path, seen):
    """What a file of the library, the kernels or the tests includes, directly or not."""
    for name in INCLUDE.findall(open(path, encoding="utf-8").read()):
        here = os.path.dirname(path)
        for candidate in (os.path.join(ROOT, "include", "heddle", name), os.path.join(ROOT, "kernels", name), os.path.join(ROOT, name),
                          os.path.join(here, name), os.path.join(ROOT, "tests", name), os.path.join(ROOT, "examples", name)):
            if os.path.exists(candidate) and candidate not in seen:
                seen.add(candidate)
                headers_of(candidate, seen)
    return seen


KERNEL_TEST = re.compile(r"(matmul_(?!epilogue)|attention|tile_copy)")


class Test:
    """A unit test: its program, the commands that compile what it is made of, and the headers that these read."""

    def __init__(self, name, entry, kernels):
        self.name = name
        self.source = entry["file"]
        self.program = os.path.join("tests", "unit_" + name)
        self.parts = [entry, *kernels]
        self.has_kernels = bool(kernels)

    def headers(self):
        return set().union(*(headers_of_part(part) for part in self.parts))


def headers_of_part(part):
    """Those of the library that an object is compiled from."""
    if "headers" not in part:
        base = os.path.join(ROOT, "include", "heddle") + os.sep
        # A kernel for the simulated SM is a file that includes the kernel's own.
        kernel = re.search(r'#include "(/[^"]+\.cu)"', open(part["file"], encoding="utf-8").read())
        source = kernel.group(1) if kernel else part["file"]
        part["headers"] = {h[len(base):] for h in headers_of(source, set()) if h.startswith(base)}
    return part["headers"]


def output_of(entry):
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1]


def unit_tests(build):
    entries = json.load(open(os.path.join(build, "compile_commands.json"), encoding="utf-8"))
    if any("/unit_united_" in output_of(entry) for entry in entries):
        raise SystemExit(f"{build} has many tests in one program: configure it with -DHEDDLE_UNITY=OFF")
    kernels = {output_of(e): e for e in entries if re.search(r"/kernels/\w+_sim\.cpp$", e["file"])}
    tests = []
    for entry in entries:
        found = re.search(r"/tests/unit/(\w+_test)\.cpp$", entry["file"])
        if not found:
            continue
        linked = []
        if KERNEL_TEST.match(found.group(1)):
            words = set(shlex.split(link_of(entry["directory"], os.path.join("tests", "unit_" + found.group(1)))))
            linked = [e for output, e in kernels.items() if output in words]
        tests.append(Test(found.group(1), entry, linked))
    return tests


NAMED = re.compile(r"\b(?:struct|class|concept) (?:HEDDLE_\w+ |\[\[nodiscard\]\] )?(\w+)|\b(\w+)\([^;]*\)[^;]*\{$")


def names_around(header, number):
    """The function and the class that a line is in, as far as the text says."""
    lines = open(os.path.join(ROOT, "include", "heddle", header), encoding="utf-8").read().split("\n")
    function, kind = "", ""
    for line in lines[:number]:
        for found in NAMED.finditer(line):
            if found.group(1):
                kind = found.group(1)
            elif found.group(2) not in ("if", "for", "while", "switch", "constexpr"):
                function = found.group(2)
    return [name for name in (function, kind) if name]


def mentions(test, names):
    """How many of the names stand in a test."""
    text = open(test.source, encoding="utf-8").read()
    return sum(re.search(rf"\b{name}\b", text) is not None for name in names)


def words_of(entry, include):
    """The command that compiles an entry with the headers of another folder, without its output and its input."""
    words = [w for w in shlex.split(entry["command"]) if not w.endswith("ccache")]
    words = [w.replace(os.path.join(ROOT, "include"), include) if w.startswith("-I") else w for w in words]
    kept = []
    skip = False
    for word in words:  # neither the build's precompiled header nor warnings nor a file of dependencies
        if skip:
            skip = False
        elif word in ("-include", "-MT", "-MF", "-o", "-c"):
            skip = True
        elif word not in ("-MD", "-fpch-preprocess") and not word.startswith(("-O", "-g", "-W", "-finstrument")):
            kept.append(word)
    return [*kept, "-O0", "-g0", "-w"]


def compile_part(entry, include, obj, before=()):
    """Whether an object compiles with the headers of another folder."""
    words = [*words_of(entry, include), *before, "-c", entry["file"], "-o", obj]
    return subprocess.run(words, cwd=entry["directory"], capture_output=True).returncode == 0


# What the tests include that is not ours.
OTHERS = ("gtest/gtest.h", "algorithm", "array", "cmath", "cstring", "functional", "map", "memory", "mutex", "numeric", "optional", "random",
          "set", "sstream", "string", "string_view", "type_traits", "utility", "vector")


def precompile(tests, folder):
    """The words that make a test read what it includes of others in one piece."""
    header = os.path.join(folder, "others.h")
    with open(header, "w", encoding="utf-8") as text:
        text.writelines(f"#include <{name}>\n" for name in OTHERS)
    entry = tests[0].parts[0]
    words = [*words_of(entry, os.path.join(ROOT, "include")), "-x", "c++-header", header, "-o", header + ".gch"]
    subprocess.run(words, cwd=entry["directory"], capture_output=True, check=True)
    return "-include", header


def link_of(build, program):
    """The command that links a program."""
    commands = subprocess.run(["ninja", "-t", "commands", program], cwd=build, capture_output=True, text=True)
    link = commands.stdout.strip().splitlines()[-1]
    return link[link.index(" && ") + 4:link.rindex(" && ")] if link.startswith(": && ") else link


building = threading.Lock()


def compile_and_run(test, header, include, folder, limit, others):
    """What a test says of a mutant: "killed", "survived" or "no build"."""
    build = test.parts[0]["directory"]
    if test.has_kernels:  # those that do not read the header are linked as they are
        with building:
            subprocess.run(["ninja", test.program], cwd=build, capture_output=True)
    objects = {}
    for number, part in enumerate(test.parts):
        if header in headers_of_part(part) or number == 0:
            objects[output_of(part)] = os.path.join(folder, f"part{number}.o")
            if not compile_part(part, include, objects[output_of(part)], others if number == 0 else ()):
                return "no build"
    args = [objects.get(a, a) for a in shlex.split(link_of(build, test.program)) if "precompiled" not in a]
    binary = os.path.join(folder, "test")
    args[args.index("-o") + 1] = binary
    if subprocess.run(args, cwd=build, capture_output=True).returncode != 0:
        return "no build"
    try:
        run = subprocess.run([binary], capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "killed"
    return "killed" if run.returncode != 0 else "survived"


sound = {}
asking = threading.Lock()


def passes_as_it_is(test, others):
    """Whether a test says nothing of the headers without a mistake: one that does would notice every mutant."""
    with asking:
        if test.name not in sound:
            with tempfile.TemporaryDirectory() as folder:
                include = os.path.join(ROOT, "include")
                sound[test.name] = compile_and_run(test, "", include, folder, 120, others) == "survived"
                if not sound[test.name]:
                    print(f"{test.name} does not pass without a mutant: it is not asked", flush=True)
        return sound[test.name]


def judge(mutant, tests, most, most_of_kernels, others):
    header, number, _, after = mutant
    own = os.path.basename(header)[:-2]
    readers = [t for t in tests if header in t.headers()]
    # Its own test first, then those that name what is changed, then those that read least; kernels take longest.
    names = names_around(header, number)
    readers.sort(key=lambda t: (not t.name.startswith(own), -mentions(t, names), len(t.parts), len(t.headers())))
    asked = [t for t in readers if not t.has_kernels][:most] + [t for t in readers if t.has_kernels][:most_of_kernels]
    with tempfile.TemporaryDirectory() as folder:
        include = os.path.join(folder, "include")
        shutil.copytree(os.path.join(ROOT, "include"), include)
        path = os.path.join(include, "heddle", header)
        lines = open(path, encoding="utf-8").read().split("\n")
        lines[number - 1] = after
        open(path, "w", encoding="utf-8").write("\n".join(lines))
        for test in asked:
            if not passes_as_it_is(test, others):
                continue
            said = compile_and_run(test, header, include, folder, 180 if test.has_kernels else 60, others)
            if said != "survived":
                return said, test.name
    return ("survived" if asked else "no test"), ", ".join(t.name for t in asked)


def key_of(mutant):
    return f"{mutant[0]}:{mutant[1]}", mutant[3].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--listed", help="a file of mutants, to take all of them instead of drawing some")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long; run again to go on")
    parser.add_argument("--out", default="mutants.tsv")
    parser.add_argument("--tests", type=int, default=5, help="that a mutant meets, at most, beside those of kernels")
    parser.add_argument("--kernels", type=int, default=2, help="tests of kernels that a mutant meets, at most, if it survives the others")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the mutants that would be drawn first")
    args = parser.parse_args()
    if args.listed:
        mutants = list(listed_mutants(args.listed))
        args.count = len(mutants)
    else:
        mutants = list(all_mutants())
        random.Random(args.seed).shuffle(mutants)
    if args.list:
        for header, number, before, after in mutants[:args.count]:
            print(f"{header}:{number}\n  {before.strip()}\n  {after.strip()}")
        return
    build = os.path.abspath(args.build)
    tests = unit_tests(build)
    subprocess.run(["ninja", "heddle_sim", "heddle_kernel_host", "heddle_test_calls"], cwd=build, stdout=subprocess.DEVNULL, check=True)
    done = {}
    if os.path.exists(args.out):
        done = {tuple(l.rstrip("\n").split("\t")[:2]): l.rstrip("\n").split("\t") for l in open(args.out, encoding="utf-8")}
    end = time.time() + args.seconds
    counts = {"killed": 0, "survived": 0, "no test": 0}
    if args.listed:
        counts["no build"] = 0  # which is a mistake of the list
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        others = precompile(tests, folder)
        queue = iter(mutants)
        ahead = collections.deque()  # so that one that takes long keeps nobody waiting
        while sum(counts.values()) < args.count:
            for mutant in itertools.islice(queue, 3 * args.jobs - len(ahead)):
                is_new = key_of(mutant) not in done and time.time() < end
                ahead.append((mutant, pool.submit(judge, mutant, tests, args.tests, args.kernels, others) if is_new else None))
            mutant, judged = ahead.popleft() if ahead else (None, None)
            if mutant is None or (judged is None and key_of(mutant) not in done):
                break
            if judged is not None:
                done[key_of(mutant)] = [*key_of(mutant), *judged.result(), mutant[2].strip()]
                with open(args.out, "a", encoding="utf-8") as out:
                    print("\t".join(done[key_of(mutant)]), file=out)
            said = done[key_of(mutant)][2]
            if said in counts:
                counts[said] += 1
        pool.shutdown(cancel_futures=True)
    drawn = sum(counts.values())
    chosen = f"listed in {args.listed}" if args.listed else f"drawn with seed {args.seed}"
    print(f"{len(mutants)} mutants fit; of {drawn} {chosen}, {counts['killed']} were killed, {counts['survived']} survived, "
          f"{counts['no test']} have no test that reads their header, {counts.get('no build', 0)} do not build")


if __name__ == "__main__":
    main()
