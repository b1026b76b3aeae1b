#!/usr/bin/env python3
"""Bytes by line of real Python programs: Allomon's beside tracemalloc's snapshot of the same run.

    python_lines.py --library liballomon.so --allomon PATH [--rate 0.01]

Each program runs once, recorded, with tracemalloc; at its end, with what it holds still alive,
tracemalloc's sizes by line are written, and the process ends at once.  Each line of 20,000 bytes or
more must be in our interval, widened from 95 % to 5.7 sigma (a false alarm in 1e8 lines).  At
--rate 1 each is counted, and the difference is printed.

tracemalloc moves an object that Python reuses from its free lists to the line of its next user; for
us it stays where it was born.  That is turned off here, by tracemalloc's own flag, so that both say
where blocks were born.  Run by hand: it needs the
packages that the programs are in (python3-docutils, python3-pygments, mercurial, python3-pytest).
"""

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

SIGMAS = 5.7
SIGMAS_OF_REPORT = 1.96
LEAST_BYTES = 20_000
# What was reused before the program began, and what the end itself allocates.
OTHER_BYTES = 4_000
# Where the two do not see the same blocks, and why.
EXPLAINED = (
    (r"<frozen ", "allocated before tracemalloc began, or by the C library for loaded modules"),
    (r"<unknown>:0$", "of no line: native frames here"),
    # A string that is sampled has an address of its own, and so an entry of its own in the cache,
    # which keeps it; others follow each other at one address, and in one entry.
    (r"nodes\.py:20(01|14)$", "names that the cache of methods keeps, by their addresses"),
)

# Runs a program as __main__, and writes tracemalloc's lines while all that it made is alive.
WRAPPER = """
import ctypes, gc, json, os, runpy, sys, tracemalloc
kept = []
# initialized, tracing, max_nframe: the second is asked where an object is reused, and by no hook.
config = (ctypes.c_int * 3).in_dll(ctypes.pythonapi, "_Py_tracemalloc_config")
config[1] = 0
def at_end():
    gc.collect()
    config[1] = 1
    snapshot = tracemalloc.take_snapshot()
    tracemalloc.stop()
    lines = {f"{s.traceback[0].filename}:{s.traceback[0].lineno}": s.size
             for s in snapshot.statistics("lineno") if s.size >= LEAST}
    with open("lines.json", "w") as file:
        json.dump(lines, file)
    os._exit(0)
sys.argv[:] = ARGUMENTS
try:
    kept.append(runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True))
except SystemExit as end:
    kept.append(end)
at_end()
"""
PROGRAMS = {
    "docutils": ["docutils", "text.rst", "text.html"],
    "pygmentize": ["pygments", "-f", "html", "-o", "code.html", "code.py"],
    "lib2to3": ["lib2to3", "-n", "-w", "code.py"],
    "pytest": ["pytest", "-q", "-p", "no:cacheprovider", "test_code.py"],
    "ast": ["ast", "code.py"],
}


def inputs(folder):
    with open(argparse.__file__, encoding="utf-8") as file:  # of 2,600 lines
        text = file.read()
    for name in ("code.py", "test_code.py"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
            if name.startswith("test"):
                file.write("\n\ndef test_it():\n    assert ArgumentParser().parse_args([])\n")
    with open(os.path.join(folder, "text.rst"), "w", encoding="utf-8") as file:
        for i in range(300):
            file.write(f"Section {i}\n==========\n\nA *line* of `text`_ and ``code``.\n\n"
                       f"- one\n- two\n\n.. _text: http://example.org/{i}\n\n")


def record(arguments, command, folder):
    wrapper = WRAPPER.replace("ARGUMENTS", repr(command)).replace("LEAST", str(LEAST_BYTES))
    with open(os.path.join(folder, "wrapper.py"), "w", encoding="utf-8") as file:
        file.write(wrapper)
    subprocess.run(
        [arguments.python, "-B", "-X", "tracemalloc=1", "wrapper.py"], cwd=folder, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900,
        env={**os.environ, "LD_PRELOAD": os.path.abspath(arguments.library),
             "ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": str(arguments.rate),
             "ALLOMON_RECORD_LIMIT": "2g"},
    )
    with open(os.path.join(folder, "lines.json"), encoding="utf-8") as file:
        return json.load(file)


def ours(arguments, folder):
    """file:line -> bytes, and how far below and above the 95 % reach."""
    text = subprocess.run(
        [arguments.allomon, "report", "--view=lines", "--metric=live", "--format=csv",
         os.path.join(folder, "x.rec")], capture_output=True, text=True, check=True,
    ).stdout
    lines = {}
    for row in csv.DictReader(io.StringIO(text)):
        key = f"{row['file']}:{row['line']}"
        numbers = [float(row[name]) for name in ("self", "self_low", "self_high")]
        # A line may be of two functions, whose deviations are independent.
        known = lines.setdefault(key, [0, 0, 0])
        known[0] += numbers[0]
        known[1] = (known[1] ** 2 + (numbers[0] - numbers[1]) ** 2) ** 0.5
        known[2] = (known[2] ** 2 + (numbers[2] - numbers[0]) ** 2) ** 0.5
    return lines


def is_within(size, known, gap_bytes):
    value, below, above = known
    slack = OTHER_BYTES
    if value == 0:
        return size <= 20 * gap_bytes + slack  # exp(-20) is 2e-9
    scale = SIGMAS / SIGMAS_OF_REPORT
    return value - scale * below - slack <= size <= value + scale * above + slack


def reason_of(line):
    return next((reason for pattern, reason in EXPLAINED if re.search(pattern, line)), None)


def compare(arguments, name, command):
    with tempfile.TemporaryDirectory() as folder:
        inputs(folder)
        expected = record(arguments, command, folder)
        found = ours(arguments, folder)
    gap_bytes = 8 / arguments.rate
    outside = [
        line for line, size in expected.items()
        if not is_within(size, found.get(line, [0, 0, 0]), gap_bytes)
    ]
    wrong = [line for line in outside if not reason_of(line)]
    exact = sum(round(found.get(line, [0])[0]) == size for line, size in expected.items())
    print(f"{name:12} {len(expected):4} lines, {exact} equal to the byte, {len(outside)} outside")
    for line in outside:
        ours_bytes = found.get(line, [0])[0]
        print(f"  {line}: tracemalloc {expected[line]:,}, ours {ours_bytes:,.0f}: "
              f"{reason_of(line) or 'NOT EXPLAINED'}", flush=True)
    return not wrong and bool(expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--allomon", required=True)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--rate", type=float, default=0.01)
    arguments = parser.parse_args()
    good = [compare(arguments, name, command) for name, command in PROGRAMS.items()]
    print("PASS" if all(good) else "FAIL")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
