# SPDX-License-Identifier: Apache-2.0
"""`import heddle` with nothing but Python's own library."""

import array
import ctypes
import pathlib
import re
import tempfile
import unittest

import heddle
import kernels
from heddle import _library


def launch_turn(has_barrier, **options):
    out = array.array("I", [0] * 64)
    report = heddle.load(kernels.turn(has_barrier), "turn.ptx")["turn"][1, (64,)](out, **options)
    return out, report


class Launch(unittest.TestCase):
    def test_numbers_and_arrays_are_passed_as_the_kernel_has_them(self):
        x = array.array("f", range(100))
        report = heddle.load(kernels.SCALE)["scale"][(4,), (32,)](x, 2.5, 90)
        self.assertTrue(report.ok)
        self.assertEqual(list(x), [2.5 * i if i < 90 else i for i in range(100)])
        self.assertGreater(report.instructions, 0)

    def test_a_whole_number_for_a_float_is_a_float(self):
        x = array.array("f", [1.5])
        heddle.load(kernels.SCALE)["scale"][1, (32,)](x, 2, 1)
        self.assertEqual(x[0], 3)

    def test_numbers_of_ctypes_have_their_own_type(self):
        x = array.array("f", [1.5])
        scale = heddle.load(kernels.SCALE)["scale"]
        scale[1, (32,)](x, ctypes.c_float(4), ctypes.c_uint32(1))
        self.assertEqual(x[0], 6)
        with self.assertRaisesRegex(TypeError, "a has 4 bytes, and a c_double has 8"):
            scale[1, (32,)](x, ctypes.c_double(4), 1)

    def test_a_file_is_named_in_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "turned.ptx"
            path.write_text(kernels.turn(False))
            report = heddle.load(path)["turn"][1, (64,)](array.array("I", [0] * 64), check=False)
        self.assertEqual(report.findings[0].file, "turned.ptx")

    def test_both_architectures_and_many_schedules(self):
        for arch in ("sm90", "sm100"):
            out, report = launch_turn(True, arch=arch, schedules=5)
            self.assertTrue(report.ok)
            self.assertEqual(list(out), [i ^ 32 for i in range(64)])

    def test_arguments_may_share_memory(self):
        whole = memoryview(array.array("I", range(64)))
        heddle.load(kernels.COPY)["copy"][1, (32,)](whole[:48], whole[32:])
        self.assertEqual(whole.tolist(), [*range(32), *range(32)])


class Mistakes(unittest.TestCase):
    def test_a_race_is_an_exception_with_a_report(self):
        with self.assertRaisesRegex(heddle.KernelError, r"^\[race\]") as caught:
            launch_turn(False)
        finding = caught.exception.report.findings[0]
        self.assertEqual((finding.code, finding.verdict, finding.file), ("race", "wrong", "turn.ptx"))
        self.assertGreater(finding.line, 0)
        self.assertEqual(len(finding.roles), 2)
        self.assertTrue(all(role.who.startswith("warp ") for role in finding.roles), finding.roles)
        self.assertTrue(all(role.place.file == "turn.ptx" for role in finding.roles), finding.roles)

    def test_its_twin_is_silent(self):
        _, report = launch_turn(True)
        self.assertEqual(report.findings, ())

    def test_a_race_can_be_accepted(self):
        _, report = launch_turn(False, accept=["race"])
        self.assertTrue(report.ok)
        self.assertEqual(report.told[0].accepted_by, "race")

    def test_a_hang_and_its_twin(self):
        out = array.array("I", [0])
        report = heddle.load(kernels.handover(2))["handover"][1, (64,)](out, check=False)
        self.assertTrue(report.has("deadlock"))
        self.assertIn("arrivals 1 of 2", str(report))
        hang = report.stopped[0]
        self.assertEqual([role.who for role in hang.roles], ["warp 0, lane 0"])
        self.assertEqual((hang.file, hang.line), ("module.ptx", 24))
        self.assertTrue(heddle.load(kernels.handover(1))["handover"][1, (64,)](out).ok)
        self.assertEqual(out[0], 7)

    def test_leaving_an_array_names_the_argument(self):
        x = array.array("f", [0] * 40)
        scale = heddle.load(kernels.SCALE)["scale"]
        with self.assertRaisesRegex(heddle.KernelError, r"global_out_of_bounds.*argument 0"):
            scale[2, (32,)](x, 1, 41)
        scale[2, (32,)](x, 1, 40)

    def test_what_cannot_be_written_is_read_only(self):
        with self.assertRaisesRegex(heddle.KernelError, "global_read_only"):
            heddle.load(kernels.SCALE)["scale"][1, (32,)](bytes(128), 1, 32)


class Interface(unittest.TestCase):
    def test_structures_are_those_of_the_header(self):
        header = (pathlib.Path(__file__).parents[2] / "include/heddle/c_api.h").read_text()
        header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
        sizes = {"int": 4, "float": 4, "uint32_t": 4, "uint64_t": 8, "int64_t": 8, "size_t": 8, "heddle_print": 8}
        written = {}
        for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", header, re.DOTALL):
            fields = re.findall(r"([^;]*?)(\w+)((?:\[\d+\])?);", body)
            written[name] = [
                (field, 8 if "*" in kind else sizes[kind.split()[-1]] * int(count.strip("[]") or 1))
                for kind, field, count in fields
            ]
            sizes[name] = sum(size for _, size in written[name])
        made = {
            "heddle_parameter": _library.Parameter,
            "heddle_kernel": _library.Kernel,
            "heddle_tensor": _library.Tensor,
            "heddle_region": _library.Region,
            "heddle_launch": _library.Launch,
            "heddle_finding": _library.CFinding,
            "heddle_matmul_call": _library.MatmulCall,
            "heddle_matmul_grouped_call": _library.MatmulGroupedCall,
            "heddle_attention_strides": _library.AttentionStrides,
            "heddle_attention_call": _library.AttentionCall,
        }
        self.assertEqual(set(written), set(made))
        for name, structure in made.items():
            here = [(field, ctypes.sizeof(kind)) for field, kind in structure._fields_]
            self.assertEqual(here, written[name], name)


class BadInput(unittest.TestCase):
    def setUp(self):
        self.scale = heddle.load(kernels.SCALE)["scale"]
        self.x = array.array("f", [0] * 32)

    def refuses(self, kind, says, *arguments, shape=(1, (32,)), **options):
        with self.assertRaisesRegex(kind, says):
            self.scale[shape](*arguments, **options)

    def test_arguments(self):
        self.refuses(TypeError, "scale takes 3 arguments, and got 2", self.x, 1)
        self.refuses(TypeError, "a has 4 bytes, and an array's address has 8", self.x, self.x, 1)
        self.refuses(TypeError, "n is an integer of 4 bytes, and 1.5 is none", self.x, 1, 1.5)
        self.refuses(OverflowError, "n has 4 bytes, which 4294967296 does not fit", self.x, 1, 2**32)
        self.refuses(TypeError, "n: a str; an array or a number", self.x, 1, "2")

    def test_shapes_and_options(self):
        self.refuses(TypeError, r"how many threads\?", self.x, 1, 1, shape=1)
        self.refuses(
            ValueError, "the grid is .*one to three whole numbers", self.x, 1, 1, shape=((1, 1, 1, 1), (32,))
        )
        self.refuses(ValueError, "architecture 'sm80': sm90 or sm100", self.x, 1, 1, arch="sm80")
        self.refuses(ValueError, "2048", self.x, 1, 1, shape=(1, (2048,)))
        self.refuses(ValueError, "there is no mistake 'races'", self.x, 1, 1, accept=["races"])

    def test_texts(self):
        with self.assertRaisesRegex(ValueError, "broken.ptx:1: "):
            heddle.load("this is\nno PTX\n", "broken.ptx")
        with self.assertRaisesRegex(FileNotFoundError, "missing.ptx' is no file"):
            heddle.load("missing.ptx")
        with self.assertRaisesRegex(KeyError, "no kernel 'scales'; there are scale"):
            heddle.load(kernels.SCALE)["scales"]


if __name__ == "__main__":
    unittest.main()
