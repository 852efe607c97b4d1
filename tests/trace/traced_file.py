# SPDX-License-Identifier: Apache-2.0
"""Writes what a kernel built with HEDDLE_TRACE could have left on a GPU: a warp that loads two stages, one that multiplies.

    traced_file.py FILE.trace
"""
import struct
import sys

BEGIN, END, ANCHOR, ROLE, BARRIERS, TEXT, PASS, ARRIVE, MULTIPLY, TILE, TILE_END = range(1, 12)
KEPT, CAPACITY = 64, 16
FULL_ROLE, EMPTY_ROLE = 0, 1
FULL, EMPTY = 1024, 1040  # offsets of the barriers of stage 0


def text(name):
    return [(int.from_bytes(name[i:i + 8].encode().ljust(8, b"\0"), "little"), TEXT, 0, 0) for i in range(0, len(name), 8)]


def waits(begin, end, barrier, parity):
    return end, PASS, parity << 3 | barrier // 8 << 4, end - begin


def row(role, kept, ring):
    kept = [(0, BEGIN, 0, 0), (5000, ANCHOR, 0, 0)] + kept + [(0, ROLE, len(role), 0)] + text(role)
    kept += [(300, END, 0, 0), (5300, ANCHOR, 0, 0)]
    records = kept + [(0, 0, 0, 0)] * (KEPT - len(kept)) + ring + [(0, 0, 0, 0)] * (CAPACITY - len(ring))
    return b"".join(struct.pack("<QII", clock, event | detail << 8, value) for clock, event, detail, value in records)


def barriers(first, role):
    return [(0, BARRIERS, role | 2 << 2 | len("input") << 12, first)] + text("input")


load = [(5, TILE, 1, 3), waits(10, 15, EMPTY, 1), (30, ARRIVE, 4096, FULL), (45, TILE, 2, 3), waits(50, 165, EMPTY, 0), (175, ARRIVE, 2048, FULL)]
math = [(10, TILE, 1, 3), waits(20, 90, FULL, 0), (95, MULTIPLY, 0, 0), (160, ARRIVE, 0, EMPTY), (170, TILE_END, 0, 0),
        (172, TILE, 2, 3), waits(180, 260, FULL, 1), (270, ARRIVE, 0, EMPTY)]
rows = [row("math", barriers(FULL, FULL_ROLE) + barriers(EMPTY, EMPTY_ROLE), math), row("load", [], load)]
with open(sys.argv[1], "wb") as file:
    file.write(b"heddle trace 1\n1 1 1 2 1 %d 4 ring\n" % CAPACITY + struct.pack("<II", len(math), len(load)) + b"".join(rows))
