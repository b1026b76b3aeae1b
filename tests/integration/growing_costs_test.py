#!/usr/bin/env python3
"""Costs grow with what a program does: with its threads, and with the libraries that it unloads."""

import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, runfile  # noqa: E402

THREADS_HOST = runfile("//tests/integration:many_threads_host")
RELOADING_HOST = runfile("//tests/integration:reloading_host")
RELOADED = runfile("//tests/integration:libreloaded.so")
WITHOUT_BUILD_ID = runfile("//tests/integration:libmapped_code_Right.so")
LIBRARY = runfile("//allocator:liballomon.so")

PROFILES = {
    "bytes": {"ALLOMON_PROFILE": "alloc"},
    "every byte": {"ALLOMON_PROFILE": "alloc", "ALLOMON_RATE": "1"},
    "live": {"ALLOMON_PROFILE": "live,stack"},
    "every live byte": {"ALLOMON_PROFILE": "live,stack", "ALLOMON_RATE": "1"},
    "time": {"ALLOMON_PROFILE": "time"},
}
# Of a thread in any profile: its stack, its heap and what the profiler keeps.
THREAD_BYTES = 45_000
THREADS = 3000


class GrowingCosts(Case):
    def resident_bytes(self, threads, variables):
        done = self.run_preloaded([THREADS_HOST, str(threads)], variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""), variables)
        return int(done.stdout) * 1024

    def test_a_profiled_thread_takes_little(self):
        for name, variables in PROFILES.items():
            with self.subTest(profile=name):
                few, many = (self.resident_bytes(n, variables) for n in (1, THREADS + 1))
                self.assertLess((many - few) / THREADS, THREAD_BYTES)

    def instructions(self, cycles, *kept):
        """Of a host that loads and unloads a library so often, each of its blocks sampled; a
        library is kept beside that."""
        done = self.run_plain(
            [
                "/usr/bin/valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={self.path('callgrind.out')}",
                RELOADING_HOST,
                RELOADED,
                str(cycles),
                *kept,
            ],
            {"LD_PRELOAD": LIBRARY, "ALLOMON_PROFILE": "live,stack", "ALLOMON_RATE": "1"},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(re.search(r"Collected : (\d+)", done.stderr)[1])

    def test_dlclose_does_not_look_at_all_stacks_that_ever_were(self):
        few, twice, fourfold = (self.instructions(n) for n in (400, 800, 1600))
        # Twice as many cycles take twice as much; with the square it would be four times.
        self.assertLess(fourfold - twice, 2.5 * (twice - few))

    def test_dlclose_asks_once_for_the_file_of_a_library(self):
        alone = self.instructions(100) - self.instructions(50)
        beside = self.instructions(100, WITHOUT_BUILD_ID) - self.instructions(50, WITHOUT_BUILD_ID)
        # Measured: 260,000 a cycle alone, and 263,000; 1,547,000 where the maps are read each time.
        self.assertLess(beside, 1.1 * alone)


if __name__ == "__main__":
    unittest.main()
