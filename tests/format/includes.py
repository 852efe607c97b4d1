#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: includes.py ROOT: files of src/sim include what they use of the headers that are precompiled for them.

A build with precompiled headers does not notice that an include is missing; one without them, which is what users
have, does. A file has a header if it or a header of this project that it includes, over however many, includes it.
"""
import functools
import pathlib
import re
import sys

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
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)


class Project:
    def __init__(self, root):
        self.root = root

    @functools.cache
    def text(self, path):
        return path.read_text()

    def find(self, name, source):
        """The file of this project that `source` includes by a name, or None."""
        places = (source.parent, self.root / "src", self.root / "include")
        return next((place / name for place in places if (place / name).is_file()), None)

    @functools.cache
    def headers(self, source):
        """Headers of others that a file includes, itself or over headers of the project."""
        found, seen, to_do = set(), {source}, [source]
        while to_do:
            file = to_do.pop()
            for name in INCLUDE.findall(self.text(file)):
                header = self.find(name, file)
                if header is None:
                    found.add(name)
                elif header.resolve() not in seen:
                    seen.add(header.resolve())
                    to_do.append(header)
        return found


def main(arguments):
    if len(arguments) != 1:
        sys.exit("usage: includes.py ROOT")
    root = pathlib.Path(arguments[0])
    listed = (root / "cmake/HeddlePrecompile.cmake").read_text()
    listed = re.search(r"target_precompile_headers\(\S+ PRIVATE([^)]*)", listed)[1]
    for header in re.findall(r"<([^>]+)>", listed):
        if header not in PRECOMPILED:
            sys.exit(f"<{header}> is precompiled, and this script does not know how files use it")
    project, sources, wrong = Project(root), sorted((root / "src/sim").rglob("*.cpp")), 0
    for source in sources:
        code = re.sub(r"//.*", "", project.text(source))
        for header, uses in PRECOMPILED.items():
            use = re.search(uses, code)
            if use and header not in project.headers(source):
                print(f"{source.relative_to(root)} uses {use[0]} without #include <{header}>")
                wrong += 1
    print(f"{len(sources)} files, {wrong} includes missing")
    return 1 if wrong or not sources else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
