# SPDX-License-Identifier: Apache-2.0
"""torch.ops.heddle.matmul on CPU tensors, by the simulated SM."""

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

    def test_empty(self):
        self.assertEqual(matmul(whole(0, 8), whole(8, 8)).shape, (0, 8))
        self.assertEqual(matmul(whole(8, 0), whole(0, 8)).abs().sum().item(), 0)


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
