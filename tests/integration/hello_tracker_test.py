#!/usr/bin/env python3
"""//examples:hello_tracker finds the leak that it has, and no other."""

import math
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import SIGMAS, Case, runfile  # noqa: E402

RATE = 1e-2
BLOCKS = 10_000
BLOCK_BYTES = 100
TRUTH = BLOCKS * BLOCK_BYTES

# 100 bytes are 13 words, and the header is one more.
TRIALS = 13 + 1
P = 1 - (1 - RATE) ** TRIALS
# Each block counts for 100 / P bytes with probability P.
SIGMA = math.sqrt(BLOCKS * (BLOCK_BYTES / P) ** 2 * P * (1 - P))

LEAK = re.compile(r"(.*) \((.*): (\d+)\): about (\d+) bytes were never freed")


class HelloTracker(Case):
    def test_finds_the_leak_and_nothing_else(self):
        done = self.run_plain([runfile("//examples:hello_tracker")])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2, done.stdout)
        self.assertEqual(lines[1], f"In truth: NewSession(), {TRUTH} bytes.")
        found = LEAK.fullmatch(lines[0])
        self.assertTrue(found, lines[0])
        name, file, line, estimate = found.groups()
        self.assertEqual(name, "NewSession()")
        self.assertLess(SIGMA, TRUTH / 20)
        print(f"{(int(estimate) - TRUTH) / SIGMA:+.2f} sigma off")
        self.assertLessEqual(abs(int(estimate) - TRUTH), SIGMAS * SIGMA)

        self.assertEqual(os.path.basename(file), "hello_tracker.cc")
        with open(runfile("//examples:hello_tracker.cc"), encoding="utf-8") as source:
            around = source.read().split("\n")[int(line) - 3 : int(line) + 1]
        self.assertTrue(any("NewSession()" in text for text in around), (line, around))


if __name__ == "__main__":
    sys.exit(unittest.main())
