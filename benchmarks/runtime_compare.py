#!/usr/bin/env python3
"""CPU time and memory of the managed heap beside OCaml's and Boehm's.

Usage: benchmarks/runtime_compare.py [--ocaml5=COMMAND] [rounds [workload...]]

Needs `bazel build //benchmarks:runtime_benchmark`, ocamlopt (ocaml-nox) and libgc-dev.  The
programs run in turn, in random order; the table shows medians of user plus system time.  COMMAND
runs runtime_peers/peer.ml as another OCaml has compiled it, and adds columns for that.
"""

import argparse
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
OURS = os.path.join(HERE, "../bazel-bin/benchmarks/runtime_benchmark")
WORKLOADS = {
    "binary trees 16": ["bt", "16"],
    "binary trees 18": ["bt", "18"],
    "lists": ["list", "2000"],
    "lists, make() assigned": ["list_make", "2000"],
    "AVL map": ["map", "1000000"],
    "long-lived tree": ["gen", "30"],
    "GCBench 16": ["gcbench", "16"],
    "byte strings": ["bytes", "20000000"],
    **{f"steady, {size} bytes each": ["steady", str(size)]
       for size in (24, 128, 256, 512, 1024, 2048, 4096)},
    "24-byte garbage": ["garbage", "200"],
    "24-byte garbage, emplace()": ["garbage1", "200"],
}
# Workloads that only our heap can write in two ways.
PEERS_NAME = {"list_make": "list", "garbage1": "garbage"}


def build(folder):
    peers = os.path.join(HERE, "runtime_peers")
    ocaml, boehm = os.path.join(folder, "ocaml"), os.path.join(folder, "boehm")
    measure = os.path.join(folder, "measure")
    subprocess.check_call(["g++", "-O2", "-o", measure, os.path.join(peers, "measure.cc")])
    source = os.path.join(folder, "peer.ml")
    with open(os.path.join(peers, "peer.ml"), encoding="utf-8") as text:
        with open(source, "w", encoding="utf-8") as copy:
            copy.write(text.read())
    subprocess.check_call(
        ["ocamlopt", "-O3", "-unsafe", "-inline", "100", "-o", ocaml, source],
        stderr=subprocess.DEVNULL,
    )
    subprocess.check_call(
        ["g++", "-O2", "-std=c++17", "-o", boehm, os.path.join(peers, "peer_boehm.cc"), "-lgc"]
    )
    return measure, {"ours": [OURS], "OCaml": [ocaml], "Boehm": [boehm]}


def run(measure, command):
    """(CPU seconds, peak resident MB, output)"""
    done = subprocess.run([measure] + command, capture_output=True, check=False, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command} failed: {done.stderr}")
    seconds, kilobytes = done.stderr.split()[-2:]
    return float(seconds), int(kilobytes) / 1024, done.stdout


def measure_in_turn(measure, programs, arguments, rounds):
    """(median CPU seconds, peak resident MB), each by program"""
    times = {p: [] for p in programs}
    memory = {}
    outputs = set()
    for _ in range(rounds):
        for program in random.sample(list(programs), len(programs)):
            workload, size = arguments
            if program != "ours":
                workload = PEERS_NAME.get(workload, workload)
            seconds, memory[program], output = run(measure, programs[program] + [workload, size])
            times[program].append(seconds)
            outputs.add(output)
    if len(outputs) != 1:
        raise SystemExit(f"{arguments}: the programs disagree: {outputs}")
    return {p: statistics.median(times[p]) for p in programs}, memory


def print_row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description="The managed heap beside OCaml's and Boehm's.")
    parser.add_argument("--ocaml5", metavar="COMMAND", help="peer.ml, compiled by another OCaml")
    parser.add_argument("rounds", type=int, nargs="?", default=7)
    parser.add_argument("workloads", nargs="*", help="all, if none is named")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure, programs = build(folder)
        if options.ocaml5 is not None:
            programs["OCaml 5"] = shlex.split(options.ocaml5)
        peers = [p for p in programs if p != "ours"]
        print_row("workload", *(f"{p} s" for p in programs), *(f"ours/{p}" for p in peers),
                  "MB " + ", ".join(programs))
        print("|---" * (2 * len(programs) + 1) + "|")
        for name, arguments in WORKLOADS.items():
            if options.workloads and name not in options.workloads:
                continue
            times, memory = measure_in_turn(measure, programs, arguments, options.rounds)
            print_row(name, *(f"{times[p]:.3f}" for p in programs),
                      *(f"{times['ours'] / times[p]:.2f}" for p in peers),
                      ", ".join(f"{memory[p]:.0f}" for p in programs))


if __name__ == "__main__":
    main()
