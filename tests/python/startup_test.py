# SPDX-License-Identifier: Apache-2.0
"""What `heddle exec` adds to a program of Python's, seen with Python's own library: startup_test.py HEDDLE."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

# As much of Triton as heddle touches.
TRITON = {
    "triton/__init__.py": "",
    "triton/testing.py": """
class Benchmark:
    plot_name = "speed"
class Mark:
    def __init__(self):
        self.benchmarks = Benchmark()
    def run(self, **options):
        print("measured")
""",
    "triton/runtime/__init__.py": "",
    "triton/runtime/autotuner.py": """
class Autotuner:
    configs = ["too large", "first", "second"]
    base_fn = print
    def run(self):
        timings = {config: self._bench(config=config) for config in self.configs}
        return min(timings, key=timings.get)
    def _bench(self, *args, config, **meta):
        print("tried", config)
        return [float("inf")] * 3 if config == "too large" else [1.0 if config == "first" else 0.5] * 3
""",
}


class Startup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, files):
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run_python(self, code, **variables):
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", **variables}
        command = [HEDDLE, "exec", "--arch", "sm100", sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_nothing_is_said_and_heddle_is_there(self):
        out, err = self.run_python("import heddle.card; print(heddle.card.is_simulated(), heddle.__version__)")
        self.assertRegex(out, r"^True \d+\.\d+\.\d+\n$")
        self.assertEqual(err, "")

    def test_a_sitecustomize_of_the_users_own_is_run(self):
        self.write({"sitecustomize.py": "import builtins\nbuiltins.mine = 7\n"})
        self.assertEqual(self.run_python("print(mine)")[0], "7\n")

    def test_without_exec_the_card_is_not_simulated(self):
        code = "import heddle.card; print(heddle.card.is_simulated())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "False\n", done.stderr)

    def test_times_are_left_out(self):
        self.write(TRITON)
        code = "import triton.testing; triton.testing.Mark().run(print_data=True)"
        out, err = self.run_python(code)
        self.assertEqual(out, "")
        self.assertIn("benchmark speed is left out: the simulated card has no time", err)
        self.assertEqual(self.run_python(code, HEDDLE_EXEC_BENCH="1")[0], "measured\n")

    def test_the_first_configuration_that_runs_is_taken(self):
        self.write(TRITON)
        # Whoever only asks whether there is such a module does not take its place.
        ask = "import importlib.util as u; u.find_spec('triton.runtime.autotuner')"
        code = f"{ask}; from triton.runtime.autotuner import Autotuner; t = Autotuner(); print(t.run(), t.run())"
        out, err = self.run_python(code)
        self.assertEqual(out, "tried too large\ntried first\n" * 2 + "first first\n")
        self.assertEqual(err.count("of 3 configurations of print the first that runs is taken"), 1)
        self.assertIn("tried second\n", self.run_python(code, HEDDLE_EXEC_TUNE="all")[0])


if __name__ == "__main__":
    HEDDLE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
