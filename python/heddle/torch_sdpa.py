# SPDX-License-Identifier: Apache-2.0
"""Fused attention, and what else only a GPU has, where a program asks PyTorch for it by name (sdpa_kernel): the formula, in
float. Dropout within it is refused."""

import torch


def _wide(bias, is_causal, rows, columns):
    """What is added to the scores; None: nothing."""
    if is_causal:
        hidden = torch.ones(rows, columns, dtype=torch.bool).tril().logical_not()
        causal = torch.zeros(rows, columns).masked_fill(hidden, -torch.inf)
        return causal if bias is None else causal + bias.float()
    return None if bias is None else bias.float()


def _repeated(one, heads):
    return one.float().repeat_interleave(heads // one.shape[1], 1)


def _scale(q, scale):
    return q.shape[-1] ** -0.5 if scale is None else scale


def _weights(q, k, bias, is_causal, scale):
    """The softmax of the scores, and their logarithm of the sum of exponentials."""
    scores = q.float() @ _repeated(k, q.shape[1]).transpose(-1, -2) * _scale(q, scale)
    more = _wide(bias, is_causal, *scores.shape[-2:])
    if more is not None:
        scores = scores + more
    sums = scores.logsumexp(-1)
    sees_nothing = (sums == -torch.inf)[..., None]
    return (scores - sums[..., None]).exp().masked_fill(sees_nothing, 0.0), sums


def _forward(q, k, v, bias, dropout_p, is_causal, scale):
    if dropout_p != 0:
        return None
    weights, sums = _weights(q, k, bias, is_causal, scale)
    out = (weights @ _repeated(v, q.shape[1])).to(q.dtype)
    return out.transpose(1, 2).contiguous().transpose(1, 2), sums


def _backward(grad_out, q, k, v, bias, dropout_p, is_causal, scale):
    """Gradients of q, k, v and of the scores."""
    if dropout_p != 0:
        return None
    heads = q.shape[1]
    weights, _ = _weights(q, k, bias, is_causal, scale)
    grad_out = grad_out.float()
    by_weights = grad_out @ _repeated(v, heads).transpose(-1, -2)
    by_scores = weights * (by_weights - (weights * by_weights).sum(-1, keepdim=True))
    by_q = by_scores @ _repeated(k, heads) * _scale(q, scale)
    by_k = by_scores.transpose(-1, -2) @ q.float() * _scale(q, scale)
    by_v = weights.transpose(-1, -2) @ grad_out

    def folded(grad, one):
        return grad.unflatten(1, (one.shape[1], heads // one.shape[1])).sum(2).to(one.dtype)

    return by_q.to(q.dtype), folded(by_k, k), folded(by_v, v), by_scores


def _nothing():
    return torch.empty(0, dtype=torch.int64)


def flash(q, k, v, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    made = _forward(q, k, v, None, dropout_p, is_causal, scale)
    if made is None or return_debug_mask:
        return NotImplemented
    return *made, None, None, q.shape[2], k.shape[2], _nothing(), _nothing(), _nothing()


def flash_backward(grad_out, q, k, v, _out, _sums, _at_q, _at_k, _most_q, _most_k, dropout_p, is_causal, _seed, _offset, *,
                   scale=None):
    made = _backward(grad_out, q, k, v, None, dropout_p, is_causal, scale)
    return NotImplemented if made is None else made[:3]


def efficient(q, k, v, bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    made = _forward(q, k, v, bias, dropout_p, is_causal, scale)
    return NotImplemented if made is None else (*made, _nothing(), _nothing())


def efficient_backward(grad_out, q, k, v, bias, _out, _sums, _seed, _offset, dropout_p, wanted, is_causal=False, *, scale=None):
    made = _backward(grad_out, q, k, v, bias, dropout_p, is_causal, scale)
    if made is None:
        return NotImplemented
    *three, by_scores = made
    by_bias = by_scores.sum_to_size(bias.shape).to(bias.dtype) if bias is not None and wanted[3] else None
    return *three, by_bias


def cudnn(q, k, v, bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    made = _forward(q, k, v, bias, dropout_p, is_causal, scale)
    if made is None or return_debug_mask:
        return NotImplemented
    return *made, None, None, q.shape[2], k.shape[2], _nothing(), _nothing(), _nothing()


def cudnn_backward(grad_out, q, k, v, _out, _sums, _seed, _offset, bias, _at_q, _at_k, _most_q, _most_k, dropout_p, is_causal, *,
                   scale=None):
    made = _backward(grad_out, q, k, v, bias, dropout_p, is_causal, scale)
    return NotImplemented if made is None else made[:3]


def _never(*_, **__):
    return False


# By the operator that each stands for.
FUSED = {
    "_scaled_dot_product_flash_attention.default": flash,
    "_scaled_dot_product_flash_attention_backward.default": flash_backward,
    "_scaled_dot_product_efficient_attention.default": efficient,
    "_scaled_dot_product_efficient_attention_backward.default": efficient_backward,
    "_scaled_dot_product_cudnn_attention.default": cudnn,
    "_scaled_dot_product_cudnn_attention_backward.default": cudnn_backward,
    "_use_cudnn_ctc_loss.default": _never,
    "_use_cudnn_ctc_loss.Tensor": _never,
    "_use_miopen_ctc_loss.default": _never,
    "_use_miopen_ctc_loss.Tensor": _never,
}
