#!/usr/bin/env python3
"""The cost of profiling for a program that does nothing but call: fib(38), no inlining.

Each way runs right after the plain program, and its processor time is divided by that of the plain
program.  The median of these ratios is printed.  --rounds=N (default 9), --n=N (default 38).
"""

import os
import statistics
import tempfile

from ratios import option, print_ratio, processor_seconds, program

WAYS = [
    ("hooks off", "hooks", {}),
    ("count", "hooks", {"ALLOMON_PROFILE": "count"}),
    ("count,stack", "hooks", {"ALLOMON_PROFILE": "count,stack"}),
    ("time, 100 Hz", "hooks", {"ALLOMON_PROFILE": "time"}),
    ("time, 10 kHz", "hooks", {"ALLOMON_PROFILE": "time", "ALLOMON_HZ": "10000"}),
    ("time,stack, 100 Hz", "hooks", {"ALLOMON_PROFILE": "time,stack"}),
    ("-pg", "pg", {}),
    ("-finstrument-functions, empty", "instrumented", {}),
]


def seconds(name, n, env, cwd):
    command = [program("profile_costs", "profile_fib_" + name), str(n)]
    return processor_seconds(command, env={**os.environ, **env}, cwd=cwd)


def main():
    rounds, n = option("rounds", 9), option("n", 38)
    ratios = {way[0]: [] for way in WAYS}
    plain_seconds = []
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(rounds):
            for label, name, env in WAYS:
                plain = seconds("plain", n, {}, scratch)
                ratios[label].append(seconds(name, n, env, scratch) / plain)
                plain_seconds.append(plain)
    print(f"plain: {statistics.median(plain_seconds):.3f} s for fib({n})")
    for label, found in ratios.items():
        print_ratio(label, found)


if __name__ == "__main__":
    main()
