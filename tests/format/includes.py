#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: includes.py ROOT: files include what they use of the headers that are precompiled for them, and those of
tools/heddle, which are compiled together, what they use of the headers of their own folder.

A build with precompiled headers or of many sources as one does not notice that an include is missing; one without, which
is what users have, does. A file has a header if it or a header of this project that it includes, over however many,
includes it.
"""
import collections
import functools
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
from unity_groups import names  # noqa: E402

# What cmake/HeddlePrecompile.cmake lists, and by which names a file uses it.
PRECOMPILED = {
    "algorithm": r"std::(ranges::)?(all_of|any_of|none_of|copy|copy_n|count|count_if|equal|fill|fill_n|find|find_if|"
                 r"lower_bound|max|max_element|min|min_element|clamp|remove_if|replace|reverse|rotate|sort|stable_sort|"
                 r"unique|upper_bound)\(",
    "functional": r"std::(function|hash|less|greater|plus|reference_wrapper|ref|cref)\b",
    "map": r"std::(multi)?map\b",
    "memory": r"std::(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared)\b",
    "optional": r"std::(optional|nullopt|make_optional)\b",
    "string": r"std::(string|to_string)\b",
    "unordered_map": r"std::unordered_(multi)?map\b",
    "vector": r"std::vector\b",
    "fmt/format.h": r"fmt::\w",
    "CLI/CLI.hpp": r"CLI::\w",
    "nlohmann/json.hpp": r"nlohmann::\w",
    # Those bring some others along.
    "array": r"std::array\b",
    "bit": r"std::(bit_cast|popcount|countr_zero|countl_zero|bit_width|bit_ceil|has_single_bit)\b",
    "cmath": r"std::(sqrt|ldexp|fma|isnan|isinf|exp2|log2|scalbn|nextafter)\b",
    "cstring": r"std::mem(cpy|set|cmp|move)\b",
    "limits": r"std::numeric_limits\b",
    "string_view": r"std::string_view\b",
    "tuple": r"std::(tuple|tie)\b",
    "utility": r"std::(move|exchange|pair|swap)\b",
}
PRECOMPILED_FOR = ("src/sim", "src/c", "src/runtime", "tools/heddle")
UNITED = ("tools/heddle",)
# What names a type, and what calls a function: not a member, nor what is of another namespace.
USED = re.compile(r"(?<![\w.>:])(?:(\w+)\(|([A-Z]\w*[a-z]\w*)\b)")
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)


class Project:
    def __init__(self, root):
        self.root = root

    @functools.cache
    def text(self, path):
        return path.read_text()

    def find(self, name, source):
        """The file of this project that `source` includes by a name, or None."""
        places = (source.parent, *(self.root / folder for folder in ("src", "include", "bench")))
        return next((place / name for place in places if (place / name).is_file()), None)

    @functools.cache
    def headers(self, source):
        """Headers that a file includes, itself or over headers of the project: names of others', paths of the project's."""
        found, seen, to_do = set(), set(), [source]
        while to_do:
            file = to_do.pop()
            for name in INCLUDE.findall(self.text(file)):
                header = self.find(name, file)
                if header is None:
                    found.add(name)
                elif header.resolve() not in seen:
                    seen.add(header.resolve())
                    to_do.append(header)
        return found | seen


def missing_of_folder(project, folder):
    """(file, name, header) for what a header of the folder declares and a file uses without it."""
    declared = collections.defaultdict(set)
    for header in folder.rglob("*.h"):
        for name in names(header, project.text(header)):
            declared[name].add(header.resolve())
    for source in sorted(folder.rglob("*.cpp")):
        code = re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", project.text(source))
        used = {one or other for one, other in USED.findall(code)} & declared.keys() - names(source, code).keys()
        for name in sorted(used):
            if not declared[name] & project.headers(source):
                yield source, name, min(declared[name])


def main(arguments):
    if len(arguments) != 1:
        sys.exit("usage: includes.py ROOT")
    root = pathlib.Path(arguments[0])
    listed = (root / "cmake/HeddlePrecompile.cmake").read_text()
    listed = re.search(r"target_precompile_headers\(\S+ PRIVATE([^)]*)", listed)[1]
    for header in re.findall(r"<([^>]+)>", listed):
        if header not in PRECOMPILED:
            sys.exit(f"<{header}> is precompiled, and this script does not know how files use it")
    root, wrong = root.resolve(), 0
    project = Project(root)
    sources = sorted(source for folder in PRECOMPILED_FOR for source in (root / folder).rglob("*.cpp"))
    for source in sources:
        code = re.sub(r"//.*", "", project.text(source))
        for header, uses in PRECOMPILED.items():
            use = re.search(uses, code)
            if use and header not in project.headers(source):
                print(f"{source.relative_to(root)} uses {use[0]} without #include <{header}>")
                wrong += 1
    for folder in UNITED:
        for source, name, header in missing_of_folder(project, root / folder):
            print(f"{source.relative_to(root)} uses {name} without {header.relative_to(root)}")
            wrong += 1
    print(f"{len(sources)} files, {wrong} includes missing")
    return 1 if wrong or not sources else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
