#!/usr/bin/env python3
"""What profiling costs a program that does nothing but call: fib(38), no inlining.

Each way is run right after the plain program, whose processor time it is divided by; the
median of these ratios is printed.  --rounds=N (default 9), --n=N (default 38).
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))


def program(name):
    for folder in FOLDER, os.path.join(FOLDER, "..", "bazel-bin", "benchmarks"):
        path = os.path.join(folder, "profile_fib_" + name)
        if os.access(path, os.X_OK):
            return path
    sys.exit(f"profile_costs.py: no profile_fib_{name}; run it by bazel run //benchmarks:profile_costs")


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
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [program(name), str(n)],
        env={**os.environ, **env},
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def option(name, default):
    for argument in sys.argv[1:]:
        if argument.startswith(f"--{name}="):
            return int(argument.split("=")[1])
    return default


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
        print(f"{label:32s} {statistics.median(found):6.2f}   ({min(found):.2f} to {max(found):.2f})")


if __name__ == "__main__":
    main()
