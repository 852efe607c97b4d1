# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/seeds.md."""

SECTIONS = ("Types", "Methods", "Promises", "Inconsistencies")


def read_rows(document):
    """(section, name, C++ spelling, test) of each row."""
    rows, section = [], ""
    for line in document.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        cells = [cell.strip().replace("`", "") for cell in line.split("|")[1:-1]]
        if section in SECTIONS and len(cells) == 4 and cells[0] not in ("name", "---"):
            rows.append((section, *cells[:3]))
    return rows
