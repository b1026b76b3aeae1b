#!/usr/bin/env python3
"""Tests what benchmarks/compare.py makes of its figures and options.  No program is timed."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from unittest import mock

BENCHMARKS = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "benchmarks")
sys.path.insert(0, BENCHMARKS)

# pylint: disable=wrong-import-position
import compare
import compare_configurations as configurations
import compare_picture
import compare_report as report
import compare_workloads as workloads
import mutators
import r7rs

OFF, ALL = ("off", "raw"), ("all", "off")
TIMES = {
    "pair": {"raw": [1e-8, 2e-8, 4e-8], "off": [2e-8, 2e-8, 2e-8], "all": [4e-8, 6e-8, 1e-7]},
    "batch": {"raw": [1e-8, 1e-8, 1e-8], "off": [8e-8, 1e-8, 2e-8]},
    "program": {"raw": [0.5, 0.25, 0.5], "off": [0.5, 0.5, 0.5]},
}
GRID = ["pair", "batch"]


def summary():
    return report.summarise(TIMES, GRID, [OFF, ALL])


class Ratios(unittest.TestCase):
    def test_runs_of_the_same_round_are_divided(self):
        self.assertEqual(report.ratios(TIMES, "pair", OFF), [2, 1, 0.5])

    def test_what_was_not_measured_has_no_ratio(self):
        self.assertEqual(report.ratios(TIMES, "batch", ALL), [])
        self.assertEqual(report.ratios(TIMES, "no such row", ALL), [])

    def test_a_time_below_the_start_up_that_was_subtracted_has_no_ratio(self):
        self.assertEqual(report.ratios({"w": {"a": [1, -1], "b": [2, 2]}}, "w", ("a", "b")), [0.5])

    def test_quartiles_lie_between_the_values(self):
        self.assertEqual(report.quartiles([5, 1, 2, 3, 4]), (3, 2, 4))
        self.assertEqual(report.quartiles([1, 2]), (1.5, 1.25, 1.75))

    def test_one_round_is_its_own_median_and_quartiles(self):
        self.assertEqual(report.quartiles([7]), (7, 7, 7))

    def test_the_mean_of_the_grid_is_taken_in_each_round(self):
        found = report.grid_ratios(TIMES, GRID, OFF)
        for value, expected in zip(found, [4, 1, 1]):
            self.assertAlmostEqual(value, expected)
        self.assertEqual(len(found), 3)

    def test_an_incomplete_grid_has_no_mean(self):
        self.assertEqual(report.grid_ratios(TIMES, GRID, ALL), [])
        self.assertNotIn(report.GRID, report.summarise(TIMES, [*GRID, "random"], [OFF]))

    def test_the_mean_stands_behind_the_grid(self):
        self.assertEqual(list(summary()), ["pair", "batch", report.GRID, "program"])


class Goals(unittest.TestCase):
    COLUMN = ("allomon 1e-4", "mimalloc")

    def lines(self, measured):
        rows = {"python3 JSON": {self.COLUMN: (measured, 1, 2)}}
        return report.goal_lines(report.goals_of(rows))

    def test_met_as_printed(self):
        self.assertIn("1.02, goal 1.02: met", self.lines(1.0249))

    def test_missed_with_the_distance(self):
        self.assertIn("1.13, goal 1.02: missed by 0.11", self.lines(1.13))

    def test_each_names_a_row_and_a_column_of_the_table(self):
        rows = {report.GRID, *(it.name for it in workloads.WORKLOADS)}
        for row, column, _ in report.GOALS:
            self.assertIn(row, rows)
            self.assertIn(column, configurations.COLUMNS)


class Output(unittest.TestCase):
    def test_markdown_has_as_many_cells_in_each_line(self):
        lines = report.markdown(summary(), [OFF, ALL], TIMES).split("\n")
        self.assertEqual(lines[0], "|  | mimalloc | off / raw | all / off |")
        self.assertEqual(lines[2], "| pair |  | 1.00 (0.75-1.50) | 3.00 (2.50-4.00) |")
        self.assertEqual({line.count("|") for line in lines[:-1]}, {5})
        self.assertEqual(len(lines), 2 + 4 + 1)

    def test_a_column_without_figures_is_left_out(self):
        self.assertNotIn("x / y", report.markdown(summary(), [OFF, ("x", "y")], TIMES))

    def test_units(self):
        durations = [report.duration(it) for it in (2.5, 0.0125, 3e-6, 8.4e-9)]
        self.assertEqual(durations, ["2.5 s", "12.5 ms", "3 us", "8.4 ns"])
        shown = [report.number(it) for it in (1.234, 12.34, 123.4)]
        self.assertEqual(shown, ["1.23", "12.3", "123"])

    def test_json_has_ratios_raw_times_and_circumstances(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            goals = [("pair", OFF, 1.5, 1.0)]
            report.write_json(path, summary(), TIMES, {"rounds": 3}, goals)
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        self.assertEqual(found["rounds"], 3)
        self.assertEqual(found["seconds"], TIMES)
        self.assertEqual(
            found["rows"]["pair"][0],
            {"over": "off", "under": "raw", "median": 1, "lower": 0.75, "upper": 1.5},
        )
        self.assertEqual(
            found["goals"],
            [{"row": "pair", "over": "off", "under": "raw", "goal": 1.5, "measured": 1.0}],
        )

    def test_picture_has_a_bar_for_each_ratio_and_no_single_rows_of_the_grid(self):
        rows = compare_picture.digest(summary(), GRID)
        self.assertEqual(list(rows), [report.GRID, "program"])
        picture = xml.dom.minidom.parseString(compare_picture.svg(rows))
        self.assertEqual(len(picture.getElementsByTagName("rect")), 1 + 2)

    def test_picture_scale_is_logarithmic_and_holds_everything(self):
        _, _, x = compare_picture.scale_of([0.4, 900])
        self.assertAlmostEqual(x(100) - x(10), x(10) - x(1))
        self.assertGreaterEqual(x(0.4), compare_picture.LABEL_WIDTH)
        self.assertLessEqual(x(900), compare_picture.LABEL_WIDTH + compare_picture.CHART_WIDTH)


class Progress(unittest.TestCase):
    def test_only_a_terminal_sees_it(self):
        for is_terminal in False, True:
            stream = io.StringIO()
            stream.isatty = lambda answer=is_terminal: answer
            compare.Progress(2, stream).step("x" * 200)
            self.assertEqual("[1/2] x" in stream.getvalue(), is_terminal)
            self.assertNotIn("\n", stream.getvalue())


class Peers(unittest.TestCase):
    def test_each_column_divides_what_is_measured(self):
        for column in configurations.COLUMNS:
            self.assertLessEqual(set(column), set(configurations.CONFIGURATIONS))

    def test_only_what_the_columns_divide_is_measured(self):
        columns = configurations.selected(re.compile("512 KiB / jem"))
        self.assertEqual(columns, [("jemalloc 512 KiB", "jemalloc")])
        library = configurations.Configuration("/")
        names = dict.fromkeys(configurations.CONFIGURATIONS, library)
        with mock.patch.object(configurations, "CONFIGURATIONS", names):
            with mock.patch.object(configurations, "profiles", return_value=True):
                found = configurations.available("liballomon.so", columns)
        self.assertEqual(set(found), {"jemalloc", "jemalloc 512 KiB"})

    def test_a_jemalloc_that_cannot_profile_is_left_out_at_every_rate(self):
        library = configurations.Configuration("/")
        names = dict.fromkeys(configurations.CONFIGURATIONS, library)
        with mock.patch.object(configurations, "CONFIGURATIONS", names):
            with mock.patch.object(configurations, "profiles", return_value=False):
                with contextlib.redirect_stderr(io.StringIO()):
                    found = configurations.available("liballomon.so", configurations.COLUMNS)
        self.assertEqual([name for name in found if name.startswith("jemalloc")], ["jemalloc"])

    def test_a_library_that_is_not_there(self):
        absent = configurations.Configuration("/no/such/folder/lib*.so")
        self.assertIsNone(absent.environment("liballomon.so"))

    def test_what_is_missing_is_said_in_one_line(self):
        errors = io.StringIO()
        with mock.patch("os.geteuid", return_value=1000), contextlib.redirect_stderr(errors):
            configurations.install({"here": "/", "a": "/no/such/a", "b": "/no/such/b"})
        self.assertEqual(
            errors.getvalue(), "compare: without a, b: not installed; apt-get install a b\n"
        )

    def test_only_what_the_rows_and_columns_need_is_installed(self):
        ours = configurations.selected(re.compile("1e-4 / allomon off"))
        self.assertEqual(configurations.needed(ours, ["pair"]), {})
        heaptrack = configurations.selected(re.compile("heaptrack"))
        found = configurations.needed(heaptrack, ["/usr/bin/sqlite3"])
        self.assertEqual(set(found), {"heaptrack", "sqlite3"})
        every = [it.command[0] for it in workloads.WORKLOADS]
        found = configurations.needed(configurations.COLUMNS, every)
        self.assertEqual(found, configurations.PACKAGES)

    def test_a_program_that_fails_is_named_with_its_last_line(self):
        with self.assertRaisesRegex(workloads.RunError, "^sh ended with 3: second$"):
            command = ["/bin/sh", "-c", "echo first >&2; echo second >&2; exit 3"]
            workloads.processor_seconds(command, {}, "/")


class Managed(unittest.TestCase):
    """The managed rows beside programs that a stand-in of the compilers makes."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.calls = os.path.join(scratch.name, "calls")

    def program(self, path):
        """Writes a program that notes the name and the arguments that it is called by."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "${{0##*/}} $*" >>{self.calls}\n')
        os.chmod(path, 0o755)
        return path

    def test_each_program_runs_each_row_in_each_round(self):
        ours = self.program(os.path.join(self.folder, "ours"))

        def compiler(command, **_):
            self.program(command[command.index("-o") + 1])

        with contextlib.ExitStack() as fakes:
            for holder, name, fake in (
                (compare.runtime_compare.subprocess, "check_call", compiler),
                (configurations, "missing", lambda packages: []),
                (compare, "built", lambda name: ours),
            ):
                fakes.enter_context(mock.patch.object(holder, name, fake))
            options = compare.parse(["--rounds", "2", "--only", "^lists$"])
            options.environments = {}
            times = compare.measure(options)
        self.assertEqual(
            {name: len(found) for name, found in times["lists"].items()},
            {"allomon runtime": 2, "OCaml": 2, "Boehm": 2},
        )
        with open(self.calls, encoding="utf-8") as file:
            found = sorted(file.read().splitlines())
        self.assertEqual(found, 2 * ["boehm list 2000"] + 2 * ["ocaml list 2000"]
                         + 2 * ["ours list 2000"])
        columns = configurations.MANAGED_COLUMNS
        rows = report.summarise(times, [], columns)
        self.assertIn("lists", report.markdown(rows, columns, times))


class Mutators(unittest.TestCase):
    PROGRAM = os.path.join(BENCHMARKS, "mutators_benchmark")

    def test_a_run_says_what_a_row_shows(self):
        runs = [mutators.run([self.PROGRAM, "2", "30", "1"], timeout_seconds=60) for _ in range(2)]
        numbers = mutators.summary(runs)
        self.assertEqual(numbers[0], runs[0][0])  # the same checksum
        peak_mib, after_mib, pauses = numbers[3:6]
        self.assertGreater(peak_mib, 30)
        self.assertLess(after_mib, peak_mib)
        self.assertGreater(pauses, 10)
        for percentiles in numbers[6:10], numbers[10:14]:
            self.assertEqual(percentiles, sorted(percentiles))
        self.assertLessEqual(numbers[14], numbers[15])
        self.assertLess(numbers[15], numbers[9])  # a stop is a part of its pause
        row = mutators.cells(numbers, has_stops=True)
        self.assertEqual(len(row) + 2, mutators.HEAD.count("|") + 1)

    def test_a_run_that_takes_too_long_is_no_row(self):
        self.assertIsNone(mutators.run([self.PROGRAM, "1", "30", "1000"], timeout_seconds=0.1))


class R7rs(unittest.TestCase):
    """A checkout with one program, which says how the benchmarks' own file says it."""

    PROGRAM = (
        "(import (scheme base) (scheme read) (scheme write))\n"
        "(define (run-benchmark)\n"
        "  (let* ((count (read)) (expected (read)))\n"
        "    (run-r7rs-benchmark \"sum\" count (lambda () (+ 1 2))"
        " (lambda (x) (= x expected)))))\n"
    )
    COMMON = (
        "(define (run-r7rs-benchmark name count thunk ok?)\n"
        "  (display (if (ok? (thunk)) \"+!CSVLINE!+\" \"+!CSVLINE!+INCORRECT\"))\n"
        "  (display (this-scheme-implementation-name)) (display count))\n"
    )

    def checkout(self, given):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        files = {
            "src/sum.scm": self.PROGRAM, "src/common.scm": self.COMMON,
            "src/common-postlude.scm": "(run-benchmark)\n", "inputs/sum.input": given,
        }
        for path, text in files.items():
            path = os.path.join(scratch.name, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return scratch.name

    def measure(self, given, seconds=60.0):
        options = mock.Mock(sources=self.checkout(given), guile="/bin/false", chibi=None,
                            repeat=2, seconds=seconds, rounds=2)
        ours = os.path.join(os.path.dirname(BENCHMARKS), "examples/scheme/scheme")
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(r7rs, "OURS", ours):
            return r7rs.measure(options, "sum", folder)

    def test_a_program_that_ends_rightly_has_a_time(self):
        numbers = self.measure("5\n3\n")
        self.assertIsNone(numbers["guile"])  # it could not compile
        seconds, megabytes = numbers["ours"]
        self.assertTrue(0 < seconds < 60 and 1 < megabytes < 500, numbers)
        self.assertEqual(len(r7rs.cells("sum", numbers)), r7rs.HEAD.count("|") + 1)
        self.assertIsNone(r7rs.mean([numbers], "guile"))

    def test_a_wrong_answer_has_none(self):
        self.assertIsNone(self.measure("5\n4\n")["ours"])

    def test_repetitions_alone_are_lowered(self):
        self.assertEqual(r7rs.with_count("50\n40\n102334155\n", 2), "2\n40\n102334155\n")
        self.assertEqual(r7rs.with_count("1\n40\n", 2), "1\n40\n")

    def test_the_mean_is_geometric(self):
        rows = [{"ours": (seconds, 0), "chibi": (4, 0)} for seconds in (1, 4)] + [{"ours": None}]
        self.assertEqual(r7rs.mean(rows, "chibi"), (0.5, 2))


class Options(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def refusal(self, *arguments):
        done = subprocess.run(
            [sys.executable, os.path.join(BENCHMARKS, "compare.py"), *arguments],
            env={**os.environ, "BUILD_WORKING_DIRECTORY": self.folder},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Acompare: [^\n]*\n\Z")
        return done.stderr

    def test_refused_in_one_line_that_names_it(self):
        self.assertIn("'0'", self.refusal("--rounds", "0"))
        self.assertIn("'many'", self.refusal("--rounds=many"))
        self.assertIn("'('", self.refusal("--only", "("))
        self.assertIn("'nothing'", self.refusal("--only", "nothing"))
        self.assertIn("'none'", self.refusal("--columns", "none"))
        self.assertIn("--fast", self.refusal("--fast"))

    def test_files_that_cannot_be_written_are_refused_before_measuring(self):
        self.assertIn("'none/out.json'", self.refusal("--json", "none/out.json"))
        self.assertIn("cannot write '.'", self.refusal("--svg", "."))

    def test_relative_files_are_relative_to_the_user(self):
        with mock.patch.dict(os.environ, {"BUILD_WORKING_DIRECTORY": self.folder}):
            options = compare.parse(["--json", "out.json", "--only", "larson|lists"])
        self.assertEqual(options.json, os.path.join(self.folder, "out.json"))
        self.assertEqual([it.name for it in options.workloads], ["larson, 2 threads"])
        self.assertEqual(options.managed, ["lists"])


if __name__ == "__main__":
    sys.exit(unittest.main())
