# SPDX-License-Identifier: Apache-2.0
"""libraries.py NAME: small calls of kernel libraries that PyPI has, compared with PyTorch on the CPU, for
bench/programs_table.py. NAME: liger_norms, liger_losses, liger_rest (liger-kernel), fla (flash-linear-attention), compile
(torch.compile)."""

import copy
import sys

import torch
import torch.nn.functional as F

CARD = "cuda"


def same(function, reference, *operands, bound=2e-3):
    """Values and gradients."""
    torch.manual_seed(0)
    there = [one.to(CARD).requires_grad_(one.is_floating_point()) for one in operands]
    here = [one.clone().requires_grad_(one.is_floating_point()) for one in operands]
    found, wanted = function(*there), reference(*here)
    torch.testing.assert_close(found.detach().cpu().to(wanted.dtype), wanted, rtol=bound, atol=bound)
    gradient = torch.randn_like(wanted)
    found.backward(gradient.to(CARD, found.dtype))
    wanted.backward(gradient)
    for mine, its in zip(there, here):
        if its.grad is not None:
            torch.testing.assert_close(mine.grad.cpu().to(its.dtype), its.grad, rtol=bound, atol=bound)


def liger_norms():
    from liger_kernel.transformers import functional as liger
    from liger_kernel.transformers.group_norm import LigerGroupNorm

    r = torch.randn
    for n in (8, 64, 300):
        shapes = (r(2, 3, n), r(n))
        same(lambda x, w: liger.liger_rms_norm(x, w, 1e-6), lambda x, w: F.rms_norm(x, (n,), w, 1e-6), *shapes)
        same(
            lambda x, w: liger.liger_rms_norm(x, w, 1e-6, 1.0, "gemma"),
            lambda x, w: F.rms_norm(x, (n,), w + 1, 1e-6),
            *shapes,
        )
        same(
            lambda x, w, b: liger.liger_layer_norm(x, w, b, 1e-6),
            lambda x, w, b: F.layer_norm(x, (n,), w, b, 1e-6),
            *shapes,
            r(n),
        )
    same(LigerGroupNorm(8, 2, eps=1e-6).to(CARD), torch.nn.GroupNorm(2, 8, 1e-6), r(2, 8, 6, 6))


def liger_losses():
    from liger_kernel.transformers import functional as liger

    def value(loss):
        return loss[0] if isinstance(loss, tuple) else getattr(loss, "loss", loss)

    torch.manual_seed(1)
    labels = torch.randint(0, 97, (7,))
    for options in ({}, {"label_smoothing": 0.1}, {"reduction": "sum", "ignore_index": 3}):
        same(
            lambda x, t, options=options: value(liger.liger_cross_entropy(x, t, **options)),
            lambda x, t, options=options: F.cross_entropy(x, t, **options),
            torch.randn(7, 97),
            labels,
        )
    same(
        lambda x, w, t: value(liger.liger_fused_linear_cross_entropy(x, w, t)),
        lambda x, w, t: F.cross_entropy(x @ w.T, t),
        torch.randn(7, 32),
        torch.randn(97, 32),
        labels,
    )


def liger_rest():
    from liger_kernel.transformers import functional as liger

    r = torch.randn
    same(liger.liger_swiglu, lambda a, b: F.silu(a) * b, r(6, 123), r(6, 123))
    same(liger.liger_geglu, lambda a, b: F.gelu(a, approximate="tanh") * b, r(6, 123), r(6, 123))
    for n in (100, 5000):
        same(liger.liger_softmax, lambda x: F.softmax(x, -1), r(4, n))
    same(liger.liger_dyt, lambda x, a, g, b: torch.tanh(a * x) * g + b, r(4, 64), r(1), r(64), r(64))
    angles = r(1, 8, 16).repeat(1, 1, 2)
    cos, sin = angles.cos(), angles.sin()

    def rotate(x):
        return x * cos[:, None] + torch.cat([-x[..., 16:], x[..., :16]], -1) * sin[:, None]

    same(
        lambda q, k: torch.cat(liger.liger_rope(q, k, cos.to(CARD), sin.to(CARD)), 1),
        lambda q, k: torch.cat([rotate(q), rotate(k)], 1),
        r(1, 4, 8, 32),
        r(1, 2, 8, 32),
    )


def fla():
    from fla.ops.attn import parallel_attn
    from fla.ops.linear_attn import chunk_linear_attn, fused_recurrent_linear_attn
    from fla.ops.retention import chunk_retention, parallel_retention

    def first(outputs):
        return outputs[0] if isinstance(outputs, tuple) else outputs

    def across(q, k, v, decays=None):
        scores = torch.einsum("bihd,bjhd->bhij", q * q.shape[-1] ** -0.5, k).tril()
        if decays is not None:
            steps = torch.arange(q.shape[1])
            scores = scores * (decays[:, None, None] ** (steps[:, None] - steps).clamp(min=0))
        return torch.einsum("bhij,bjhd->bihd", scores, v)

    def attend(q, k, v):
        return F.scaled_dot_product_attention(*(one.transpose(1, 2) for one in (q, k, v)), is_causal=True).transpose(1, 2)

    operands = [torch.randn(1, 80, 2, 32) for _ in range(3)]
    decays = 1 - 2.0 ** (-5.0 - torch.arange(2))
    for function in (chunk_linear_attn, fused_recurrent_linear_attn):
        same(lambda *x, f=function: first(f(*x, normalize=False)), across, *operands, bound=6e-2)
    for function in (chunk_retention, parallel_retention):
        same(lambda *x, f=function: first(f(*x)), lambda *x: across(*x, decays), *operands, bound=6e-2)
    same(lambda *x: first(parallel_attn(*x)), attend, *operands, bound=6e-2)


def compile():
    layers = [torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 16)]
    model = torch.nn.Sequential(*layers)
    there = torch.compile(copy.deepcopy(model).to(CARD))
    same(there, model, torch.randn(8, 32))
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    same(torch.compile(copy.deepcopy(layer).to(CARD)), layer, torch.randn(2, 8, 32))


if __name__ == "__main__":
    {one.__name__: one for one in (liger_norms, liger_losses, liger_rest, fla, compile)}[sys.argv[1]]()
    print(f"{sys.argv[1]} agrees with PyTorch")
