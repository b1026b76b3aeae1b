#!/usr/bin/env python3
"""--view=unused names the lines that ask for too much in a program whose blocks are known."""

import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, runfile  # noqa: E402

NODES = 20000  # as in unused_blocks.cc
VECTORS = 20
CELL_BYTES = 16
LARGEST_CELLS = 16384  # the first power of two that holds the vector's elements


def of_many_sizes():
    """The rounding of a block each of 1,000 to 1,399 bytes."""
    classes = (1024, 1280, 1536)
    return sum(next(c for c in classes if size <= c) - size for size in range(1000, 1400))


ALLOMON = runfile("//tools/allomon:allomon")


class Unused(Case):
    def record(self, rate):
        done = self.run_preloaded(
            [runfile("//tests/views:unused_blocks")],
            {"ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": rate, "ALLOMON_SEED": "3"},
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "done\n", ""))

    def report(self, *options, file="x.rec"):
        return self.run_plain([ALLOMON, "report", "--view=unused", *options, file])

    def rows(self, table, file="x.rec"):
        shown = self.report("--json", file=file)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return {row["function"].split("(")[0]: row for row in json.loads(shown.stdout)[table]}

    def test_rounding_is_exact_at_rate_1(self):
        self.record("1")
        rows = self.rows("rounding_sites")
        nodes = rows["JustAboveAClass"]
        self.assertEqual(nodes["rounding"], NODES * (80 - 65))
        self.assertEqual(nodes["asked"], NODES * 65)
        self.assertEqual((nodes["size_bytes"], nodes["smaller_bytes"]), (65, 64))
        self.assertEqual(nodes["saving"], NODES * (80 - 64))
        self.assertEqual(
            nodes["advice"], "ask for 64 bytes, not 65: saves 312.5 KiB"
        )
        self.assertTrue(nodes["file"].endswith("unused_blocks.cc"))
        self.assertGreater(nodes["line"], 0)
        self.assertNotIn("OfAClass", rows)
        self.assertIsNone(rows["OfManySizes"].get("advice"))
        self.assertAlmostEqual(rows["OfManySizes"]["rounding"], of_many_sizes(), delta=0.01)

    def test_interval_holds_the_truth_where_it_is_sampled(self):
        self.record("1e-3")
        nodes = self.rows("rounding_sites")["JustAboveAClass"]
        truth = NODES * (80 - 65)
        self.assertLess(nodes["rounding_low"], truth)
        self.assertGreater(nodes["rounding_high"], truth)
        self.assertGreater(nodes["rounding_low"], truth / 2)
        self.assertLess(nodes["rounding_high"], truth * 2)

    def test_growth_of_vectors_and_buffers(self):
        self.record("1")
        rows = self.rows("growth_sites")
        self.assertEqual(set(rows), {"GrowVector", "GrowBuffer"})
        vector = rows["GrowVector"]
        self.assertEqual(vector["holder"], "std::vector<Cell>")
        self.assertEqual((vector["by_name"], rows["GrowBuffer"]["by_name"]), (True, False))
        self.assertEqual(vector["sizes"], 15)  # 1, 2, 4, ... 16384
        self.assertEqual(vector["least_bytes"], CELL_BYTES)
        self.assertEqual(vector["largest_bytes"], LARGEST_CELLS * CELL_BYTES)
        self.assertEqual(vector["copied"], VECTORS * (LARGEST_CELLS - 1) * CELL_BYTES)
        self.assertEqual(vector["held_bytes"], LARGEST_CELLS * CELL_BYTES / 2)
        self.assertEqual(vector["largest_blocks"], VECTORS)
        self.assertEqual(rows["GrowBuffer"]["copied"], 1000 * (2**9 - 1))

    def test_pprof_file_has_the_same(self):
        self.record("1e-3")
        made = self.run_plain([ALLOMON, "export", "--format=pprof", "x.rec", "-o", "x.pb.gz"])
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        of_recording = self.rows("rounding_sites")["JustAboveAClass"]
        of_pprof = self.rows("rounding_sites", file="x.pb.gz")["JustAboveAClass"]
        self.assertEqual(of_pprof["size_bytes"], 65)
        self.assertAlmostEqual(
            of_pprof["rounding"], of_recording["rounding"], delta=of_recording["rounding"] / 1000
        )

    def test_text_has_the_advice(self):
        self.record("1")
        shown = self.report()
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        for advice in (
            "JustAboveAClass(): ask for 64 bytes, not 65: saves 312.5 KiB\n",
            "GrowVector(): reserve(n): 15 sizes from 16 B to 256.0 KiB copied 5.0 MiB, with ",
        ):
            self.assertIn(advice, shown.stdout)

    def test_bad_input_is_one_line(self):
        self.write("x.heap", "heap_v2/524288\n  t*: 1: 65 [1: 65]\n@ 0x10\n  t*: 1: 65 [1: 65]\n")
        shown = self.report(file="x.heap")
        self.assertEqual((shown.returncode, shown.stdout), (2, ""))
        self.assertRegex(
            shown.stderr,
            r"^allomon report: x.heap: no exact sizes of live blocks are known: .*\n$",
        )
        self.record("1")
        for option, what in (
            ("--metric=peak", "leave out --metric and --blocks"),
            ("--born=1s..", "of blocks of all ages"),
        ):
            shown = self.report(option)
            self.assertEqual((shown.returncode, shown.stdout), (2, ""))
            self.assertRegex(shown.stderr, f"^allomon report: .*{what}\n$")


if __name__ == "__main__":
    unittest.main()
