#!/usr/bin/env python3
"""What liballomon-host.so adds to an executable's own malloc: instructions by callgrind of a malloc
and free of 64 bytes, called by a library, as the slope between a short and a long loop.

  bazel run //benchmarks:own_malloc_costs                the table
  bazel run //benchmarks:own_malloc_costs -- --update    writes the golden table of this build
"""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import fast_path  # noqa: E402
import golden_tables  # noqa: E402

GOLDEN = "own_malloc_costs.golden"
SHORT, LONG = 2_000, 12_000
LIBRARY = "allocator/liballomon-host.so"
EXACT = {"ALLOMON_RATE": "1"}

# name -> what it is, and the settings with which the library is preloaded
PAIRS = {
    "alone_pair": ("malloc(64) and free of the executable, alone", None),
    "off_pair": ("preloaded, nothing is asked for", {"ALLOMON_PROFILE": "no"}),
    "unsampled_pair": ("not sampled", {"ALLOMON_RATE": fast_path.TINY_RATE}),
    "counted_pair": ("sampled, counted by a profile", EXACT),
    "followed_pair": ("sampled, followed by a profile of live blocks",
                      {**EXACT, "ALLOMON_PROFILE": "live"}),
    "recorded_pair": ("sampled, followed, in a recording", {**EXACT, "ALLOMON_RECORD": "x.rec"}),
}


def program(root):
    return os.path.abspath(os.path.join(root, "benchmarks", "own_malloc"))


def slope(root, settings):
    environment = {"PATH": "/usr/bin:/bin"}
    if settings is not None:
        environment.update(settings, ALLOMON_SEED="1")
        environment["LD_PRELOAD"] = os.path.abspath(os.path.join(root, LIBRARY))
    with tempfile.TemporaryDirectory() as folder:
        environment["ALLOMON_OUT"] = os.path.join(folder, "mlmon.out")
        if "ALLOMON_RECORD" in environment:
            environment["ALLOMON_RECORD"] = os.path.join(folder, "x.rec")
        short, long = (fast_path.instructions([program(root), str(pairs)], environment)
                       for pairs in (SHORT, LONG))
    return (long - short) / (LONG - SHORT)


def measure(root):
    """name -> instructions"""
    return {name: slope(root, settings) for name, (_, settings) in PAIRS.items()}


def built_with(root):
    return golden_tables.built_with(program(root))


def table(built, costs):
    lines = [f"# instructions per pair over an executable's own malloc; {built}, opt"]
    lines += [f"{name:20} {cost:9.1f}  {PAIRS[name][0]}" for name, cost in costs.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    golden_tables.main(
        "Costs over an executable's own malloc.", GOLDEN, built_with, measure, table
    )
