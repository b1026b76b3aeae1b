#!/usr/bin/env python3
"""Real programs with Allomon preloaded: same results and status as without.

  bazel run //tests/programs:real_programs                         # half an hour
  bazel run //tests/programs:real_programs -- --only 'redis|nginx' --seconds 600

Runs each program plain and at each rate.  Compares what the program computed and how it ended, and
for servers the growth of resident memory and of mappings under steady load.  Needs the Debian
packages named in README.md.  A program that is not installed is an error, not a skipped row.  Ends
with status 1 if anything differs.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
import time

import programs
from hosts import Host, HostError

NEEDED = {
    "cpython": ("/usr/lib/python3.11/test/test_dict.py", "libpython3.11-testsuite"),
    "sqlite": ("sqlite3", "sqlite3"),
    "redis": ("redis-server", "redis-server"),
    "nginx": ("wrk", "wrk nginx-light curl"),
    "compilers": ("g++", "g++"),
    "git": ("git", "git"),
}

COMPILERS = ("g++", "clang++")

# The budget covers samples of the default budget, the entry table and the profile's own tables.
# //benchmarks:sample_memory tells what one live sample takes.
RESIDENT_BUDGET_BYTES = 64 << 20
# Spans of the sampled range come and go.  A leak would add one mapping per reload or save.
MAPPINGS_BUDGET = 40


def parse(arguments):
    parser = argparse.ArgumentParser(prog="real_programs", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=".", metavar="REGEXP", help="programs to run")
    parser.add_argument("--rate", action="append", metavar="RATE", help="default: 1e-4 and 1")
    parser.add_argument(
        "--seconds", type=int, default=60, help="of load on each server (plain: 60 at most)"
    )
    parser.add_argument("--megabytes", type=int, default=200, help="size of the database")
    parser.add_argument("--port", type=int, default=18080, help="for nginx")
    parser.add_argument("--compilers", type=lambda text: text.split(","), default=COMPILERS)
    parser.add_argument("--timeout-seconds", type=int, default=1800)
    parser.add_argument("--library", help="default: the one that Bazel built")
    parser.add_argument("--repository", help="for git gc; default: this one")
    parser.add_argument("--verbose", action="store_true", help="what the plain runs computed")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args(arguments)
    root = os.environ.get("BUILD_WORKSPACE_DIRECTORY", os.getcwd())
    options.repository = options.repository or root
    options.library = os.path.realpath(
        options.library or os.path.join(root, "bazel-bin/allocator/liballomon.so")
    )
    if not os.path.exists(options.library):
        parser.error(f"no {options.library}: bazel build //allocator:liballomon.so")
    options.rates = options.rate or ["1e-4", "1"]
    options.extra = dict(it.split("=", 1) for it in options.env)
    options.names = [it for it in programs.PROGRAMS if re.search(options.only, it)]
    if not options.names:
        parser.error(f"no program matches --only '{options.only}'")
    for name in options.names:
        if not shutil.which(NEEDED[name][0], mode=os.F_OK):
            parser.error(f"{name} needs the Debian package(s) {NEEDED[name][1]}: apt install them")
    for name in options.compilers:
        if not shutil.which(name):
            parser.error(f"no compiler '{name}': install it, or name others with --compilers")
    return options


def run_one(name, rate, options, scratch):
    """(the program's results, seconds, host)"""
    # A program's results do not depend on how long it is under load.
    if not rate:
        options = argparse.Namespace(**{**vars(options), "seconds": min(options.seconds, 60)})
    folder = os.path.join(scratch, f"{name}.{rate or 'plain'}")
    os.mkdir(folder)
    library = options.library if rate else None
    host = Host(rate or "plain", folder, library, rate, options.extra)
    start = time.monotonic()
    try:
        found = programs.PROGRAMS[name](host, options)
    except HostError as error:
        found = {"error": str(error)}
    return found, time.monotonic() - start, host


def differences(plain, found):
    keys = sorted(plain.keys() | found.keys())
    return [
        f"{key}: {found.get(key)!r} instead of {plain.get(key)!r}"
        for key in keys
        if plain.get(key) != found.get(key)
    ]


def memory_differences(memory):
    if not memory:
        return []
    (early, late), (few, many) = memory
    found = []
    if late - early > RESIDENT_BUDGET_BYTES:
        found.append(f"resident memory grew from {early >> 20} to {late >> 20} MiB")
    if many - few > MAPPINGS_BUDGET:
        found.append(f"mappings grew from {few} to {many}")
    return found


def describe(memory):
    if not memory:
        return ""
    (early, late), (few, many) = memory
    return f"; resident {early / 2**20:.1f} to {late / 2**20:.1f} MiB, mappings {few} to {many}"


def check(name, rate, plain, options, scratch):
    """Runs one program at one rate.  Returns the differences from the plain run."""
    found, seconds, host = run_one(name, rate, options, scratch)
    memory = programs.memory(host)
    wrong = differences(plain, found) + memory_differences(memory) + host.complaints()
    whole, broken = host.count_profiles()
    if broken:
        wrong.append(f"{broken} profiles were cut off")
    if not whole:
        wrong.append("no process left a profile")
    verdict = "DIFFERENT" if wrong else "same"
    print(f"{name:10} {rate:>6}  {verdict}, {seconds:.0f} s, {whole} profiles{describe(memory)}")
    for line in wrong:
        print(f"           {line}")
    sys.stdout.flush()
    host.remove()
    return not wrong


def main(arguments):
    options = parse(arguments)
    same = True
    with tempfile.TemporaryDirectory(prefix="programs.") as scratch:
        os.chmod(scratch, 0o755)
        for name in options.names:
            plain, seconds, host = run_one(name, None, options, scratch)
            memory = programs.memory(host)
            print(f"{name:10}  plain  {seconds:.0f} s{describe(memory)}", flush=True)
            for key, value in plain.items() if options.verbose else ():
                print(f"           {key}: {value!r}")
            if "error" in plain:
                print(f"           {plain['error']}")
                same = False
                continue
            host.remove()
            for rate in options.rates:
                same &= check(name, rate, plain, options, scratch)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
