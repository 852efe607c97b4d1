# SPDX-License-Identifier: Apache-2.0
"""How well the timing model predicts the Hopper matmul: every configuration of a sweep, predicted and measured.

    matmul_timing > pieces.json
    matmul_bench --sweep --all --alone --shapes bench/timing_shapes.txt --json judged.json
    matmul_bench --sweep --all --alone --shapes bench/predicted_shapes.txt --json made_with.json
    matmul_predicted.py pieces.json judged.json made_with.json docs/results/matmul_h200_sweep.json.gz

pieces.json is what one cluster of each instance takes in the simulated SM, in cycles. Here that becomes a whole card: rounds
of tiles, each block along K as slow as the SM, its share of L2 or its share of memory. The last file, times of other shapes,
gives the one number that is fitted: what the limit of power lets through. The form of that term and which measured rate of L2
is taken were chosen with the shapes of made_with.json in view; those of judged.json are held out. docs/timing.md tells more.
"""
import gzip
import json
import math
import re
import sys

NAME = re.compile(r"(\d+)x(\d+)x(\d+)_(\d+)_(\d+)x(\d+)_(\w+?)(_swapped)?@[mn]\d+(?:/(\d+))?$")
# How many SMs run clusters of so many CTAs at once, as an H200 answers.
SMS_OF_CLUSTERS = [0, 132, 132, 117, 120, 110, 102, 105, 120]
LONG_US = 150  # what takes longer is held back by power


class Card:
    """The constants of the timing model that concern all SMs, and what the limit of power lets through."""

    def __init__(self, constants, flops_per_us=1e12):
        self.cycles_per_us = 1e3 * constants["clock_ghz"]
        self.launch_us, self.sms = constants["launch_us"], constants["sms"]
        self.l2_bytes, self.memory_bytes = constants["l2_bytes"], constants["memory_bytes"]  # per cycle
        self.flops_per_us = flops_per_us


def along(extent, tile):
    return -(-extent // tile)


def prediction(shape, name, pieces, card):
    """In microseconds."""
    tm, tn, tk, _, cm, cn, _, is_swapped, splits = NAME.match(name).groups()
    tm, tn, tk, cm, cn, splits = int(tm), int(tn), int(tk), int(cm), int(cn), int(splits or 1)
    m, n, k = shape
    piece = pieces[name.split("@")[0]]
    is_joined = str(splits) in piece["join"]
    busy = along(m, tm) * along(n, tn) * splits
    tiles = along(m, tm * cm) * cm * along(n, tn * cn) * cn * splits
    sms = SMS_OF_CLUSTERS[splits] if is_joined else card.sms
    rounds = along(tiles, sms)
    blocks = along(along(k, tk), splits)
    rows, cols = min(tm, along(m, 8) * 8), min(tn, along(n, 8) * 8)
    l2_bytes = 2 * tk * (rows / cn + cols / cm)  # of one CTA for a block
    memory_bytes = 2 * (m * k + n * k + m * n)
    block = max(piece["block"], l2_bytes * min(busy, sms) / card.l2_bytes, memory_bytes / card.memory_bytes / rounds / blocks)
    if is_joined:
        cycles = rounds * (piece["join"][str(splits)] + blocks * block)
    else:
        of = "" if splits == 1 else "_of_floats"
        cycles = piece["first" + of] + blocks * block + (rounds - 1) * (piece["next" + of] + blocks * block)
    us = cycles / card.cycles_per_us
    # Near the limit the clock gives way, which no bound alone shows.
    power_us = 2 * busy * tm * tn * tk * blocks / card.flops_per_us
    us = card.launch_us + (us ** 4 + power_us ** 4) ** 0.25
    if splits > 1 and not is_joined:  # another kernel adds the parts up
        us += card.launch_us + (piece["first"] + (4 * splits + 2) * m * n / card.l2_bytes) / card.cycles_per_us
    return us


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return json.load(file)


def fit(shapes, pieces, constants):
    """What the limit of power lets through: by shapes that take long, and are not those that are judged."""
    times = [(shape, name, us) for shape, configs in shapes for name, us in configs.items() if us > LONG_US]

    def miss(card):
        errors = [math.log(prediction(shape, name, pieces, card) / us) for shape, name, us in times]
        return sum(abs(error) for error in errors) / len(errors)

    best = min((Card(constants, 5e8 + 1e7 * i) for i in range(60)), key=miss)
    return best, len(times), miss(best)


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    rank = [0.0] * len(values)
    for place, i in enumerate(order):
        rank[i] = place
    return rank


def correlation(x, y):
    """Spearman's."""
    x, y = ranks(x), ranks(y)
    mean = (len(x) - 1) / 2
    top = sum((a - mean) * (b - mean) for a, b in zip(x, y))
    return top / math.sqrt(sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y))


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


class Judgement:
    """Predictions beside times, shape by shape."""

    def __init__(self, shapes, pieces, card):
        self.rows, self.kept, self.correlations, self.errors = [], [], [], []
        for shape, configs in shapes:
            predicted = {name: prediction(shape, name, pieces, card) for name in configs}
            best = min(configs, key=configs.get)
            first = min(configs, key=predicted.get)
            misses = [predicted[name] / us for name, us in configs.items()]
            self.kept.append(configs[best] / configs[first])
            self.correlations.append(correlation(list(predicted.values()), list(configs.values())))
            self.errors += misses
            self.rows.append(
                f"| {', '.join(map(str, shape))} | {len(configs)} | {self.correlations[-1]:.3f} | {median(misses):.2f} | {best} | "
                f"{configs[best]:.2f} | {predicted[best]:.2f} | {first} | {configs[first]:.2f} | {self.kept[-1]:.3f} |")

    def text(self):
        mean = math.exp(sum(map(math.log, self.kept)) / len(self.kept))
        return (f"{sum(k >= 1 / 1.05 for k in self.kept)} of {len(self.kept)} within 5 % of the fastest, mean {mean:.3f}, least "
                f"{min(self.kept):.3f}. Rank correlation {sum(self.correlations) / len(self.correlations):.3f} in the mean, least "
                f"{min(self.correlations):.3f}. Of all {len(self.errors)} times half are predicted within "
                f"{100 * median([abs(math.log(e)) for e in self.errors]):.0f} %.")


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: matmul_predicted.py PIECES.json JUDGED.json MADE_WITH.json OTHER_SHAPES.json.gz")
    pieces_file, judged, made_with, others = (read(path) for path in sys.argv[1:])
    pieces = {piece["instance"]: piece for piece in pieces_file["instances"]}

    def of(report):
        return [((s["m"], s["n"], s["k"]), {name: us for name, us in s["configs"].items() if name.split("@")[0] in pieces})
                for s in report["shapes"]]

    names = {shape for report in (judged, made_with) for shape, _ in of(report)}
    card, fitted, miss = fit([one for one in of(others) if one[0] not in names], pieces, pieces_file)
    print("# Predicted and measured: the Hopper matmul\n")
    print(f"Made by `bench/matmul_predicted.py` from times of one {judged['gpu']} ({judged['date']}, CUDA {judged['runtime_cuda'] // 1000}"
          f".{judged['runtime_cuda'] % 1000 // 10}). bf16, A [M, K], B [N, K]. *Kept* is what the configuration that the model")
    print("puts first reaches of the fastest one's speed; *error* is the median of predicted over measured.\n")
    print(f"{len(pieces)} instances. Power lets {card.flops_per_us / 1e6:.0f} TFLOP/s through, fitted to {fitted} times over {LONG_US} us of other "
          f"shapes (mean error there {100 * miss:.0f} %); no other number is fitted.\n")
    print("**Held out**: these shapes were drawn by `bench/matmul_shapes.py timing`, rule and seed fixed, before any was measured, and")
    print("the constants and the form of the model were fixed before their times were looked at.\n")
    print("| M, N, K | configurations | rank correlation | error | fastest | us | predicted | put first | us | kept |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    result = Judgement(of(judged), pieces, card)
    print("\n".join(result.rows))
    print(f"\n{result.text()}\n")
    print("The twenty shapes that the model was made with (`bench/predicted_shapes.txt`), measured in the same run: "
          + Judgement(of(made_with), pieces, card).text())


if __name__ == "__main__":
    main()
