# SPDX-License-Identifier: Apache-2.0
"""What a launch in the simulated SM found.

try:
    kernel[grid](x, y)
except heddle.KernelError as error:
    print(error.report.findings[0].code)      # 'race'
    print(error)                              # the whole text
"""

import re
from dataclasses import dataclass, field

__all__ = ["Finding", "Involved", "KernelError", "Place", "Report"]


@dataclass(frozen=True)
class Place:
    """A line of the source. `also` has other lines of the same place: callers it is inlined in, and of PTX."""

    file: str
    line: int
    also: tuple = ()

    @classmethod
    def parse(cls, text):
        first, *others = text.split(", ")
        file, _, line = first.rpartition(":")
        also = tuple(map(cls.parse, others))
        return cls(file, int(line), also) if line.isdigit() else cls(first, 0, also)

    def __str__(self):
        first = f"{self.file}:{self.line}" if self.line else self.file
        return ", ".join([first, *map(str, self.also)])


@dataclass(frozen=True)
class Involved:
    """Who took part in a mistake: a role, warp or block; what it did; where."""

    who: str
    what: str
    place: Place


# "  load, warp 0, lane 0: waits for empty of input[0], phase 0     tile_copy.h:97", and the line of PTX if known.
_PLACE = r"(?:module \d+|\S+):\d+"
_WHO = r"(?P<who>(?:\S+: )?\S[^:]*?\b(?:block|warps?|lane) [^:]*?)"
_INVOLVED = re.compile(rf"  {_WHO}(?:: (?P<what>\S.*?))?\s+(?P<place>{_PLACE}(?:, {_PLACE})*)$")


@dataclass(frozen=True)
class Finding:
    """One mistake. `code` has a section in docs/diagnostics.md; `verdict` is wrong, formal or unsupported."""

    code: str
    verdict: str
    text: str
    places: tuple = ()
    times: int = 1
    accepted_by: str = ""
    has_stopped: bool = True

    @property
    def place(self):
        """Where it is told for, or where the first that took part was; None if the text has no place."""
        involved = self.roles
        return self.places[0] if self.places else involved[0].place if involved else None

    @property
    def file(self):
        return self.place.file if self.place else ""

    @property
    def line(self):
        return self.place.line if self.place else 0

    @property
    def roles(self):
        """Who took part, in the order of the text."""
        found = (_INVOLVED.match(line) for line in self.text.splitlines()[1:])
        return tuple(
            Involved(one["who"].strip(), one["what"] or "", Place.parse(one["place"]))
            for one in found
            if one is not None
        )

    def __str__(self):
        return self.text.rstrip("\n")


@dataclass(frozen=True)
class Report:
    """What stopped a launch (`stopped`) and what was told beside it (`told`)."""

    kernel: str
    schedule: str
    instructions: int
    findings: tuple = field(default=())

    @property
    def stopped(self):
        return tuple(one for one in self.findings if one.has_stopped)

    @property
    def told(self):
        return tuple(one for one in self.findings if not one.has_stopped)

    @property
    def ok(self):
        return not self.stopped

    def has(self, code):
        return any(one.code == code for one in self.findings)

    def __bool__(self):
        return self.ok

    def __str__(self):
        return "\n".join(str(one) for one in self.findings) or f"{self.kernel}: nothing found"


class KernelError(RuntimeError):
    """A launch was stopped. `report` says why, as data; the exception's text is that of the report."""

    def __init__(self, report):
        super().__init__("\n".join(str(one) for one in report.stopped))
        self.report = report
