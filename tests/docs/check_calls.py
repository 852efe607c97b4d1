# SPDX-License-Identifier: Apache-2.0
"""The test of every method in docs/seeds.md calls the method: seen as it runs, not read in its text.

    check_calls.py <root of the repository> <object of seeds_exist.cpp> <test program>...

seeds_exist.cpp has a function for each row that evaluates the C++ spelling; what that function calls says which function
of the library the row means. The programs note what each of their tests calls (tests/support/calls.cpp). Data members and
constants are not called: of those, check_seeds.py sees that the test names them."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from seeds_table import read_rows


def output_of(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def without_arguments(name):
    """A name without what stands between brackets."""
    text, depth = "", 0
    for at, letter in enumerate(name):
        if letter == "<":
            depth += 1
        elif letter == ">" and name[at - 1] != "-":
            depth -= 1
        elif depth == 0:
            text += letter
    return text


def function_of(symbol):
    """'Class::function' of a demangled symbol, without namespaces; of a scope with what it is the scope of, because all
    scopes are one class. None for what is not a member."""
    if "{lambda" in symbol:
        return None
    head = without_arguments(symbol).split("(")[0].split(" ")[-1].split("::")
    if len(head) < 2:
        return None
    owner = head[-2]
    if owner.endswith("Context"):
        of = re.search(rf"\b{owner}<(?:\w+::)*(\w+)", symbol)
        owner += f"<{of[1]}>" if of else ""
    return f"{owner}::{head[-1]}"


def functions_of_rows(obj):
    """What the function of each row calls."""
    calls, row = {}, None
    for line in output_of("objdump", "-r", "-C", "-w", obj).splitlines():
        section = re.match(r"RELOCATION RECORDS FOR \[\.text\..*?(row_\w+?)Ev\]", line)
        if line.startswith("RELOCATION"):
            row = section[1] if section else None
        elif row and len(line.split(None, 2)) == 3:
            calls.setdefault(row, set()).add(function_of(line.split(None, 2)[2]))
    return calls


def functions_of_tests(program, tests, folder):
    """What each of these tests of a program calls."""
    names = {}
    start = 0
    for line in output_of("nm", "-C", "--defined-only", program).splitlines():
        address, _, name = line.split(" ", 2)
        if name == "__executable_start":
            start = int(address, 16)
        names.setdefault(int(address, 16), []).append(name)
    noted = os.path.join(folder, "calls")
    subprocess.run([program, "--gtest_brief=1", "--gtest_filter=" + ":".join(sorted(tests))], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "HEDDLE_CALLS": noted})
    calls = {}
    for line in open(noted, encoding="utf-8"):
        test, *places = line.split()
        calls[test] = {function_of(name) for place in places for name in names.get(start + int(place, 16), [])}
    return calls


def main():
    root, obj, programs = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    rows = [row for row in read_rows(root / "docs/seeds.md") if row[0] == "Methods"]
    wanted = {test for *_, test in rows}
    calls = {}
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            calls.update(functions_of_tests(program, wanted, folder))
    bad, seen, named = [], 0, 0
    functions = functions_of_rows(obj)
    for _, name, spelling, test in rows:
        member = name.rsplit(".", 1)[-1]
        means = {f for f in functions.get("row_" + re.sub(r"\W", "_", name), set()) if f}
        if member == "init":
            means = {f for f in means if f.split("::")[0] == f.split("::")[1]}
        else:
            means = {f for f in means if f.endswith("::" + member)}
        if not spelling.endswith(")"):
            named += 1  # no function
        elif not means:
            bad.append(f"{name}: `{spelling}` calls nothing of that name")
        elif test not in calls:
            bad.append(f"{name}: none of the programs that note their calls has {test}")
        elif not means & calls[test]:
            bad.append(f"{name}: {test} does not call {' or '.join(sorted(means))}")
        else:
            seen += 1
    if bad:
        sys.exit("docs/seeds.md:\n  " + "\n  ".join(sorted(bad)))
    print(f"{seen} methods called by their tests, {named} data members and constants")


main()
