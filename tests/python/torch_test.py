# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operators on the simulated card. Run by `heddle exec python torch_test.py`."""

import copy
import threading
import unittest

import torch

CARD = torch.device("cuda")


class Operators(unittest.TestCase):
    def same(self, made, expected):
        self.assertEqual(made.device.type, "cuda")
        torch.testing.assert_close(made.cpu(), expected, rtol=0, atol=0)

    def test_factories(self):
        self.same(torch.arange(10, device=CARD), torch.arange(10))
        self.same(torch.full((3, 2), 1.5, device=CARD), torch.full((3, 2), 1.5))
        self.same(torch.eye(3, device=CARD), torch.eye(3))
        torch.manual_seed(3)
        made = torch.randn(100, device=CARD)
        torch.manual_seed(3)
        self.same(made, torch.randn(100))

    def test_arithmetic_and_reductions(self):
        x = torch.randn(33, 17)
        y = x.to(CARD)
        self.same(y + 1, x + 1)
        self.same((y * y).sum(0), (x * x).sum(0))
        self.same(y.softmax(-1), x.softmax(-1))
        self.assertTrue(torch.allclose(y, x.cuda()))
        self.assertEqual(y.max().item(), x.max().item())

    def test_numbers_in_the_place_of_tensors(self):
        values = torch.arange(16, dtype=torch.uint8, device="cuda")
        wanted = torch.arange(16, dtype=torch.uint8)
        for both in (lambda x: (x >> 3) & 1, lambda x: x | 5, lambda x: x ^ 3, lambda x: (x << 2) % 7, lambda x: 1 & x):
            got = both(values)
            self.assertEqual(got.dtype, both(wanted).dtype)
            self.assertTrue(torch.equal(got.cpu(), both(wanted)))
        values &= 6
        self.assertTrue(torch.equal(values.cpu(), wanted & 6))

    def test_matmul_of_halves(self):
        a, b = torch.randn(16, 32).half(), torch.randn(32, 8).half()
        self.same(a.cuda() @ b.cuda(), a @ b)
        self.same(torch.bmm(a.cuda()[None], b.cuda()[None]), (a @ b)[None])

    def test_views_write_to_the_tensor_behind_them(self):
        x = torch.zeros(4, 6, device=CARD)
        x[1:3, ::2] += 5
        x.t()[0].fill_(9)
        x.view(-1).unfold(0, 3, 6)[1] *= 2  # a view that the CPU makes
        expected = torch.zeros(4, 6)
        expected[1:3, ::2] += 5
        expected.t()[0].fill_(9)
        expected.view(-1).unfold(0, 3, 6)[1] *= 2
        self.same(x, expected)

    def test_indexing(self):
        x = torch.arange(20.0).reshape(4, 5)
        y = x.cuda()
        rows = torch.tensor([3, 0])
        self.same(y[rows.cuda()], x[rows])
        self.same(y[y > 7], x[x > 7])
        y[rows.cuda(), 1] = -1
        x[rows, 1] = -1
        self.same(y, x)

    def test_outputs_are_given_their_shape(self):
        x = torch.arange(6.0, device=CARD)
        out = torch.empty(0, device=CARD)
        torch.add(x, 1, out=out)
        self.same(out, torch.arange(1.0, 7.0))
        whole = torch.zeros(12, device=CARD)
        torch.mul(x, 2, out=whole[::2])
        self.assertEqual(whole.sum().item(), 30)

    def test_copies_of_every_kind(self):
        x = torch.randn(5, 7)
        self.same(x.t().to(CARD), x.t())
        self.same(x.cuda().t().contiguous(), x.t().contiguous())
        self.same(x.cuda().half(), x.half())
        self.same(x.cuda()[:, 1:3].clone(), x[:, 1:3])
        into = torch.zeros(7, 5)
        into.copy_(x.cuda().t())
        torch.testing.assert_close(into, x.t())

    def test_tuples_and_lists(self):
        x = torch.randn(6, 4)
        values, places = x.cuda().sort(0)
        self.same(values, x.sort(0).values)
        self.same(places, x.sort(0).indices)
        self.same(torch.cat([x.cuda(), x.cuda()]), torch.cat([x, x]))
        self.same(torch.stack(x.cuda().split(2)), torch.stack(x.split(2)))

    def test_gradients(self):
        x = torch.randn(4, 8)
        y = x.cuda().requires_grad_()
        z = x.clone().requires_grad_()
        weight = torch.randn(8, 3)
        torch.nn.functional.gelu(y @ weight.cuda()).sum().backward()
        torch.nn.functional.gelu(z @ weight).sum().backward()
        self.same(y.grad, z.grad)

    def test_layers(self):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 3),
            torch.nn.Conv2d(2, 2, 3, groups=2),  # by channel, for which CUDA has an operator of its own
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.LayerNorm(2 * 16),
            torch.nn.Linear(32, 5),
        )
        x = torch.randn(2, 1, 8, 8)
        expected = net(x)
        torch.testing.assert_close(net.cuda()(x.cuda()).cpu(), expected)
        q = torch.randn(1, 2, 16, 8)
        attention = torch.nn.functional.scaled_dot_product_attention
        torch.testing.assert_close(attention(q.cuda(), q.cuda(), q.cuda()).cpu(), attention(q, q, q))

    def test_norms_of_halves_are_summed_in_float(self):
        torch.manual_seed(0)
        x = (torch.randn(600, 64) * 0.5 - 2.3).half()
        weight, bias, up = torch.rand(64).half(), torch.rand(64).half(), (torch.randn(600, 64) * 0.1).half()

        def gradients(dtype, device):
            leaves = [one.to(device, dtype).requires_grad_() for one in (x, weight, bias)]
            torch.nn.functional.layer_norm(leaves[0], (64,), *leaves[1:], 1e-5).backward(up.to(device, dtype))
            return [leaf.grad.double().cpu() for leaf in leaves]

        for made, exact in zip(gradients(torch.float16, CARD), gradients(torch.float64, "cpu")):
            torch.testing.assert_close(made, exact, rtol=2**-10, atol=2**-10)

    def test_optimiser(self):
        net = torch.nn.Linear(4, 4).cuda()
        optimiser = torch.optim.Adam(net.parameters())
        before = net.weight.detach().clone()
        net(torch.ones(1, 4, device=CARD)).sum().backward()
        optimiser.step()
        self.assertFalse(torch.equal(before, net.weight))

    def test_generator_of_the_card(self):
        def draw():
            return torch.rand(8, device=CARD, generator=torch.Generator(CARD).manual_seed(5))

        self.assertTrue(torch.equal(draw(), draw()))

    def test_seeds_and_states_of_the_card(self):
        def draw():
            return torch.rand(8, device=CARD)

        torch.cuda.manual_seed(5)
        first, second = draw(), draw()
        torch.rand(3)  # of the host, which has a generator of its own
        torch.cuda.manual_seed(5)
        self.same(draw(), first.cpu())
        state = torch.cuda.get_rng_state()
        draw()
        torch.cuda.set_rng_state(state)
        self.same(draw(), second.cpu())
        self.assertFalse(torch.equal(first, second))
        generator = torch.Generator(CARD).manual_seed(5)
        one, other = (torch.rand(8, device=CARD, generator=generator) for _ in range(2))
        self.assertFalse(torch.equal(one, other))
        torch.manual_seed(7)
        expected = torch.rand(4)
        torch.manual_seed(7)
        draw()
        self.assertTrue(torch.equal(torch.rand(4), expected))

    def test_fused_attention_by_name(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        attention = torch.nn.functional.scaled_dot_product_attention

        def run(backend, q, k, v, **options):
            leaves = [one.detach().clone().requires_grad_() for one in (q, k, v)]
            with sdpa_kernel(backend):
                out = attention(*leaves, **options)
            (out.float() * torch.arange(out.shape[-1], device=CARD)).sum().backward()
            return [out, *(leaf.grad for leaf in leaves)]

        torch.manual_seed(0)
        q = torch.randn(2, 4, 16, 32, device=CARD, dtype=torch.float16)
        k, v = torch.randn(2, 2, 4, 16, 32, device=CARD, dtype=torch.float16)
        for options in ({}, {"is_causal": True}, {"scale": 0.3}):
            wanted = run(SDPBackend.MATH, q, k, v, **options)
            for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
                with self.subTest(backend=backend, options=options):
                    for mine, its in zip(run(backend, q, k, v, **options), wanted):
                        torch.testing.assert_close(mine, its, rtol=5e-3, atol=2e-2)
        few = (k[:, :2], v[:, :2], {"enable_gqa": True})
        for mine, its in zip(run(SDPBackend.FLASH_ATTENTION, q, *few[:2], **few[2]), run(SDPBackend.MATH, q, *few[:2], **few[2])):
            torch.testing.assert_close(mine, its, rtol=5e-3, atol=4e-2)
        with self.assertRaisesRegex(NotImplementedError, "flash_attention.*CUDA alone"):
            run(SDPBackend.FLASH_ATTENTION, q, k, v, dropout_p=0.5)
        # A row that may see no key is zeros; one of NaN stays NaN.
        bias = torch.zeros(2, 4, 16, 16, device=CARD, dtype=torch.float16)
        bias[0, 0, 5] = -torch.inf
        q[0, 0, 3, 0] = torch.nan
        out = run(SDPBackend.EFFICIENT_ATTENTION, q, k, v, attn_mask=bias)[0]
        self.assertTrue(out[0, 0, 3].isnan().all())
        self.assertEqual(out.isnan().sum(), out.shape[-1])
        self.assertFalse(out[0, 0, 5].any())

    def test_other_threads(self):
        made = []
        thread = threading.Thread(target=lambda: made.append((torch.ones(3, device=CARD) * 2).cpu()))
        thread.start()
        thread.join()
        torch.testing.assert_close(made[0], torch.full((3,), 2.0))

    def test_printing(self):
        self.assertIn("device='cuda:0'", repr(torch.arange(3.0, device=CARD)))

    def test_operators_of_the_card_alone_that_are_made_of_others(self):
        x = torch.randn(4, 8, device=CARD, requires_grad=True)
        weight = torch.ones(8, device=CARD)
        y = x.detach().cpu().requires_grad_()
        torch.nn.functional.rms_norm(x, (8,), weight, 1e-6).square().sum().backward()
        torch.nn.functional.rms_norm(y, (8,), weight.cpu(), 1e-6).square().sum().backward()
        torch.testing.assert_close(x.grad.cpu(), y.grad, rtol=1e-4, atol=1e-4)
        a, b = torch.randn(2, 6, 6, device=CARD, dtype=torch.float16)
        product = torch.mm(a, b, out_dtype=torch.float32)
        self.assertEqual(product.dtype, torch.float32)
        torch.testing.assert_close(product, a.float() @ b.float())

    def test_recurrent_layers(self):
        for kind in (torch.nn.LSTM, torch.nn.GRU):
            for dtype, bias, bound in ((torch.float32, True, 1e-4), (torch.float16, False, 1e-2)):
                host = kind(4, 8, num_layers=2, bias=bias, bidirectional=True)
                layer = copy.deepcopy(host).to(CARD, dtype)
                x = torch.randn(5, 3, 4, requires_grad=True)
                given = x.detach().to(CARD, dtype).requires_grad_()
                with self.subTest(kind=kind.__name__, dtype=dtype):
                    host(x)[0].square().sum().backward()
                    layer(given)[0].float().square().sum().backward()
                    for mine, its in zip((given, *layer.parameters()), (x, *host.parameters())):
                        torch.testing.assert_close(mine.grad.cpu().float(), its.grad, rtol=bound, atol=10 * bound)

    def test_what_the_cpu_has_not_is_refused_by_name(self):
        x = torch.zeros(2, 2, device=CARD)
        with self.assertRaisesRegex(NotImplementedError, "_cudnn_init_dropout_state.*CUDA alone"):
            torch._cudnn_init_dropout_state(0.5, True, 1, dtype=torch.uint8, device=CARD)
        self.assertEqual(x.sum().item(), 0)


if __name__ == "__main__":
    unittest.main()
