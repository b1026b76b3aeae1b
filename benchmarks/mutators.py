#!/usr/bin/env python3
"""Threads that share a heap: ours, OCaml's and Boehm's; time, memory and pauses.

Needs `bazel build //benchmarks:mutators_benchmark`, ocamlopt (ocaml-nox) and libgc-dev.  The
programs run in turn, in random order; the table shows medians, and the longest of what is longest.
--ocaml5 names the program that README.md, section 6, compiles, whose threads are domains.
"""

import argparse
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
OURS = os.path.join(HERE, "../bazel-bin/benchmarks/mutators_benchmark")
PEERS = os.path.join(HERE, "runtime_peers")
SPAWN = "let spawn f = Thread.create f ()\nlet join = Thread.join\n"
HEAD = (
    "threads | program | s | CPU s | peak MiB | MiB after | pauses | wall 50 % | 99 % | 99.9 % | "
    "longest | CPU 50 % | 99 % | 99.9 % | longest | to safepoint, mean | longest"
)
LONGEST = (9, 13, 15)  # columns of a program's line whose greatest value is shown


def build(folder):
    boehm = os.path.join(folder, "boehm")
    source = os.path.join(PEERS, "mutators_boehm.cc")
    subprocess.check_call(["g++", "-O2", "-std=c++17", "-o", boehm, source, "-lgc", "-lpthread"])
    for name in "mutators.ml", "ocaml_pauses.c", "pauses.h":
        shutil.copy(os.path.join(PEERS, name), folder)
    with open(os.path.join(folder, "spawn.ml"), "w", encoding="utf-8") as file:
        file.write(SPAWN)
    options = ["-O3", "-unsafe", "-inline", "100", "-ccopt", "-O2", "-I", "+threads"]
    sources = ["unix.cmxa", "threads.cmxa", "ocaml_pauses.c", "spawn.ml", "mutators.ml"]
    subprocess.check_call(
        ["ocamlopt", *options, *sources, "-o", "ocaml"], cwd=folder, stderr=subprocess.DEVNULL
    )
    return {"ours": [OURS], "OCaml": [os.path.join(folder, "ocaml")], "Boehm": [boehm]}


def run(command, timeout_seconds):
    """The numbers of a program's line; None if it takes too long."""
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, text=True, timeout=timeout_seconds
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        raise SystemExit(f"{command} failed: {done.stderr}")
    return [float(word) for word in done.stdout.split()]


def summary(runs):
    columns = list(zip(*runs))
    return [
        max(column) if i in LONGEST else statistics.median(column)
        for i, column in enumerate(columns)
    ]


def cells(numbers, has_stops):
    wall, cpu, peak, after, pauses, *times = numbers[1:]
    shown = [f"{wall:.2f}", f"{cpu:.2f}", f"{peak:.0f}", f"{after:.0f}", f"{pauses:.0f}"]
    shown += [f"{time:.2f}" for time in times[:8]]
    return shown + ([f"{time:.2f}" for time in times[8:]] if has_stops else ["", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ocaml5", metavar="COMMAND", help="its program, compiled by OCaml 5")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="1,2,4,16,64")
    parser.add_argument("--megabytes", type=int, default=100, help="live, of all threads")
    parser.add_argument("--million-steps", type=int, default=4, help="of all threads")
    parser.add_argument("--timeout-seconds", type=int, default=120, help="of one run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = build(folder)
        if options.ocaml5 is not None:
            programs["OCaml 5"] = shlex.split(options.ocaml5)
        print(f"| {HEAD} |")
        print("|---" * (HEAD.count("|") + 1) + "|", flush=True)
        for threads in options.threads.split(","):
            sizes = [threads, str(options.megabytes), str(options.million_steps)]
            runs = {program: [] for program in programs}
            for _ in range(options.rounds):
                for program in random.sample(list(programs), len(programs)):
                    numbers = run(programs[program] + sizes, options.timeout_seconds)
                    runs[program].append(numbers)
            checksums = {run[0] for done in runs.values() for run in done if run is not None}
            if len(checksums) != 1:
                raise SystemExit(f"{threads} threads: the programs disagree: {checksums}")
            for program, done in runs.items():
                if None in done:
                    row = [f"more than {options.timeout_seconds}"] + [""] * 14
                else:
                    row = cells(summary(done), program in ("ours", "Boehm"))
                print(f"| {threads} | {program} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
