#!/usr/bin/env python3
"""The public r7rs-benchmarks by our Scheme, guile and chibi: time and memory of each program.

Needs `bazel build //examples/scheme`, a checkout of github.com/ecraven/r7rs-benchmarks, guile, and
chibi-scheme where it is named.  Sources and preludes are unchanged.  An input says first how often
its program runs: --repeat lowers that, and nothing else.  The programs run in turn; the table shows
medians of user and system seconds of the whole process.
"""

import argparse
import math
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.realpath(__file__))
OURS = os.path.join(HERE, "../bazel-bin/examples/scheme/scheme")
OWN_NAME = '(define (this-scheme-implementation-name) "allomon")\n'
# The benchmarks' own words for a wrong answer.
WRONG = re.compile("INCORRECT|ERROR: returned incorrect")
HEAD = (
    "program | Allomon s | guile s | chibi s | to guile | to chibi | "
    "Allomon MB | guile MB | chibi MB"
)


def programs(sources):
    """Names of all programs that have an input."""
    inputs = os.listdir(os.path.join(sources, "inputs"))
    return sorted(name[:-6] for name in inputs if name.endswith(".input"))


def with_count(text, most):
    """The input with at most so many repetitions, which are its first number."""
    count = re.search(r"\d+", text)
    if count is None or int(count[0]) <= most:
        return text
    return text[: count.start()] + str(most) + text[count.end() :]


def source_of(sources, name, scheme):
    """The program as the benchmarks' own script puts it together."""
    def text(part):
        path = os.path.join(sources, "src", part)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()

    before = text({"guile": "Guile3-prelude.scm", "chibi": "Chibi-prelude.scm"}.get(scheme, "-"))
    after = text("Chibi-postlude.scm") if scheme == "chibi" else ""
    own = OWN_NAME if scheme == "ours" else ""
    parts = [before, own, text(name + ".scm"), text("common.scm"), after]
    return "".join(parts) + text("common-postlude.scm")


def commands(options, path):
    """{scheme: (command that compiles or None, command that runs)}"""
    found = {"ours": (None, [OURS, path("ours")])}
    compiled = path("guile") + ".go"
    compile_it = (
        "(use-modules (system base compile)) "
        f'(compile-file "{path("guile")}" #:output-file "{compiled}" #:optimization-level 3)'
    )
    load = f'(load-compiled "{compiled}")'
    found["guile"] = ([options.guile, "-c", compile_it], [options.guile, "-c", load])
    if options.chibi:
        call = ["-m", "scheme.load", "-e", f'(load "{path("chibi")}")']
        found["chibi"] = (None, [*shlex.split(options.chibi), *call])
    return found


def run(command, given, cwd, seconds):
    """(processor seconds, MB), or None: it failed, was wrong, or did not end in that time."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, stdin=given, stdout=said, stderr=said, cwd=cwd)
        limit = threading.Timer(seconds, child.kill)
        limit.start()
        _, status, usage = os.wait4(child.pid, 0)
        limit.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    if child.returncode != 0 or WRONG.search(text) or "CSVLINE" not in text:
        return None
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(options, name, folder):
    """{scheme: (seconds, MB) or None}"""
    path = lambda scheme: os.path.join(folder, f"{name}.{scheme}.scm")  # noqa: E731
    with open(os.path.join(options.sources, "inputs", name + ".input"), encoding="utf-8") as file:
        given = with_count(file.read(), options.repeat)
    input_path = os.path.join(folder, name + ".input")
    with open(input_path, "w", encoding="utf-8") as file:
        file.write(given)
    found = commands(options, path)
    runs = {scheme: [] for scheme in found}
    for scheme, (compiles, _) in found.items():
        with open(path(scheme), "w", encoding="utf-8") as file:
            file.write(source_of(options.sources, name, scheme))
        if compiles and subprocess.run(compiles, capture_output=True, check=False).returncode != 0:
            runs[scheme] = None
    for _ in range(options.rounds):
        for scheme, (_, command) in found.items():
            if runs[scheme] is None:
                continue
            with open(input_path, encoding="utf-8") as file:
                # Some programs read and write files beside the sources.
                one = run(command, file, options.sources, options.seconds)
            runs[scheme] = None if one is None else runs[scheme] + [one]
    return {
        scheme: tuple(statistics.median(column) for column in zip(*all_runs)) if all_runs else None
        for scheme, all_runs in runs.items()
    }


def cells(name, numbers):
    """The cells of a program's row."""
    def of(scheme, column, digits):
        found = numbers.get(scheme)
        return "-" if found is None else f"{found[column]:.{digits}f}"

    def ratio(peer):
        ours, theirs = numbers.get("ours"), numbers.get(peer)
        return "-" if ours is None or theirs is None else f"{ours[0] / theirs[0]:.2f}"

    schemes = "ours", "guile", "chibi"
    return [name, *(of(scheme, 0, 2) for scheme in schemes), ratio("guile"), ratio("chibi"),
            *(of(scheme, 1, 0) for scheme in schemes)]


def mean(rows, peer):
    """The geometric mean of the ratios to a peer, with the number of programs; None without any."""
    ratios = [row["ours"][0] / row[peer][0] for row in rows if row.get("ours") and row.get(peer)]
    if not ratios:
        return None
    return math.exp(statistics.fmean(map(math.log, ratios))), len(ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sources", required=True, metavar="DIR", help="the checkout")
    parser.add_argument("--guile", default="guile", metavar="COMMAND")
    parser.add_argument("--chibi", metavar="COMMAND", help="chibi-scheme, if it is there")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="repetitions, at most")
    parser.add_argument("--seconds", type=float, default=60, help="for one run")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="", metavar="REGEXP", help="programs by name")
    options = parser.parse_args()
    options.sources = os.path.realpath(options.sources)
    if not os.path.isdir(os.path.join(options.sources, "inputs")):
        parser.error(f"--sources: {options.sources} has no folder inputs; name the checkout")
    rows = []
    print("| " + HEAD + " |\n|" + "---|" * (HEAD.count("|") + 1), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in programs(options.sources):
            if not re.search(options.only, name):
                continue
            rows.append(measure(options, name, folder))
            print("| " + " | ".join(cells(name, rows[-1])) + " |", flush=True)
    for peer in "guile", "chibi":
        found = mean(rows, peer)
        if found:
            print(f"geometric mean of time to {peer}: {found[0]:.2f} ({found[1]} programs)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
