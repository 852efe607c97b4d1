#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the cost model of the Hopper matmul to times of an H200, and writes its constants as a header.

    bench/matmul_shapes.py tuning 1000 > tuning.txt
    matmul_bench --sweep --by-model --shapes tuning.txt --seconds 110 --json sweep.json
    bench/matmul_shapes.py tuning-more 700 > more.txt
    matmul_bench --sweep --by-model --shapes more.txt --seconds 150 --json more.json
    gzip -9 -n sweep.json more.json
    bench/matmul_shapes.py behind sweep.json.gz more.json.gz > behind.txt
    matmul_bench --sweep --by-model --tiles 128x144x64,... --shapes behind.txt --seconds 100 --json clusters.json
    gzip -9 -n clusters.json
    kernels/matmul/host/generated/fit_matmul_sm90.py sweep.json.gz more.json.gz clusters.json.gz \\
        kernels/matmul/host/generated/matmul_sm90_model.h

docs/results/matmul_h200_sweep.json.gz, matmul_h200_sweep_more.json.gz and matmul_h200_sweep_clusters.json.gz are such
reports, without what takes twice as long as the best; the last has the times of the tiles that were added then, in two
runs. Needs numpy and scipy. The model is described in matmul_sm90_cost.h, and matmul_sm90_cost.cpp has the same
arithmetic. It is a formula with fitted constants, times what the formula missed at shapes nearby, and a little more where
nothing nearby was timed. Prints how much slower the model's choices are than the best configuration: by the formula, and
corrected by the times of other shapes (each fifth of the shapes by those of the other four, divided in three ways).
"""
import gzip
import json
import os
import re
import sys

import numpy as np
from scipy.optimize import least_squares

CYCLES_PER_US = 1980.0
# Times that are this much over the shape's best count a third as much as the best one's.
NEAR = 0.12
# Since operands come into L2 while the kernel ahead ends, launches that overlap take so much less: at 23 shapes, from 3 to
# 170 us, 0.1 to 0.4. Sweeps of before are that much behind.
EARLY_SINCE = "2026-11-19"
EARLY_US = 0.23

GLOBALS = {  # first guess and bounds
    "memory_bytes_per_us": (4.2e6, 3.0e6, 4.8e6),
    "l2_bytes_per_us": (9e6, 4e6, 25e6),
    "memory_latency_us": (1.5, 0.0, 5.0),
    "launch_us": (1.0, 0.2, 3.0),
    "sm_bytes_per_us": (0.11e6, 0.05e6, 0.25e6),
    "latency_us": (0.9, 0.2, 3.0),
    "rows_off_128": (1.2, 1.0, 3.0),
    "rows_off_32": (1.6, 1.0, 4.0),
    "flops_per_us": (950e6, 500e6, 1100e6),
    "l2_bytes_of_power": (0.02, 0.0, 1.0),
    "sharpness": (5.0, 1.5, 30.0),
    "add_us": (2.0, 0.0, 8.0),
    "added_bytes_per_us": (4e6, 1e6, 2e7),
    "join_us": (0.8, 0.0, 4.0),
    "joined_bytes_per_us": (1e5, 1e4, 1e6),
    "idle_cluster": (0.02, 0.0, 0.3),
    "scattered": (1.1, 1.0, 2.0),
    "alone_us": (1.0, 0.0, 3.0),
}
PER_INSTANCE = {  # first guess, bounds, and how far an instance may be from the others of its form
    "efficiency": (0.85, 0.1, 1.1, 0.15),
    "store_us": (0.8, 0.0, 6.0, 0.5),
    "fixed_us": (2.0, 0.3, 9.0, 0.3),
    "setup_us": (1.0, 0.0, 9.0, 0.3),
}
INSTANCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "device", "matmul_sm90_instances.h")
NAME = re.compile(r"(\d+)x(\d+)x(\d+)_(\d+)_(\d+)x(\d+)_(coop|pingpong|single)(_swapped)?@([mn])(\d+)(?:/(\d+))?(:alone)?$")
# How many SMs run clusters of so many CTAs at once.
SMS_OF_CLUSTERS = np.array([0, 132, 132, 117, 120, 110, 102, 105, 120.0])


def ceil(x, y):
    return np.ceil(x / y)


FORMS = ("coop", "pingpong", "single")


def joins(tm, tn, tk, stages, cluster, form, splits):
    """MatmulSm90Config::joins."""
    is_coop = form == FORMS.index("coop")
    shares = np.where(is_coop, tm / 2, tm) / 64 * ceil(tn, 64)
    received = ceil(shares, splits) * (splits - 1)
    return (splits > 1) & (splits <= 8) & (cluster == 1) & (
        received * np.where(is_coop, 256, 128) * 128 <= stages * (tm + tn) * tk * 2)


class Data:
    """One row for each time: the shape, the tile and what follows from them."""

    def __init__(self, shapes, instances):
        rows, times, of_shape, of_instance = [], [], [], []
        for index, shape in enumerate(shapes):
            for name, us in shape["configs"].items():
                tm, tn, tk, stages, cm, cn, form, is_swapped, _, _, splits, is_alone = NAME.match(name).groups()
                m, n = shape["m"], shape["n"]
                if is_swapped:  # as the kernel has them
                    m, n, tm, tn, cm, cn = n, m, tn, tm, cn, cm
                rows.append([m, n, shape["k"], tm, tn, tk, stages, cm, cn, splits or 1, FORMS.index(form), is_alone is not None])
                times.append(us)
                of_shape.append(index)
                of_instance.append(instances.index(name.split("@")[0]))
        self.us = np.array(times)
        self.of_shape = np.array(of_shape)
        self.problem_m = np.array([shapes[i]["m"] for i in of_shape], dtype=float)
        self.problem_n = np.array([shapes[i]["n"] for i in of_shape], dtype=float)
        self.of_instance = np.array(of_instance)
        self.is_pingpong = np.array(["pingpong" in name for name in instances])[self.of_instance]
        m, n, k, tm, tn, tk, stages, cm, cn, splits, form, is_alone = np.array(rows, dtype=float).T
        self.is_alone = is_alone.astype(bool)
        self.m, self.n, self.k, self.splits, self.stages = m, n, k, splits, stages
        tiles = ceil(m, tm * cm) * cm * ceil(n, tn * cn) * cn * splits
        busy = ceil(m, tm) * ceil(n, tn) * splits
        blocks = ceil(ceil(k, tk), splits)
        copied = np.minimum(tm, ceil(m, 8) * 8)
        copied_b = np.minimum(tn, ceil(n, 8) * 8)
        self.is_joined = joins(tm, tn, tk, stages, cm * cn, form, splits)
        self.is_scattered = ~self.is_alone & (cm * cn == 1) & ~self.is_joined
        self.sms = SMS_OF_CLUSTERS[np.where(self.is_joined, splits, cm * cn).astype(int)]
        self.sent = 4 * tm * tn * (splits - 1) / splits
        self.tiles = tiles
        self.rounds = np.ceil(tiles / self.sms)
        self.in_flight = np.maximum(1, np.floor(self.sms / tiles))
        self.blocks = blocks
        self.math_us = tm * tn * tk / 2048 / CYCLES_PER_US
        self.stage_bytes = 2 * tk * (copied + copied_b)
        self.l2_bytes = busy * blocks * 2 * tk * (copied / cn + copied_b / cm)
        self.flops = 2 * busy * blocks * tm * tn * tk
        self.memory_bytes = 2 * (m * k + n * k + m * n)
        self.alignment = np.where(k % 64 == 0, 0, np.where(k % 16 == 0, 1, 2))
        self.has_idle = tiles > busy
        best = np.full(len(shapes), np.inf)
        np.minimum.at(best, self.of_shape, self.us)
        self.over = self.us / best[self.of_shape]


def unpack(x, instances):
    values = {name: v for name, v in zip(GLOBALS, x)}
    at = len(GLOBALS)
    for name in PER_INSTANCE:
        values[name] = x[at:at + len(instances)]
        at += len(instances)
    return values


def norm(p, *terms):
    """A little over the largest."""
    most = np.maximum.reduce(terms)
    return most * sum((term / most) ** p for term in terms) ** (1 / p)


def predict(d, v):
    i = d.of_instance
    again = np.array([1, v["rows_off_128"], v["rows_off_32"]])[d.alignment]
    again = again * np.where(d.is_scattered, v["scattered"], 1)
    latency = v["latency_us"] + v["memory_latency_us"] * np.minimum(1, d.memory_bytes / d.l2_bytes)
    block = norm(8, d.math_us / v["efficiency"][i], again * d.stage_bytes / v["sm_bytes_per_us"], latency / d.stages)
    store = v["store_us"][i]
    sm = d.rounds * d.blocks * block + np.where(d.is_pingpong, 1, d.rounds) * store
    memory = d.memory_bytes / v["memory_bytes_per_us"]
    l2 = again * d.l2_bytes / v["l2_bytes_per_us"]
    power = d.flops / v["flops_per_us"] + v["l2_bytes_of_power"] * l2
    run = norm(v["sharpness"], sm, memory, l2, power)
    run = run * (1 + v["idle_cluster"] * d.has_idle)
    added = np.where(d.is_joined, v["join_us"] + d.sent / v["joined_bytes_per_us"],
                     np.where(d.splits > 1, v["add_us"] + 4 * d.splits * d.m * d.n / v["added_bytes_per_us"], 0))
    setup = v["setup_us"][i]
    whole = v["fixed_us"][i] + setup + run
    overlapped = norm(8, v["fixed_us"][i] + run, v["launch_us"] + setup, whole / d.in_flight)
    return np.where(d.is_alone, whole + v["alone_us"], overlapped) + added


def form_of(name):
    return re.search("(coop|pingpong|single)(_swapped)?", name).group()


def fit(d, instances, rounds=25):
    first, low, high = [list(column) for column in zip(*GLOBALS.values())]
    for guess, least, most, _ in PER_INSTANCE.values():
        first += [guess] * len(instances)
        low += [least] * len(instances)
        high += [most] * len(instances)
    first, low, high = np.array(first), np.array(low), np.array(high)
    weight = np.sqrt(np.exp(-(d.over - 1) / NEAR) + 0.01)
    forms = np.array([form_of(name) for name in instances])

    def misses(x):
        return weight * np.log(predict(d, unpack(first * x, instances)) / d.us)

    # How far instances are from the others of their form: linear in x.
    apart, at = [], len(GLOBALS)
    for _, _, _, spread in PER_INSTANCE.values():
        for form in sorted(set(forms)):
            of = np.nonzero(forms == form)[0]
            for i in of:
                row = np.zeros(len(first))
                row[at + of] = -1 / len(of)
                row[at + i] += 1
                apart.append(row * first / spread * 0.3)
        at += len(instances)
    apart = np.array(apart)

    def residuals(x):
        return np.concatenate([misses(x), apart @ x])

    # An instance's own constants show in its own times only: one step for all instances.
    def slopes(x):
        step, now = 1e-6, misses(x)
        jacobian = np.zeros((len(now), len(x)))
        for i in range(len(GLOBALS)):
            moved = x.copy()
            moved[i] += step
            jacobian[:, i] = (misses(moved) - now) / step
        for at in range(len(GLOBALS), len(x), len(instances)):
            moved = x.copy()
            moved[at:at + len(instances)] += step
            jacobian[np.arange(len(now)), at + d.of_instance] = (misses(moved) - now) / step
        return np.vstack([jacobian, apart])

    found = least_squares(residuals, np.ones_like(first), slopes, bounds=(np.minimum(low / first, 0.999), high / first),
                          max_nfev=rounds, loss="soft_l1", f_scale=0.1)
    return first * found.x


def regrets(d, predicted):
    """For each shape, the time of the model's choice over that of the best configuration."""
    order = np.lexsort((predicted, d.of_shape))
    first = np.unique(d.of_shape[order], return_index=True)[1]
    return d.over[order][first]


def summary(regret):
    r = np.sort(1 / regret)
    return (f"geometric mean {np.exp(np.mean(np.log(r))):.4f} of the best, 5th percentile {r[len(r) // 20]:.3f}, "
            f"least {r[0]:.3f}, under 0.97: {np.mean(r < 0.97):.1%}, under 0.93: {np.mean(r < 0.93):.1%}")


# How far apart two problems are for one instance: how much each coordinate of place() counts. How much of what was missed at
# a time is its own, of what can be missed there; and how much slower a way counts of which nothing nearby was timed, and how
# little is nearby then. SCALES by a random search, the others by trial of a few, for the fewest choices that are 3 and 7 %
# behind, over three ways to correct each fifth of the shapes by the other four.
SCALES = (0.164, 0.396, 0.16, 0.312, 2.6, 0.332, 0.128, 1.0, 0.76)
OWN = 0.64
DOUBT = 0.2
FEW = 0.1
UNIT = 4096  # of a weight


def place(d):
    log_m = np.log2(d.problem_m)
    wave = np.minimum(d.tiles / d.sms / d.rounds, 1)
    return np.stack([log_m, np.log2(d.problem_n), np.log2(d.k), np.log2(d.tiles), wave, d.alignment, np.minimum(log_m, 6),
                     np.log2(d.splits), d.is_alone], 1) * np.array(SCALES)


def near_the_best(d, predicted):
    """The times that a choice could depend on."""
    best = np.full(d.of_shape.max() + 1, np.inf)
    np.minimum.at(best, d.of_shape, predicted)
    return (d.over < 1.15) | (predicted / best[d.of_shape] < 1.08)


def nearness(places, others):
    """1 at the same place. Nearly a Gaussian function, without an exponential."""
    apart = (places**2).sum(1)[:, None] + (others**2).sum(1)[None] - 2 * places @ others.T
    return np.maximum(0, 1 - np.maximum(0, apart) / 64)**64


def weights_of(d, predicted, is_used):
    """Of each time that is used: by these and their nearness, what was missed elsewhere (a Gaussian process)."""
    places, missed, weights = place(d), np.clip(np.log(d.us / predicted), -0.5, 0.5), np.zeros(len(predicted))
    for instance in np.unique(d.of_instance):
        by = np.nonzero((d.of_instance == instance) & is_used)[0]
        own = nearness(places[by], places[by]) + OWN * np.eye(len(by))
        weights[by] = np.clip(np.round(np.linalg.solve(own, missed[by]) * UNIT), -32767, 32767)
    return weights


def corrections(d, weights, is_used, is_wanted):
    """Logarithms, of those that are wanted: what was missed nearby, and the doubt."""
    places, out = place(d), np.zeros(len(weights))
    for instance in np.unique(d.of_instance):
        of = np.nonzero((d.of_instance == instance) & is_wanted)[0]
        by = np.nonzero((d.of_instance == instance) & is_used)[0]
        near = nearness(places[of], places[by])
        out[of] = near @ weights[by] / UNIT + DOUBT * FEW / (FEW + (near**4).sum(1))
    return out


def corrected_by_others(d, predicted, is_kept, fold_of_shape):
    """Each fold of the shapes by the others."""
    out = predicted.copy()
    for fold in np.unique(fold_of_shape):
        is_in = fold_of_shape[d.of_shape] == fold
        others = is_kept & ~is_in
        out[is_in] *= np.exp(corrections(d, weights_of(d, predicted, others), others, is_in)[is_in])
    return out


def by_kind(d, shapes, regret):
    """Of shapes with few rows and many, and with rows of K that do not begin on 128 bytes."""
    m, k = np.array([shape["m"] for shape in shapes]), np.array([shape["k"] for shape in shapes])
    kinds = {"M up to 64": m <= 64, "65 to 1024": (m > 64) & (m <= 1024), "over 1024": m > 1024, "K off 64": k % 64 != 0}
    for kind, are in kinds.items():
        print(f"  {kind}, {are.sum()} shapes:", summary(regret[are]))


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: fit_matmul_sm90.py SWEEP.json... HEADER.h")
    report, shapes = {}, []
    for path in sys.argv[1:-1]:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
            report = json.load(file)
        if report["date"] < EARLY_SINCE:
            for shape in report["shapes"]:
                shape["configs"] = {name: us - (0 if name.endswith(":alone") else EARLY_US) for name, us in shape["configs"].items()}
        shapes += report["shapes"]
    report["shapes"] = shapes = joined(shape for shape in shapes if shape["configs"])
    with open(INSTANCES) as file:
        known = instances_in(file.read())
    for shape in shapes:
        times = {name: us for name, us in shape["configs"].items() if name.split("@")[0] in known}
        # What takes twice as long is never chosen.
        shape["configs"] = {name: us for name, us in times.items() if us < 2 * min(times.values())}
    instances = sorted({name.split("@")[0] for shape in shapes for name in shape["configs"]})
    data = Data(shapes, instances)
    print(f"{len(data.us)} times of {len(shapes)} shapes and {len(instances)} instances")
    x = fit(data, instances)
    predicted = predict(data, unpack(x, instances))
    print("formula:", summary(regrets(data, predicted)))
    is_kept = near_the_best(data, predicted)
    for seed in range(3):
        folds = np.random.default_rng(seed).permutation(len(shapes)) % 5
        regret = regrets(data, corrected_by_others(data, predicted, is_kept, folds))
        print("corrected by other shapes:", summary(regret))
        by_kind(data, shapes, regret)
    weights = weights_of(data, predicted, is_kept)
    correction = corrections(data, weights, is_kept, np.ones_like(is_kept))
    print("corrected by all:", summary(regrets(data, predicted * np.exp(correction))))
    write(sys.argv[-1], report, x, instances, data, weights, is_kept, predicted, correction)


def joined(shapes):
    """Times of a shape in several reports, in those of the first: what cublasLt took says how far they are apart."""
    found = {}
    for shape in shapes:
        first = found.setdefault((shape["m"], shape["n"], shape["k"]), shape)
        if first is not shape:
            scale = first["cublaslt_best_us"] / shape["cublaslt_best_us"]
            first["configs"] = {name: us * scale for name, us in shape["configs"].items()} | first["configs"]
    return list(found.values())


def instances_in(header):
    """The names of those with B as [N, K] and a plain epilogue."""
    forms = {"kCooperative": "coop", "kPingpong": "pingpong", "kSingle": "single"}
    found = re.findall(r"HEDDLE_MATMUL\((\d+), (\d+), (\d+), (\d+), (\d+), (\d+), (k\w+)([^)]*)\), MatmulGroup::(\w+)", header)
    swapped = re.findall(r"HEDDLE_SWAPPED\((\d+), (\d+), (\d+), (\d+), (\d+), (\d+), (k\w+)[^)]*\), MatmulGroup::kSwapped", header)
    return {f"{m}x{n}x{k}_{s}_{cm}x{cn}_{forms[form]}"
            for m, n, k, s, cm, cn, form, more, group in found if "kMN" not in more and group in ("kLarge", "kSmall")
            } | {f"{n}x{m}x{k}_{s}_{cn}x{cm}_{forms[form]}_swapped" for m, n, k, s, cm, cn, form in swapped}


def write(path, report, x, instances, data, weights, is_kept, predicted, correction):
    final = predicted * np.exp(correction)
    v = unpack(x, instances)
    shapes = report["shapes"]
    lines = ["// SPDX-License-Identifier: Apache-2.0", "//",
             f"// Made by fit_matmul_sm90.py from {len(data.us)} times of {len(shapes)} shapes on one {report['gpu']},",
             f"// {report['date']}, CUDA {report['runtime_cuda']}.", "#pragma once", "", '#include "matmul/host/matmul_sm90_cost.h"', "",
             "namespace heddle {", "", "inline constexpr MatmulSm90Costs kMatmulSm90Costs{"]
    for name in GLOBALS:
        lines.append(f"    .{name} = {v[name]:.6g},")
    lines += ["};", "", "inline constexpr MatmulSm90InstanceCosts kMatmulSm90InstanceCosts[] = {"]
    for i, name in enumerate(instances):
        values = ", ".join(f".{key} = {v[key][i]:.4g}" for key in PER_INSTANCE)
        values += f", .least_correction = {np.exp(correction[data.of_instance == i].min()):.4g}"
        tile = re.findall(r"\d+", name)
        more = ""
        if name.endswith("_swapped"):
            tile = [tile[i] for i in (1, 0, 2, 3, 5, 4)]
            more = ", Major::kK, true"
        form = {"coop": "Cooperative", "pingpong": "Pingpong", "single": "Single"}[form_of(name).split("_")[0]]
        lines.append(f"    {{.config = {{{', '.join(tile)}, MatmulForm::k{form}{more}}}, {values}}},")
    lines += ["};", "", f"inline constexpr double kMatmulSm90PlaceScales[] = {{{', '.join(map(str, SCALES))}}};",
              f"inline constexpr float kMatmulSm90Doubt = {DOUBT}f;", f"inline constexpr float kMatmulSm90Few = {FEW}f;", "", "inline constexpr MatmulSm90TimedShape kMatmulSm90TimedShapes[] = {"]
    lines += rows([f"{{{s['m']}, {s['n']}, {s['k']}}}" for s in shapes])
    lines += ["};", "", "// Instance, shape, parts of K, whether alone, and the weight.",
              "inline constexpr MatmulSm90Time kMatmulSm90Times[] = {"]
    kept = sorted(np.nonzero(is_kept)[0], key=lambda i: (data.of_instance[i], data.of_shape[i]))
    lines += rows([f"{{{data.of_instance[i]}, {data.of_shape[i]}, {int(data.splits[i])}, {int(data.is_alone[i])}, {int(weights[i])}}}" for i in kept])
    lines += ["};", "", "// Some of the model's results, for comparison with the arithmetic in C++.",
              "inline constexpr MatmulSm90Sample kMatmulSm90Samples[] = {"]
    for i in range(0, len(final), len(final) // 40):
        lines.append(f"    {{{data.of_instance[i]}, {data.of_shape[i]}, {int(data.splits[i])}, {int(data.is_alone[i])}, {final[i]:.6g}}},")
    lines += ["};", "", "}  // namespace heddle", ""]
    with open(path, "w") as file:
        file.write("\n".join(lines))


def rows(values):
    lines, line = [], "   "
    for value in values:
        if len(line) + len(value) > 112:
            lines.append(line)
            line = "   "
        line += f" {value},"
    return lines + [line]


if __name__ == "__main__":
    main()
