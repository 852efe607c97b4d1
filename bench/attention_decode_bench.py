#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heddle's attention of one query over a cache of keys and values, beside torch's, in one run on one GPU.

    attention_decode_bench.py build/gpu-sm90a/bench/libheddle_attention.so [--rounds 11] [--errors 100]

64 heads share 8 of 128, bf16. TB/s are those of K and V. Caches without pages, in which torch's
scaled_dot_product_attention (the fastest of its kernels that take it) reads the same tensors, and pages of 64 and of 16 keys
in random order. Bursts as attention_bench.py has them; small caches are several, so that the L2 cache does not hold them.
--beside takes the library of another build, whose kernels take turns with the others.
"""
import argparse
import ctypes
import math
import random
import sys
import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import attention_bench
from attention_bench import AttentionCall, call_of, check

HEADS, KEY_HEADS, HEAD_DIM = 64, 8, 128
TERABYTES_READ = 4.0  # what an H200 reads in a second


def load(path):
    library = ctypes.CDLL(path)
    for function in (library.heddle_attention_decode, library.heddle_attention_decode_workspace):
        function.restype = ctypes.c_char_p
    pointer = ctypes.POINTER(AttentionCall)
    library.heddle_attention_decode.argtypes = [pointer]
    library.heddle_attention_decode_workspace.argtypes = [pointer, ctypes.POINTER(ctypes.c_size_t)]
    workspaces = {}

    def decode(q, k, v, o, keys, lengths=None, page_table=None, lse=None, sinks=None, **options):
        """K and V are [batches, key heads, keys, dim], or with a page table [pages, page_size, key heads, dim]."""
        pages, page_size = (0, 0) if page_table is None else k.shape[:2]
        call = call_of({"q": q, "k": k, "v": v, "o": o, "lse": lse, "sinks": sinks, "lengths": lengths,
                        "page_table": page_table}, key_heads=k.shape[1 if page_table is None else 2], keys=keys,
                       page_size=page_size, pages=pages, **options)
        bytes_of = ctypes.c_size_t()
        check(library.heddle_attention_decode_workspace(ctypes.byref(call), ctypes.byref(bytes_of)))
        key = (call.batches, call.heads, call.key_heads, call.queries, call.value_dim)
        if key not in workspaces:
            workspaces[key] = torch.zeros(bytes_of.value, dtype=torch.uint8, device="cuda")
        call.workspace = workspaces[key].data_ptr()
        check(library.heddle_attention_decode(ctypes.byref(call)))

    return decode


def in_pages(k, page_size, chooser):
    """The same keys in pages, in random order, of which a tenth belong to nobody."""
    batches, heads, keys, dim = k.shape
    of_batch = math.ceil(keys / page_size)
    pages = batches * of_batch * 11 // 10 + 1
    table = torch.randperm(pages, generator=chooser, device="cuda")[:batches * of_batch].view(batches, of_batch)
    cache = torch.full((pages, page_size, heads, dim), math.nan, dtype=k.dtype, device="cuda")
    padded = F.pad(k, (0, 0, 0, of_batch * page_size - keys), value=math.nan)
    cache[table.flatten()] = padded.view(batches, heads, of_batch, page_size, dim).permute(0, 2, 3, 1, 4).flatten(0, 1)
    return cache, table.int()


def errors(decode, count):
    """Random shapes with outputs of NaNs before and NaNs after the last key, in pages and not."""
    chooser = random.Random(5)
    pages = torch.Generator(device="cuda").manual_seed(5)
    worst = {}
    for i in range(count):
        dtype = chooser.choice((torch.bfloat16, torch.float16))
        head_dim = chooser.choice((64, 128, 96, 40))
        key_heads = chooser.choice((1, 2, 8))
        queries = chooser.choice((1, 1, 2, 4))
        heads = key_heads * chooser.choice((1, 2, 8, 16))
        keys = chooser.choice((1, 63, 64, 200, 1000, 5000))
        batches = chooser.choice((1, 3, 20))
        options = {"is_causal": int(chooser.random() < 0.7)}
        if options["is_causal"] and chooser.random() < 0.3:
            options["window"] = chooser.choice((1, 100, 700))
        if chooser.random() < 0.3:
            options["soft_cap"] = chooser.choice((2.0, 30.0))
        sinks = 3 * torch.randn(heads, device="cuda") if chooser.random() < 0.3 else None
        q, k, v = attention_bench.random_tensors(batches, heads, key_heads, queries, keys, head_dim, dtype)
        lengths = torch.tensor([chooser.randint(0, keys) for _ in range(batches)], dtype=torch.int32, device="cuda")
        for batch, length in enumerate(lengths.tolist()):
            k[batch, :, length:] = math.nan
            v[batch, :, length:] = math.nan
        page_size = chooser.choice((0, 16, 48, 64, 256))
        tensors, table = (k, v), None
        if page_size != 0:
            (k_pages, table), (v_pages, same) = (in_pages(t, page_size, pages.manual_seed(i)) for t in (k, v))
            assert torch.equal(table, same)
            tensors = k_pages, v_pages
        o = torch.full_like(q, math.nan)
        lse = torch.full(q.shape[:3], math.nan, device="cuda")
        decode(q, *tensors, o, keys, lengths, table, lse, sinks, **options)
        if o.isnan().any() or lse.isnan().any():
            sys.exit(f"NaN: {q.shape}, {k.shape}, {lengths.tolist()}, pages of {page_size}, {options}")
        entry = worst.setdefault(str(dtype).removeprefix("torch."), [0, 0.0, 0.0])
        entry[0] += 1
        for batch, length in enumerate(lengths.tolist()):
            options["is_causal"] = bool(options["is_causal"])
            one = (q[batch:batch + 1], k[batch:batch + 1, :, :length], v[batch:batch + 1, :, :length])
            expected, expected_lse = attention_bench.reference(*one, sinks=sinks, **options)
            entry[1] = max(entry[1], (o[batch].double() - expected[0]).abs().max().item())
            same = expected_lse[0].isinf() & (lse[batch] == expected_lse[0])
            entry[2] = max(entry[2], torch.where(same, 0.0, (lse[batch].double() - expected_lse[0]).abs()).max().item())
    for dtype, (shapes, of_o, of_lse) in sorted(worst.items()):
        print(f"largest error, {dtype}, {shapes} shapes: o {of_o:.5f}, lse {of_lse:.1e}", flush=True)


def torch_kernels(q, k, v):
    """Those of torch that take these tensors."""
    found = {}
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
        def work(tensors, backend=backend):
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(*tensors, enable_gqa=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch says at length why a kernel does not take them
                work((q, k, v))
            torch.cuda.synchronize()
            found[backend.name.split("_")[0].lower()] = work
        except RuntimeError:
            pass
    return found


def point(decode, batches, keys, rounds, beside=None):
    bytes_read = 2 * batches * keys * KEY_HEADS * HEAD_DIM * 2
    sets = max(1, min(16, math.ceil(4e8 / bytes_read)))
    chooser = torch.Generator(device="cuda").manual_seed(1)
    tensors = [attention_bench.random_tensors(batches, HEADS, KEY_HEADS, 1, keys, HEAD_DIM) for _ in range(sets)]
    o = torch.empty_like(tensors[0][0])
    count = max(sets, min(200, round(2e-3 / (bytes_read / 3e12))))
    works = {name: lambda i, work=work: work(tensors[i % sets]) for name, work in torch_kernels(*tensors[0]).items()}
    works["heddle"] = lambda i: decode(*tensors[i % sets], o, keys)
    if beside is not None:
        works["beside"] = lambda i: beside(*tensors[i % sets], o, keys)
    for size in (64, 16):
        if bytes_read > 4e9:
            continue
        pages = [(in_pages(k, size, chooser.manual_seed(i)), in_pages(v, size, chooser.manual_seed(i)))
                 for i, (_, k, v) in enumerate(tensors)]
        works[f"pages of {size}"] = lambda i, pages=pages: decode(
            tensors[i % sets][0], pages[i % sets][0][0], pages[i % sets][1][0], o, keys,
            page_table=pages[i % sets][0][1])
    graphs = {name: attention_bench.graph_of(work, count) for name, work in works.items()}
    times = attention_bench.measure(graphs, count, rounds)
    return bytes_read, times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=11, help="0: measure nothing")
    parser.add_argument("--errors", type=int, default=0, metavar="SHAPES", help="so many random shapes against float64")
    parser.add_argument("--beside", metavar="LIBRARY", help="the library of another build")
    arguments = parser.parse_args()
    decode = load(arguments.library)
    other = load(arguments.beside) if arguments.beside else None
    torch.manual_seed(1)
    random.seed(1)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}", flush=True)
    if arguments.errors > 0:
        errors(decode, arguments.errors)
    if arguments.rounds == 0:
        return
    columns = ["batches", "keys", "MB", "torch TB/s", "heddle TB/s", "of 4.0", "pages of 64", "pages of 16", "us",
               *(["beside us"] if other else [])]
    print(f"| {' | '.join(columns)} |\n" + "| --- " * len(columns) + "|")
    for batches in (1, 4, 16, 64, 128):
        for keys in (1024, 4096, 16384, 65536):
            bytes_read, times = point(decode, batches, keys, arguments.rounds, other)
            rates = {name: bytes_read / ms / 1e9 for name, ms in times.items()}
            of_torch = {name: rate for name, rate in rates.items() if name not in ("heddle", "beside", "pages of 64", "pages of 16")}
            fastest = max(of_torch, key=of_torch.get) if of_torch else None
            beside = f"{of_torch[fastest]:.2f} ({fastest})" if fastest else "-"
            paged = " | ".join(f"{rates[name]:.2f}" if name in rates else "-" for name in ("pages of 64", "pages of 16"))
            print(f"| {batches} | {keys} | {bytes_read / 1e6:.0f} | {beside} | {rates['heddle']:.2f} | "
                  f"{100 * rates['heddle'] / TERABYTES_READ:.0f} % | {paged} | {1000 * times['heddle']:.1f} |"
                  + (f" {1000 * times['beside']:.1f} |" if other else ""), flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
