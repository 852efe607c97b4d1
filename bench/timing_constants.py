# SPDX-License-Identifier: Apache-2.0
"""The constants of the timing model that a run of sm90_costs gives, by rule.

    timing_constants.py docs/results/sm90_costs.json                            # prints them
    timing_constants.py docs/results/sm90_costs.json src/sim/trace/timing.cpp   # and compares those of the source with them
"""
import json
import re
import sys


def only(rows, **wanted):
    found = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    assert len(found) == 1, (wanted, found)
    return found[0]


def constants(costs):
    """Cycles, and bytes per cycle."""
    copies, pieces = costs["copy_latency"], costs["epilogue_piece"]

    def piece(of):
        return only(pieces, of=of, warps=4, ctas=1)["cycles"]

    def rate(source, parts):
        return only(costs["copy_rate"], **{"from": source}, ctas=132, parts=parts, bytes=16384)["bytes_per_cycle"]

    issue, wake = costs["copy_issue"], costs["barrier_round_trip"] / 2 - costs["arrive"]
    small, large = only(copies, bytes=16), only(copies, bytes=32768)
    alone = [row["alone"] - row["cycles"] for row in costs["wgmma"] if row["n"] in (64, 128, 192)]
    return {
        "launch_us": costs["launch_us"],
        "shared_access": piece("stmatrix") / 4,
        "fence": piece("stmatrix, fence") - piece("stmatrix"),
        "copy_issue": issue,
        "passing_wait": costs["passing_wait"],
        "wake": wake,
        "wake_by_peer": costs["barrier_round_trip_in_cluster"] / 2 - costs["arrive"],
        "named_barrier": (costs["named_barrier_12_warps"] + costs["named_barrier_4_warps"]) / 2,
        "cluster_barrier": costs["cluster_barrier"],
        "l2_latency": small["l2"] - issue - wake,
        "memory_latency": small["memory"] - issue - wake,
        "store_latency": costs["store_2k_done"] - costs["store_2k_read"],
        "sm_bytes": (large["bytes"] - small["bytes"]) / (large["l2"] - small["l2"]),
        "sm_store_bytes": 4 * 2048 / piece("stmatrix, fence, store"),
        "peer_bytes": sum(row["bytes_per_cycle_of_a_cta"] for row in costs["peer_store"]) / len(costs["peer_store"]),
        "l2_bytes": rate("l2", 12),
        "memory_bytes": rate("memory", 132),
        "multiply_latency": sum(alone) / len(alone),
    }


def main():
    with open(sys.argv[1]) as file:
        made = constants(json.load(file))
    for name, value in made.items():
        print(f"{name} {value:.4g}")
    if len(sys.argv) < 3:
        return
    source = open(sys.argv[2]).read()
    source = source[: source.index("constexpr Timing b200()")]
    for name, value in made.items():
        stated = float(re.search(rf"\.{name} = ([0-9.]+)", source).group(1))
        # A cycle, or half a percent: what is rounded.
        if abs(stated - value) > max(0.005 * value, 0.51 if value > 10 else 0):
            sys.exit(f"{sys.argv[2]}: .{name} is {stated}; {sys.argv[1]} gives {value:.4g}")


if __name__ == "__main__":
    main()
