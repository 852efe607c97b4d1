# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest (-p sample_tests) for bench/programs_table.py: of each test with parameters the first case that is
drawn runs, with a limit of a minute of processor time, and the last line says what failed."""

import random
import re
import signal

import pytest

SECONDS = 60


class TooLong(BaseException):
    pass


def _stop(*_):
    raise TooLong(f"more than {SECONDS} s of the processor")


def pytest_collection_modifyitems(items):
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    items[:] = [random.Random(name).choice(of) for name, of in cases.items()]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def pytest_terminal_summary(terminalreporter):
    stats = terminalreporter.stats
    failed = [*stats.get("failed", []), *stats.get("error", [])]
    counts = f"{len(stats.get('passed', []))} pass, {len(stats.get('skipped', []))} skipped"
    why = []
    for report in failed:
        name = re.split(r"::", report.nodeid)[-1].split("[")[0]
        text = report.longreprtext
        code = re.search(r"^\[([a-z_]+)\](?! formal)", text, re.M)
        errors = re.findall(r"^E +(\w+(?:Error|Long))", text, re.M)
        why.append(f"{name} ({code[1] if code else errors[-1] if errors else 'fails'})")
    terminalreporter.write_line(f"sampled: {counts}" + (f", {len(failed)} fail: {', '.join(why)}" if why else ""))
