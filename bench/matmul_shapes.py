#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shapes of matmuls for measuring, one M,N,K a line.

    bench/matmul_shapes.py held-out > bench/held_out_shapes.txt
    bench/matmul_shapes.py held-out-again > bench/held_out_again_shapes.txt
    bench/matmul_shapes.py held-out-third > bench/held_out_third_shapes.txt
    bench/matmul_shapes.py tuning 1000 > tuning.txt
    bench/matmul_shapes.py tuning-more 700 > more.txt
    bench/matmul_shapes.py timing > bench/timing_shapes.txt
    bench/matmul_shapes.py behind sweep.json.gz more.json.gz > behind.txt
    bench/matmul_shapes.py timed sweep.json.gz more.json.gz > timed.txt

The rule, which was written down before anything was tuned with it:
- Every third model of the list below, from the second on, is held out; the others are for tuning.
- 80 of the 100 held-out shapes are layers of held-out models: a model, one of its layers, and over how many GPUs the
  layer is divided (1, 1, 2, 4 or 8), each with equal chance. M is a power of two from 1 to 16384 or, as often, any number
  of that range, log-uniform.
- 20 are odd: M from 1 to 4096, N and K multiples of 8 from 64 to 16384, all log-uniform. (Rows of packed bf16 matrices
  begin on 16 bytes.)
- Shapes of more than 4e12 operations are drawn again, and so are shapes that are there already.
- Tuning draws in the same way from the other models, with odd ones and, besides, shapes at the edges of tiles: M and N a
  few more or less than a multiple of 64. It leaves out every pair N,K of a held-out shape, and the shapes that are named
  in docs/results for comparison. A second draw, tuning-more, has more of what the first has few of: shapes of about one
  round of tiles (M from 48 to 2048, N from 512 to 12288, K from 1024 to 16384, N and K multiples of 64), and odd ones.
- The first 100 have been looked at while choices were made. Another 100, held-out-again, are drawn from the same models by
  the same rule and another seed: none is among the first, and no layer of theirs has a pair N,K of a tuning shape.
- Those have been looked at once, too. A third 100, held-out-third, are drawn in the same way with another seed; none is among
  the first two lists.
- Twenty judge the timing model (docs/timing.md), and were drawn before any of them was measured: three of five are layers of
  any of the models, one is odd, one of about one round of tiles. None is among the shapes above, nor among the twenty that
  the model was made with (bench/predicted_shapes.txt).
- A list for new tiles: the shapes of earlier sweeps at which the best configuration was behind cublasLt's by 1.5 % or more,
  and then as many others, drawn from them.
- A second one for them: new tiles are timed at shapes of earlier sweeps, in an order that is drawn: those of more than 64 rows (first where the
  best configuration was below 1.05 of cublasLt's best), and 150 of 9 to 64 rows. What took over 1.5 ms is left out.
"""
import gzip
import json
import math
import os
import random
import sys

# Hidden and inner size, heads, heads of keys and values, size of a head, whether there is a gate; from the models'
# published configurations.
MODELS = {
    "bert-large": (1024, 4096, 16, 16, 64, False),
    "command-r": (8192, 22528, 64, 64, 128, True),
    "falcon-7b": (4544, 18176, 71, 1, 64, False),
    "gemma-2-2b": (2304, 9216, 8, 4, 256, True),
    "gemma-2-9b": (3584, 14336, 16, 8, 256, True),
    "gemma-2-27b": (4608, 36864, 32, 16, 128, True),
    "gpt-2-xl": (1600, 6400, 25, 25, 64, False),
    "gpt-j-6b": (4096, 16384, 16, 16, 256, False),
    "gpt-neox-20b": (6144, 24576, 64, 64, 96, False),
    "granite-8b": (4096, 12800, 32, 8, 128, True),
    "llama-2-7b": (4096, 11008, 32, 32, 128, True),
    "llama-2-13b": (5120, 13824, 40, 40, 128, True),
    "llama-3-8b": (4096, 14336, 32, 8, 128, True),
    "llama-3-70b": (8192, 28672, 64, 8, 128, True),
    "llama-3.1-405b": (16384, 53248, 128, 8, 128, True),
    "llama-3.2-1b": (2048, 8192, 32, 8, 64, True),
    "llama-3.2-3b": (3072, 8192, 24, 8, 128, True),
    "mistral-large": (12288, 28672, 96, 8, 128, True),
    "mistral-nemo": (5120, 14336, 32, 8, 128, True),
    "opt-30b": (7168, 28672, 56, 56, 128, False),
    "phi-3-mini": (3072, 8192, 32, 32, 96, True),
    "phi-4": (5120, 17920, 40, 10, 128, True),
    "qwen2.5-0.5b": (896, 4864, 14, 2, 64, True),
    "qwen2.5-1.5b": (1536, 8960, 12, 2, 128, True),
    "qwen2.5-7b": (3584, 18944, 28, 4, 128, True),
    "qwen2.5-32b": (5120, 27648, 40, 8, 128, True),
    "qwen2.5-72b": (8192, 29568, 64, 8, 128, True),
    "qwen3-8b": (4096, 12288, 32, 8, 128, True),
    "vit-huge": (1280, 5120, 16, 16, 80, False),
    "yi-34b": (7168, 20480, 56, 8, 128, True),
}

# Those of docs/results.
COMPARED = {(512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192),
            (16384, 16384, 16384), (4096, 14336, 4096), (4096, 4096, 14336), (8192, 8192, 1024), (64, 8192, 8192),
            (16, 4096, 14336), (128, 7168, 16384), (3072, 3072, 3072), (6144, 6144, 6144), (2048, 8192, 4096),
            (8192, 2048, 4096), (4096, 11008, 4096), (1, 8192, 8192), (32, 4096, 4096), (256, 4096, 4096),
            (768, 3072, 768), (1000, 1000, 1000), (512, 7168, 2048), (2304, 2304, 2304), (200, 6000, 3000),
            (1536, 8960, 1536), (96, 4096, 11008), (3000, 3000, 3000),
            (1, 28672, 4096), (32, 28672, 4096), (128, 28672, 4096), (304, 1304, 2056), (128, 6144, 4096)}

MOST_OPERATIONS = 4e12


def log_uniform(rng, least, most):
    return int(round(math.exp(rng.uniform(math.log(least), math.log(most)))))


def layer(rng, models):
    hidden, inner, heads, kv_heads, head, is_gated = MODELS[rng.choice(models)]
    gpus = rng.choice((1, 1, 2, 4, 8))
    eights = lambda elems: max(8, elems // gpus // 8 * 8)
    return rng.choice(((eights((heads + 2 * kv_heads) * head), hidden), (hidden, eights(heads * head)),
                       (eights((2 if is_gated else 1) * inner), hidden), (hidden, eights(inner))))


def model_shape(rng, models):
    n, k = layer(rng, models)
    m = 2 ** rng.randint(0, 14) if rng.random() < 0.5 else log_uniform(rng, 1, 16384)
    return m, n, k


def odd_shape(rng):
    return (log_uniform(rng, 1, 4096), log_uniform(rng, 64, 16384) // 8 * 8, log_uniform(rng, 64, 16384) // 8 * 8)


def edge_shape(rng):
    m = log_uniform(rng, 1, 64) * 64 + rng.choice((-1, 0, 1, 8))
    n = log_uniform(rng, 2, 128) * 64 + rng.choice((-8, 0, 8))
    return m, n, log_uniform(rng, 1, 128) * 64


def drawn(count, kinds, is_wanted):
    shapes = []
    for i in range(count):
        shape = None
        while shape is None or shape in shapes or not is_wanted(shape) or 2.0 * math.prod(shape) > MOST_OPERATIONS:
            shape = kinds[i % len(kinds)]()
        shapes.append(shape)
    return shapes


def held_out():
    rng = random.Random(20261116)
    models = list(MODELS)[1::3]
    kinds = [lambda: model_shape(rng, models)] * 4 + [lambda: odd_shape(rng)]
    return drawn(100, kinds, lambda shape: shape not in COMPARED)


def tuning(count):
    rng = random.Random(14)
    models = [name for i, name in enumerate(MODELS) if i % 3 != 1]
    kept_out = {(n, k) for _, n, k in held_out()}
    kinds = [lambda: model_shape(rng, models)] * 6 + [lambda: odd_shape(rng)] * 2 + [lambda: edge_shape(rng)] * 2
    return drawn(count, kinds, lambda shape: shape[1:] not in kept_out and shape not in COMPARED)


def round_shape(rng):
    return log_uniform(rng, 48, 2048), log_uniform(rng, 8, 192) * 64, log_uniform(rng, 16, 256) * 64


def tuning_more(count):
    rng = random.Random(15)
    models = [name for i, name in enumerate(MODELS) if i % 3 != 1]
    seen = set(tuning(1000))
    kept_out = {(n, k) for _, n, k in held_out()}
    kinds = [lambda: model_shape(rng, models)] * 4 + [lambda: odd_shape(rng)] * 4 + [lambda: round_shape(rng)] * 4
    return drawn(count, kinds,
                 lambda shape: shape[1:] not in kept_out and shape not in COMPARED and shape not in seen)


def held_out_again(seed=20261118, seen=()):
    rng = random.Random(seed)
    models = list(MODELS)[1::3]
    first = set(held_out()) | set(seen)
    tuned = {(n, k) for _, n, k in tuning(1000) + tuning_more(700)}
    kinds = [lambda: model_shape(rng, models)] * 4 + [lambda: odd_shape(rng)]
    return drawn(100, kinds, lambda shape: shape[1:] not in tuned and shape not in COMPARED and shape not in first)


def held_out_third():
    return held_out_again(20261119, held_out_again())


def timing():
    rng = random.Random(17)
    models = list(MODELS)
    made_with = {tuple(map(int, line.split(","))) for line in open(f"{os.path.dirname(__file__)}/predicted_shapes.txt")}
    seen = made_with | COMPARED | set(held_out()) | set(tuning(1000)) | set(tuning_more(700))
    kinds = [lambda: model_shape(rng, models)] * 3 + [lambda: odd_shape(rng)] + [lambda: round_shape(rng)]
    return drawn(20, kinds, lambda shape: shape not in seen)


def behind(paths):
    worse, others = [], []
    for path in paths:
        with gzip.open(path, "rt") as file:
            for shape in json.load(file)["shapes"]:
                if shape["configs"]:
                    is_behind = shape["cublaslt_best_us"] < 0.985 * min(shape["configs"].values())
                    (worse if is_behind else others).append((shape["m"], shape["n"], shape["k"]))
    return worse + random.Random(16).sample(others, min(len(worse), len(others)))


def timed(paths):
    shapes = []
    for path in paths:
        with gzip.open(path, "rt") as file:
            shapes += [shape for shape in json.load(file)["shapes"] if shape["configs"]]
    best = lambda shape: min(shape["configs"].values())
    rng = random.Random(22)
    many = [shape for shape in shapes if shape["m"] > 64 and best(shape) < 1500]
    rng.shuffle(many)
    many.sort(key=lambda shape: shape["cublaslt_best_us"] / best(shape) >= 1.05)
    few = [shape for shape in shapes if 8 < shape["m"] <= 64 and best(shape) < 1500]
    rng.shuffle(few)
    return [(shape["m"], shape["n"], shape["k"]) for shape in many + few[:150]]


def main():
    if sys.argv[1:] == ["held-out"]:
        shapes = held_out()
    elif sys.argv[1:] == ["held-out-again"]:
        shapes = held_out_again()
    elif sys.argv[1:] == ["held-out-third"]:
        shapes = held_out_third()
    elif len(sys.argv) == 3 and sys.argv[1] == "tuning" and sys.argv[2].isdigit():
        shapes = tuning(int(sys.argv[2]))
    elif len(sys.argv) == 3 and sys.argv[1] == "tuning-more" and sys.argv[2].isdigit():
        shapes = tuning_more(int(sys.argv[2]))
    elif sys.argv[1:] == ["timing"]:
        shapes = timing()
    elif len(sys.argv) > 2 and sys.argv[1] == "behind":
        shapes = behind(sys.argv[2:])
    elif len(sys.argv) > 2 and sys.argv[1] == "timed":
        shapes = timed(sys.argv[2:])
    else:
        sys.exit("usage: matmul_shapes.py held-out | held-out-again | held-out-third | tuning COUNT | tuning-more COUNT | timing | behind SWEEP... | timed SWEEP...")
    for shape in shapes:
        print(",".join(map(str, shape)))


if __name__ == "__main__":
    main()
