#!/usr/bin/env python3
"""`allomon report --view=pages` says which blocks hold the free memory of half-empty pages.

The figures of the README, which take minutes:

  ALLOMON_PAGES_RUNS=1000 bazel run //tests/pages:pages_test
"""

import json
import math
import os
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, runfile  # noqa: E402

ALLOMON = runfile("//tools/allomon:allomon")
LIBRARY = runfile("//allocator:liballomon.so")
HALF_EMPTY = runfile("//tests/pages:half_empty_pages")
FUNCTIONS = ("KeepOneInTen", "KeepOneInFour", "KeepHalf", "KeepMost")
OCCUPANCY = {"KeepOneInTen": 10, "KeepOneInFour": 25, "KeepHalf": 50, "KeepMost": 90,
             "KeepAll": 100}
RUNS = int(os.environ.get("ALLOMON_PAGES_RUNS", "0"))
SIGMAS = 5.7


class Pages(Case):
    def start(self, *argv, **environment):
        child = subprocess.Popen(
            argv,
            env={"PATH": "/usr/bin:/bin", **environment},
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(child.kill)
        return child

    def record(self, *argv, rate="1", in_place="1/1", **environment):
        """Returns the process, and what it says until it is ready."""
        child = self.start(
            *argv, LD_PRELOAD=LIBRARY, ALLOMON_RECORD=self.path("x.rec"), ALLOMON_RATE=rate,
            ALLOMON_IN_PLACE=in_place, **environment
        )
        said = {}
        for line in child.stdout:
            if line == "ready\n":
                return child, said
            name, free_bytes = line.split()
            said[name] = int(free_bytes)
        self.fail(child.stderr.read())

    def pages(self, pid, *options):
        return self.run_plain([ALLOMON, "report", "--view=pages", *options, str(pid)])

    def report(self, pid, *options):
        done = self.pages(pid, "--json", *options)
        if done.returncode == 2 and "may not be read" in done.stderr:
            self.skipTest("NOT TESTED: " + done.stderr.strip())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        return report, {row["function"]: row for row in report["pages"]}

    def finish(self, child):
        out, err = child.communicate("go\n", timeout=60)
        self.assertEqual((child.returncode, out, err), (0, "done\n", ""))

    def test_every_block_in_place_is_exact(self):
        child, said = self.record(HALF_EMPTY, "1")
        report, rows = self.report(child.pid)
        self.assertEqual(report["without_room"], 0)
        for name, free_bytes in said.items():
            row = rows[name]
            self.assertEqual((row["held_low"], row["held_high"]), (row["held"], row["held"]), name)
            self.assertAlmostEqual(row["held"], free_bytes, delta=0.5 + free_bytes * 1e-9, msg=name)
            self.assertAlmostEqual(row["occupancy_percent"], OCCUPANCY[name], delta=1, msg=name)
            self.assertTrue(0 < row["age_seconds"] < 60, name)
        self.finish(child)


if __name__ == "__main__":
    unittest.main()
