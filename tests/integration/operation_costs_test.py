#!/usr/bin/env python3
"""Instructions per operation, and bytes per live sample, are within 2 % of the golden table for
this mimalloc and compiler; where there is none, within a quarter of another one's.  A sampled block
does not come from mimalloc, so its version matters little.

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
# What compilers differ by.
OTHERS_TOLERANCE = 0.25


class OperationCosts(unittest.TestCase):
    def test_within_two_percent_of_the_golden_table(self):
        built = operation_costs.built_with(ROOT)
        measured = operation_costs.measure(ROOT)
        print(operation_costs.table(built, measured), end="")
        golden = golden_tables.read(ROOT, operation_costs.GOLDEN, built)
        if golden is not None:
            self.assert_near(measured, golden, TOLERANCE)
            return
        others = list(golden_tables.others(ROOT, operation_costs.GOLDEN))
        self.assertNotEqual(others, [])
        for other in others:
            self.assert_near(measured, other, OTHERS_TOLERANCE)

    def assert_near(self, measured, golden, tolerance):
        expected = operation_costs.read(golden)
        self.assertEqual(set(measured), set(expected))
        for name, cost in measured.items():
            with self.subTest(name=name, table=golden.split("\n")[0]):
                self.assertGreater(cost, 1)
                self.assertAlmostEqual(cost, expected[name], delta=tolerance * expected[name])


if __name__ == "__main__":
    sys.exit(unittest.main())
