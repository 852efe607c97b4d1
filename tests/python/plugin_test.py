# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, by both commands that bring it: plugin_test.py HEDDLE [PYTHON]."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent
EXPECTED = {
    "test_right_kernel": "PASSED",
    "test_race_that_nobody_looks_at": "FAILED",
    "test_hang": "FAILED",
    "test_right_kernel_after_the_hang": "PASSED",
    "test_race_is_expected": "PASSED",
    "test_race_is_expected_and_does_not_come": "FAILED",
    "test_only_for_a_real_card": "SKIPPED",
    "test_wrong_without_a_kernel": "FAILED",
}


def run(*command):
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


PYTEST = [sys.executable, "-m", "pytest", "-v", "--color=no", "-p", "no:cacheprovider", "suite.py"]


class Plugin(unittest.TestCase):
    def judge(self, status, output):
        results = dict(re.findall(r"^suite\.py::(\w+) (\w+)", output, re.MULTILINE))
        self.assertEqual(results, EXPECTED, output)
        self.assertEqual(status, 1)
        failures = dict(
            re.findall(r"^_+ (test_\w+) _+\n(.*?)(?=^_+ test_|^=+ )", output, re.MULTILINE | re.DOTALL)
        )
        self.assertIn("[race]", failures["test_race_that_nobody_looks_at"])
        self.assertRegex(failures["test_hang"], r"^\[deadlock\](.|\n)*arrivals 1 of 2")
        self.assertIn("expected [race]; nothing was found", failures["test_race_is_expected_and_does_not_come"])
        self.assertIn("assert (1 + 1) == 3", failures["test_wrong_without_a_kernel"])
        # Told once, as the failure: not again as what the test printed.
        self.assertEqual(output.count("[deadlock]"), 1 + output.count("FAILED suite.py::test_hang - [deadlock]"))

    def test_heddle_exec_pytest(self):
        self.judge(*run(HEDDLE, "exec", "--arch", "sm100", *PYTEST))

    def test_pytest_with_an_option(self):
        self.judge(*run(*PYTEST, "-p", "heddle.pytest_plugin", "--heddle", "sm100"))

    def test_options_of_exec_are_passed_on(self):
        status, output = run(
            *PYTEST,
            "-p",
            "heddle.pytest_plugin",
            "--heddle",
            "sm90",
            "--heddle-option=--accept=race",
            "-k",
            "nobody",
        )
        self.assertIn("DID NOT RAISE", output)
        self.assertNotIn("FAILED suite.py::test_race_that_nobody_looks_at - [race]", output)

    def test_another_architecture_than_that_of_the_card_is_refused(self):
        status, output = run(HEDDLE, "exec", "--arch", "sm90", *PYTEST, "--heddle", "sm100")
        self.assertEqual(status, 4)
        self.assertIn("--heddle sm100, and the program already runs on a simulated sm90", output)

    def test_without_the_option_nothing_changes(self):
        status, output = run(*PYTEST, "-p", "heddle.pytest_plugin", "-k", "wrong_without")
        self.assertEqual(status, 1)
        self.assertNotIn("heddle: simulated card", output)


if __name__ == "__main__":
    HEDDLE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
