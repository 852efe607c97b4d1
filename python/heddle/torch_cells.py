# SPDX-License-Identifier: Apache-2.0
"""The cells of LSTM and GRU, for which PyTorch has kernels for CUDA alone. Halves are added up in float, as on a GPU."""

import torch


def _floats(*tensors):
    wide = (torch.float16, torch.bfloat16)
    return [one.float() if one is not None and one.dtype in wide else one for one in tensors]


def _sum(*parts):
    given = [one for one in parts if one is not None]
    return sum(given[1:], given[0])


def lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    """hy, cy, and the gates for the backward pass."""
    dtype = input_gates.dtype
    *gates, cx = _floats(input_gates, hidden_gates, input_bias, hidden_bias, cx)
    i, f, g, o = _sum(*gates).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return (o * cy.tanh()).to(dtype), cy.to(dtype), torch.cat([i, f, g, o], 1).to(dtype)


def lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    """Gradients of the gates, of cx and of a bias."""
    if grad_hy is None and grad_cy is None:
        return None, None, None
    dtype = workspace.dtype
    grad_hy, grad_cy, cx, cy, workspace = _floats(grad_hy, grad_cy, cx, cy, workspace)
    i, f, g, o = workspace.chunk(4, 1)
    if grad_hy is None:
        grad_hy = torch.zeros_like(cy)
    shown = cy.tanh()
    by_cell = _sum(grad_hy * o * (1 - shown * shown), grad_cy)
    gates = [
        by_cell * g * i * (1 - i),
        by_cell * cx * f * (1 - f),
        by_cell * i * (1 - g * g),
        grad_hy * shown * o * (1 - o),
    ]
    gates = torch.cat(gates, 1)
    return gates.to(dtype), (by_cell * f).to(dtype), gates.sum(0).to(dtype) if has_bias else None


def gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    """hy, and what the backward pass needs."""
    dtype = input_gates.dtype
    given, hidden, input_bias, hidden_bias, hx = _floats(input_gates, hidden_gates, input_bias, hidden_bias, hx)
    given_r, given_z, given_n = _sum(given, input_bias).chunk(3, 1)
    hidden_r, hidden_z, hidden_n = _sum(hidden, hidden_bias).chunk(3, 1)
    r, z = (given_r + hidden_r).sigmoid(), (given_z + hidden_z).sigmoid()
    n = (given_n + r * hidden_n).tanh()
    return (n + z * (hx - n)).to(dtype), torch.cat([r, z, n, hx, hidden_n], 1).to(dtype)


def gru_cell_backward(grad_hy, workspace, has_bias):
    """Gradients of the gates of the input and of the hidden state, of that state and of both biases."""
    dtype = workspace.dtype
    grad_hy, workspace = _floats(grad_hy, workspace)
    r, z, n, hx, hidden_n = workspace.chunk(5, 1)
    by_n = grad_hy * (1 - z) * (1 - n * n)
    by_r = by_n * hidden_n * r * (1 - r)
    by_z = grad_hy * (hx - n) * z * (1 - z)
    given, hidden = torch.cat([by_r, by_z, by_n], 1), torch.cat([by_r, by_z, by_n * r], 1)
    biases = (given.sum(0).to(dtype), hidden.sum(0).to(dtype)) if has_bias else (None, None)
    return given.to(dtype), hidden.to(dtype), (grad_hy * z).to(dtype), *biases


# By the operator that each stands for.
CELLS = {
    "_thnn_fused_lstm_cell.default": lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl.default": lstm_cell_backward,
    "_thnn_fused_gru_cell.default": gru_cell,
    "_thnn_fused_gru_cell_backward.default": gru_cell_backward,
}
