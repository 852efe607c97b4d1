#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heddle exec --arch ARCH PYTHON bench/consan.py TEST_CONSAN_PY [--part I/N] [--only TEXT] [--out FILE]
PYTHON bench/consan.py --table FILE...

Triton's concurrency sanitizer (ConSan) has a suite of kernels with a planted mistake and their correct twins:
`python/test/gluon/test_consan.py` of its repository, for the Triton of the same time. The first form runs each case
in a process of its own, without the sanitizer's instrumentation, and notes what is said of it: whether it is planted
or correct, and in which words ConSan would name it, is taken from the assertions of the case itself. The second
counts what --out has written."""
import argparse
import collections
import importlib.util
import inspect
import itertools
import json
import os
import re
import signal
import sys
import tempfile
import time

# Of ConSan's own bookkeeping and of its instrumentation, not of kernels.
LEFT_OUT = {"test_consan_uses_profile_scratch", "test_consan_initializes_allocations_with_nan"}
WRONG = re.compile(r"^\[([a-z0-9_]+)\] (?!formal)", re.MULTILINE)
LIMIT_SECONDS = 240


class Environment:
    """Stands for pytest's monkeypatch: sets all but what would instrument."""

    @staticmethod
    def setenv(name, value):
        if name != "TRITON_INSTRUMENTATION_MODE":
            os.environ[name] = value


class Knobs:
    """Triton's knobs, but for the one that instruments."""

    def __init__(self, real):
        self.__dict__["real"] = real

    def __getattr__(self, name):
        value = getattr(self.real, name)
        return Knobs(value) if name == "compilation" else value

    def __setattr__(self, name, value):
        if name != "instrumentation_mode":
            setattr(self.real, name, value)


class Heard(str):
    """What the sanitizer might have said: whatever is looked for is there, and is noted."""

    def __new__(cls, asked):
        self = super().__new__(cls, "")
        self.asked = asked
        return self

    def __contains__(self, text):
        self.asked.append(text)
        return True


Result = collections.namedtuple("Result", "exc driver_stderr_output")


def load(path):
    spec = importlib.util.spec_from_file_location("test_consan", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["test_consan"] = module
    spec.loader.exec_module(module)
    module.knobs = Knobs(module.knobs)
    return module


def cases(module):
    """Those for this card: a label, the function, and a choice of its parameters."""
    for name, function in inspect.getmembers(module, inspect.isfunction):
        marks = getattr(function, "pytestmark", [])
        if not name.startswith("test_") or name in LEFT_OUT:
            continue
        if any(mark.name == "skipif" and mark.args[0] for mark in marks):
            continue
        axes = []
        for mark in marks:
            if mark.name != "parametrize":
                continue
            names = mark.args[0]
            names = [one.strip() for one in names.split(",")] if isinstance(names, str) else names
            several = len(names) > 1
            axes.append([dict(zip(names, getattr(one, "values", one if several else (one,)))) for one in mark.args[1]])
        if "num_ctas" in inspect.signature(function).parameters:
            axes.append([{"num_ctas": count} for count in (1, 2, 4)])
        for choice in itertools.product(*axes):
            given = {key: value for part in choice for key, value in part.items()}
            yield name + "".join(f" {key}={value}" for key, value in given.items()), function, given


def run_case(path, label, answer):
    """In a process of its own. The case, as a test, runs its kernel in a further process if it expects something of
    it; that is where it says what."""
    import pytest
    import torch

    module = load(path)
    function, given = next((function, given) for name, function, given in cases(module) if name == label)
    fixed = {"device": "cuda", "monkeypatch": Environment(), "fresh_knobs": module.knobs}

    def call(is_outer):
        wanted = inspect.signature(function).parameters
        function(*[{**fixed, "run_wrapper": is_outer, **given}[name] for name in wanted])

    has_asked = False

    def ask(*_, **__):
        nonlocal has_asked
        has_asked = True
        return Result("device-side assert", Heard(answer["asked"]))

    def run_here(client, args=(), *_, **__):
        client(*args)
        return Result(None, "")

    try:
        module.run_in_process = ask
        try:
            call(is_outer=True)
            answer["planted"] = has_asked
        except AssertionError:
            if not has_asked:
                raise
            answer["planted"] = False
        if has_asked:
            module.run_in_process = run_here
            call(is_outer=False)
        torch.cuda.synchronize()
    except pytest.skip.Exception:
        answer["skipped"] = True
    except Exception as error:  # the launch failed, which is what its report says, or the case itself
        answer["error"] = f"{type(error).__name__}: {error}"[:300]


def in_child(path, label):
    folder = tempfile.mkdtemp(prefix="consan-")
    out, err = os.path.join(folder, "answer"), os.path.join(folder, "err")
    child = os.fork()
    if child == 0:
        descriptor = os.open(err, os.O_CREAT | os.O_WRONLY)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        answer = {"case": label, "planted": False, "asked": []}
        run_case(path, label, answer)
        with open(out, "w", encoding="utf-8") as file:
            json.dump(answer, file)
        sys.stdout.flush()
        os._exit(0)
    deadline = time.monotonic() + LIMIT_SECONDS
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.02)
    with open(err, encoding="utf-8", errors="replace") as file:
        said = file.read()
    if not os.path.exists(out):
        return {"case": label, "planted": False, "asked": [], "error": "no answer", "said": said}
    with open(out, encoding="utf-8") as file:
        return {**json.load(file), "said": said}


def labels_of(path):
    """From a child, too: to load the file makes the card, which no child inherits."""
    read, write = os.pipe()
    if os.fork() == 0:
        with os.fdopen(write, "w") as file:
            json.dump([label for label, *_ in cases(load(path))], file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        labels = json.load(file)
    os.wait()
    return labels


def verdict(answer):
    """The code of the report, or nothing."""
    found = WRONG.findall(answer["said"])
    return found[0] if found else ""


def table(answers):
    answers = [answer for answer in answers if not answer.get("skipped")]
    planted = [answer for answer in answers if answer["planted"]]
    correct = [answer for answer in answers if not answer["planted"]]
    silent = [answer for answer in correct if not verdict(answer) and not answer.get("error")]
    print(f"planted {len(planted)}, reported {sum(bool(verdict(answer)) for answer in planted)}")
    print(f"correct {len(correct)}, without a report {len(silent)}")
    kinds = collections.defaultdict(collections.Counter)
    for answer in planted:
        kinds[" | ".join(sorted(set(answer["asked"])))[:100]][verdict(answer) or "nothing"] += 1
    for kind, codes in sorted(kinds.items()):
        print(f"  {kind or 'other'}: " + ", ".join(f"{count} {code}" for code, count in codes.most_common()))
    for answer in planted:
        if not verdict(answer):
            print(f"not reported: {answer['case']} {answer.get('error', '')}")
    for answer in correct:
        if answer not in silent:
            print(f"reported, though correct: {answer['case']}: {verdict(answer) or answer['error']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="Triton's test_consan.py")
    parser.add_argument("--part", default="1/1", help="the I-th of N parts of the cases")
    parser.add_argument("--only", default="", help="cases with this in their names")
    parser.add_argument("--out", help="a JSON line for each case is added to this file")
    parser.add_argument("--table", nargs="+", metavar="FILE", help="count what --out has written")
    options = parser.parse_args()
    if options.table:
        table([json.loads(line) for name in options.table for line in open(name, encoding="utf-8")])
        return
    if not options.file:
        parser.error("which file? test_consan.py of Triton's repository, or --table")
    # What all children need, and what takes longest. It does not ask for the card.
    import pytest, torch, triton.experimental.gluon  # noqa: E401, F401

    part, parts = (int(text) for text in options.part.split("/"))
    answers = []
    for label in [label for label in labels_of(options.file) if options.only in label][part - 1::parts]:
        answers.append(in_child(options.file, label))
        answer = answers[-1]
        print(f"{label}: {'planted' if answer['planted'] else 'correct'}, {verdict(answer) or 'no report'}", flush=True)
        if options.out:
            with open(options.out, "a", encoding="utf-8") as file:
                file.write(json.dumps(answer) + "\n")
    table(answers)


if __name__ == "__main__":
    main()
