# SPDX-License-Identifier: Apache-2.0
"""The command `heddle` of a wheel: becomes the program that lies in the package."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "heddle")
    os.execv(program, ["heddle", *sys.argv[1:]])
