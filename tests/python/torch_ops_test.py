# SPDX-License-Identifier: Apache-2.0
"""The operators of torch.ops.heddle on CPU tensors, by the simulated SM."""

import unittest
import warnings

import heddle.torch_ops
import torch

matmul = torch.ops.heddle.matmul


def whole(*shape, dtype=torch.bfloat16, low=-4, high=5):
    """Small whole numbers: every product and sum of them is exact."""
    return torch.randint(low, high, shape).to(dtype)


class Matmul(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_types_and_devices(self):
        for name, dtypes in (
            ("sim:sm90", (torch.bfloat16, torch.float16)),
            ("sim:sm100", (torch.bfloat16, torch.float16, torch.float32)),
        ):
            for dtype in dtypes:
                a, b = whole(40, 24, dtype=dtype), whole(24, 16, dtype=dtype)
                with heddle.torch_ops.device(name), self.subTest(device=name, dtype=dtype):
                    torch.testing.assert_close(matmul(a, b), a @ b, rtol=0, atol=0)

    def test_layouts_shapes_and_gaps(self):
        a, b = whole(33, 50), whole(50, 17)
        expected = a.float() @ b.float()
        padded = torch.zeros(33, 64, dtype=a.dtype)
        padded[:, :50] = a
        shifted = torch.zeros(33 * 50 + 1, dtype=a.dtype)[1:].view(33, 50).copy_(a)
        aligned = whole(64, 32), whole(32, 48)
        for name in ("sim:sm90", "sim:sm100"):
            with heddle.device(name):
                for one in (a, a.t().contiguous().t(), padded[:, :50], shifted):
                    made = matmul(one, b.t().contiguous().t() if one is shifted else b, None, torch.float32)
                    torch.testing.assert_close(made, expected, rtol=0, atol=0)
                for one in (aligned[0], aligned[0].t().contiguous().t()):
                    for other in (aligned[1], aligned[1].t().contiguous().t()):
                        torch.testing.assert_close(matmul(one, other), one @ other, rtol=0, atol=0)

    def test_bias_and_type_of_the_output(self):
        a, b, bias = whole(16, 32), whole(32, 8), whole(8, dtype=torch.float32)
        torch.testing.assert_close(
            matmul(a, b, bias, torch.float32), a.float() @ b.float() + bias, rtol=0, atol=0
        )

    def test_gradients(self):
        # A product is linear in each factor, so that steps of 1 between whole numbers give the exact gradient.
        a = whole(4, 8, dtype=torch.float32).requires_grad_()
        b = whole(8, 4, dtype=torch.float32).requires_grad_()
        bias = whole(4, dtype=torch.float32).requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # gradcheck asks for doubles
            self.assertTrue(torch.autograd.gradcheck(matmul, (a, b, bias), eps=1.0, atol=0, rtol=0))

    def test_operator_is_well_made(self):
        a = whole(8, 16, dtype=torch.float32).requires_grad_()
        b = whole(16, 8, dtype=torch.float32).requires_grad_()
        torch.library.opcheck(
            matmul, (a, b), test_utils=("test_schema", "test_autograd_registration", "test_faketensor")
        )

    def test_compile(self):
        @torch.compile(backend="aot_eager", fullgraph=True)
        def layer(x, weight):
            return torch.relu(matmul(x, weight)) + 1

        x, weight = whole(16, 16), whole(16, 8).requires_grad_()
        made = layer(x, weight)
        torch.testing.assert_close(made, torch.relu(x @ weight) + 1)
        made.sum().backward()
        other = weight.detach().clone().requires_grad_()
        (torch.relu(x @ other) + 1).sum().backward()
        torch.testing.assert_close(weight.grad, other.grad)

    def test_views_with_turned_signs(self):
        a, b, bias = (whole(*shape, dtype=torch.float32) for shape in ((16, 16), (16, 8), (8,)))
        expected = a @ b + bias
        for which in range(3):
            with self.subTest(which=which):
                turned = [torch._neg_view(-one) if i == which else one for i, one in enumerate((a, b, bias))]
                torch.testing.assert_close(matmul(*turned), expected, rtol=0, atol=0)

    def test_constants_inside_a_transformation(self):
        a, b, x = (whole(8, 8, dtype=torch.float32) for _ in range(3))
        made = torch.func.grad(lambda x: (x * matmul(a, b)).sum())(x)
        torch.testing.assert_close(made, a @ b, rtol=0, atol=0)

    def test_empty(self):
        self.assertEqual(matmul(whole(0, 8), whole(8, 8)).shape, (0, 8))
        self.assertEqual(matmul(whole(8, 0), whole(0, 8)).abs().sum().item(), 0)


class Grouped(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_groups_have_a_matrix_each(self):
        a, b = whole(40, 64), whole(3, 64, 16)
        ends = torch.tensor([10, 10, 33], dtype=torch.int32)  # the second has no rows, and the last seven no group
        expected = torch.cat([a[:10] @ b[0], a[10:33] @ b[2], torch.zeros(7, 16, dtype=a.dtype)])
        for one in (b, b.transpose(1, 2).contiguous().transpose(1, 2)):
            made = torch.ops.heddle.matmul_grouped(a, one, ends)
            torch.testing.assert_close(made, expected, rtol=0, atol=0)
        torch.library.opcheck(torch.ops.heddle.matmul_grouped, (a, b, ends), test_utils=("test_schema", "test_faketensor"))

    def test_groups_that_do_not_follow_one_another_are_copied(self):
        a, ends = whole(40, 64), torch.tensor([10, 20, 40], dtype=torch.int32)
        shared = whole(1, 16, 64).expand(3, 16, 64).transpose(1, 2)
        interleaved = whole(16, 3, 64).permute(1, 2, 0)
        for b in (shared, interleaved):
            expected = torch.cat([a[:10] @ b[0], a[10:20] @ b[1], a[20:] @ b[2]])
            torch.testing.assert_close(torch.ops.heddle.matmul_grouped(a, b, ends), expected, rtol=0, atol=0)
        one = whole(16, 64).as_strided((1, 16, 64), (5, 64, 1)).transpose(1, 2)
        made = torch.ops.heddle.matmul_grouped(a, one, torch.tensor([40], dtype=torch.int32))
        torch.testing.assert_close(made, a @ one[0], rtol=0, atol=0)

    def test_scales_of_tensors_rows_and_blocks(self):
        numbers_a, numbers_b = whole(24, 256, dtype=torch.float32), whole(256, 136, dtype=torch.float32)
        a, b = numbers_a.to(torch.float8_e4m3fn), numbers_b.to(torch.float8_e4m3fn)
        powers = lambda *shape: 2.0 ** torch.randint(-2, 3, shape)  # of two: products stay exact
        for a_scales, b_scales in ((powers(1), powers(1)), (powers(24), powers(136)), (powers(24, 2), powers(2, 2))):
            wide_a = a_scales[:, None] if a_scales.dim() == 1 else a_scales.repeat_interleave(128, 1)
            wide_b = b_scales if b_scales.dim() == 1 else b_scales.repeat_interleave(128, 0).repeat_interleave(128, 1)[:, :136]
            expected = (numbers_a * wide_a) @ (numbers_b * wide_b)
            for exact in (False, True):
                with self.subTest(scales=a_scales.shape, exact=exact):
                    made = torch.ops.heddle.matmul_scaled(a, b, a_scales, b_scales, torch.float32, exact)
                    torch.testing.assert_close(made, expected, rtol=0, atol=0)

    def test_bad_input_is_refused_by_its_rule(self):
        a, b, ends = whole(8, 16), whole(2, 16, 8), torch.zeros(2, dtype=torch.int32)
        grouped, scaled = torch.ops.heddle.matmul_grouped, torch.ops.heddle.matmul_scaled
        fp8, one = whole(8, 8).to(torch.float8_e4m3fn), torch.ones(1)
        for says, operator, arguments in (
            ("ends has 1 numbers of torch.int32; 2 of torch.int32", grouped, (a, b, ends[:1])),
            ("b has 2 dimensions; it must have 3", grouped, (a, b[0], ends)),
            ("b has 4 columns; they come in eights", grouped, (a, b[:, :, :4], ends)),
            ("it has no gradients", grouped, (a.clone().requires_grad_(), b, ends)),
            (r"scales of shapes \(1,\) and \(3,\); \(1,\) and \(1,\), \(8,\) and \(8,\)", scaled, (fp8, fp8, one, torch.ones(3))),
            ("a is torch.bfloat16 and b torch.float8_e4m3fn", scaled, (whole(8, 8), fp8, one, one)),
        ):
            with self.subTest(says=says), self.assertRaisesRegex(RuntimeError, says):
                operator(*arguments)


class BadInput(unittest.TestCase):
    def test_each_is_refused_by_its_rule(self):
        a, b = whole(8, 8), whole(8, 8)
        for says, arguments in (
            ("a is torch.int32", (a.int(), b.int())),
            ("same dtype, but got torch.bfloat16 and torch.float16", (a, b.half())),
            (r"cannot be multiplied \(8x8 and 4x8\)", (a, b[:4])),
            ("a has 3 dimensions; it must have 2", (a[None], b)),
            ("heddle::matmul.*SparseCPU", (a, b.to_sparse())),
            ("bias has 8 elements of torch.float32; 8 of torch.bfloat16", (a, b, torch.zeros(8))),
            ("out_dtype is torch.int8", (a, b, None, torch.int8)),
        ):
            with self.subTest(says=says), self.assertRaisesRegex(RuntimeError, says):
                matmul(*arguments)

    def test_devices(self):
        with self.assertRaisesRegex(ValueError, "device 'cuda:0'; sim:sm90 or sim:sm100"):
            heddle.torch_ops.device("cuda:0").__enter__()
        # float32 is for Blackwell alone.
        with heddle.torch_ops.device("sim:sm90"), self.assertRaisesRegex(RuntimeError, "matmul: .*tf32"):
            matmul(torch.ones(8, 8), torch.ones(8, 8))


if __name__ == "__main__":
    unittest.main()
