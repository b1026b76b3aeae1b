#!/usr/bin/env python3
"""A malloc and free that is not sampled costs at most four instructions more than mimalloc's own
pair.  This holds also when nothing samples yet.  The count is the one of the golden table for this
mimalloc and compiler.

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
import golden_tables  # noqa: E402

# One more refill of a list changes a slope by a tenth.
NOISE = 0.11


class FastPath(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.measured = fast_path.measure(ROOT, fast_path.count)
        cls.built = fast_path.built_with(ROOT)
        cls.table = fast_path.table(cls.built, "instructions", cls.measured)
        print(cls.table, end="")

    def test_at_most_four_instructions_more_or_eight_by_functions(self):
        limit = golden_tables.max_difference(self.built)
        self.assertEqual(tuple(self.measured), (16, 64, 256, 1024))
        for size, (plain, off, sampling) in self.measured.items():
            with self.subTest(size=size):
                # A malloc and a free cannot take fewer instructions.  Compilers remove pairs that
                # do nothing, so the test checks that both are there.
                self.assertGreater(plain, 15)
                self.assertLessEqual(sampling - plain, limit)
                self.assertLessEqual(off - plain, limit, "nothing samples")

    def test_as_the_golden_table_says(self):
        expected = golden_tables.read(ROOT, fast_path.GOLDEN, self.built)
        if expected is None:
            self.assert_same_difference_at_every_size()
        else:
            self.assertEqual(self.table, expected)

    def assert_same_difference_at_every_size(self):
        first_plain, _, first = self.measured[fast_path.SIZES[0]]
        for size, (plain, off, sampling) in self.measured.items():
            with self.subTest(size=size):
                self.assertAlmostEqual(sampling, off, delta=NOISE)
                self.assertAlmostEqual(sampling - plain, first - first_plain, delta=1)


if __name__ == "__main__":
    sys.exit(unittest.main())
