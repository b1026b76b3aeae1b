#!/usr/bin/env python3
"""What it costs to see a Python program's memory: Allomon, tracemalloc, memray and scalene beside
the plain interpreter, in one interleaved run.

  bazel build //allocator:liballomon.so //benchmarks:libplain_mimalloc.so
  benchmarks/python_compare.py [--rounds 9] [--python /usr/bin/python3] [--only json,asyncio]

Processor time of user and system; ratios of runs of the same round, against mimalloc preloaded with
PYTHONMALLOC=malloc and against plain python3: medians (lowest-highest).  memray and scalene are
left out where they are not installed.  README.md, section 14, says what the rows are.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import python_programs  # noqa: E402
import ratios  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
ALLOMON = os.path.join(ROOT, "bazel-bin/allocator/liballomon.so")
MIMALLOC = os.path.join(ROOT, "bazel-bin/benchmarks/libplain_mimalloc.so")
PLAIN, BASE = "plain", "mimalloc, PYTHONMALLOC=malloc"
RECORDED = {"LD_PRELOAD": ALLOMON, "ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": "1e-4"}


def configurations(python):
    """name -> what stands before the program, environment."""
    found = {
        PLAIN: ([python], {}),
        "mimalloc": ([python], {"LD_PRELOAD": MIMALLOC}),
        BASE: ([python], {"LD_PRELOAD": MIMALLOC, "PYTHONMALLOC": "malloc"}),
        "Allomon, idle": ([python], {"LD_PRELOAD": ALLOMON, "ALLOMON_PROFILE": "idle"}),
        "Allomon, recording at 1e-4": ([python], RECORDED),
        "the same, native frames": (
            [python], {**RECORDED, "ALLOMON_PYTHON": "0", "PYTHONMALLOC": "malloc"}
        ),
        "tracemalloc": ([python, "-X", "tracemalloc"], {}),
    }
    if has_module(python, "memray"):
        memray = [python, "-m", "memray", "run", "-q", "-f", "-o", "x.bin"]
        found["memray"] = (memray, {})
        found["memray, each object"] = (memray + ["--trace-python-allocators"], {})
    if has_module(python, "scalene"):
        scalene = [python, "-m", "scalene", "--cli", "--memory", "--json", "--outfile", "x.json"]
        found["scalene"] = (scalene, {})
    return found


def has_module(python, name):
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def seconds(configuration, script, folder):
    before, environment = configuration
    return ratios.processor_seconds(
        [*before, script], cwd=folder, env={**os.environ, **environment}
    )


def measure(arguments, script, folder):
    """Lists of seconds by configuration, a round each; the order within a round is drawn."""
    found = configurations(arguments.python)
    times = {name: [] for name in found}
    for round_number in range(arguments.rounds + 1):
        for name in random.sample(list(found), len(found)):
            took = seconds(found[name], script, folder)
            if round_number > 0:  # the first one warms caches
                times[name].append(took)
    return times


def ratio(times, name, base):
    each = [one / other for one, other in zip(times[name], times[base])]
    return f"{statistics.median(each):.3f} ({min(each):.2f}-{max(each):.2f})"


def print_table(program, times):
    print(f"\n{program}: {statistics.median(times[PLAIN]):.2f} s plain")
    print(f"  {'':32} {'of ' + BASE:32} of plain python3")
    for name in times:
        print(f"  {name:32} {ratio(times, name, BASE):32} {ratio(times, name, PLAIN)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--only", help="programs, separated by commas")
    arguments = parser.parse_args()
    for library in (ALLOMON, MIMALLOC):
        if not os.path.exists(library):
            sys.exit(f"python_compare.py: no {library}: build it (the text of --help says how)")
    programs = python_programs.PROGRAMS
    if arguments.only:
        programs = {name: programs[name] for name in arguments.only.split(",")}
    random.seed(1)
    medians = {}
    for program, text in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "program.py")
            with open(script, "w", encoding="utf-8") as file:
                file.write(text)
            times = measure(arguments, script, folder)
            shutil.rmtree(os.path.join(folder, "__pycache__"), ignore_errors=True)
        print_table(program, times)
        for name in times:
            medians.setdefault(name, []).append(
                statistics.median(one / other for one, other in zip(times[name], times[BASE]))
            )
    print("\ngeometric means of the medians, of " + BASE)
    for name, each in medians.items():
        print(f"  {name:32} {statistics.geometric_mean(each):.3f}")


if __name__ == "__main__":
    main()
