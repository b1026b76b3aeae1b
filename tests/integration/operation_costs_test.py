#!/usr/bin/env python3
"""Instructions per operation, and bytes per live sample, are within 2 % of the golden table for
this mimalloc and compiler; where there is none, within a quarter of what the other tables span.  A
sampled block does not come from mimalloc, so its version matters little.

When a cost changes, run bazel run //benchmarks:operation_costs -- --update, and review the change
like code.
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True

ROOT = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))

import golden_tables  # noqa: E402
import operation_costs  # noqa: E402

# Addresses are random, so hash tables of addresses cost a little more or less from run to run.
TOLERANCE = 0.02
# What a further compiler may differ by from the nearest of those that have tables.
OTHERS_TOLERANCE = 0.25


class OperationCosts(unittest.TestCase):
    def test_within_two_percent_of_the_golden_table(self):
        built = operation_costs.built_with(ROOT)
        measured = operation_costs.measure(ROOT)
        print(operation_costs.table(built, measured), end="")
        golden = golden_tables.read(ROOT, operation_costs.GOLDEN, built)
        if golden is not None:
            self.assert_between(measured, [operation_costs.read(golden)], TOLERANCE)
            return
        others = list(golden_tables.others(ROOT, operation_costs.GOLDEN))
        self.assertNotEqual(others, [])
        self.assert_between(measured, [operation_costs.read(it) for it in others],
                            OTHERS_TOLERANCE)

    def assert_between(self, measured, tables, tolerance):
        for table in tables:
            self.assertEqual(set(measured), set(table))
        for name, cost in measured.items():
            expected = [table[name] for table in tables]
            with self.subTest(name=name):
                self.assertGreater(cost, 1)
                self.assertGreaterEqual(cost, (1 - tolerance) * min(expected))
                self.assertLessEqual(cost, (1 + tolerance) * max(expected))


if __name__ == "__main__":
    sys.exit(unittest.main())
