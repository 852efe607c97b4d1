#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says where the time of a build folder went: compiling by group, the slowest files, the slowest tests.

usage: cmake/profile.py BUILD_FOLDER [ROWS]

Compile times come from ninja's log and are those of the last time that each file was built; on a busy machine they are
longer than the work. Test times are those of the last run of ctest, from the .xml files that ./test leaves in the folder
or else from ctest's own record.
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

GROUPS = [
    (r"_gpu\.dir/|\.cu\.o$|\.ptx$|\.cubin$", "device code"),
    (r"^src/sim/", "simulated SM"),
    (r"^src/", "runtime and the rest of src"),
    (r"^kernels/", "kernels for the simulated SM"),
    (r"^tests/headers/", "headers alone"),
    (r"^tests/", "tests"),
    (r"", "tools, examples, benchmarks"),
]


def compile_times(folder):
    """Seconds by output; a later line of the log replaces an earlier one."""
    seconds = {}
    for line in (folder / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, *_ = line.split("\t")
        seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def test_times(folder):
    seconds = {}
    for file in sorted(folder.glob("*.xml")):
        for case in ElementTree.parse(file).getroot().iter("testcase"):
            seconds[case.get("name")] = float(case.get("time"))
    if not seconds:
        record = folder / "Testing/Temporary/CTestCostData.txt"
        for line in record.read_text().splitlines() if record.exists() else []:
            if match := re.fullmatch(r"(\S+) \d+ ([\d.]+)", line):
                seconds[match[1]] = float(match[2])
    return seconds


def table(title, rows, count):
    print(f"\n{title}")
    for name, seconds in sorted(rows.items(), key=lambda row: -row[1])[:count]:
        print(f"{seconds:9.1f} s  {name}")


def main(arguments):
    if not 1 <= len(arguments) <= 2 or not (pathlib.Path(arguments[0]) / ".ninja_log").exists():
        sys.exit("usage: cmake/profile.py BUILD_FOLDER [ROWS]; the folder is one that ninja has built in")
    folder, count = pathlib.Path(arguments[0]), int(arguments[1]) if len(arguments) == 2 else 20
    compiled, tested = compile_times(folder), test_times(folder)
    groups = collections.Counter()
    for output, seconds in compiled.items():
        groups[next(name for pattern, name in GROUPS if re.search(pattern, output))] += seconds
    table(f"Building: {sum(compiled.values()):.0f} s for {len(compiled)} outputs, by group", groups, len(GROUPS))
    table(f"The {count} slowest to build", compiled, count)
    suites = collections.Counter()
    for name, seconds in tested.items():
        suites[re.split(r"[./]", re.sub(r"^\w+/", "", name))[0]] += seconds
    table(f"Testing: {sum(tested.values()):.0f} s for {len(tested)} tests, by suite", suites, count)
    table(f"The {count} slowest tests", tested, count)


if __name__ == "__main__":
    main(sys.argv[1:])
