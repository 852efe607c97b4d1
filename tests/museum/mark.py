#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the catalogue's marks up to date with what the checks find: museum FOLDER | mark.py

Takes away marks that are no longer true. A new miss or a new false alarm gets a mark that says what came; write the reason
there by hand. museum_table --write docs/promises.md then brings the figures up to date.
"""
import pathlib
import re
import sys

RESULT = re.compile(r"(ok|WRONG) +(\S+) +expected (.*?) *got (.*?) +schedule \d+$")


def words(came, what):
    if came.startswith("(") or not came:
        return "nothing comes" if what == "bug" else f"comes as {came}"
    return f"comes as {came}"


def mark(results, kernel, old, what):
    """The mark of a kernel: none if all is well, the old one if there is one."""
    is_right, came = results[kernel]
    return "" if is_right else old or words(came, what)


def main():
    results = {}
    for line in sys.stdin:
        match = RESULT.match(line)
        if match:
            results[match[2]] = (match[1] == "ok", match[4].strip())
    if not results:
        sys.exit("usage: museum FOLDER | mark.py")
    for path in sorted(pathlib.Path(__file__).parent.glob("*.inc")):
        fields = 1 if "legal" in path.name else 3  # behind the shape: idiom; code, cause and source
        rows = []
        for row in path.read_text().splitlines():
            match = re.match(r'(\{"(\w+)", "\w+", \{[^}]*\}(?:, "[^"]*"){%d})((?:, "[^"]*")*)\},$' % fields, row)
            if match:
                old = re.findall(r'"([^"]*)"', match[3]) + ["", ""]
                if fields == 1:
                    marks = [mark(results, match[2], old[0], "twin")]
                else:
                    marks = [mark(results, match[2] + "_wrong", old[0], "bug"),
                             mark(results, match[2] + "_mended", old[1], "twin")]
                while marks and not marks[-1]:
                    marks.pop()
                row = match[1] + "".join(f', "{m}"' for m in marks) + "},"
            rows.append(row)
        path.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
