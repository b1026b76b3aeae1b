#!/usr/bin/env python3
"""CPU time and memory of the managed heap beside OCaml's and Boehm's.

Usage: benchmarks/runtime_compare.py [rounds [workload...]]

Needs `bazel build //benchmarks:runtime_benchmark`, ocamlopt (ocaml-nox) and libgc-dev.  The
programs run in turn, in random order; the table shows medians of user plus system time.
"""

import os
import random
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
    return measure, {"ours": OURS, "OCaml": ocaml, "Boehm": boehm}


def run(measure, command):
    """(CPU seconds, peak resident MB, output)"""
    done = subprocess.run([measure] + command, capture_output=True, check=False, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command} failed: {done.stderr}")
    seconds, kilobytes = done.stderr.split()[-2:]
    return float(seconds), int(kilobytes) / 1024, done.stdout


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        measure, programs = build(folder)
        print(
            "| workload | ours s | OCaml s | Boehm s | ours/OCaml | ours/Boehm"
            " | MB ours, OCaml, Boehm |"
        )
        print("|---|---|---|---|---|---|---|")
        for name, arguments in WORKLOADS.items():
            if len(sys.argv) > 2 and name not in sys.argv[2:]:
                continue
            times = {p: [] for p in programs}
            memory = {}
            outputs = set()
            for _ in range(rounds):
                for program in random.sample(list(programs), len(programs)):
                    workload, size = arguments
                    if program != "ours":
                        workload = PEERS_NAME.get(workload, workload)
                    own = [workload, size]
                    seconds, megabytes, output = run(measure, [programs[program]] + own)
                    times[program].append(seconds)
                    memory[program] = megabytes
                    outputs.add(output)
            if len(outputs) != 1:
                raise SystemExit(f"{name}: the programs disagree: {outputs}")
            ours, ocaml, boehm = (statistics.median(times[p]) for p in ("ours", "OCaml", "Boehm"))
            sizes = ", ".join(f"{memory[p]:.0f}" for p in ("ours", "OCaml", "Boehm"))
            print(
                f"| {name} | {ours:.3f} | {ocaml:.3f} | {boehm:.3f}"
                f" | {ours / ocaml:.2f} | {ours / boehm:.2f} | {sizes} |"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
