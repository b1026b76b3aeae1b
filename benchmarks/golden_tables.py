"""Golden tables of instruction counts: one of each kind for each version of mimalloc and each
compiler that was measured, golden/mimalloc-2.0.9/g++-12/fast_path.golden for example.

Where there is none, the tests hold what depends on neither: what is added to mimalloc's own count
in the same run.
"""

import argparse
import os
import re
import subprocess

FOLDER = "benchmarks/golden"
# What our malloc and free add to mimalloc's own, at most, in instructions.  By its functions: two
# calls and two returns more.
MAX_DIFFERENCE = 4.0
MAX_DIFFERENCE_BY_FUNCTIONS = 8.0


def built_with(program):
    """The compiler and the backend of a program: "g++ 12.2.0, mimalloc 2.0.9"."""
    done = subprocess.run([program, "--built-with"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def max_difference(built):
    return MAX_DIFFERENCE_BY_FUNCTIONS if "functions" in built else MAX_DIFFERENCE


def path(kind, built):
    """The path of a table in the workspace."""
    compiler, backend = built.split(", ")
    compiler = re.sub(r"\..*", "", compiler)
    return "/".join([FOLDER, *(it.replace(" ", "-") for it in (backend, compiler)), kind])


def write(kind, built, text):
    """Under `bazel run`: writes into the user's workspace."""
    name = os.path.join(os.environ["BUILD_WORKSPACE_DIRECTORY"], path(kind, built))
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "w", encoding="utf-8") as golden:
        golden.write(text)


def read(root, kind, built):
    """A table's text.  None, and a line says which one is missing, if this was not measured with
    exactly this compiler.
    """
    name = path(kind, built)
    found = os.path.join(root, name)
    text = ""
    if os.path.exists(found):
        with open(found, encoding="utf-8") as golden:
            text = golden.read()
    if f"; {built}, opt" in text.split("\n")[0]:
        return text
    program = kind.replace(".golden", "")
    print(f"no golden table of {built}; it would be {name}, which\n"
          f"bazel run //benchmarks:{program} -- --update writes.  Held instead: differences.")
    return None


def others(root, kind):
    """The texts of all tables of a kind."""
    for folder, _, names in os.walk(os.path.join(root, FOLDER)):
        if kind in names:
            with open(os.path.join(folder, kind), encoding="utf-8") as golden:
                yield golden.read()


def main(description, kind, built_with, measure, table):
    """Prints what `measure` finds below the current folder, and writes it if that is asked for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--update", action="store_true", help="write the golden table")
    options = parser.parse_args()
    root = os.getcwd()  # `bazel run` starts programs in the folder of the binaries
    built = built_with(root)
    text = table(built, measure(root))
    print(text, end="")
    if options.update:
        write(kind, built, text)
