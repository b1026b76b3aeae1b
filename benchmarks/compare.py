#!/usr/bin/env python3
"""Allomon beside other allocators and heap profilers, in one interleaved run.

  bazel run //benchmarks:compare
  bazel run //benchmarks:compare -- --rounds 3 --only 'pair|json' --json out.json --svg out.svg

Processor time of user and system; ratios of runs of the same round: medians (quartiles).
README.md, section 8, says what the rows and columns are.
"""

import argparse
import os
import platform
import random
import re
import sys
import tempfile
import time

import compare_configurations as configurations
import compare_picture
import compare_report
import compare_workloads as workloads
import runtime_compare

SEED = 1


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"compare: {message}; --help lists the options\n")


def at_least_one(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of rounds: 1 or more")
    return int(text)


def regular_expression(text):
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}': {error}") from error


def user_path(text):
    """A path relative to the user's directory, not to the one in which Bazel starts this program.

    The file must be writable.
    """
    path = os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", os.getcwd()), text)
    try:
        with open(path, "a", encoding="utf-8"):
            return path
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot write '{text}': {error.strerror}") from error


def parse(arguments):
    parser = Parser(prog="compare", description="Allomon beside other allocators and profilers.")
    parser.add_argument("--rounds", type=at_least_one, default=5, metavar="N", help="default: 5")
    parser.add_argument("--only", type=regular_expression, metavar="REGEXP", help="rows to measure")
    parser.add_argument(
        "--columns", type=regular_expression, metavar="REGEXP", help="columns to measure"
    )
    parser.add_argument("--json", type=user_path, metavar="FILE", help="all figures")
    parser.add_argument("--svg", type=user_path, metavar="FILE", help="a bar chart")
    options = parser.parse_args(arguments)
    options.workloads, options.managed = selected(options.only)
    pattern = options.columns
    options.columns = configurations.selected(pattern)
    if not options.columns:
        parser.error(f"no column matches --columns '{pattern.pattern}'")
    if not options.workloads and not options.managed:
        parser.error(f"no row matches --only '{options.only.pattern}'")
    return options


def selected(only):
    """The workloads, and the names of the managed workloads, that match."""
    chosen = [it for it in workloads.WORKLOADS if not only or only.search(it.name)]
    return chosen, [it for it in workloads.MANAGED if not only or only.search(it)]


def built(name):
    """A file that Bazel built: beside this program under `bazel run`, otherwise in bazel-bin."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder in root, os.path.join(root, "bazel-bin"):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    raise workloads.RunError(f"{name} is not built; bazel run //benchmarks:compare builds it")


class Progress:
    """A line of progress that overwrites the one before, on a terminal only."""

    def __init__(self, total, stream=sys.stderr):
        self.total, self.done, self.stream = total, 0, stream

    def step(self, what):
        self.done += 1
        self._write(f"[{self.done}/{self.total}] {what}")

    def end(self):
        self._write("")

    def _write(self, line):
        if self.stream.isatty():
            print(f"\r{line[:78]}\x1b[K", end="", file=self.stream, flush=True)


def measure_malloc(options, generator, progress, round_, times):
    """One round of the malloc rows."""
    runner = workloads.Runner(built("benchmarks/malloc_workloads"))
    found = options.environments
    start_up = {
        name: min(runner.start_up_seconds(environment) for _ in range(3))
        for name, environment in found.items()
    }
    for workload in options.workloads:
        names = [name for name in found if name not in workload.without]
        for name in generator.sample(names, len(names)):
            progress.step(f"round {round_}: {workload.name}, {name}")
            divisor = configurations.CONFIGURATIONS[name].divisor
            try:
                seconds = runner.seconds(workload, found[name], divisor)
            except workloads.RunError as error:
                raise workloads.RunError(f"{workload.name}, {name}: {error}") from error
            if workload.operations:
                seconds = (seconds - start_up[name]) / (workload.operations // divisor)
            elif workload.name == workloads.START_UP:
                seconds /= workloads.STARTS
            times.setdefault(workload.name, {}).setdefault(name, []).append(seconds)


def measure_managed(options, generator, progress, round_, times, programs):
    """One round of the managed rows."""
    for name in options.managed:
        ours, size = runtime_compare.WORKLOADS[name]
        for program in generator.sample(list(programs), len(programs)):
            progress.step(f"round {round_}: {name}, {program}")
            peers = runtime_compare.PEERS_NAME.get(ours, ours)
            work = ours if program == "allomon runtime" else peers
            seconds = workloads.processor_seconds([*programs[program], work, size], {}, "/")
            times.setdefault(name, {}).setdefault(program, []).append(seconds)


def managed_programs(options, folder):
    """name -> command of each program, compiled in the folder.  Empty if a compiler or library is
    missing.
    """
    if not options.managed or configurations.missing(configurations.MANAGED_PACKAGES):
        return {}
    _, found = runtime_compare.build(folder)
    ours = built("benchmarks/runtime_benchmark")
    return {"allomon runtime": [ours], "OCaml": found["OCaml"], "Boehm": found["Boehm"]}


def measure(options):
    """workload -> configuration -> seconds per unit, one for each round"""
    times, generator = {}, random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        programs = managed_programs(options, folder)
        per_round = sum(
            name not in it.without for it in options.workloads for name in options.environments
        )
        per_round += len(options.managed) * len(programs)
        progress = Progress(options.rounds * per_round)
        for round_ in range(1, options.rounds + 1):
            if options.workloads:
                measure_malloc(options, generator, progress, round_, times)
            if programs:
                measure_managed(options, generator, progress, round_, times, programs)
        progress.end()
    return times


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return found[1] if found else platform.machine()


def circumstances(options, load_before):
    after = os.getloadavg()[0]
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} CPUs, {processor()}",
        "load": [round(load_before, 1), round(after, 1)],
        "rounds": options.rounds,
    }


def report(options, times, about):
    columns = options.columns + configurations.MANAGED_COLUMNS
    grid = [it.name for it in workloads.WORKLOADS if it.in_grid]
    rows = compare_report.summarise(times, grid, columns)
    goals = compare_report.goals_of(rows)
    load = " to ".join(map(str, about["load"]))
    print(f"{about['date']}, {about['machine']}, load {load}, rounds: {about['rounds']}\n")
    print(compare_report.markdown(rows, columns, times))
    print(compare_report.goal_lines(goals), end="")
    if options.json:
        compare_report.write_json(options.json, rows, times, about, goals)
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(compare_picture.svg(compare_picture.digest(rows, grid)))


def main():
    options = parse(sys.argv[1:])
    packages = dict(configurations.MANAGED_PACKAGES) if options.managed else {}
    if options.workloads:
        files = [it.command[0] for it in options.workloads]
        packages.update(configurations.needed(options.columns, files))
    configurations.install(packages)
    options.workloads = [it for it in options.workloads if it.can_run()]
    options.environments = configurations.available(
        built("allocator/liballomon.so"), options.columns
    )
    load = os.getloadavg()[0]
    times = measure(options)
    report(options, times, circumstances(options, load))


if __name__ == "__main__":
    try:
        main()
    except workloads.RunError as problem:
        sys.exit(f"compare: {problem}")
    except KeyboardInterrupt:
        sys.exit("\ncompare: interrupted")
