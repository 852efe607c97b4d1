# SPDX-License-Identifier: Apache-2.0
"""pytest on the simulated card: a test whose kernels break a rule fails, with the report as its text.

    pytest --heddle sm100 tests/           # or: heddle exec --arch sm100 pytest tests/

    @pytest.mark.heddle(expect="race")     # passes if a launch is stopped for it, and fails if none is
    @pytest.mark.heddle(skip=True)         # not on the simulated card

Launches wait for nothing, so a mistake is that of the test that launched. After it the card is mended, and the
next test runs.
"""

import os
import pathlib
import shutil
import sys

import pytest

from . import card

_ARCHS = ("sm90", "sm100")


def pytest_addoption(parser):
    group = parser.getgroup("heddle", "the simulated card")
    group.addoption(
        "--heddle", metavar="ARCH", choices=_ARCHS, help="run the tests on a simulated card: sm90 or sm100"
    )
    group.addoption(
        "--heddle-option",
        metavar="OPTION",
        action="append",
        default=[],
        help="an option of `heddle exec`, such as --schedules=20; may be given again",
    )
    group.addoption("--heddle-formal", action="store_true", help="formal findings fail a test, too")


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "heddle(expect=None, skip=False): on the simulated card, a code that the test must be stopped for; "
        "or not to run it there",
    )
    arch = config.getoption("--heddle")
    if card.is_simulated():
        has = os.environ.get("HEDDLE_EXEC_ARCH")
        if arch not in (None, has):
            raise pytest.UsageError(f"--heddle {arch}, and the program already runs on a simulated {has}")
        card.keep_reports()
        config.pluginmanager.register(_Watch(config), "heddle-watch")
    elif arch is not None:
        _become(config, arch)


def _become(config, arch):
    """This process again, on the simulated card."""
    if os.environ.get("HEDDLE_EXEC_ARCH"):
        raise pytest.UsageError(
            "--heddle: the simulated card was not loaded; is this interpreter linked statically?"
        )
    program = _program()
    options = config.getoption("--heddle-option")
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    interpreter = [sys.executable, *sys.orig_argv[1:]]
    os.execv(program, [program, "exec", "--arch", arch, *options, *interpreter])


def _program():
    """In the package of a wheel, or in bin/ beside the lib/ that CMake installed it under, or on PATH."""
    package = pathlib.Path(__file__).parent
    for path in (package / "bin" / "heddle", package.parents[3] / "bin" / "heddle"):
        if os.access(path, os.X_OK):
            return os.fspath(path)
    found = shutil.which("heddle")
    if found is None:
        raise pytest.UsageError("--heddle: the program `heddle` is neither beside its Python package nor on PATH")
    return found


class _Watch:
    def __init__(self, config):
        self.fails_formal = config.getoption("--heddle-formal")

    def pytest_collection_modifyitems(self, items):
        for item in items:
            mark = item.get_closest_marker("heddle")
            if mark is not None and mark.kwargs.get("skip"):
                item.add_marker(pytest.mark.skip(reason="not on the simulated card"))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        result = outcome.get_result()
        reports = card.take_reports()
        if reports:
            card.mend()
        failed, told = [], []
        for finding in (one for report in reports for one in report.findings):
            fails = finding.has_stopped or (self.fails_formal and finding.verdict == "formal")
            (failed if fails else told).append(finding)
        mark = item.get_closest_marker("heddle")
        expected = mark.kwargs.get("expect") if mark is not None else None
        if told:
            result.sections.append(("heddle", "\n".join(map(str, told))))
        if expected is not None and call.when == "call" and not result.skipped:
            self.judge_expected(result, expected, failed)
        elif failed:
            text = "\n".join(map(str, failed))
            # A test that noticed has an error of CUDA to show; the report says what it was.
            result.longrepr = f"{text}\n\n{result.longreprtext}" if result.failed else text
            result.outcome = "failed"

    @staticmethod
    def judge_expected(result, expected, failed):
        if any(one.code == expected for one in failed):
            result.sections.append(("heddle", "\n".join(map(str, failed))))
            result.outcome, result.longrepr = "passed", None
            return
        found = "\n".join(map(str, failed)) or "nothing was found"
        own = f"\n\n{result.longreprtext}" if result.failed else ""
        result.outcome, result.longrepr = "failed", f"heddle: expected [{expected}]; {found}{own}"

    def pytest_report_header(self):
        return f"heddle: simulated card {os.environ.get('HEDDLE_EXEC_ARCH')}"
