#!/usr/bin/env python3
"""The cost of one operation of ours: instructions by callgrind, as the slope between a short and a
long loop, and bytes of the tracker's own memory per live sample.

  bazel run //benchmarks:operation_costs                 the table
  bazel run //benchmarks:operation_costs -- --update     writes the golden table of this build
  bazel run //benchmarks:operation_costs -- --in-place   the costs of in-place samples
  bazel run //benchmarks:operation_costs -- --aarch64=OPERATION ROOT [--update]
                      instructions of 64-bit Arm, counted by qemu-aarch64: of the program operation
                      that --config=aarch64 builds, with the libraries of a root of Debian
"""

import argparse
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import fast_path  # noqa: E402
import golden_tables  # noqa: E402

GOLDEN = "operation_costs.golden"
GOLDEN_AARCH64 = "operation_costs_aarch64.golden"
SHORT, LONG = 2_000, 12_000
SHORT_BY_QEMU, LONG_BY_QEMU = 200, 1_200  # it writes a line for each instruction
LIVE_SAMPLES = 200_000

# name -> the operation that is counted
INSTRUCTIONS = {
    "sampled_pair": "malloc(64) and free, sampled with 8 frames, followed",
    "counted_pair": "the same, counted only",
    "profiled_pair": "the same, counted by a profile of bytes",
    "recorded_pair": "the same, followed, in a recording",
    "sampled_free": "free of a sampled block that is followed, alone",
    "function_entry": "ALLOMON_FUNCTION(), entry and exit, no profile on",
    "label_scope": "a ScopedLabel, pushed and popped; nothing samples",
    "labelled_pair": "as sampled_pair, in a scope of its own",
    "managed_allocation": "make of 2 words, dies young; nothing samples",
    "promoted_object": "make of 2 words, survives a minor collection",
}

# The same of in-place samples, which are no golden table: they are off by default.
IN_PLACE = {
    "plain_free": "free of 64 bytes, none of its page is followed in place",
    "flagged_free": "the same, one other block of its page is",
    "in_place_free": "free of a block that is followed in place, alone",
    "sampled_free": "free of one that is followed elsewhere",
    "in_place_pair": "malloc(64) and free, sampled with 8 frames, followed in place",
    "sampled_pair": "the same, followed elsewhere",
    "recorded_in_place_pair": "the same, in a recording, one in 16 in place",
    "recorded_pair": "the same, in a recording, none in place",
}
CHURN_PAIRS = 400_000


def program(root):
    return os.path.join(root, "benchmarks", "operation")


def output(root, *arguments):
    return subprocess.run([program(root), *arguments], capture_output=True, text=True,
                          check=True).stdout.strip()


def slope(root, name):
    short, long = (fast_path.instructions([program(root), name, str(count)])
                   for count in (SHORT, LONG))
    return (long - short) / (LONG - SHORT)


def instructions_by_qemu(qemu, arguments):
    """The number of instructions that a program for 64-bit Arm executes.  qemu translates each
    into a block of its own, and says which block it enters."""
    reading, writing = os.pipe()
    command = [*qemu, "-singlestep", "-d", "exec,nochain", "-D", f"/dev/fd/{writing}", *arguments]
    with subprocess.Popen(command, pass_fds=[writing], stdout=subprocess.DEVNULL) as process:
        os.close(writing)
        count, rest = 0, b""
        with os.fdopen(reading, "rb") as log:
            while piece := log.read(1 << 20):
                lines = (rest + piece).split(b"\n")
                rest = lines.pop()
                count += sum(line.startswith(b"Trace ") for line in lines)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} under qemu: status {process.returncode}")
    return count


def aarch64(file, root, update):
    qemu = ["qemu-aarch64", "-L", root]
    built = subprocess.run([*qemu, file, "--built-with"], capture_output=True, text=True,
                           check=True).stdout.strip()
    costs = {}
    for name in INSTRUCTIONS:
        short, long = (instructions_by_qemu(qemu, [file, name, str(count)])
                       for count in (SHORT_BY_QEMU, LONG_BY_QEMU))
        costs[name] = (long - short) / (LONG_BY_QEMU - SHORT_BY_QEMU)
    text = table(f"64-bit Arm; {built}", costs)
    print(text, end="")
    if update:
        golden_tables.write(GOLDEN_AARCH64, built, text)


def in_place(root):
    """Prints a table of operations, and one of pairs in a heap of 200,000 blocks."""
    for name, what in IN_PLACE.items():
        print(f"{name:24} {slope(root, name):9.1f}  {what}")
    for rate in "1e-5", "1e-4", "1e-3":
        pairs = [(fast_path.instructions([program(root), f"churn_{rate}{share}", str(CHURN_PAIRS)])
                  - fast_path.instructions([program(root), f"churn_{rate}{share}", "1"]))
                 / CHURN_PAIRS for share in ("", "_in_place_16", "_in_place_1")]
        print(f"churn at {rate}: none in place {pairs[0]:.2f}, one in 16 {pairs[1]:.2f}, "
              f"all {pairs[2]:.2f}")


def measure(root):
    """name -> cost"""
    costs = {name: slope(root, name) for name in INSTRUCTIONS}
    costs["live_sample_bytes"] = int(output(root, "live_sample_bytes",
                                            str(LIVE_SAMPLES))) / LIVE_SAMPLES
    return costs


def built_with(root):
    return golden_tables.built_with(program(root))


def table(built, costs):
    lines = [f"# costs of one operation; {built}, opt"]
    for name, cost in costs.items():
        what = INSTRUCTIONS.get(name, "own memory per live sample, beside its block")
        lines.append(f"{name:20} {cost:9.1f}  {what}")
    return "\n".join(lines) + "\n"


def read(text):
    """name -> cost, of a table"""
    return {row.split()[0]: float(row.split()[1]) for row in text.splitlines()[1:]}


def main():
    parser = argparse.ArgumentParser(description="Costs of single operations.")
    parser.add_argument("--update", action="store_true", help="write the golden table")
    parser.add_argument("--in-place", action="store_true", help="costs of in-place samples")
    parser.add_argument("--aarch64", nargs=2, metavar=("OPERATION", "ROOT"),
                        help="instructions of 64-bit Arm")
    options = parser.parse_args()
    if options.aarch64:
        return aarch64(*map(os.path.realpath, options.aarch64), options.update)
    root = os.getcwd()  # `bazel run` starts this program in the folder of the binaries
    if options.in_place:
        return in_place(root)
    built = built_with(root)
    text = table(built, measure(root))
    print(text, end="")
    if options.update:
        golden_tables.write(GOLDEN, built, text)


if __name__ == "__main__":
    sys.exit(main())
