#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says which sources are compiled as one, for HEDDLE_UNITY.

usage: cmake/unity_groups.py BYTES SOURCE...

Prints a line "GROUP SOURCE" for each. Sources of one folder go together, up to so many bytes, unless both have something
of the same name: what each has for itself, in a namespace without a name, would be there twice.
"""
import pathlib
import re
import sys

# What begins in the first column, where clang-format puts everything that is in a namespace alone. An enumeration that
# is no class gives its names to the namespace.
NAMED = re.compile(r"(?:struct|class|union|enum(?: class)?|using|#define) (\w+)")
OTHER = re.compile(r"(?!namespace|return|template|using)[A-Za-z][^(=;{]*?(?<!:)\b(\w+)(?:\[.*?\])?(?: =(?: |$)|[({;]|$)")
USING = re.compile(r"using ((?:\w+::)+)(\w+);")
TEST = re.compile(r"[A-Z_]+\((\w+), *(\w+)")
OPEN_ENUM = re.compile(r"^enum (?!class)[^{]*\{([^}]*)\}", re.M)


def names(path, text):
    """What each name of the file stands for: a name of another namespace, or something of the file alone."""
    found = {}
    for line in text.splitlines():
        if match := TEST.match(line):
            found[f"{match[1]}.{match[2]}"] = path
        elif match := USING.match(line):
            found[match[2]] = match[1] + match[2]
        elif match := NAMED.match(line) or OTHER.match(line):
            found[match[1]] = path
    for match in OPEN_ENUM.finditer(text):
        found.update(dict.fromkeys(re.findall(r"\bk[A-Z]\w*", match[1]), path))
    return found


def agree(one, other):
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def main(arguments):
    limit = int(arguments[0])
    groups = []  # [folder, bytes, names, sources]
    for source in sorted(map(pathlib.Path, arguments[1:]), key=lambda path: (path.parent, path)):
        text = source.read_text()
        own = names(source, text)
        for group in groups:
            if group[0] == source.parent and group[1] + len(text) <= limit and agree(group[2], own):
                break
        else:
            group = [source.parent, 0, {}, []]
            groups.append(group)
        group[1] += len(text)
        group[2].update(own)
        group[3].append(source)
    for number, group in enumerate(groups):
        for source in group[3]:
            print(f"{number} {source}")


if __name__ == "__main__":
    main(sys.argv[1:])
