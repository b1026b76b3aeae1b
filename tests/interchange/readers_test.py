#!/usr/bin/env python3
"""The programs that formats belong to read our exports, and see our totals."""

import csv
import hashlib
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


def guid_of(name):
    """LLVM's number of a function."""
    raw = name.encode(errors="surrogateescape")
    return int.from_bytes(hashlib.md5(raw).digest()[:8], "little")


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


class Memprof(ReadersTest):
    """LLVM's YAML by a reader of its own, which takes only the form that llvm-profdata reads."""

    CALL = re.compile(
        r"          - { Function: (0x[0-9a-f]+), LineOffset: (\d+), Column: (\d+),"
        r" IsInlineFrame: (true|false) }"
    )
    KEYS = ["AllocCount", "TotalSize", "TotalLifetime", "TotalLifetimeAccessDensity"]

    def read(self):
        """Returns {GUID: (sites, call sites)}; of sites the calls and their numbers."""
        self.export("x.yaml", "--format=memprof")
        with open(os.path.join(self.folder, "x.yaml"), encoding="ascii") as file:
            self.lines = file.read().split("\n")
        self.assertEqual(self.lines[0], "---", "by this llvm-profdata knows the format")
        self.assertEqual(self.lines[-2:], ["...", ""])
        lines = [line for line in self.lines[1:-2] if not line.startswith("#")]
        lines = [re.sub(r"  # .*", "", line) for line in lines]
        self.assertEqual(lines.pop(0), "HeapProfileRecords:")
        records = {}
        while lines:
            guid = int(re.fullmatch(r"  - GUID: (0x[0-9a-f]+)", lines.pop(0))[1], 16)
            self.assertNotIn(guid, records, "the second one would be ignored")
            records[guid] = (self.sites(lines), self.call_sites(lines))
        return records

    def calls(self, lines):
        calls = []
        while lines and self.CALL.fullmatch(lines[0]):
            guid, offset, column, inline = self.CALL.fullmatch(lines.pop(0)).groups()
            calls.append((int(guid, 16), int(offset), int(column), inline == "true"))
        self.assertTrue(calls)
        return tuple(calls)

    def sites(self, lines):
        sites = []
        if lines.pop(0) == "    AllocSites: []":
            return sites
        while lines[0] == "      - Callstack:":
            lines.pop(0)
            calls = self.calls(lines)
            self.assertEqual(lines.pop(0), "        MemInfoBlock:")
            numbers = {}
            for key in self.KEYS:
                numbers[key] = int(re.fullmatch(r"          " + key + r": (\d+)", lines.pop(0))[1])
            sites.append((calls, numbers))
        self.assertTrue(sites)
        return sites

    def call_sites(self, lines):
        call_sites = []
        if lines.pop(0) == "    CallSites: []":
            return call_sites
        while lines and lines[0] == "      - Frames:":
            lines.pop(0)
            call_sites.append(self.calls(lines))
        self.assertTrue(call_sites)
        return call_sites

    def stacks(self, records):
        """Each stack once: it stands in the records of all functions that were inlined."""
        stacks = {}
        for sites, _ in records.values():
            for calls, numbers in sites:
                self.assertEqual(stacks.setdefault(calls, numbers), numbers)
        return stacks.values()

    def left_out(self):
        """Returns blocks and bytes."""
        for line in self.lines:
            found = re.fullmatch(r"# Left out.*: (\d+) blocks, (\d+) bytes", line)
            if found:
                return int(found[1]), int(found[2])
        return 0, 0

    def test_totals(self):
        for example in self.both():
            stacks = self.stacks(self.read())
            blocks, size = self.left_out()
            self.assertEqual(size > 0, example == "odd", "it has stacks without lines")
            self.assert_total(size + sum(stack["TotalSize"] for stack in stacks), "alloc", 300)
            self.export("x.csv", "--format=csv")
            with open(os.path.join(self.folder, "x.csv"), encoding="latin-1", newline="") as file:
                csv_blocks = sum(float(row["alloc_blocks"] or 0) for row in csv.DictReader(file))
            blocks += sum(stack["AllocCount"] for stack in stacks)
            self.assertAlmostEqual(blocks, csv_blocks, delta=300)

    def test_functions_are_the_low_half_of_md5(self):
        for _ in self.both():
            records = self.read()
            names = [name.split(":", 1)[1] for name in self.truth["alloc"]["functions"]]
            names.append("two\nlines\tand \\ \udcff\udcfe \u20ac")  # JSON replaces two bytes
            guids = {guid_of(name): name for name in names}
            self.assertGreater(len(records), 3)
            for guid, (sites, call_sites) in records.items():
                self.assertIn(guid, guids)
                for calls in [calls for calls, _ in sites] + call_sites:
                    self.assertLessEqual({call[0] for call in calls}, set(guids))

    def test_records_are_where_clang_looks(self):
        for _ in self.both():
            for guid, (sites, call_sites) in self.read().items():
                for calls, _ in sites:
                    inlined = [i for i, call in enumerate(calls) if not call[3]][0]
                    self.assertIn(guid, [call[0] for call in calls[: inlined + 1]])
                for calls in call_sites:
                    self.assertIn(guid, [call[0] for call in calls])
                    self.assertEqual([call[3] for call in calls[-1:]], [False])

    def test_offsets_of_inlined_calls(self):
        records = self.read()
        g, f = guid_of('ns::g<char; "int">'), guid_of("f(int)")
        both = ((g, 31 - 10, 0, True), (f, 32 - 10, 0, False))
        self.assertIn(both, records[g][1])
        self.assertIn(both, records[f][1])
        main = [calls for calls, _ in records[guid_of("main")][0]]
        self.assertEqual(main, [((guid_of("main"), 11 - 10, 0, False),)])

    def test_lifetimes_are_milliseconds(self):
        # A quarter is as old as the middle of 2^25 ns and the double, three quarters of 2^12.
        mean = (1.5 * 2**25 / 4 + 1.5 * 2**12 * 3 / 4) / 1e6
        for stack in self.stacks(self.read()):
            # The example's pprof file has whole blocks of each age, and a stack three samples.
            delta = 3 * (0.5 * 1.5 * 2**25 / 1e6 + 0.5) / stack["AllocCount"]
            self.assertAlmostEqual(stack["TotalLifetime"] / stack["AllocCount"], mean, delta=delta)
            self.assertEqual(stack["TotalLifetimeAccessDensity"], 0)


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
