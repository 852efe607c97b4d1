# SPDX-License-Identifier: Apache-2.0
"""Every name of the seeds has a row in docs/seeds.md, and every row a test that uses what it names.

    check_seeds.py <root of the repository>

The names are those of seed_names.txt: none may be missing in the document, and the document has no others. The test of
a row exists. That of a method or constant calls or names it: in its own text, or in that of the functions, types and
variables of its file, of tests/support and of examples which it uses, directly or through one another. That a method is
really called is for check_calls.py to say, and that the C++ spelling exists for the compiler: see CMakeLists.txt. The
methods that no kernel and no example uses are those that the document lists as such."""
import pathlib
import re
import sys

from seeds_table import SECTIONS, read_rows

UNUSED = "For the seeds' sake"


def read_names(file):
    names, section = [], ""
    for line in file.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line and not line.startswith("#"):
            names.append((section, line))
    return names


def pieces_of(file):
    """What stands at the outermost level of a formatted source: lines without indentation, and what is indented under
    them."""
    pieces = []
    goes_on = False  # a template's head is followed by what it is the head of
    for line in re.sub(r'"(?:[^"\\\n]|\\.)*"|//.*', "", file.read_text()).splitlines():  # neither strings nor comments
        if re.match(r"(namespace|}  // namespace|#|//|$)", line):
            continue
        if line[0] not in " }" and not goes_on:
            pieces.append(line)
        elif pieces:
            pieces[-1] += "\n" + line
        goes_on = line.startswith("template") or (goes_on and line[0] == " ")
    return pieces


TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s+(\w+)\)")
NAMED = re.compile(r"(?:struct|class|using|concept)\s+(\w+)|\b(\w+)\s*(?:\(|=|\{)")


class Source:
    """A test file, and what it includes of ours."""

    def __init__(self, file):
        self.tests, self.defined = {}, {}
        files = [file]
        for include in re.findall(r'^#include "(.*)"', file.read_text(), re.M):
            path = (file.parent / include).resolve()
            if path.exists() and path.suffix == ".h":
                files.append(path)
        for one in files:
            for piece in pieces_of(one):
                test = TEST.match(piece)
                if test:
                    self.tests[f"{test[1]}.{test[2]}"] = piece
                    continue
                head = "\n".join(line for line in piece.split("\n") if line[0] not in " }")
                for name in {match[1] or match[2] for match in NAMED.finditer(head)}:
                    self.defined.setdefault(name, []).append(piece)

    def text_of(self, test):
        """The test and everything that it uses."""
        text, seen, todo = "", set(), [self.tests[test]]
        while todo:
            piece = todo.pop()
            text += piece + "\n"
            for word in set(re.findall(r"\w+", piece)) - seen:
                seen.add(word)
                todo += self.defined.get(word, [])
        return text


def use_of(name, spelling):
    """What a text that uses the member of a row matches."""
    member = name.rsplit(".", 1)[-1]
    if re.match(r"[\w:]+<.*>\(", spelling):  # a constructor
        return r"\b(?:Pipeline|Output|Input)(?:TilePipeline)?\b(?:<[^;]*>)? \w+\("
    if not spelling.endswith(")"):
        return rf"(?:\.|::){member}\b"
    return rf"(?:\.|->|::)(?:template )?{member}(?:<[^;()]*>)?\("


def unused_methods(root, rows):
    """Those whose word stands in no kernel and in no example."""
    words = set()
    for folder in ("kernels", "examples"):
        for file in (root / folder).rglob("*.[hc]*"):
            words |= set(re.findall(r"\w+", re.sub(r"//.*", "", file.read_text(errors="ignore"))))
    return {name for section, name, _, _ in rows if section == "Methods" and name.rsplit(".", 1)[-1] not in words}


def main():
    root = pathlib.Path(sys.argv[1])
    document = root / "docs/seeds.md"
    rows = read_rows(document)
    bad = []
    unused = document.read_text().partition(f"## {UNUSED}\n")[2].partition("\n## ")[0]
    said, are = set(re.findall(r"`(\w+\.\w+)`", unused)), unused_methods(root, rows)
    bad += [f"{UNUSED}: kernels and examples do not use {name}" for name in are - said]
    bad += [f"{UNUSED}: kernels or examples use {name}" for name in said - are]
    listed = read_names(root / "tests/docs/seed_names.txt")
    found = [(section, name) for section, name, _, _ in rows]
    for section, name in listed:
        if found.count((section, name)) != 1:
            bad.append(f"{section}: {found.count((section, name))} rows for '{name}'; 1 is right")
    for section, name in set(found) - set(listed):
        bad.append(f"{section}: '{name}' is not in tests/docs/seed_names.txt")

    sources = {}
    for file in sorted(root.glob("tests/**/*_test.c*")):
        source = Source(file)
        for test in source.tests:
            sources[test] = source
    for section, name, spelling, test in rows:
        if test.startswith("compile_fail"):
            if not (root / "tests" / test).exists():
                bad.append(f"the snippet of '{name}', {test}, does not exist")
        elif test not in sources:
            bad.append(f"the test of '{name}', {test}, does not exist")
        elif section == "Methods" and not re.search(use_of(name, spelling), sources[test].text_of(test)):
            bad.append(f"{test} does not use {name}: nothing in it matches {use_of(name, spelling)}")
    if bad:
        sys.exit("docs/seeds.md:\n  " + "\n  ".join(sorted(bad)))
    print(", ".join(f"{sum(row[0] == section for row in rows)} {section.lower()}" for section in SECTIONS))


main()
