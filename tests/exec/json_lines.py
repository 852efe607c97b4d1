# SPDX-License-Identifier: Apache-2.0
"""json_lines.py HEDDLE MISTAKES: what `heddle exec --json FILE` writes, of mistakes, their twin and bad usage."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HEDDLE, MISTAKES = sys.argv[1:3]


class JsonLines(unittest.TestCase):
    def run_exec(self, *arguments):
        """Status, standard error, and the lines."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "found.jsonl"
            path.write_text("of a run before\n")
            done = subprocess.run([HEDDLE, "exec", "--json", path, *arguments], capture_output=True, text=True, errors="replace")
            return done.returncode, done.stderr, [json.loads(line) for line in path.read_text().splitlines()]

    def test_a_finding_is_a_line_and_so_is_the_end(self):
        for which, code in (("race", "race"), ("hang", "deadlock"), ("out_of_bounds", "global_out_of_bounds")):
            with self.subTest(which=which):
                status, said, lines = self.run_exec(MISTAKES, which)
                self.assertEqual((status, len(lines)), (7, 2))
                found, end = lines
                self.assertEqual((found["finding"], found["verdict"], found["has_stopped"]), (code, "wrong", True))
                self.assertEqual(found["launch"], 1)
                self.assertTrue(found["text"].startswith(f"[{code}]"))
                self.assertIn(found["text"].splitlines()[0], said)  # it is told as before, too
                self.assertIn("mistakes.cu:", found["text"] if which == "hang" else found["places"][0])
                self.assertEqual(end, {"launches": 1, "has_stopped": True})

    def test_no_mistake_is_the_end_alone(self):
        self.assertEqual(self.run_exec(MISTAKES, "none")[::2], (7, [{"launches": 1, "has_stopped": False}]))

    def test_what_is_accepted_has_not_stopped(self):
        _, _, (*accepted, end) = self.run_exec("--accept", "race", MISTAKES, "race")
        self.assertTrue(accepted)
        for found in accepted:
            self.assertEqual((found["finding"], found["has_stopped"], found["accepted_by"]), ("race", False, "race"))
        self.assertFalse(end["has_stopped"])

    def test_messages_and_errors_are_lines(self):
        _, _, lines = self.run_exec(MISTAKES, "graph")
        self.assertTrue(any("cudaGraphConditionalHandleCreate" in line.get("message", "") for line in lines), lines)
        status, said, lines = self.run_exec("/no/such/program")
        self.assertEqual((status, lines), (2, [{"error": "exec: there is no program '/no/such/program'", "status": 2}]))
        self.assertIn("there is no program", said)
        for options, why in ((("--sms", "many"), "--sms"), (("--budget", "-1"), "--budget: -1"), (("--pct", "3"), "--pct requires")):
            status, said, (line,) = self.run_exec(*options, MISTAKES, "none")
            self.assertEqual((status, line["status"]), (2, 2))
            self.assertIn(why, line["error"])
            self.assertIn(line["error"], said)
        _, _, lines = self.run_exec("--accept", "race@copy.cu:3", MISTAKES, "none")
        self.assertIn({"message": "--accept race@copy.cu:3 matches nothing that was found"}, lines)

    def test_bytes_that_are_not_utf_8(self):
        name = b"/no/such/\xffprogram"
        self.assertEqual(self.run_exec(name)[2][0]["error"], "exec: there is no program '/no/such/\ufffdprogram'")
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / os.fsdecode(b"a\xc3\xa9\xff\xed\xa0\x80b")
            shutil.copy(MISTAKES, program)
            _, _, (found, _) = self.run_exec(program, "race")
            self.assertIn("a\u00e9\ufffd\ufffd\ufffd\ufffdb' race", found["text"])

    def test_a_child_counts_its_own_launches(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "found.jsonl"
            done = subprocess.run([HEDDLE, "exec", "--json", path, MISTAKES, "child"], capture_output=True)
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            self.assertEqual(([line["launches"] for line in lines], done.returncode), ([1, 2], 7))

    def test_a_file_that_cannot_be_written(self):
        for path, why in (("/no/such/folder/a", "No such file"), ("/dev/full", "No space left")):
            done = subprocess.run([HEDDLE, "exec", "--json", path, MISTAKES, "race"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"'{path}' cannot be written: {why}", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
