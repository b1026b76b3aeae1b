#!/usr/bin/env python3
"""Instructions of every entry point of malloc, linked in and preloaded.

Each column is a program, or a library preloaded, under callgrind; each row the slope between
few and many repetitions of one operation.  See README.md.

  bazel run //benchmarks:entry_costs                the table
  bazel run //benchmarks:entry_costs -- --update    writes the golden table of this build
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import golden_tables  # noqa: E402
from fast_path import TINY_RATE  # noqa: E402

FEW, MANY = 1_000, 11_000
GOLDEN = "entry_costs.golden"

PLAIN = "benchmarks/libplain_mimalloc.so"
ALLOMON = "allocator/liballomon.so"
# column -> the program, its last argument, the preloaded library and its settings
COLUMNS = {
    "mimalloc": ("mimalloc", "", "", {}),
    "off": ("sampled", "", "", {}),
    "stopped": ("sampled", "stopped", "", {}),
    "sampling": ("sampled", TINY_RATE, "", {}),
    "so:mimalloc": ("preloadable", "", PLAIN, {}),
    "so:off": ("preloadable", "", ALLOMON, {"ALLOMON_PROFILE": "no"}),
    "so:rate_0": ("preloadable", "", ALLOMON, {"ALLOMON_RATE": "0"}),
    "so:sampling": ("preloadable", "", ALLOMON, {"ALLOMON_RATE": TINY_RATE}),
}


def binary(root, name):
    return os.path.join(root, "benchmarks", "entry_costs_" + name)


def counts(root, column, times):
    """operation -> instructions, start and end of the loop included"""
    program, how, library, settings = COLUMNS[column]
    with tempfile.TemporaryDirectory() as directory:
        environment = {"PATH": "/usr/bin:/bin", **settings}
        if library:
            environment["LD_PRELOAD"] = os.path.abspath(os.path.join(root, library))
            environment["ALLOMON_OUT"] = os.path.join(directory, "mlmon.out")
            environment["ALLOMON_SEED"] = "1"
        out = os.path.join(directory, "callgrind")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += [os.path.abspath(binary(root, program)), str(times)] + ([how] if how else [])
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        return dict(filter(None, map(operation, glob.glob(out + ".*"))))


def operation(path):
    """The operation to whose loop a dump belongs, and its instructions."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    name = re.search(r"^desc: Trigger: Client Request: (\w+)$", text, re.MULTILINE)
    total = re.search(r"^totals: (\d+)", text, re.MULTILINE)
    return (name[1], int(total[1])) if name else None


def measure(root):
    """operation -> column -> instructions per operation"""
    rows = {}
    for column in COLUMNS:
        few, many = (counts(root, column, times) for times in (FEW, MANY))
        for name, count in many.items():
            rows.setdefault(name, {})[column] = (count - few[name]) / (MANY - FEW)
    return rows


def built_with(root):
    return golden_tables.built_with(binary(root, "sampled"))


def table(built, rows):
    lines = [
        f"# instructions per operation, of 64 bytes that are not sampled; {built}, opt;"
        " so: is preloaded",
        f"{'operation':20}" + "".join(f"{column:>13}" for column in COLUMNS),
    ]
    for name in sorted(rows):
        cells = "".join(f"{rows[name][column]:13.1f}" for column in COLUMNS)
        lines.append(f"{name:20}{cells}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    golden_tables.main(
        "Instructions of every entry point.", GOLDEN, built_with, measure, table
    )
