#!/usr/bin/env python3
"""A malloc and free that is not sampled costs at most four instructions more than mimalloc's own
pair.  This holds also when nothing samples yet.  The count is the one that the golden file says.

When the count changes, run bazel run //benchmarks:fast_path -- --update, and review the change like
code.
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True

ROOT = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))

import fast_path  # noqa: E402


class FastPath(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.measured = fast_path.measure(ROOT, fast_path.count)
        cls.table = fast_path.table(fast_path.compiler_of(ROOT), "instructions", cls.measured)
        print(cls.table, end="")

    def test_at_most_four_instructions_more(self):
        self.assertEqual(tuple(self.measured), (16, 64, 256, 1024))
        for size, (plain, off, sampling) in self.measured.items():
            with self.subTest(size=size):
                # A malloc and a free cannot take fewer instructions.  Compilers remove pairs that
                # do nothing, so the test checks that both are there.
                self.assertGreater(plain, 15)
                self.assertLessEqual(sampling - plain, fast_path.MAX_DIFFERENCE)
                self.assertLessEqual(off - plain, fast_path.MAX_DIFFERENCE, "nothing samples")

    def test_as_the_golden_file_says(self):
        with open(os.path.join(ROOT, fast_path.GOLDEN), encoding="utf-8") as golden:
            expected = golden.read()
        if expected.split("\n")[0] != self.table.split("\n")[0]:
            self.skipTest("the golden file is of another compiler: " + expected.split("\n")[0])
        self.assertEqual(self.table, expected)


if __name__ == "__main__":
    sys.exit(unittest.main())
