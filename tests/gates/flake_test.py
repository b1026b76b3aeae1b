#!/usr/bin/env python3
"""The gates beside a processor hog.  On an unchanged tree they pass each time.  With the deliberate
regression of examples/ci_gate they fail each time, and name its line.

The suite does a few runs.  For more runs, with one printed line per gate:

  bazel test //tests/gates:flake_test --test_arg=100 --test_output=all
"""

import multiprocessing
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
EXAMPLE = os.path.join(ROOT, "examples/ci_gate")
RUNS = 5


def line_of_the_regression():
    with open(os.path.join(EXAMPLE, "word_count.cc"), encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            if "counts_[std::string(word)]" in line:
                return number
    raise AssertionError("examples/ci_gate/word_count.cc has no regression")


def hog():
    while True:
        pass


def gate(benchmark):
    return [os.path.join(ROOT, "tools/gate/run_gate.sh"),
            os.path.join(ROOT, "tools/allomon/allomon"), os.path.join(EXAMPLE, benchmark),
            os.path.join(EXAMPLE, "word_count_baseline.json")]


class Flakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hogs = [multiprocessing.Process(target=hog, daemon=True)
                    for _ in range(os.cpu_count())]
        for process in cls.hogs:
            process.start()

    @classmethod
    def tearDownClass(cls):
        for process in cls.hogs:
            process.kill()
            process.join()

    def check(self, name, command, status, pattern):
        # Bazel's own variables would send results of these runs into this test's.
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("XML_OUTPUT", "GTEST", "TEST_", "BUILD_"))}
        good = 0
        for _ in range(RUNS):
            done = subprocess.run(command, env=environment, text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, status, done.stdout)
            self.assertRegex(done.stdout, pattern)
            good += 1
        print(f"{name}: {good} of {RUNS} as expected", flush=True)

    def test_benchmark_gate_passes(self):
        self.check("benchmark gate, unchanged", gate("word_count_benchmark"), 0, "none grew")

    def test_benchmark_gate_catches_the_regression(self):
        line = line_of_the_regression()
        self.check("benchmark gate, regression", gate("word_count_regressed_benchmark"), 1,
                   rf"word_count\.cc:{line}\b")

    def test_expectations_pass(self):
        self.check("expectations, unchanged", [os.path.join(EXAMPLE, "word_count_test")], 0,
                   re.escape("PASSED"))

    def test_expectations_catch_the_regression(self):
        line = line_of_the_regression()
        self.check("expectations, regression",
                   [os.path.join(EXAMPLE, "word_count_regressed_test")], 1,
                   rf"expected at most 0\n(.*\n)*.*word_count\.cc:{line}\b")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        RUNS = int(sys.argv.pop(1))
    sys.exit(unittest.main())
