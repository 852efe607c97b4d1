# SPDX-License-Identifier: Apache-2.0
"""torch.ops.heddle.attention on CPU tensors, by the simulated SM, and where there is a Hopper GPU on that."""

import math
import unittest

import heddle.torch_ops
import torch

attention = torch.ops.heddle.attention


def reference(q, k, v, is_causal=False, scale=None):
    group = q.shape[1] // k.shape[1]
    k, v = (t.double().repeat_interleave(group, 1) for t in (k, v))
    scale = scale or 1 / math.sqrt(q.shape[3])
    scores = q.double() @ k.mT * scale
    size = (q.double().abs() @ k.abs().mT).max().item() * scale
    if is_causal:
        rows, cols = scores.shape[2:]
        scores.masked_fill_(~torch.ones(rows, cols, dtype=torch.bool, device=q.device).tril(cols - rows), -math.inf)
    return scores.softmax(3) @ v, scores.logsumexp(3), size


class Compared(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def compare(self, q, k, v, **options):
        """Weights, which add up to one, are rounded to the type of v, and so is the output; a tenth more for scores and
        sums in float. Logarithms are as wrong as the scores, whose products are summed in float: 2**-19 is what
        attention_reference.cpp has for that."""
        o, lse = attention(q, k, v, **options)
        expected, expected_lse, size = reference(q, k, v, **options)
        step = 2**-8 if q.dtype == torch.bfloat16 else 2**-11
        torch.testing.assert_close(o.double(), expected, rtol=step, atol=1.1 * step * v.abs().max().item())
        torch.testing.assert_close(lse.double(), expected_lse, rtol=2**-19, atol=2**-19 * (size + 1))


class Attention(Compared):
    def test_types_and_devices(self):
        for name in ("sim:sm90", "sim:sm100"):
            for dtype in (torch.bfloat16, torch.float16):
                q, k, v = (torch.randn(1, heads, rows, 32, dtype=dtype) for heads, rows in ((2, 40), (1, 70), (1, 70)))
                with heddle.device(name), self.subTest(device=name, dtype=dtype):
                    self.compare(q, k, v, is_causal=True)

    def test_tensors_as_they_lie(self):
        # [batch, row, head, dim] in memory, and rows that the copy engine cannot read.
        q, k, v = (torch.randn(2, 20, 2, 24, dtype=torch.bfloat16).transpose(1, 2) for _ in range(3))
        with heddle.device("sim:sm90"):
            self.compare(q, k, v, scale=0.5)
            self.compare(q[..., 3:11], k[..., 3:11], v[..., 3:11])
            # The stride of a dimension of one is any number.
            one, *_ = ones = [torch.randn(1, 2, 20, 24, dtype=torch.bfloat16) for _ in range(3)]
            self.compare(*(t.as_strided(one.shape, (1001, *one.stride()[1:])) for t in ones))

    def test_operator_is_well_made(self):
        q, k, v = (torch.randn(1, 1, 8, 16, dtype=torch.bfloat16) for _ in range(3))
        torch.library.opcheck(attention, (q, k, v), test_utils=("test_schema", "test_autograd_registration", "test_faketensor"))
        layer = torch.compile(lambda q, k, v: attention(q, k, v)[0] + 1, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(layer(q, k, v), attention(q, k, v)[0] + 1)

    def test_what_cannot_be_run_is_refused(self):
        q, k, v = (torch.randn(1, 2, 8, 16, dtype=torch.bfloat16) for _ in range(3))
        for message, tensors, options in (
            ("q has 3 dimensions; it must have 4", (q[0], k, v), {}),
            ("q is torch.float32; torch.bfloat16", (q.float(), k.float(), v.float()), {}),
            ("q has heads of 8 and k of 16", (q[..., :8], k, v), {}),
            ("as many heads and rows", (q, k[:, :, :4], v), {}),
            ("head_dim is 12; there are kernels for multiples of 8", (q[..., :12], k[..., :12], v), {}),
            ("window is 4 without a causal mask", (q, k, v), {"window": 4}),
            ("scale is 0; 1e-6 to 1e6, or None", (q, k, v), {"scale": 0.0}),
            ("there is no gradient", (q.clone().requires_grad_(), k, v), {}),
            ("there is no gradient", (q, k, v), {"sinks": torch.zeros(2, requires_grad=True)}),
        ):
            with self.subTest(message), self.assertRaisesRegex(RuntimeError, message):
                attention(*tensors, **options)


@unittest.skipUnless(torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0), "there is no Hopper GPU")
class OnAGpu(Compared):
    def tensors(self, dtype=torch.bfloat16, heads=8, key_heads=2, queries=300, keys=333, dim=128):
        return [torch.randn(2, n, rows, dim, dtype=dtype, device="cuda") for n, rows in
                ((heads, queries), (key_heads, keys), (key_heads, keys))]

    def test_types_and_heads(self):
        for dtype in (torch.bfloat16, torch.float16):
            for dim in (64, 96, 128, 256):
                for is_causal in (False, True):
                    with self.subTest(dtype=dtype, dim=dim, is_causal=is_causal):
                        self.compare(*self.tensors(dtype, dim=dim), is_causal=is_causal)

    def test_as_scaled_dot_product_attention(self):
        q, k, v = self.tensors(queries=512, keys=512, key_heads=8)
        o, _ = attention(q, k, v, is_causal=True)
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        bound = 2.2 * 2**-8 * v.abs().max().item()  # as compare() has it, of both
        torch.testing.assert_close(o, expected, rtol=2**-7, atol=bound)

    def test_tensors_as_they_lie(self):
        q, k, v = (torch.randn(2, 200, 4, 64, dtype=torch.bfloat16, device="cuda").transpose(1, 2) for _ in range(3))
        self.compare(q, k, v, scale=0.5)
        self.compare(q[..., 3:11], k[..., 3:11], v[..., 3:11])

    def test_graph(self):
        q, k, v = self.tensors()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            attention(q, k, v)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o, lse = attention(q, k, v)
        for tensor in (q, k, v):
            tensor.copy_(torch.randn_like(tensor))
        graph.replay()
        for made, expected in zip((o, lse), attention(q, k, v)):
            self.assertTrue(torch.equal(made, expected))

    def test_compiled(self):
        q, k, v = self.tensors()
        layer = torch.compile(lambda q, k, v: attention(q * 2, k, v, is_causal=True)[0] + 1, fullgraph=True)
        torch.testing.assert_close(layer(q, k, v), attention(q * 2, k, v, is_causal=True)[0] + 1)

    def test_what_cannot_be_run_is_refused(self):
        q, k, v = self.tensors()
        with self.assertRaisesRegex(RuntimeError, "there is no gradient"):
            attention(q.requires_grad_(), k, v)
        with self.assertRaisesRegex(RuntimeError, "on the same device, but q is on cuda:0 and k on cpu"):
            attention(q.detach(), k.cpu(), v)


if __name__ == "__main__":
    unittest.main()
