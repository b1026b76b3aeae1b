#!/usr/bin/env python3
"""Looks at the memory of this very process, where liballomon.so is preloaded:

    ALLOMON_PROFILE=idle LD_PRELOAD=.../liballomon.so \\
        python3 examples/record_from_python.py work.rec
    allomon report work.rec

A tracker is asked for what is live; a recording writes a file.  The package allomon is installed
with the library (tracker/c/python); here it is taken from beside this example."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tracker/c/python"))

import allomon  # noqa: E402


def build():
    return [str(i) * 20 for i in range(200_000)]


def main(path):
    allomon.start(path, rate=1e-3)
    tracker = allomon.Tracker()
    kept = build()
    largest = tracker.snapshot()[0]
    print(f"{largest.bytes:,.0f} bytes in {largest.blocks:,.0f} blocks live:", largest.frames[0])
    tracker.stop()
    samples = allomon.statistics()["samples"]
    allomon.stop()
    print(f"{samples:,} samples in {path}")
    return len(kept)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    try:
        main(sys.argv[1])
    except allomon.Error as error:
        sys.exit(str(error))
