#!/usr/bin/env python3
"""distributions.sh: options that are wrong end in one line, and failures are counted."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = os.path.join(HERE, "distributions", "steps.sh")

BAZEL = """
//tests/a:one                                        (cached) PASSED in 3.0s
//tests/a:two                                                 PASSED in 1.2s
//tests/a:three                                               TIMEOUT in 900.1s
//tests/a:four                                                FAILED in 3 out of 3 in 1.2s
//tests/a:five                                                NO STATUS
//tests/a:six                                                 FAILED TO BUILD
Executed 4 out of 6 tests: 2 tests pass.
"""
CTEST = """
3/4 Test #3: word_count_test ..................   Passed    0.01 sec
75% tests passed, 1 tests failed out of 4
consumer PASSED
"""


class DistributionsTest(unittest.TestCase):
    def refused(self, *arguments):
        script = os.path.join(HERE, "distributions.sh")
        done = subprocess.run([script, *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual((2, ""), (done.returncode, done.stdout), done.stderr)
        self.assertEqual(1, done.stderr.count("\n"), done.stderr)
        return done.stderr

    def shell(self, command, text, more=""):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            argv = ["bash", "-c", f'source "{STEPS}"; {command} "$1" $2', "bash", file.name, more]
            return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()

    def test_wrong_options_are_named(self):
        self.assertIn("'buster' (bookworm trixie sid)", self.refused("buster"))
        self.assertIn("no step 'fib' (fib_tak", self.refused("--steps=tests,fib"))
        self.assertIn("no option '--step'", self.refused("--step", "tests"))
        self.assertIn("--nice=low is not a number", self.refused("--nice=low"))
        self.assertIn("/nowhere has no include/mimalloc.h", self.refused("--mimalloc=/nowhere"))

    def test_what_was_not_run_to_its_end_counts_as_failed(self):
        self.assertEqual("2 4", self.shell("count_tests", BAZEL))

    def test_ctest_and_the_consumer_are_counted(self):
        self.assertEqual("4 1", self.shell("count_tests", CTEST))

    def test_the_gate_that_a_consumer_makes_fail_is_no_failure(self):
        self.assertEqual("1 0", self.shell("count_tests", BAZEL + "consumer PASSED\n", "consumer"))

    def test_both_forms_of_mimallocs_version(self):
        for number, version in ("209", "2.0.9"), ("301", "3.0.1"), ("30403", "3.4.3"):
            header = f"#define MI_MALLOC_VERSION {number}   // major + 2 digits minor\n"
            self.assertEqual(version, self.shell("mimalloc_version", header))


if __name__ == "__main__":
    unittest.main()
