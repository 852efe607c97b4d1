# SPDX-License-Identifier: Apache-2.0
"""Arrays of numpy as arguments."""

import unittest

import heddle
import kernels
import numpy as np


def scale(*arguments, **options):
    return heddle.load(kernels.SCALE)["scale"][(2,), (32,)](*arguments, **options)


class Numpy(unittest.TestCase):
    def test_arrays_and_numbers(self):
        x = np.arange(50, dtype=np.float32)
        scale(x, np.float32(0.5), np.uint32(x.size))
        np.testing.assert_array_equal(x, np.arange(50, dtype=np.float32) / 2)

    def test_a_number_of_another_size_is_refused(self):
        with self.assertRaisesRegex(TypeError, "a has 4 bytes, and a float64 has 8"):
            scale(np.zeros(4, np.float32), np.float64(2), 4)

    def test_a_view_is_where_it_begins_and_as_far_as_it_reaches(self):
        x = np.ones((8, 8), np.float32)
        scale(x[2:4], 3, 16)
        self.assertEqual(x.sum(), 64 + 2 * 16)
        with self.assertRaisesRegex(heddle.KernelError, "global_out_of_bounds"):
            scale(x[2:4], 3, 17)
        # With gaps the kernel may touch what lies between: the address is that of the first element.
        scale(x[:, ::4], 1, 8 * 7 + 5)
        with self.assertRaisesRegex(heddle.KernelError, "global_out_of_bounds"):
            scale(x[:, ::4], 1, 8 * 7 + 6)

    def test_backwards(self):
        x = np.ones(8, np.float32)
        with self.assertRaisesRegex(heddle.KernelError, "global_out_of_bounds"):
            scale(x[::-1], 2, 2)  # its first element is the last of the memory
        scale(x[::-1], 2, 1)
        self.assertEqual(x[7], 2)

    def test_read_only(self):
        x = np.ones(8, np.float32)
        x.flags.writeable = False
        with self.assertRaisesRegex(heddle.KernelError, "global_read_only"):
            scale(x, 2, 8)

    def test_tensor_maps(self):
        x = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
        for matrix in (x[:, :48], x):
            out = np.zeros((8, 16), np.float32)
            load = heddle.load(kernels.tile())["tile"]
            for arch in ("sm90", "sm100"):
                load[1, (128,)](heddle.TensorMap(matrix, box=(8, 16)), out, arch=arch)
                np.testing.assert_array_equal(out, x[8:16, 16:32])

    def test_a_box_of_fewer_bytes_than_expected(self):
        x, out = np.zeros((32, 64), np.float32), np.zeros((8, 16), np.float32)
        with self.assertRaisesRegex(heddle.KernelError, "deadlock(.|\\n)*bytes 512 of 528"):
            heddle.load(kernels.tile(528))["tile"][1, (128,)](heddle.TensorMap(x, box=(8, 16)), out)

    def test_tensor_maps_that_are_none(self):
        x = np.zeros((32, 64), np.float32)
        for kind, says, arguments in (
            (ValueError, "without gaps", (x[:, ::2], (8, 16))),
            (ValueError, "a box of .* as many in both", (x, (8,))),
            (ValueError, "box", (x, (8, 512))),
            (ValueError, "swizzle 'wide'; none, 32B, 64B, 128B", (x, (8, 16), "wide")),
            (TypeError, "no type b1", (x.astype(bool), (8, 16))),
        ):
            with self.subTest(says=says), self.assertRaisesRegex(kind, says):
                heddle.TensorMap(*arguments)

    def test_empty(self):
        scale(np.zeros(0, np.float32), 2, 0)


if __name__ == "__main__":
    unittest.main()
