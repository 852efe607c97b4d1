#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heddle's attention beside cuDNN's, through torch's scaled_dot_product_attention, in one run on one GPU.

    attention_bench.py build/gpu-sm90a/bench/libheddle_attention.so [--rounds 21] [--errors 100] [--more] [--random 40]

Bursts: 2 ms of launches in a CUDA graph over four sets of random tensors, then a pause of 12 ms; the kernels take turns in
random order; medians. --errors compares both with float64 first, so many random shapes of each feature; --more measures
points beyond heads of 64 and 128: cuDNN has none where it refuses them. --random measures random problems, which no tile
was chosen on. --beside takes the library of another build, whose kernels take turns with the others.
"""
import argparse
import ctypes
import math
import random
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from bursts import graph_of, measure

TOKENS = 16384
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
SETS = 4


class AttentionCall(ctypes.Structure):
    """As attention_library.cpp has it."""
    _fields_ = ([(name, ctypes.c_void_p) for name in ("q", "k", "v", "o", "lse", "sinks", "stream", "lengths",
                                                      "page_table", "workspace", "query_offsets", "key_offsets")] +
                [(name, ctypes.c_int64) for name in ("batches", "heads", "key_heads", "queries", "keys", "head_dim",
                                                     "value_dim", "is_fp16", "is_causal", "window", "page_size",
                                                     "pages", "query_rows", "key_rows")] +
                [("soft_cap", ctypes.c_float)])


class AttentionFp8Call(ctypes.Structure):
    """As attention_library.cpp has it."""
    _fields_ = ([(name, ctypes.c_void_p) for name in ("q", "k", "v", "o", "lse", "q_scales", "k_scales", "v_scales",
                                                      "stream")] +
                [(name, ctypes.c_int64) for name in ("batches", "heads", "key_heads", "queries", "keys", "head_dim",
                                                     "is_causal")])


def call_of(tensors, **numbers):
    """Tensors by their names, of which q has the number of heads and queries and o that of values."""
    batches, heads, queries, head_dim = tensors["q"].shape
    addresses = {name: tensor.data_ptr() for name, tensor in tensors.items() if tensor is not None}
    return AttentionCall(
        **addresses, stream=torch.cuda.current_stream().cuda_stream, batches=batches, heads=heads, queries=queries,
        head_dim=head_dim, value_dim=tensors["o"].shape[3], is_fp16=int(tensors["q"].dtype == torch.float16), **numbers)


def check(error):
    if error is not None:
        sys.exit(error.decode())


def load(path):
    library = ctypes.CDLL(path)
    library.heddle_attention.restype = ctypes.c_char_p
    library.heddle_attention.argtypes = [ctypes.POINTER(AttentionCall)]

    def attention(q, k, v, o, lse=None, is_causal=False, window=0, soft_cap=0.0, sinks=None):
        call = call_of({"q": q, "k": k, "v": v, "o": o, "lse": lse, "sinks": sinks}, key_heads=k.shape[1],
                       keys=k.shape[2], is_causal=int(is_causal), window=window, soft_cap=soft_cap)
        check(library.heddle_attention(ctypes.byref(call)))

    def of_rows(q, k, v, o, lse, query_offsets, key_offsets, queries, keys, is_causal):
        call = AttentionCall(
            q=q.data_ptr(), k=k.data_ptr(), v=v.data_ptr(), o=o.data_ptr(), lse=lse.data_ptr(),
            stream=torch.cuda.current_stream().cuda_stream, query_offsets=query_offsets.data_ptr(),
            key_offsets=key_offsets.data_ptr(), batches=len(query_offsets) - 1, heads=q.shape[1], key_heads=k.shape[1],
            queries=queries, keys=keys, head_dim=q.shape[2], value_dim=v.shape[2],
            is_fp16=int(q.dtype == torch.float16), is_causal=int(is_causal), query_rows=len(q), key_rows=len(k))
        check(library.heddle_attention(ctypes.byref(call)))

    library.heddle_attention_fp8.restype = ctypes.c_char_p
    library.heddle_attention_fp8.argtypes = [ctypes.POINTER(AttentionFp8Call)]

    def fp8(q, k, v, o, lse=None, scales=(None, None, None), is_causal=False):
        """V is [batches, key heads, dim, keys padded to 16]."""
        addresses = dict(zip(("q_scales", "k_scales", "v_scales", "lse"),
                             (None if t is None else t.data_ptr() for t in (*scales, lse))))
        check(library.heddle_attention_fp8(ctypes.byref(AttentionFp8Call(
            q=q.data_ptr(), k=k.data_ptr(), v=v.data_ptr(), o=o.data_ptr(), **addresses,
            stream=torch.cuda.current_stream().cuda_stream, batches=q.shape[0], heads=q.shape[1], key_heads=k.shape[1],
            queries=q.shape[2], keys=k.shape[2], head_dim=q.shape[3], is_causal=int(is_causal)))))

    attention.of_rows = of_rows
    attention.fp8 = fp8
    return attention


def cudnn(q, k, v, is_causal=False):
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=q.shape[1] != k.shape[1])


def takes_cudnn(*arguments):
    """Whether cuDNN computes this at all."""
    try:
        cudnn(*arguments)
        torch.cuda.synchronize()
        return True
    except RuntimeError:
        return False


def reference(q, k, v, is_causal=False, window=0, soft_cap=0.0, sinks=None):
    """In float64; the last query sees the last key, and one that sees none has zeros."""
    sharing = q.shape[1] // k.shape[1]
    k, v = (t.double().repeat_interleave(sharing, 1) for t in (k, v))
    scores = q.double() @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if soft_cap != 0:
        scores = soft_cap * torch.tanh(scores / soft_cap)
    if is_causal:
        last = k.shape[2] - q.shape[2]
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(last)
        if window != 0:
            seen = seen.triu(last - window + 1)
        scores = scores.masked_fill(~seen, -math.inf)
    lse = torch.logsumexp(scores, -1)
    if sinks is not None:
        lse = torch.logaddexp(lse, sinks.double().view(1, -1, 1))
    weights = torch.exp(scores - lse.unsqueeze(-1)).nan_to_num(0)
    return weights @ v, lse


def random_tensors(batches, heads, key_heads, queries, keys, head_dim, dtype=torch.bfloat16, value_dim=None):
    def normal(heads, rows, dim):
        return torch.randn(batches, heads, rows, dim, device="cuda", dtype=dtype)

    return normal(heads, queries, head_dim), normal(key_heads, keys, head_dim), normal(key_heads, keys,
                                                                                      value_dim or head_dim)


# What random shapes have beside their lengths and heads, feature by feature.
FEATURES = {
    "plain": lambda chooser, heads: {},
    "grouped": lambda chooser, heads: {},
    "window": lambda chooser, heads: {"is_causal": True, "window": chooser.choice((1, 7, 64, 100, 129, 300, 5000))},
    "cap": lambda chooser, heads: {"soft_cap": chooser.choice((0.5, 5.0, 30.0))},
    "sinks": lambda chooser, heads: {"sinks": 3 * torch.randn(heads, device="cuda")},
    "head 192/128": lambda chooser, heads: {},
    "head 256": lambda chooser, heads: {},
    "other heads": lambda chooser, heads: {},
}


def head_dims(feature, chooser):
    if feature == "head 192/128":
        return 192, 128
    if feature == "head 256":
        return 256, 256
    if feature == "other heads":
        return chooser.choice(range(8, 257, 8)), chooser.choice(range(8, 257, 8))
    head_dim = chooser.choice((64, 128))
    return head_dim, head_dim


def errors(attention, count):
    """Random shapes, with outputs of NaNs before; the largest errors of both kernels."""
    chooser = random.Random(11)
    print("| feature | type | shapes | o | lse | cuDNN's o | of shapes | o on those |\n" + "| --- " * 8 + "|")
    for feature, options_of in FEATURES.items():
        worst = {}
        for i in range(count):
            head_dim, value_dim = head_dims(feature, chooser)
            dtype = chooser.choice((torch.bfloat16, torch.float16))
            key_heads = chooser.choice((1, 2, 3))
            heads = key_heads * (chooser.choice((2, 4, 8)) if feature == "grouped" else 1)
            queries = chooser.choice((1, 17, 64, 200, 333, 512, 1000))
            keys = queries if i % 2 == 0 else chooser.choice((1, 100, 128, 257, 640, 1500))
            options = {"is_causal": chooser.random() < 0.5, **options_of(chooser, heads)}
            q, k, v = random_tensors(chooser.choice((1, 2)), heads, key_heads, queries, keys, head_dim, dtype, value_dim)
            o = torch.full((*q.shape[:3], value_dim), math.nan, device="cuda", dtype=dtype)
            lse = torch.full(q.shape[:3], math.nan, device="cuda")
            attention(q, k, v, o, lse, **options)
            expected, expected_lse = reference(q, k, v, **options)
            if o.isnan().any() or lse.isnan().any():
                sys.exit(f"NaN: {feature}, {q.shape}, {k.shape}, {options}")
            entry = worst.setdefault(str(dtype).removeprefix("torch."), [0, 0.0, 0.0, 0.0, 0, 0.0])
            error = (o.double() - expected).abs().max().item()
            entry[0] += 1
            entry[1] = max(entry[1], error)
            same = expected_lse.isinf() & (lse == expected_lse)
            entry[2] = max(entry[2], torch.where(same, 0.0, (lse.double() - expected_lse).abs()).max().item())
            is_causal = options.pop("is_causal")
            if not options and (not is_causal or queries == keys) and queries >= 64 and keys >= 64:
                if takes_cudnn(q, k, v, is_causal):
                    entry[3] = max(entry[3], (cudnn(q, k, v, is_causal).double() - expected).abs().max().item())
                    entry[4] += 1
                    entry[5] = max(entry[5], error)
        for dtype, (shapes, of_o, of_lse, of_cudnn, of_shapes, on_those) in sorted(worst.items()):
            beside = f"{of_cudnn:.5f} | {of_shapes} | {on_those:.5f}" if of_shapes else "- | 0 | -"
            print(f"| {feature} | {dtype} | {shapes} | {of_o:.5f} | {of_lse:.1e} | {beside} |", flush=True)


def errors_of_rows(attention, count):
    """Batches that lie one after another as [row, head, dim], with rows of NaNs between them and around."""
    chooser = random.Random(3)
    worst = 0.0
    for _ in range(count):
        head_dim, key_heads = chooser.choice((64, 128, 256)), chooser.choice((1, 2))
        heads, is_causal = key_heads * chooser.choice((1, 4)), chooser.random() < 0.5
        lengths = [(chooser.choice((0, 1, 64, 100, 128, 333)), chooser.choice((0, 1, 77, 128, 400))) for _ in range(7)]
        offsets = [[chooser.choice((0, 5))], [chooser.choice((0, 9))]]
        for pair in lengths:
            for which in range(2):
                offsets[which].append(offsets[which][-1] + pair[which])
        q = torch.randn(offsets[0][-1] + 3, heads, head_dim, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(offsets[1][-1] + 4, key_heads, head_dim, device="cuda", dtype=q.dtype) for _ in range(2))
        for tensor in (k, v):
            tensor[:offsets[1][0]] = math.nan
            tensor[offsets[1][-1]:] = math.nan
        o, lse = torch.full_like(q, math.nan), torch.full((heads, len(q)), math.nan, device="cuda")
        on_gpu = [torch.tensor(list_of, dtype=torch.int32, device="cuda") for list_of in offsets]
        longest = (max(1, *(pair[which] for pair in lengths)) for which in range(2))
        attention.of_rows(q, k, v, o, lse, *on_gpu, *longest, is_causal)
        inside = slice(offsets[0][0], offsets[0][-1])
        if o[inside].isnan().any() or lse[:, inside].isnan().any() or not o[offsets[0][-1]:].isnan().all():
            sys.exit(f"rows: NaNs where there should be none, or none where nothing is written: {offsets}")
        for batch, (queries, keys) in enumerate(lengths):
            rows, key_rows = (slice(first[batch], first[batch + 1]) for first in offsets)
            if queries == 0:
                continue
            one = (t.transpose(0, 1).unsqueeze(0) for t in (q[rows], k[key_rows], v[key_rows]))
            expected, _ = reference(*one, is_causal)
            worst = max(worst, (o[rows].transpose(0, 1).double() - expected[0]).abs().max().item())
    print(f"batches in rows, bfloat16, {count} shapes: largest error of o {worst:.5f}", flush=True)


def fp8_tensors(batches, heads, key_heads, queries, keys, head_dim):
    q, k, v = (t.to(torch.float8_e4m3fn) for t in random_tensors(batches, heads, key_heads, queries, keys, head_dim))
    padded = torch.zeros(batches, key_heads, head_dim, (keys + 15) // 16 * 16, device="cuda", dtype=torch.uint8)
    padded[..., :keys] = v.view(torch.uint8).transpose(2, 3)
    return q, k, v, padded


def errors_of_fp8(attention, count):
    """Against float64 on the same numbers of 8 bits, with outputs of NaNs before."""
    chooser = random.Random(7)
    worst, mean, worst_lse = 0.0, 0.0, 0.0
    for _ in range(count):
        head_dim, key_heads = chooser.choice((16, 64, 128, 128)), chooser.choice((1, 2))
        heads, is_causal = key_heads * chooser.choice((1, 4)), chooser.random() < 0.5
        queries, keys = chooser.choice((1, 64, 200, 512)), chooser.choice((1, 100, 128, 640, 1500))
        q, k, v, padded = fp8_tensors(2, heads, key_heads, queries, keys, head_dim)
        scales = [torch.rand(n, device="cuda") + 0.5 for n in (heads, key_heads, key_heads)]
        o = torch.full(q.shape, math.nan, device="cuda", dtype=torch.bfloat16)
        lse = torch.full(q.shape[:3], math.nan, device="cuda")
        attention.fp8(q, k, padded, o, lse, scales, is_causal)
        wide = [t.double() * scale.double().view(1, -1, 1, 1) for t, scale in zip((q, k, v), scales)]
        expected, expected_lse = reference(*wide, is_causal)
        if o.isnan().any() or lse.isnan().any():
            sys.exit(f"NaN: fp8, {q.shape}, {k.shape}")
        worst = max(worst, (o.double() - expected).abs().max().item())
        mean = max(mean, (o.double() - expected).abs().mean().item())
        same = expected_lse.isinf() & (lse == expected_lse)
        worst_lse = max(worst_lse, torch.where(same, 0.0, (lse.double() - expected_lse).abs()).max().item())
    print(f"e4m3, {count} shapes: largest error of o {worst:.4f}, largest mean {mean:.4f}, lse {worst_lse:.1e}", flush=True)


def speed_of_fp8(attention, rounds):
    """Beside this library's bf16."""
    print("| e4m3, head 128 | tokens | bf16 TFLOP/s | e4m3 TFLOP/s |\n| --- | --- | --- | --- |")
    for is_causal in (False, True):
        for length in (2048, 16384):
            batches = TOKENS // length
            flops = 4 * batches * 16 * length * length * 128 / (2 if is_causal else 1)
            count = max(1, round(2e-3 / (flops / 700e12)))
            sets = [fp8_tensors(batches, 16, 16, length, length, 128) for _ in range(SETS)]
            wide = [[t.to(torch.bfloat16) for t in one[:3]] for one in sets]
            o = torch.empty(batches, 16, length, 128, device="cuda", dtype=torch.bfloat16)

            def bytes_of(i):
                q, k, _, padded = sets[i % SETS]
                attention.fp8(q, k, padded, o, is_causal=is_causal)

            graphs = {"e4m3": graph_of(bytes_of, count),
                      "bf16": graph_of(lambda i: attention(*wide[i % SETS], o, is_causal=is_causal), count)}
            times = measure(graphs, count, rounds)
            print(f"| {'causal' if is_causal else 'none'} | {length} | {flops / times['bf16'] / 1e9:.0f} | "
                  f"{flops / times['e4m3'] / 1e9:.0f} |", flush=True)


def point(libraries, length, rounds, heads, head_dim, key_heads=None, value_dim=None, batches=None, queries=None,
          **options):
    """TFLOP/s of cuDNN and of each library; a causal mask halves the work, and a window leaves its share of it."""
    batches, queries, value_dim = batches or TOKENS // length, queries or length, value_dim or head_dim
    is_causal, window = options.get("is_causal", False), options.get("window", 0)
    seen = queries * length / (2 if is_causal else 1)
    if window != 0:
        seen = window * length - window * window / 2
    flops = 2 * batches * heads * seen * (head_dim + value_dim)
    count = max(1, round(2e-3 / (flops / 500e12)))
    sets = [random_tensors(batches, heads, key_heads or heads, queries, length, head_dim, value_dim=value_dim)
            for _ in range(SETS)]
    o = torch.empty(batches, heads, queries, value_dim, device="cuda", dtype=torch.bfloat16)
    graphs = {name: graph_of(lambda i, attention=attention: attention(*sets[i % SETS], o, **options), count)
              for name, attention in libraries.items()}
    if not (options.keys() - {"is_causal"}) and takes_cudnn(*sets[0], is_causal):
        graphs["cudnn"] = graph_of(lambda i: cudnn(*sets[i % SETS], is_causal), count)
    times = measure(graphs, count, rounds)
    return {name: flops / ms / 1e9 for name, ms in times.items()}


def header(libraries, *columns):
    columns += ("cuDNN TFLOP/s", "heddle TFLOP/s", "ratio", *(f"{name} TFLOP/s" for name in list(libraries)[1:]))
    print(f"| {' | '.join(columns)} |\n" + "| --- " * len(columns) + "|")


def row(rates, *columns):
    """Prints a point; its ratio, where cuDNN takes it."""
    ratio = rates["heddle"] / rates["cudnn"] if "cudnn" in rates else None
    beside = [f"{rates['cudnn']:.0f}" if ratio else "-", f"{rates['heddle']:.0f}", f"{ratio:.3f}" if ratio else "-"]
    others = [f"{rate:.0f}" for name, rate in rates.items() if name not in ("heddle", "cudnn")]
    print(f"| {' | '.join([*map(str, columns), *beside, *others])} |", flush=True)
    return ratio


def mean_of(ratios):
    return f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, least {min(ratios):.3f}"


def random_points(libraries, count, rounds):
    """Lengths, heads, groups and batches at random, up to half a millisecond."""
    chooser, ratios = random.Random(29), []
    header(libraries, "batches", "heads", "of keys", "head", "mask", "queries", "keys")
    while len(ratios) < count:
        head_dim, is_causal = chooser.choice((64, 64, 80, 96, 128, 128, 128, 256)), chooser.random() < 0.5
        key_heads = chooser.choice((1, 2, 3, 4, 8, 16))
        heads = key_heads * chooser.choice((1, 1, 2, 4, 8))
        keys = round(2 ** chooser.uniform(7, 14))
        queries = keys if is_causal or chooser.random() < 0.5 else round(2 ** chooser.uniform(7, 13))
        batches = round(2 ** chooser.uniform(0, 6))
        work = 4 * batches * heads * queries * keys * head_dim
        if not 2e9 < work < 3e11 or batches * heads * (queries + keys) * head_dim > 4e8:
            continue
        rates = point(libraries, keys, rounds, heads, head_dim, key_heads, batches=batches, queries=queries,
                      is_causal=is_causal)
        ratio = row(rates, batches, heads, key_heads, head_dim, "causal" if is_causal else "none", queries, keys)
        if ratio:
            ratios.append(ratio)
    print(f"random problems: {mean_of(ratios)}, {sum(ratio < 0.97 for ratio in ratios)} of {count} below 0.97", flush=True)


def more(libraries, rounds):
    """Heads, groups and options that the 24 points do not have."""
    header(libraries, "point", "tokens")
    causal = {"is_causal": True}
    points = {
        "head 256": {"heads": 8, "head_dim": 256},
        "head 256, causal": {"heads": 8, "head_dim": 256, **causal},
        "head 192, values 128": {"heads": 16, "head_dim": 192, "value_dim": 128},
        "head 192, values 128, causal": {"heads": 16, "head_dim": 192, "value_dim": 128, **causal},
        "head 96": {"heads": 16, "head_dim": 96},
        "32 heads share 4, causal": {"heads": 32, "head_dim": 128, "key_heads": 4, **causal},
        "64 heads share 1 of 64": {"heads": 64, "head_dim": 64, "key_heads": 1},
        "head 128, window 1024": {"heads": 16, "head_dim": 128, "window": 1024, **causal},
        "head 128, cap 30, causal": {"heads": 16, "head_dim": 128, "soft_cap": 30.0, **causal},
    }
    for name, options in points.items():
        for length in (2048, 16384):
            row(point(libraries, length, rounds, **options), name, length)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=21, help="0: measure nothing")
    parser.add_argument("--errors", type=int, default=0, metavar="SHAPES",
                        help="so many random shapes of each feature against float64")
    parser.add_argument("--more", action="store_true", help="heads, groups and options beyond the 24 points")
    parser.add_argument("--random", type=int, default=0, metavar="PROBLEMS", help="so many random problems, measured")
    parser.add_argument("--beside", metavar="LIBRARY", help="the library of another build")
    arguments = parser.parse_args()
    attention = load(arguments.library)
    libraries = {"heddle": attention, **({"beside": load(arguments.beside)} if arguments.beside else {})}
    torch.manual_seed(1)
    random.seed(1)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}, "
          f"cuDNN {torch.backends.cudnn.version()}", flush=True)
    if arguments.errors > 0:
        errors(attention, arguments.errors)
        errors_of_rows(attention, arguments.errors)
        errors_of_fp8(attention, arguments.errors)
    if arguments.rounds == 0:
        return
    ratios = []
    header(libraries, "head", "mask", "tokens")
    for head_dim in (128, 64):
        for is_causal in (False, True):
            for length in LENGTHS:
                rates = point(libraries, length, arguments.rounds, 2048 // head_dim, head_dim, is_causal=is_causal)
                ratios.append(row(rates, head_dim, "causal" if is_causal else "none", length))
    print(f"ratios: {mean_of(ratios)}", flush=True)
    speed_of_fp8(attention, arguments.rounds)
    if arguments.more:
        more(libraries, arguments.rounds)
    if arguments.random > 0:
        random_points(libraries, arguments.random, arguments.rounds)


if __name__ == "__main__":
    main()
