#!/usr/bin/env python3
"""Instructions per operation, and bytes per live sample, are within 2 % of the golden file.

When a cost changes, run bazel run //benchmarks:operation_costs -- --update, and review the change
like code.
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True

ROOT = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))

import operation_costs  # noqa: E402

# Addresses are random, so hash tables of addresses cost a little more or less from run to run.
TOLERANCE = 0.02


class OperationCosts(unittest.TestCase):
    def test_within_two_percent_of_the_golden_file(self):
        table = operation_costs.table(ROOT, operation_costs.measure(ROOT))
        print(table, end="")
        header, measured = operation_costs.read(table)
        with open(os.path.join(ROOT, operation_costs.GOLDEN), encoding="utf-8") as golden:
            golden_header, expected = operation_costs.read(golden.read())
        if header != golden_header:
            self.skipTest("the golden file is of another compiler: " + golden_header)
        self.assertEqual(set(measured), set(expected))
        for name, cost in measured.items():
            with self.subTest(name=name):
                self.assertGreater(cost, 1)
                self.assertAlmostEqual(cost, expected[name], delta=TOLERANCE * expected[name])


if __name__ == "__main__":
    sys.exit(unittest.main())
