#!/usr/bin/env python3
"""What sampling adds to malloc and free of a block that is not sampled.

Counts the instructions of one malloc and free by callgrind: with mimalloc's own malloc, with the
sampling one before anything samples, and with the sampling one at a tiny rate.  Each number is the
slope between a short and a long loop, in which what the process does besides cancels out.  See
README.md.

  bazel run //benchmarks:fast_path                 the table
  bazel run //benchmarks:fast_path -- --time       nanoseconds instead; wants a quiet machine
  bazel run //benchmarks:fast_path -- --update     writes the golden table of this build
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import golden_tables  # noqa: E402

SIZES = (16, 64, 256, 1024)
SHORT, LONG = 10_000, 60_000
TIMED_PAIRS = 50_000_000
TIMED_RUNS = 5

# One sample per 8 TB: the code of sampling runs, and no block is hit.
TINY_RATE = "1e-12"
GOLDEN = "fast_path.golden"


def binary(root, name):
    return os.path.join(root, "benchmarks", "malloc_pair_" + name)


def instructions(arguments, environment=None):
    """The number of instructions that a program executes, by callgrind; in this environment."""
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "callgrind.out")
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments)} under valgrind: {done.stderr}")
        with open(out, encoding="utf-8") as file:
            totals = re.search(r"^(?:totals|summary): (\d+)", file.read(), re.MULTILINE)
        return int(totals[1])


def count(program, size, *rate):
    """Instructions per pair."""
    runs = [instructions([program, str(pairs), str(size), *rate]) for pairs in (SHORT, LONG)]
    return (runs[1] - runs[0]) / (LONG - SHORT)


def nanoseconds(program, size, *rate):
    """Nanoseconds per pair, in the fastest run."""
    best = float("inf")
    for _ in range(TIMED_RUNS):
        start = time.perf_counter()
        subprocess.run([program, str(TIMED_PAIRS), str(size), *rate], check=True)
        best = min(best, time.perf_counter() - start)
    return best / TIMED_PAIRS * 1e9


def measure(root, per_pair):
    """size -> (mimalloc's own, ours before anything samples, ours while sampling)"""
    return {
        size: (
            per_pair(binary(root, "mimalloc"), size),
            per_pair(binary(root, "sampled"), size),
            per_pair(binary(root, "sampled"), size, TINY_RATE),
        )
        for size in SIZES
    }


def table(built, unit, measured):
    lines = [
        f"# {unit} per malloc and free of a block that is not sampled; {built}, opt",
        f"{'size':>6} {'mimalloc':>9} {'off':>9} {'sampling':>9} {'difference':>11}",
    ]
    for size, (plain, off, sampling) in measured.items():
        lines.append(
            f"{size:6} {plain:9.1f} {off:9.1f} {sampling:9.1f} {sampling - plain:+11.1f}"
        )
    return "\n".join(lines) + "\n"


def built_with(root):
    return golden_tables.built_with(binary(root, "sampled"))


def main():
    parser = argparse.ArgumentParser(description="Instructions that sampling adds.")
    parser.add_argument("--time", action="store_true", help="nanoseconds, not instructions")
    parser.add_argument("--update", action="store_true", help="write the golden table")
    options = parser.parse_args()
    root = os.getcwd()  # `bazel run` starts this program in the folder of the binaries
    built = built_with(root)
    if options.time:
        print(table(built, "nanoseconds", measure(root, nanoseconds)), end="")
        return
    text = table(built, "instructions", measure(root, count))
    print(text, end="")
    if options.update:
        golden_tables.write(GOLDEN, built, text)


if __name__ == "__main__":
    sys.exit(main())
