#!/usr/bin/env python3
"""Two builds of Allomon over two versions of mimalloc, side by side, in one interleaved run.

  bazel build //benchmarks:compare_versions
  benchmarks/compare_versions.py 2.0.9=bazel-bin 3.0.1=/other/workspace/bazel-bin [--rounds N]

Processor time of user and system, or what is resident; ratios of runs of the same round: medians
(lowest-highest).  README.md, section 13, says what the rows are.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import compare  # noqa: E402
import compare_report  # noqa: E402
import compare_workloads as workloads  # noqa: E402
import redis_workload  # noqa: E402

PLAIN, ALLOMON = "benchmarks/libplain_mimalloc.so", "allocator/liballomon.so"
# configuration -> library, ALLOMON_RATE, divisor of the operations
CONFIGURATIONS = {
    "plain": (PLAIN, None, 1),
    "off": (ALLOMON, "0", 1),
    "1e-4": (ALLOMON, "1e-4", 1),
    "rate 1": (ALLOMON, "1", 4),
}
MIB = 1 << 20
# title -> arguments of memory_workloads
TIMES = {
    "3,000 short threads": ("short_threads", 3000, 100),
    "large: 4,000 live of 2 MiB": ("large", 4000, 2 * MIB),
    "large: 16,000 live of 2 MiB": ("large", 16000, 2 * MIB),
    "large: 64 of 64 KiB to 4 MiB, replaced": ("replaced", 400000, 4 * MIB),
    "calloc, free of 0.3 MiB": ("calloc", 20000, 3 * MIB // 10),
    "calloc, free of 1 MiB": ("calloc", 6000, MIB),
    "calloc, free of 8 MiB": ("calloc", 3000, 8 * MIB),
    "calloc, fill, free of 0.3 MiB": ("calloc_filled", 5000, 3 * MIB // 10),
    "calloc, fill, free of 8 MiB": ("calloc_filled", 200, 8 * MIB),
    "realloc in steps to 8 MiB": ("grown", 200, 8 * MIB),
}
RESIDENT = {
    "1,000,000 live of 40 B": ("live", 1000000, 40),
    "4,000 live of 150 kB": ("live", 4000, 150000),
    "1,000,000 of up to 1 KiB, a tenth live": ("sparse", 1000000, 1024),
    "400 MB in 4 KB freed, 2 s later": ("returned", 100000, 4096),
    "300 MB in 100 kB freed, 2 s later": ("returned", 3000, 100000),
    "300 threads with 20 blocks of 100 B": ("threads", 300, 100),
    "8,000 of 2 MiB allocated and freed": ("large", 8000, 2 * MIB),
}
REDIS_TIME, REDIS_RESIDENT = "redis, 400,000 requests", "redis, afterwards"


def parse():
    parser = argparse.ArgumentParser(description="Two versions of mimalloc side by side.")
    parser.add_argument("builds", nargs=2, metavar="NAME=BAZEL-BIN", help="a build's binaries")
    parser.add_argument("--rounds", type=compare.at_least_one, default=5, metavar="N")
    parser.add_argument("--only", type=compare.regular_expression, metavar="REGEXP")
    options = parser.parse_args()
    options.builds = dict(it.split("=", 1) for it in options.builds if "=" in it)
    if len(options.builds) != 2:
        parser.error("two builds are named as NAME=BAZEL-BIN each")
    for folder in options.builds.values():
        for name in PLAIN, ALLOMON:
            if not os.path.exists(os.path.join(folder, name)):
                parser.error(f"{folder} has no {name}: bazel build //benchmarks:compare_versions")
    return options


def environment(folder, configuration):
    library, rate, _ = CONFIGURATIONS[configuration]
    settings = {"LD_PRELOAD": os.path.abspath(os.path.join(folder, library))}
    if rate is not None:
        settings.update(ALLOMON_RATE=rate, ALLOMON_SEED="1", ALLOMON_OUT="mlmon.out")
    return settings


class Bench:
    """One build in one configuration.  Every method returns what a row of the table holds."""

    def __init__(self, folder, configuration):
        self.environment = environment(folder, configuration)
        self.divisor = CONFIGURATIONS[configuration][2]
        self.runner = workloads.Runner(compare.built("benchmarks/malloc_workloads"))
        self.memory = compare.built("benchmarks/memory_workloads")
        self.redis_bytes = 0  # of the last run

    def seconds(self, workload):
        seconds = self.runner.seconds(workload, self.environment, self.divisor)
        if not workload.operations:
            return seconds
        return (seconds - self.start_up()) / (workload.operations // self.divisor)

    def start_up(self):
        return min(self.runner.start_up_seconds(self.environment) for _ in range(3))

    def memory_seconds(self, work):
        with tempfile.TemporaryDirectory() as folder:
            return workloads.processor_seconds(
                [self.memory, *map(str, work)], self.environment, folder
            )

    def resident_bytes(self, work):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [self.memory, *map(str, work)],
                env=self.environment, cwd=folder, check=True, capture_output=True, text=True,
            )
        return int(done.stdout) * 1024

    def redis_seconds(self):
        seconds, self.redis_bytes = redis_workload.run(self.environment)
        return seconds


def rows(only):
    """title -> what measures it, of a Bench"""
    found = {it.name: lambda bench, it=it: bench.seconds(it)
             for it in workloads.WORKLOADS if it.can_run()}
    for title, work in TIMES.items():
        found[title] = lambda bench, work=work: bench.memory_seconds(work)
    for title, work in RESIDENT.items():
        found[title] = lambda bench, work=work: bench.resident_bytes(work)
    if redis_workload.can_run():
        found[REDIS_TIME] = lambda bench: bench.redis_seconds()
        found[REDIS_RESIDENT] = lambda bench: bench.redis_bytes
    return {title: run for title, run in found.items() if not only or only.search(title)}


def measure(options, figures):
    """Adds to title -> (build, configuration) -> a figure for each round."""
    benches = {
        (build, configuration): Bench(folder, configuration)
        for build, folder in options.builds.items() for configuration in CONFIGURATIONS
    }
    generator = random.Random(compare.SEED)
    chosen = rows(options.only)
    progress = compare.Progress(options.rounds * len(chosen) * len(benches))
    for round_ in range(1, options.rounds + 1):
        for title, run in chosen.items():
            for key in generator.sample(list(benches), len(benches)):
                progress.step(f"round {round_}: {title}, {' '.join(key)}")
                figures.setdefault(title, {}).setdefault(key, []).append(run(benches[key]))
    progress.end()


def ratio(over, under):
    """Median (lowest-highest) of the rounds' ratios."""
    found = [a / b for a, b in zip(over, under) if a > 0 and b > 0]
    if not found:
        return ""
    middle, low, high = (compare_report.number(it)
                         for it in (statistics.median(found), min(found), max(found)))
    return f"{middle} ({low}-{high})"


def amount(title, value):
    if title in RESIDENT or title == REDIS_RESIDENT:
        return f"{value / MIB:.1f} MiB"
    return f"{value * 1e9:.1f} ns" if value < 1e-6 else f"{value * 1e3:.1f} ms"


def table(figures, builds):
    first, second = builds
    heads = ["", f"{first} by itself"] + [f"{it}: {second} / {first}" for it in CONFIGURATIONS]
    heads += [f"off / plain, {it}" for it in builds]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for title, of in figures.items():
        if len(of) < 2 * len(CONFIGURATIONS):  # interrupted
            continue
        cells = [title, amount(title, statistics.median(of[first, "plain"]))]
        cells += [ratio(of[second, it], of[first, it]) for it in CONFIGURATIONS]
        cells += [ratio(of[it, "off"], of[it, "plain"]) for it in builds]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    options = parse()
    load = os.getloadavg()[0]
    figures = {}
    try:
        measure(options, figures)
    except KeyboardInterrupt:
        print("interrupted; what was measured until then:")
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} CPUs, {compare.processor()}, load "
          f"{load:.1f} to {os.getloadavg()[0]:.1f}, rounds: {options.rounds}\n")
    print(table(figures, list(options.builds)))


if __name__ == "__main__":
    try:
        main()
    except (workloads.RunError, subprocess.CalledProcessError) as problem:
        sys.exit(f"compare_versions: {problem}")
