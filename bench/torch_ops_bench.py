# SPDX-License-Identifier: Apache-2.0
"""The operators of torch.ops.heddle beside PyTorch's own on a GPU, in one run: right, what a call takes the host, and how
long the kernels take.

    python3 bench/torch_ops_bench.py [--calls 500] [--rounds 15]  # heddle on PYTHONPATH, its libheddle.so built with CUDA

Host times are medians of that many rounds of calls that nobody waits for; kernel times those of a CUDA graph of 20 calls. Beside each
operator stands one that is registered in the same way and does nothing but make its output: what PyTorch takes to call Python.
"""
import argparse
import statistics
import time

import heddle.torch_call
import heddle.torch_ops
import torch

BF16 = torch.bfloat16


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=15)
    return parser.parse_args()


OPTIONS = options()


def host_us(function):
    calls = OPTIONS.calls
    times = []
    for _ in range(OPTIONS.rounds + 2):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - begin) / calls * 1e6)
        torch.cuda.synchronize()
    return statistics.median(times[2:])


def graph_of(function, calls=1):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            out = function()
    return graph, out


def kernel_us(function, calls=20, rounds=9):
    graph, _ = graph_of(function, calls)
    times = []
    for _ in range(rounds + 2):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / calls)
    return statistics.median(times[2:])


def whole(*shape):
    """Small whole numbers: their sums are exact in float, whoever adds them up."""
    return torch.randint(-3, 4, shape, device="cuda").to(BF16)


def error(made, expected):
    """The largest difference, beside the largest number."""
    return ((made.float() - expected.float()).abs().max() / expected.float().abs().max().clamp(min=1e-9)).item()


probe = torch.library.Library("heddle_probe", "DEF")
probe.define("empty(Tensor a, Tensor b, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor")
probe.define("nothing(Tensor a, Tensor b, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor")
for key in ("CUDA", "Autograd"):
    probe.impl("empty", lambda a, b, bias=None, out_dtype=None: a.new_empty((a.shape[0], b.shape[1])), key)
    probe.impl("nothing", lambda a, b, bias=None, out_dtype=None: a, key)
torch.library.register_fake("heddle_probe::empty", lambda a, b, bias=None, out_dtype=None: a.new_empty(a.shape[0], b.shape[1]),
                            lib=probe)


class Operators:
    """Each as (heddle's, PyTorch's), for operands of a size."""

    def matmul(self, m, n, k):
        a, b = whole(m, k), whole(n, k).t()
        return (lambda: torch.ops.heddle.matmul(a, b)), (lambda: torch.mm(a, b))

    def scaled(self, m, n, k):
        a, b = whole(m, k).to(torch.float8_e4m3fn), whole(n, k).to(torch.float8_e4m3fn).t()
        x, y = torch.tensor([0.5], device="cuda"), torch.tensor([0.25], device="cuda")
        return (lambda: torch.ops.heddle.matmul_scaled(a, b, x, y)), (
            lambda: torch._scaled_mm(a, b, scale_a=x[0], scale_b=y[0], out_dtype=BF16))

    def scaled_rows(self, m, n, k):
        a, b = whole(m, k).to(torch.float8_e4m3fn), whole(n, k).to(torch.float8_e4m3fn).t()
        x, y = torch.rand(m, device="cuda"), torch.rand(n, device="cuda")
        return (lambda: torch.ops.heddle.matmul_scaled(a, b, x, y)), (
            lambda: torch._scaled_mm(a, b, scale_a=x[:, None], scale_b=y[None], out_dtype=BF16))

    def grouped(self, m, n, k, groups=8):
        a, b = whole(m, k), whole(groups, n, k).transpose(1, 2)
        ends = torch.arange(1, groups + 1, device="cuda", dtype=torch.int32) * (m // groups)
        return (lambda: torch.ops.heddle.matmul_grouped(a, b, ends)), (lambda: torch._grouped_mm(a, b, offs=ends))

    def attention(self, rows, heads, dim, batches=1):
        q, k, v = (torch.randn(batches, heads, rows, dim, device="cuda", dtype=BF16) for _ in range(3))
        return (lambda: torch.ops.heddle.attention(q, k, v, is_causal=True)[0]), (
            lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))


SIZES = {
    "matmul": [(256, 256, 256), (4096, 4096, 4096), (8192, 8192, 2048)],
    "scaled": [(256, 256, 256), (4096, 4096, 4096)],
    "scaled_rows": [(256, 256, 256), (4096, 4096, 4096)],
    "grouped": [(1024, 256, 256), (8192, 4096, 2048)],
    "attention": [(256, 4, 128), (8192, 16, 128)],
}


def print_operators():
    print("| operator | size | error | host, us | torch's | kernels, us | torch's |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, sizes in SIZES.items():
        for i, size in enumerate(sizes):
            ours, theirs = getattr(Operators(), name)(*size)
            try:
                expected = theirs()
                other = theirs
            except (RuntimeError, AttributeError) as refusal:
                print(f"<!-- {name}: torch: {str(refusal).splitlines()[0]} -->")
                expected, other = ours(), None
            wrong = error(ours(), expected)
            host = (f"{host_us(ours):.1f} | {host_us(other):.1f}" if other else f"{host_us(ours):.1f} | -") if i == 0 else "- | -"
            kernels = f"{kernel_us(ours):.2f} | {kernel_us(other):.2f}" if other else f"{kernel_us(ours):.2f} | -"
            print(f"| {name} | {', '.join(map(str, size))} | {wrong:.1e} | {host} | {kernels} |", flush=True)


def print_parts():
    """Where the time of a call goes."""
    from ctypes import byref

    ops = heddle.torch_ops
    a, b = whole(256, 256), whole(256, 256).t()
    prepared = ops._prepare(a, b, None, BF16)
    no_rows = type(prepared.call).from_buffer_copy(prepared.call)
    no_rows.m = 0
    out = torch.empty(256, 256, dtype=BF16, device="cuda")
    addresses = a.data_ptr(), b.data_ptr(), out.data_ptr(), None
    stream = torch.cuda.current_stream().cuda_stream
    parts = {
        "torch.mm": lambda: torch.mm(a, b),
        "torch.mm, out given": lambda: torch.mm(a, b, out=out),
        "torch.ops.heddle.matmul": lambda: torch.ops.heddle.matmul(a, b),
        "an operator of Python that does nothing": lambda: torch.ops.heddle_probe.nothing(a, b),
        "the same, with a.new_empty()": lambda: torch.ops.heddle_probe.empty(a, b),
        "heddle's function, called directly": lambda: ops._multiply(a, b),
        "looking up what was prepared": lambda: ops._prepare(a, b, None, BF16),
        "a.new_empty()": lambda: a.new_empty((256, 256)),
        "the output as heddle makes it": lambda: heddle.torch_call.empty(a, (256, 256), (256, 1), BF16),
        "a call of C that does nothing": lambda: ops._library.library().heddle_version(),
        "the C call, of no rows": lambda: ops._calls().heddle_matmul_of_addresses(byref(no_rows), *addresses, stream),
        "the C call": lambda: ops._calls().heddle_matmul_of_addresses(byref(prepared.call), *addresses, stream),
    }
    print("\n| a call of | us |\n| --- | --- |")
    for name, function in parts.items():
        print(f"| {name} | {host_us(function):.2f} |", flush=True)


def print_compiled():
    a, b = whole(256, 256), whole(256, 256)
    print("\n| compiled, a call | us |\n| --- | --- |")
    for name, operator in (("torch.mm", torch.mm), ("torch.ops.heddle.matmul", torch.ops.heddle.matmul),
                           ("an operator of Python that makes its output", torch.ops.heddle_probe.empty)):
        torch._dynamo.reset()
        layer = torch.compile(lambda x, y, operator=operator: torch.relu(operator(x, y)) + 1, fullgraph=True)
        made = layer(a, b)
        if name != "an operator of Python that makes its output":
            assert torch.equal(made, torch.relu(a @ b) + 1), name
        print(f"| {name} | {host_us(lambda: layer(a, b)):.1f} |", flush=True)
    print("\n| a graph's replay | us |\n| --- | --- |")
    for name, operator in (("torch.mm", torch.mm), ("torch.ops.heddle.matmul", torch.ops.heddle.matmul)):
        graph, out = graph_of(lambda: operator(a, b))
        a.copy_(whole(256, 256))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, a @ b), name
        print(f"| {name} | {host_us(graph.replay):.2f} |", flush=True)


def check_gradients():
    for shape in ((64, 64, 64), (200, 104, 72), (33, 17, 50)):
        m, n, k = shape
        leaves = [whole(m, k).requires_grad_(), whole(k, n).requires_grad_()]
        others = [leaf.detach().clone().requires_grad_() for leaf in leaves]
        torch.ops.heddle.matmul(*leaves).sum().backward()
        torch.mm(*others).sum().backward()
        for made, expected in zip(leaves, others):
            assert torch.equal(made.grad, expected.grad), shape
    other = torch.cuda.Stream()
    a, b = whole(512, 512), whole(512, 512)
    torch.cuda.synchronize()
    with torch.cuda.stream(other):
        made = torch.ops.heddle.matmul(a, b)
    other.synchronize()
    assert torch.equal(made, a @ b)
    print("\nRight: gradients of three shapes, another stream, a graph with other numbers, torch.compile.")


def main():
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}\n")
    print_operators()
    print_parts()
    print_compiled()
    check_gradients()


if __name__ == "__main__":
    main()
