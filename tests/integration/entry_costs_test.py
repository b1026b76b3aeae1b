#!/usr/bin/env python3
"""No entry point of malloc costs more because a tracker is there, was there, or samples other
blocks.  Each entry point costs as many instructions as the golden table for this mimalloc and
compiler says.

When a count changes, run bazel run //benchmarks:entry_costs -- --update, and review the change like
code.
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True

ROOT = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))

import entry_costs  # noqa: E402
import golden_tables  # noqa: E402

# The columns of one malloc: without a tracker, and with a tracker in each of its states.
STATES = (("off", "stopped", "sampling"), ("so:off", "so:rate_0", "so:sampling"))
# The tolerance of a slope over ten thousand repetitions.  One more refill of a list changes the
# slope by a tenth.
NOISE = 0.11
# What a preloaded pair takes more than one that is linked in.
MAX_PRELOADED_DIFFERENCE = 5
# g++ 16 saves mimalloc's own shared library a load; ours reads the heap of another source file.
GXX_16_PRELOADED = 1
# The pairs that add no more than a countdown and a test of the pointer.
PAIRS = ("malloc_free", "new_delete", "new_delete_array", "new_delete_nothrow", "new_delete_sized")


class EntryCosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = entry_costs.measure(ROOT)
        cls.built = entry_costs.built_with(ROOT)
        cls.table = entry_costs.table(cls.built, cls.rows)
        print(cls.table, end="")

    def test_a_tracker_that_samples_other_blocks_costs_nothing(self):
        self.assertEqual(len(self.rows), 12)
        for name, row in self.rows.items():
            for off, *others in STATES:
                for column in others:
                    with self.subTest(operation=name, column=column):
                        self.assertGreater(row[off], 10)
                        self.assertAlmostEqual(row[column], row[off], delta=NOISE)

    def test_pairs_cost_four_instructions_more_than_mimallocs_or_eight_by_functions(self):
        difference = golden_tables.max_difference(self.built)
        more_preloaded = GXX_16_PRELOADED if self.built.startswith("g++ 16.") else 0
        for name in PAIRS:
            row = self.rows[name]
            for where, more in ("", 0), ("so:", more_preloaded):
                with self.subTest(operation=name, where=where):
                    limit = row[where + "mimalloc"] + difference + more + NOISE
                    self.assertLessEqual(row[where + "sampling"], limit)

    def test_as_the_golden_table_says(self):
        expected = golden_tables.read(ROOT, entry_costs.GOLDEN, self.built)
        if expected is None:
            self.assert_preloaded_pairs_cost_one_call_more()
        else:
            self.assert_equal(expected)

    def assert_preloaded_pairs_cost_one_call_more(self):
        # Through the procedure linkage table: a jump for each of the two, and what reaches a
        # thread's heap from a shared library.
        for name in PAIRS:
            with self.subTest(operation=name):
                more = self.rows[name]["so:sampling"] - self.rows[name]["sampling"]
                self.assertGreaterEqual(more, 0)
                self.assertLessEqual(more, MAX_PRELOADED_DIFFERENCE)

    def assert_equal(self, expected):
        rows, golden_rows = ([line.split() for line in text.split("\n")[1:]]
                             for text in (self.table, expected))
        self.assertEqual(len(rows), len(golden_rows))
        self.assertEqual(rows[0], golden_rows[0])
        for row, golden_row in zip(rows[1:], golden_rows[1:]):
            self.assertEqual(row[:1], golden_row[:1])
            for column, cost, expected_cost in zip(rows[0][1:], row[1:], golden_row[1:]):
                with self.subTest(operation=row[0], column=column):
                    self.assertAlmostEqual(float(cost), float(expected_cost), delta=NOISE)


if __name__ == "__main__":
    sys.exit(unittest.main())
