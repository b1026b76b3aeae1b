#!/usr/bin/env python3
"""What the heap's decisions about sites (runtime/site.h) change, side by side.

Usage: benchmarks/pretenuring.py [rounds [workload...]]

Needs `bazel build //benchmarks:pretenuring_benchmark`.  Each workload runs without decisions
(ALLOMON_HEAP=pretenure=0) and with them, in turn; medians of processor time.
"""

import os
import resource
import statistics
import subprocess
import sys

BENCHMARK = os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "../bazel-bin/benchmarks/pretenuring_benchmark"
)
WORKLOADS = {
    "long_lived": "20",
    "cache": "20",
    "gcbench": "16",
    "phases": "100",
    "trees": "18",
    "trees_plain": "18",
}


def run(workload, size, options):
    """(processor seconds, MB copied, MB born old, ms of pauses, output)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [BENCHMARK, workload, size],
        env=dict(os.environ, ALLOMON_HEAP=options),
        capture_output=True,
        check=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (seconds, *map(float, done.stderr.split()), done.stdout)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("                 copied MB      born old MB     pauses ms        seconds     ratio")
    for workload in sys.argv[2:] or WORKLOADS:
        off, on = [], []
        for _ in range(rounds):
            off.append(run(workload, WORKLOADS[workload], "pretenure=0"))
            on.append(run(workload, WORKLOADS[workload], "pretenure=1"))
        if {row[4] for row in off + on} != {off[0][4]}:
            raise SystemExit(f"{workload}: the checksums differ")
        a = [statistics.median(row[i] for row in off) for i in range(4)]
        b = [statistics.median(row[i] for row in on) for i in range(4)]
        ratio = statistics.median(y[0] / x[0] for x, y in zip(off, on))
        print(
            f"{workload:14} {a[1]:6.0f} {b[1]:6.0f}   {a[2]:6.0f} {b[2]:6.0f}   "
            f"{a[3]:6.0f} {b[3]:6.0f}   {a[0]:6.2f} {b[0]:6.2f}   {ratio:5.2f}"
        )


if __name__ == "__main__":
    main()
