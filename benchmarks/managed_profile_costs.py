#!/usr/bin/env python3
"""What an exact profile of bytes by function costs a managed program: binary trees, each call
of whose functions is a managed call.

The profiled and the sampled program are run in turn with the unprofiled one, whose processor
time theirs is divided by; `unnamed` is the program without managed calls.
--rounds=N (default 31), --depth=N (default 16).
"""

import os
import resource
import statistics
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


def program(name):
    for folder in FOLDER, os.path.join(FOLDER, "..", "bazel-bin", "benchmarks"):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    sys.exit(f"managed_profile_costs.py: no {name}; "
             "run it by bazel run //benchmarks:managed_profile_costs")


# label -> program, mode, every how many rounds
WAYS = {
    "alloc, by the clock": ("managed_trees", "alloc", 1),
    "alloc, each block sampled": ("managed_trees", "sampled", 10),
    "unnamed": ("managed_trees_unnamed", "off", 1),
}


def seconds(name, depth, mode):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program(name), str(depth), mode], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def option(name, default):
    for argument in sys.argv[1:]:
        if argument.startswith(f"--{name}="):
            return int(argument.split("=")[1])
    return default


def main():
    rounds, depth = option("rounds", 31), option("depth", 16)
    ratios = {label: [] for label in WAYS}
    for i in range(rounds):
        for label, (name, mode, every) in WAYS.items():
            if i % every == 0:
                off = seconds("managed_trees", depth, "off")
                ratios[label].append(seconds(name, depth, mode) / off)
    for label, found in ratios.items():
        print(f"{label:26s} {statistics.median(found):6.2f}   ({min(found):.2f} to {max(found):.2f})")


if __name__ == "__main__":
    main()
