#!/usr/bin/env python3
"""CPython's own test suites under the library, against the same suites without it.

    cpython_suites.py --library liballomon.so [--python /usr/bin/python3] [--rate 0.01] [SUITE...]

Each suite runs in its own process, alone and then recorded with Python's frames.  What counts is
the result of each single test: one that passes alone must pass recorded.  Prints a table and PASS
or FAIL.  Run by hand: it needs the interpreter's test package (libpython3.11-testsuite) and some
ten minutes.
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

SUITES = (
    "test_gc", "test_threading", "test_asyncio", "test_generators", "test_coroutines",
    "test_multiprocessing_fork", "test_subinterpreters", "test__xxsubinterpreters",
    "test_interpreters", "test_embed", "test_signal", "test_exceptions", "test_sys_settrace",
    "test_weakref", "test_capi",
)
SINGLE = re.compile(
    r"^(test\w*) \((\S+?)\)(?:\n[^\n]*)?? \.\.\. .*?\b(ok|skipped|FAIL|ERROR|expected failure)\b",
    re.M | re.S,
)


def run(arguments, suite, folder, preloaded):
    """{test: result} and whether the suite ended by itself."""
    environment = {**os.environ, "TMPDIR": folder, "HOME": folder}
    if preloaded:
        environment.update(
            LD_PRELOAD=os.path.abspath(arguments.library),
            ALLOMON_RECORD=os.path.join(folder, "%p.rec"),
            ALLOMON_RATE=str(arguments.rate),
        )
    log = os.path.join(folder, "log")
    with open(log, "w", encoding="utf-8", errors="replace") as output:
        try:
            status = subprocess.run(
                [arguments.python, "-m", "test", "-v", "-u", "none", suite],
                env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, timeout=arguments.seconds, check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            status = "timeout"
    with open(log, encoding="utf-8", errors="replace") as output:
        text = output.read()
    # A test is known by its class and name; a subtest that fails comes later and has the last word.
    results = {f"{where}.{name}": result for name, where, result in SINGLE.findall(text)}
    for kind, name, where in re.findall(r"^(FAIL|ERROR): (\w+) \((\S+?)\)", text, re.M):
        results[f"{where}.{name}"] = kind
    return results, status, len(glob.glob(os.path.join(folder, "*.rec"))), text


def compare(arguments, suite):
    """A row, and lines that say what differs."""
    with tempfile.TemporaryDirectory() as alone, tempfile.TemporaryDirectory() as recorded:
        plain, plain_status, _, text = run(arguments, suite, alone, False)
        if "No module named" in text and not plain:
            return (suite, "-", "-", "-", "not there"), []
        found, status, files, _ = run(arguments, suite, recorded, True)
    lost = [
        f"  {name}: {result} alone, {found.get(name, 'not run')} recorded"
        for name, result in sorted(plain.items())
        if found.get(name) != result
    ]
    if status != plain_status:
        lost.append(f"  {suite} ends with {plain_status} alone, {status} recorded")
    passed = sum(result == "ok" for result in found.values())
    return (suite, len(plain), passed, files, "differs" if lost else "same"), lost


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--seconds", type=float, default=900, help="for a suite (default: 900)")
    parser.add_argument("suites", nargs="*", default=SUITES)
    arguments = parser.parse_args()
    differences, rows = [], []
    for suite in arguments.suites:
        row, lost = compare(arguments, suite)
        rows.append(row)
        differences += lost
        print("{:26} {:>6} tests {:>6} passed {:>6} files  {}".format(*row), flush=True)
        print("\n".join(lost), end="\n" if lost else "", flush=True)
    if all(row[-1] == "not there" for row in rows):
        sys.exit(f"cpython_suites.py: {arguments.python} has no test suite: install its package")
    print("FAIL" if differences else "PASS")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
