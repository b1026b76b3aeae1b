#!/usr/bin/env python3
"""The programs that formats belong to read our exports, and see our totals."""

import json
import os
import re
import subprocess
import tempfile
import unittest

# From Go 1.25 on, pprof is built when it is first asked for.
os.environ.setdefault("GOCACHE", os.path.join(os.environ["TEST_TMPDIR"], "go"))

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
MLPROF = os.path.join(RUNFILES, "tools/mlprof/mlprof")
WRITE_EXAMPLE = os.path.join(RUNFILES, "tests/interchange/write_example")


def number(text):
    return int(text.replace(",", ""))


class ReadersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.use("odd")

    def use(self, example):
        subprocess.run([WRITE_EXAMPLE, example, self.folder], check=True)
        with open(os.path.join(self.folder, "truth.json"), encoding="utf-8") as file:
            self.truth = json.load(file)

    def both(self):
        for example in ["odd", "large"]:
            with self.subTest(example=example):
                self.use(example)
                yield example

    def run_in_folder(self, *command):
        environment = dict(os.environ, HOME=self.folder, TMPDIR=self.folder, LC_ALL="C")
        result = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, check=False
        )
        err = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, 0, err)
        return result.stdout.decode(errors="replace"), err

    def export(self, name, *options):
        self.run_in_folder(ALLOMON, "export", "example.pb.gz", "-o", name, *options)

    def total(self, metric):
        return self.truth[metric]["total"]

    # Each row of a pprof file is rounded.
    def assert_total(self, bytes_seen, metric, rows=12):
        self.assertAlmostEqual(bytes_seen, self.total(metric), delta=rows)


class Callgrind(ReadersTest):
    def annotate(self, *options):
        out, err = self.run_in_folder(
            "callgrind_annotate", "--auto=no", "--threshold=100", *options, "x.callgrind"
        )
        self.assertEqual(err, "", "a line that it does not know")
        return out

    def test_totals(self):
        for example in self.both():
            for metric in ["alloc", "live", "peak", "temporary"]:
                self.export("x.callgrind", "--format=callgrind", "--metric=" + metric)
                out = self.annotate(f"--show={metric}_bytes")
                whole = re.search(r"^ *([\d,]+)[^\n]*PROGRAM TOTALS$", out, re.MULTILINE)
                self.assert_total(number(whole[1]), metric, 300)

    def test_rows_without_callees_add_up(self):
        self.export("x.callgrind", "--format=callgrind", "--metric=alloc")
        out = self.annotate("--show=alloc_bytes", "--inclusive=no")
        rows = re.findall(r"^ *([\d,]+) \([^)]*\)  .*:.*$", out, re.MULTILINE)
        self.assert_total(sum(number(row) for row in rows), "alloc")

    def test_inclusive_costs_count_recursion_once(self):
        self.export("x.callgrind", "--format=callgrind", "--metric=alloc")
        out = self.annotate("--show=alloc_bytes", "--inclusive=yes")
        rows = re.findall(r"^ *([\d,]+) \([^)]*\)  ([^:]*):(.*?)(?: \[.*\])?$", out, re.MULTILINE)
        seen = {f"{file}:{name}": number(cost) for cost, file, name in rows}
        checked = 0
        for name, truth in self.truth["alloc"]["functions"].items():
            if "\n" in name or name == ":":
                continue  # written in another way
            self.assertAlmostEqual(seen[name], truth["inclusive"], delta=12, msg=name)
            checked += 1
        self.assertGreaterEqual(checked, 5)

    def test_inclusive_costs_of_many_stacks(self):
        self.use("large")
        self.export("x.callgrind", "--format=callgrind", "--metric=peak")
        out = self.annotate("--show=peak_bytes", "--inclusive=yes")
        rows = re.findall(r"^ *([\d,]+) \([^)]*\)  ([^:]*):(.*?)(?: \[.*\])?$", out, re.MULTILINE)
        seen = {f"{file}:{name}": number(cost) for cost, file, name in rows}
        functions = self.truth["peak"]["functions"]
        self.assertGreater(len(functions), 500)
        for name, truth in functions.items():
            self.assertAlmostEqual(seen.get(name, 0), truth["inclusive"], delta=300, msg=name)


class Massif(ReadersTest):
    def test_trees_have_the_totals(self):
        for example in self.both():
            self.export("x.massif", "--format=massif")
            out, err = self.run_in_folder("ms_print", "--threshold=0", "x.massif")
            self.assertEqual(err, "")
            tops = re.findall(r"^100\.00% \(([\d,]+)B\) \(heap allocation", out, re.MULTILINE)
            self.assertEqual(len(tops), 2, "the peak and the end")
            self.assert_total(number(tops[0]), "peak", 300)
            self.assert_total(number(tops[1]), "live", 300)
            self.assertIn("(peak)", out)

    def test_tree_begins_at_the_innermost(self):
        self.export("x.massif", "--format=massif")
        out, _ = self.run_in_folder("ms_print", "--threshold=0", "x.massif")
        self.assertRegex(out, r"\n->[\d.]+% \([\d,]+B\) 0x[0-9a-f]+: f\(int\) \(src/f.cc:21\)")
        self.assertRegex(out, r"\n\| *->[\d.]+% \([\d,]+B\) 0x[0-9a-f]+: main \(src/main.cc:11\)")

    def test_what_is_not_in_use_is_refused(self):
        result = subprocess.run(
            [ALLOMON, "export", "--format=massif", "--metric=alloc", "example.pb.gz"],
            cwd=self.folder,
            capture_output=True,
            check=False,
        )
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"choose another format", result.stderr)


class GoPprof(ReadersTest):
    def top(self, file, sample_index):
        out, _ = self.run_in_folder(
            "go", "tool", "pprof", "-top", "-symbolize=none", "-unit=B", "-nodecount=100000",
            "-nodefraction=0", "-sample_index=" + sample_index, file,
        )
        return float(re.search(r"% of ([\d.]+)B total", out)[1])

    def test_heap_v2(self):
        for example in self.both():
            self.export("x.heap", "--format=heap_v2")
            self.assert_total(self.top("x.heap", "inuse_space"), "live", 300)
            self.assert_total(self.top("x.heap", "alloc_space"), "alloc", 300)

    def test_pprof(self):
        self.export("x.pb.gz", "--format=pprof")
        self.assert_total(self.top("x.pb.gz", "peak_space"), "peak")


class Mlprof(ReadersTest):
    def test_totals(self):
        for example in self.both():
            for metric in ["alloc", "live"]:
                self.export("mlmon.out", "--format=mlmon", "--metric=" + metric)
                out, _ = self.run_in_folder(
                    MLPROF, "-raw", "true", "mlmon.out.sources", "mlmon.out"
                )
                whole = re.search(r"^([\d,]+) bytes allocated", out, re.MULTILINE)
                self.assert_total(number(whole[1]), metric, 300)

    def test_report_says_that_it_is_live(self):
        self.export("mlmon.out", "--format=mlmon", "--metric=live")
        out, _ = self.run_in_folder(ALLOMON, "report", "mlmon.out")
        self.assertIn(" live", out)

    def test_export_of_the_export(self):
        self.export("mlmon.out", "--format=mlmon", "--metric=alloc")
        out, _ = self.run_in_folder(ALLOMON, "export", "--format=collapsed", "mlmon.out")
        self.assert_total(sum(number(line.split()[-1]) for line in out.splitlines()), "alloc")


if __name__ == "__main__":
    unittest.main()
