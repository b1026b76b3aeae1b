#!/usr/bin/env python3
"""//examples:fib_tak as its user meets it: it writes three files to the directory where the command
was typed, and their numbers are those of the program's text."""

import functools
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import SIGMAS, SIGMAS_OF_SUMMARY, Case, Mlmon, commas, runfile  # noqa: E402

FIB_TAK = runfile("//examples:fib_tak")
FILES = ["mlmon.fib.out", "mlmon.out", "mlmon.tak.out"]

BOX_BYTES = 8  # a boxed integer is a block of one long


def fib_boxes(n):
    """The number of boxes that fib(n) makes.  Its argument's box is not counted."""
    # Two boxes are the arguments of the calls and one is the sum.  For n < 2 the only box is the
    # result.
    return 1 if n < 2 else 3 + fib_boxes(n - 1) + fib_boxes(n - 2)


@functools.lru_cache(maxsize=None)
def tak(x, y, z):
    """(value, boxes made) of tak(x, y, z).  The arguments' boxes are not counted."""
    if y >= x:
        return z, 1
    a, a_boxes = tak(x - 1, y, z)
    b, b_boxes = tak(y - 1, z, x)
    c, c_boxes = tak(z - 1, x, y)
    value, boxes = tak(a, b, c)
    return value, 3 + a_boxes + b_boxes + c_boxes + boxes


@functools.lru_cache(maxsize=None)
def tak_calls(x, y, z):
    """The number of calls of tak, the outermost one included."""
    if y >= x:
        return 1
    inner = (tak(x - 1, y, z)[0], tak(y - 1, z, x)[0], tak(z - 1, x, y)[0])
    return (
        1
        + tak_calls(x - 1, y, z)
        + tak_calls(y - 1, z, x)
        + tak_calls(z - 1, x, y)
        + tak_calls(*inner)
    )


def fib_calls(n):
    return 1 if n < 2 else 1 + fib_calls(n - 1) + fib_calls(n - 2)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


FIB_BYTES = fib_boxes(24) * BOX_BYTES
TAK_BYTES = tak(15, 10, 5)[1] * BOX_BYTES
# The bytes that main itself allocates in each unit: the arguments of the first call.
FIB_MAIN_BYTES = 1 * BOX_BYTES
TAK_MAIN_BYTES = 3 * BOX_BYTES


class FibTak(Case):
    def setUp(self):
        super().setUp()
        # `bazel run` starts the program in another directory than the one where the command was
        # typed.
        self.elsewhere = self.path("elsewhere")
        os.mkdir(self.elsewhere)

    def fib_tak(self, *options, directory=None):
        env = {"BUILD_WORKING_DIRECTORY": directory or self.directory}
        return self.run_plain([FIB_TAK, *options], env, cwd=self.elsewhere)

    def written(self):
        self.assertEqual(os.listdir(self.elsewhere), [])
        return [name for name in self.files() if name != "elsewhere"]

    def function_bytes(self, table):
        """Bytes by function.  The functions' positions are left out."""
        return {name.split()[0]: raw for name, raw in table.raw.items()}

    def table_of(self, *files, options=("-raw", "true")):
        return self.table(FIB_TAK, *(self.path(name) for name in files), options=options)

    def test_counts_are_exact(self):
        done = self.fib_tak()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.written(), FILES)
        expected = f"fib(24) = {fib(24)}, tak(15, 10, 5) = {tak(15, 10, 5)[0]}\n"
        self.assertTrue(done.stdout.startswith(expected), done.stdout)

        fib_table = self.table_of("mlmon.fib.out")
        self.assertEqual(
            self.function_bytes(fib_table), {"fib": FIB_BYTES, "<main>": FIB_MAIN_BYTES}
        )
        tak_table = self.table_of("mlmon.tak.out")
        self.assertEqual(
            self.function_bytes(tak_table), {"tak": TAK_BYTES, "<main>": TAK_MAIN_BYTES}
        )
        # The default unit holds the rest: strings, whose bytes depend on the library.
        rest = self.function_bytes(self.table_of("mlmon.out"))
        self.assertEqual(list(rest), ["done"])
        self.assertTrue(0 < rest["done"] < 1000, rest)

        for name, total in ("mlmon.fib.out", FIB_BYTES + FIB_MAIN_BYTES), (
            "mlmon.tak.out",
            TAK_BYTES + TAK_MAIN_BYTES,
        ):
            self.assert_cells_sum_up(Mlmon(self.path(name)), self.table_of(name))
            self.assertIn(f"{name}: {total:,} bytes allocated, rate 1 per word", done.stdout)

        merged = self.table_of(*FILES)
        self.assertEqual(
            self.function_bytes(merged),
            {
                "fib": FIB_BYTES,
                "tak": TAK_BYTES,
                "<main>": FIB_MAIN_BYTES + TAK_MAIN_BYTES,
                "done": rest["done"],
            },
        )
        self.assertEqual(merged.total, sum(merged.raw.values()))

    def counts(self, name):
        """A tuple of the columns of the count, by function."""
        lines = self.read(name).split("\n")
        answer = self.run_plain([FIB_TAK, "@MLton", "show-sources"]).stdout.split("\n")
        self.assertEqual(answer[0], lines[3])
        names = [line.split("\t")[0] for line in answer[2 : 2 + int(answer[1])]]
        masters = [tuple(map(int, line.split())) for line in lines[-1 - len(names) : -1]]
        return dict(zip(names, masters))

    def test_calls_are_those_of_the_text(self):
        for style in "", ",stack":
            self.fib_tak(f"--profile=count{style}")
            fib_counts, tak_counts = self.counts("mlmon.fib.out"), self.counts("mlmon.tak.out")
            self.assertEqual(fib_counts["fib"][0], fib_calls(24))
            self.assertEqual(tak_counts["tak"][0], tak_calls(15, 10, 5))
            self.assertEqual((fib_counts["tak"][0], tak_counts["fib"][0]), (0, 0))
            self.assertEqual(self.counts("mlmon.out")["done"][0], 1)
            if style:
                self.assertEqual(fib_counts["fib"][1:], (fib_calls(24), 0))
                self.assertEqual(tak_counts["tak"][1:], (tak_calls(15, 10, 5), 0))

    def test_bytes_on_the_stack_are_exact_too(self):
        self.fib_tak("--profile=alloc,stack")
        counts = self.counts("mlmon.fib.out")
        self.assertEqual(counts["fib"], (FIB_BYTES, FIB_BYTES, 0))
        # main is below all other functions.
        self.assertEqual(counts["<main>"], (FIB_MAIN_BYTES, FIB_BYTES + FIB_MAIN_BYTES, 0))

    def test_time_is_in_the_function_that_takes_it(self):
        for style in "", ",stack":
            done = self.fib_tak(f"--profile=time{style}", "--fib=34", "--tak=5")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            counts = self.counts("mlmon.fib.out")
            total = sum(count[0] for count in counts.values())
            self.assertGreater(total, 10)
            # The function has all ticks but those lost behind the last one and by rounding.
            self.assertGreaterEqual(counts["fib"][0], total - 3)
            self.assertEqual(counts["tak"][0], 0)

    def test_every_kind_and_style_keeps_the_invariants(self):
        """The invariants are those that MLton's own files keep."""
        for kind, size in ("alloc", 20), ("time", 30), ("count", 20):
            for style in "current", "stack":
                option = f"--profile={kind}" + ("" if style == "current" else ",stack")
                done = self.fib_tak(option, f"--fib={size}", "--tak=6")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                for name in FILES:
                    with self.subTest(kind=kind, style=style, file=name):
                        self.assert_invariants(name, kind, style)

    def assert_invariants(self, name, kind, style):
        lines = self.read(name).split("\n")
        self.assertEqual(lines[:3], ["MLton prof", kind, style])
        total, total_gc = map(int, lines[4].split())
        counts = list(self.counts(name).values())
        self.assertEqual({len(count) for count in counts}, {1 if style == "current" else 3})
        self.assertEqual(sum(count[0] for count in counts), total + total_gc)
        for function, count in self.counts(name).items():
            if style == "stack" and function != "<gc>":
                current, stack, stack_gc = count
                self.assertLessEqual(current, stack, function)
                self.assertLessEqual(stack, total, function)
                self.assertLessEqual(stack_gc, total_gc, function)

    def test_the_printed_command_works(self):
        done = self.fib_tak()
        commands = re.findall(r"^  bazel run //tools:mlprof -- (.*)$", done.stdout, re.MULTILINE)
        self.assertEqual(len(commands), 3)
        for command in commands:
            arguments = command.split()
            shown = self.run_plain([runfile("//tools/mlprof:mlprof"), *arguments])
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))
            self.assertIn(" bytes allocated ", shown.stdout)

    def test_lines_are_where_the_functions_are(self):
        self.fib_tak()
        with open(runfile("//examples:fib_tak.cc"), encoding="utf-8") as file:
            lines = file.read().split("\n")
        table = self.table_of(*FILES, options=("-raw", "true", "-show-line", "true"))
        positions = [re.fullmatch(r"(\w+)\s+(.*): (\d+)", name) for name in table.raw]
        found = {match[1]: int(match[3]) for match in positions if match}
        self.assertEqual(set(found), {"fib", "tak", "done"})
        for name, line in found.items():
            self.assertIn("ALLOMON_FUNCTION()", lines[line - 1])
            self.assertRegex(lines[line - 2], rf"\b{name}\(")

    def test_sampled_runs_are_estimates_that_repeat(self):
        first = self.fib_tak("--rate=1e-2", "--seed=42")
        files = [self.read(name) for name in FILES]
        again = self.fib_tak("--rate=1e-2", "--seed=42")
        self.assertEqual(first.stdout, again.stdout)
        self.assertEqual(files, [self.read(name) for name in FILES])
        other = self.fib_tak("--rate=1e-2", "--seed=43")
        self.assertNotEqual(first.stdout, other.stdout)
        truths = {
            "mlmon.fib.out": FIB_BYTES + FIB_MAIN_BYTES,
            "mlmon.tak.out": TAK_BYTES + TAK_MAIN_BYTES,
        }
        for name, truth in truths.items():
            match = re.search(
                rf"{name}: ([0-9,]+) bytes allocated \+- ([0-9,]+) \(95 %\)", first.stdout
            )
            sigma = commas(match[2]) / SIGMAS_OF_SUMMARY
            self.assertLessEqual(abs(commas(match[1]) - truth), SIGMAS * sigma)
            self.assertLess(sigma, truth / 5)

    def test_bad_options(self):
        for options, said in [
            (["--rat=1"], "--rat=1"),
            (["1e-4"], "1e-4"),
            (["--rate=abc"], "--rate=abc"),
            (["--rate="], "--rate="),
            (["--rate=2"], "2"),
            (["--rate=-1"], "-1"),
            (["--rate=nan"], "nan"),
            (["--profile=allocs"], "--profile=allocs"),
            (["--profile="], "--profile="),
            (["--profile=time,stak"], "--profile=time,stak"),
            (["--profile=time,"], "--profile=time,"),
            (["--fib=61"], "--fib=61"),
            (["--tak=x"], "--tak=x"),
            (["--seed=abc"], "--seed=abc"),
            (["--seed="], "--seed="),
            (["--seed=-1"], "--seed=-1"),
            (["--seed=1.5"], "--seed=1.5"),
        ]:
            with self.subTest(options=options):
                done = self.fib_tak(*options)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, r"\Afib_tak: [^\n]+\n\Z")
                self.assertIn(said, done.stderr)
                self.assertEqual(self.written(), [])

    def test_directory_that_cannot_be_written_to(self):
        self.write("file", "")
        for directory, cause in [
            (self.path("missing"), "No such file"),
            (self.path("file"), "Not a directory"),
            ("/proc", "mlmon.fib.out"),
        ]:
            with self.subTest(directory=directory):
                done = self.fib_tak(directory=directory)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"\Afib_tak: cannot write [^\n]+\n\Z")
                self.assertIn(os.path.join(directory, "mlmon.fib.out"), done.stderr)
                self.assertIn(cause, done.stderr)

    def test_old_files_survive_a_failed_run(self):
        self.fib_tak()
        before = [self.read(name) for name in FILES]
        self.fib_tak("--rate=abc")
        self.assertEqual(before, [self.read(name) for name in FILES])

    def test_show_sources_is_clean(self):
        """The output is nothing but the answer, although the program prints.  None of the program's
        work runs."""
        done = self.run_plain([FIB_TAK, "@MLton", "show-sources"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.written(), [])
        lines = done.stdout.split("\n")
        self.assertRegex(lines[0], r"\A0x[0-9a-f]{8}\Z")
        self.assertEqual(lines.pop(), "")
        names = int(lines[1])
        self.assertEqual(lines[2:5], ["<unknown>", "<gc>", "<main>"])
        functions = {line.split("\t")[0] for line in lines[5 : 2 + names]}
        self.assertEqual(functions, {"fib", "tak", "done"})
        sources = int(lines[2 + names])
        sequences_at = 3 + names + sources
        for line in lines[3 + names : sequences_at]:
            name_index, sequence_index = map(int, line.split(" "))
            self.assertLess(name_index, names)
            self.assertLess(sequence_index, int(lines[sequences_at]))
        self.assertEqual(len(lines), sequences_at + 1 + int(lines[sequences_at]))
        self.fib_tak()
        for name in FILES:
            self.assertEqual(Mlmon(self.path(name)).magic, lines[0])


if __name__ == "__main__":
    sys.exit(unittest.main())
