#!/usr/bin/env python3
"""What sampling, deep stacks and threads cost the managed heap, as ratios of CPU time.

Usage: benchmarks/runtime_overheads.py [rounds]

Needs `bazel build //benchmarks:runtime_benchmark`.  Each ratio is the median over pairs of
runs, one after the other; the quartiles tell how far to believe it.
"""

import os
import re
import resource
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
OURS = os.path.join(HERE, "../bazel-bin/benchmarks/runtime_benchmark")


def cpu(arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.check_call([OURS] + arguments, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(name, base, changed, rounds):
    ratios = []
    for _ in range(rounds):
        first = cpu(base)
        ratios.append(cpu(changed) / first)
    low, median, high = statistics.quantiles(ratios, n=4)
    print(f"| {name} | {median:.2f} | {low:.2f} to {high:.2f} |", flush=True)


def undisturbed():
    """Runs with real-time priority where that is allowed: pauses are wall time, to which other
    programs would add.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print("not allowed to run undisturbed", file=sys.stderr)


def pauses(arguments):
    environment = dict(os.environ, ALLOMON_PAUSES="1")
    done = subprocess.run([OURS] + arguments, env=environment, capture_output=True, check=True,
                          text=True, preexec_fn=undisturbed)
    summary = re.search(r".* minor, .*", done.stderr).group()
    percentile = re.search(r"99 %.*", done.stderr).group()
    print(f"| pauses, {' '.join(arguments)} | {summary}; {percentile} | |", flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    print("| | median | quartiles |")
    print("|---|---|---|")
    trees = ["bt", "18"]
    for rate in ["1e-9", "1e-5", "1e-4", "1e-3", "1e-2"]:
        ratio(f"binary trees 18, sampling {rate}", trees, trees + [rate], rounds)
    deep = ["deep", "100"]
    ratio("24-byte garbage under 2,000 frames, 1e-3", deep, deep + ["1e-3"], rounds)
    ratio("two threads, each binary trees 16", ["bt", "16"], ["bt2", "16"], rounds)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            ratio("the same beside a busy process", ["bt", "16"], ["bt2", "16"], rounds)
        finally:
            busy.kill()
    for arguments in [trees, ["gen", "30"], ["map", "1000000"]]:
        pauses(arguments)


if __name__ == "__main__":
    main()
