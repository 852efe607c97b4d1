# SPDX-License-Identifier: Apache-2.0
"""What Triton measures on the simulated card, which has no time.

do_bench() and its kin run the function once and return what it took here. Of the configurations of
@triton.autotune the first that can run is taken; HEDDLE_EXEC_TUNE=all runs, and checks, each of them once.
Reports of @triton.testing.perf_report are left out, which repeat large problems for their times alone;
HEDDLE_EXEC_BENCH=1 runs them.
"""

import math
import os
import sys
import time


def _say(text):
    print(f"heddle exec: {text}", file=sys.stderr)


def _once(function, *_, quantiles=None, return_mode="mean", **__):
    import torch

    begin = time.perf_counter()
    function()
    torch.cuda.synchronize()
    took = (time.perf_counter() - begin) * 1e3
    if quantiles is not None:
        return [took] * len(quantiles) if len(quantiles) > 1 else took
    return [took] if return_mode == "all" else took


def _leave_out(self, *_, return_df=False, **__):
    benchmarks = self.benchmarks if isinstance(self.benchmarks, (list, tuple)) else [self.benchmarks]
    names = ", ".join(one.plot_name for one in benchmarks)
    _say(f"benchmark {names} is left out: the simulated card has no time. HEDDLE_EXEC_BENCH=1 runs it")
    if return_df:
        import pandas

        return pandas.DataFrame() if len(benchmarks) == 1 else [pandas.DataFrame() for _ in benchmarks]
    return None


def install_testing(testing):
    """`testing` is the module triton.testing."""
    for name in ("do_bench", "do_bench_cudagraph", "do_bench_proton", "do_bench_cudagraph_proton"):
        if hasattr(testing, name):
            setattr(testing, name, _once)
    if os.environ.get("HEDDLE_EXEC_BENCH") != "1":
        testing.Mark.run = _leave_out


def install_tuning(autotuner):
    """`autotuner` is the module triton.runtime.autotuner."""
    tuner = autotuner.Autotuner
    if os.environ.get("HEDDLE_EXEC_TUNE") == "all" or not hasattr(tuner, "_bench"):
        return
    run, measure = tuner.run, tuner._bench
    told = set()

    def run_first(self, *args, **kwargs):
        self._heddle_taken = None
        return run(self, *args, **kwargs)

    def measure_first(self, *args, config, **meta):
        if self._heddle_taken is not None:
            return [math.inf] * 3
        times = measure(self, *args, config=config, **meta)
        if times[0] != math.inf:
            self._heddle_taken = config
            name = getattr(self.base_fn, "__name__", "a kernel")
            if name not in told:
                told.add(name)
                _say(
                    f"of {len(self.configs)} configurations of {name} the first that runs is taken; "
                    "HEDDLE_EXEC_TUNE=all runs each"
                )
        return times

    tuner.run, tuner._bench = run_first, measure_first
