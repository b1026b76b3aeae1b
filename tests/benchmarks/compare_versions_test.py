#!/usr/bin/env python3
"""Tests what benchmarks/compare_versions.py makes of its figures and options, and how golden tables
are found.  No program is timed.
"""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

BENCHMARKS = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "benchmarks")
sys.path.insert(0, BENCHMARKS)

# pylint: disable=wrong-import-position
import compare_versions as versions
import golden_tables


def figures_of(title, rounds):
    """Each build and configuration has its rounds; the second build takes twice as long."""
    return {title: {(build, it): [factor * value for value in rounds]
                    for build, factor in (("a", 1), ("b", 2)) for it in versions.CONFIGURATIONS}}


class Table(unittest.TestCase):
    def test_ratios_are_of_the_same_round(self):
        self.assertEqual(versions.ratio([2, 30, 8], [1, 10, 8]), "2.00 (1.00-3.00)")
        self.assertEqual(versions.ratio([0], [1]), "", "nothing was measured")

    def test_a_row_of_times_and_one_of_memory(self):
        text = versions.table(figures_of("pair", [1e-8, 3e-8]), ["a", "b"])
        self.assertIn("| pair | 20.0 ns | 2.00 (2.00-2.00) |", text)
        title = next(iter(versions.RESIDENT))
        text = versions.table(figures_of(title, [3 << 20]), ["a", "b"])
        self.assertIn(f"| {title} | 3.0 MiB |", text)

    def test_a_row_that_was_interrupted_is_left_out(self):
        figures = figures_of("pair", [1e-8])
        del figures["pair"]["b", "off"]
        self.assertNotIn("pair", versions.table(figures, ["a", "b"]))


class Options(unittest.TestCase):
    def refused(self, *arguments):
        errors = io.StringIO()
        with mock.patch.object(sys, "argv", ["compare_versions", *arguments]):
            with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as ended:
                versions.parse()
        self.assertEqual(ended.exception.code, 2)
        return errors.getvalue().strip().split("\n")[-1]

    def test_what_is_not_two_builds_is_refused(self):
        self.assertIn("NAME=BAZEL-BIN", self.refused("a"))
        self.assertIn("two builds", self.refused("a", "b"))
        self.assertIn("two builds", self.refused("a=x", "a=y"))
        self.assertIn("no benchmarks/libplain_mimalloc.so", self.refused("a=/none", "b=/none"))


class GoldenTables(unittest.TestCase):
    BUILT = "g++ 12.2.0, mimalloc 2.0.9"

    def read(self, header, built):
        with tempfile.TemporaryDirectory() as root:
            path = os.path.join(root, golden_tables.path("x.golden", self.BUILT))
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as file:
                file.write(header + "\nrow\n")
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                return golden_tables.read(root, "x.golden", built), said.getvalue()

    def test_each_mimalloc_and_compiler_has_tables_of_its_own(self):
        paths = {golden_tables.path("x.golden", built) for built in (
            self.BUILT, "g++ 14.2.0, mimalloc 2.0.9", "clang 12.0.0, mimalloc 2.0.9",
            "g++ 12.2.0, mimalloc 3.0.1", "g++ 12.2.0, mimalloc 2.0.9 by its functions")}
        self.assertEqual(len(paths), 5)

    def test_only_exactly_this_compiler_counts(self):
        header = f"# instructions; {self.BUILT}, opt"
        self.assertEqual(self.read(header, self.BUILT), (header + "\nrow\n", ""))
        for other in "g++ 12.3.0, mimalloc 2.0.9", "g++ 12.2.0, mimalloc 3.0.1":
            text, said = self.read(header, other)
            self.assertIsNone(text)
            self.assertIn("it would be " + golden_tables.path("x.golden", other), said)


if __name__ == "__main__":
    sys.exit(unittest.main())
