#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: HEDDLE_OBJECTS_FROM=BUILD_FOLDER reuse_object.py COMPILER ARGUMENT...

Compiles as a compiler cache does, with a build folder as the cache: where the folder has the object of the same source,
made with the same options, it is copied, and otherwise the compiler runs. Options that change no object are not compared:
warnings, dependency files, the name of the output, and headers that were compiled beforehand.
"""
import json
import os
import pathlib
import shlex
import shutil
import sys

WITH_VALUE = ("-o", "-MT", "-MF", "-include")  # a precompiled header is named by -include
ALONE = ("-MD", "-fpch-preprocess")


def options_of(arguments):
    """What makes the object, in order; and the values of what was left out."""
    kept, values = [], {}
    rest = iter(arguments)
    for argument in rest:
        if argument in WITH_VALUE:
            values[argument] = next(rest)
        elif argument not in ALONE and not argument.startswith("-W"):
            kept.append(argument)
    return kept, values


def object_of(folder, arguments):
    """The object of the same source and options in the folder, or None."""
    commands = folder / "compile_commands.json"
    if not commands.exists():
        return None
    for command in json.loads(commands.read_text()):
        if command["file"] != arguments[-1]:
            continue
        theirs = shlex.split(command["command"])
        if arguments[0] not in theirs:
            continue
        kept, values = options_of(theirs[theirs.index(arguments[0]) :])  # after a compiler cache, where there is one
        made = pathlib.Path(command["directory"], values["-o"])
        if kept == options_of(arguments)[0] and made.exists():
            return made
    return None


def main(arguments):
    made = object_of(pathlib.Path(os.environ["HEDDLE_OBJECTS_FROM"]), arguments)
    if made is None:
        os.execvp(arguments[0], arguments)
    _, values = options_of(arguments)
    shutil.copyfile(made, values["-o"])
    if "-MF" in values:  # made again when the other is
        pathlib.Path(values["-MF"]).write_text(f"{values['-MT']}: {made} {arguments[-1]}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
