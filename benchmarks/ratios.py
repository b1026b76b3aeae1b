"""Processor times of programs that Bazel built, for scripts that print ratios of times."""

import os
import resource
import statistics
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(sys.argv[0]))


def program(script, name):
    """The path of a program: beside this script under `bazel run`, otherwise in bazel-bin."""
    for folder in FOLDER, os.path.join(FOLDER, "..", "bazel-bin", "benchmarks"):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    sys.exit(f"{script}.py: no {name}; run it by bazel run //benchmarks:{script}")


def option(name, default):
    for argument in sys.argv[1:]:
        if argument.startswith(f"--{name}="):
            return int(argument.split("=")[1])
    return default


def processor_seconds(command, **options):
    """User and system time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def print_ratio(label, found):
    median = statistics.median(found)
    print(f"{label:32s} {median:6.2f}   ({min(found):.2f} to {max(found):.2f})")
