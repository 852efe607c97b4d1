# A layer whose weight is divided by columns between processes, around heddle's matmul:
#   python tensor_parallel.py             two processes, each with a simulated Blackwell SM
#   torchrun --nproc-per-node 8 tensor_parallel.py --nccl     one GPU for each process
# PyTorch does what several devices need; the operator is that of one.
import argparse
import os

import heddle.torch_ops  # noqa: F401
import torch
import torch.distributed as dist


class Gathered(torch.autograd.Function):
    """Puts the columns of all processes side by side; backwards, each takes its own."""

    @staticmethod
    def forward(ctx, part):
        parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, part.contiguous())
        return torch.cat(parts, 1)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.chunk(dist.get_world_size(), 1)[dist.get_rank()].contiguous()


class Shared(torch.autograd.Function):
    """The input of all processes; backwards, its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient


class ColumnParallel(torch.nn.Module):
    def __init__(self, whole):
        super().__init__()
        part = whole.chunk(dist.get_world_size(), 1)[dist.get_rank()]
        self.weight = torch.nn.Parameter(part.contiguous())

    def forward(self, x):
        return Gathered.apply(torch.ops.heddle.matmul(Shared.apply(x), self.weight))


def run(device):
    torch.manual_seed(0)  # the same numbers in every process: small whole ones, whose sums are exact
    x, whole, up = (
        torch.randint(-3, 4, shape).to(device, torch.bfloat16) for shape in ((64, 96), (96, 128), (64, 128))
    )
    x.requires_grad_()
    layer = ColumnParallel(whole)
    out = layer(x)
    out.backward(up)
    alone = x.detach().clone().requires_grad_()
    (alone @ whole).backward(up)
    assert torch.equal(out, x @ whole), "the output"
    assert torch.equal(x.grad, alone.grad), "the gradient of the input"
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} processes: output and gradient are those of one")


def simulated(rank, processes, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=processes)
    with heddle.torch_ops.device("sim:sm100"):
        run("cpu")
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--nccl", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--port", type=int, default=29531)
    options = parser.parse_args()
    if options.nccl:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
        run("cuda")
        dist.destroy_process_group()
    else:
        torch.multiprocessing.spawn(simulated, (options.processes, options.port), options.processes)
