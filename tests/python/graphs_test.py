# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs of PyTorch's operators and Triton's kernels. Run by `heddle exec python graphs_test.py`."""

import contextlib
import io
import unittest

import torch
import triton
import triton.language as tl

from heddle import card

CARD = "cuda"


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


class Graphs(unittest.TestCase):
    def captured(self, function, *operands):
        """The graph and what the captured call returned; nothing of it has run."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            function(*operands)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            made = function(*operands)
        return graph, made

    def test_operators_and_kernels_run_at_each_launch(self):
        count = torch.zeros(3, device=CARD)
        weight = torch.randn(32, 8, device=CARD)
        x = torch.randn(32, 32, device=CARD)

        def function(x):
            count.add_(1)
            return (double(x + 1) @ weight).relu().sum(1)

        graph, out = self.captured(function, x)
        self.assertEqual(count.tolist(), [1, 1, 1])  # by the call before
        for launch in range(3):
            x.copy_(torch.randn(32, 32))
            graph.replay()
            wanted = ((x.cpu() + 1) * 2 @ weight.cpu()).relu().sum(1)
            torch.testing.assert_close(out.cpu(), wanted)
            self.assertEqual(count.tolist(), [launch + 2] * 3)

    def test_lists_and_outputs_that_were_given(self):
        x, y = torch.zeros(4, device=CARD), torch.ones(4, device=CARD)
        into = torch.empty(4, device=CARD)

        def function(x, y):
            torch._foreach_add_([x, y], 1.0)
            torch.add(x, y, out=into)
            values, places = y.sort()
            return torch._foreach_mul([x, into], 2.0), values, places

        graph, (products, values, places) = self.captured(function, x, y)
        self.assertEqual((x[0].item(), y[0].item(), into[0].item()), (1, 2, 3))
        graph.replay()
        self.assertEqual((x[0].item(), y[0].item(), into[0].item()), (2, 3, 5))
        self.assertEqual([one[0].item() for one in products], [4, 10])
        self.assertEqual((values[0].item(), places.tolist()), (3, [0, 1, 2, 3]))

    def test_gradients_in_a_graph(self):
        torch.manual_seed(0)
        layer = torch.nn.Linear(16, 4)
        given = torch.randn(2, 16)
        wanted = layer(given)
        layer = layer.to(CARD)
        graphed = torch.cuda.make_graphed_callables(layer, (torch.randn(2, 16, device=CARD),))
        out = graphed(given.to(CARD))
        torch.testing.assert_close(out.cpu(), wanted)
        out.sum().backward()
        torch.testing.assert_close(layer.weight.grad.cpu(), given.sum(0).expand(4, 16))

    def test_shapes_that_depend_on_values_are_refused(self):
        x = torch.ones(4, device=CARD)
        with self.assertRaisesRegex(RuntimeError, "nonzero.*cannot be captured"):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                torch.nonzero(x)

    def test_an_operator_that_fails_at_a_launch_breaks_the_card(self):
        x, places = torch.ones(4, device=CARD), torch.tensor([0, 1], device=CARD)
        graph, out = self.captured(lambda: x.index_select(0, places))
        places.copy_(torch.tensor([3, 1]))
        graph.replay()
        self.assertEqual(out.tolist(), [1, 1])
        places.copy_(torch.tensor([9, 1]))
        self.addCleanup(card.mend)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            with self.assertRaisesRegex(RuntimeError, "device-side assert"):
                graph.replay()
        self.assertIn("IndexError", said.getvalue())

    def test_memory_of_a_capture_is_the_graphs(self):
        x = torch.ones(512, device=CARD)
        graph, out = self.captured(lambda x: double(double(x)), x)
        address = out.data_ptr()
        del out
        for _ in range(3):
            self.assertNotEqual(torch.empty(512, device=CARD).data_ptr(), address)
            graph.replay()
        torch.cuda.synchronize()


if __name__ == "__main__":
    unittest.main()
