#!/usr/bin/env python3
"""//examples:tiny_lisp computes the results that its program says, in stress mode too.  Its profile
names the functions of that program."""

import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, Mlmon, commas, runfile  # noqa: E402

# (range n), (map square ...), (sum ...): the sum of the squares up to 50, and up to 150.
SUMS = [sum(i * i for i in range(n + 1)) for n in (50, 150)]

ROW = re.compile(r" *(\d+) KB  (\S+) \(program\.lisp: (\d+)\)")

COUNTED = re.compile(
    r"mlmon\.out: ([0-9,]+) bytes allocated, .*; the heap counted (\d+), and (\d+) by"
)


class TinyLisp(Case):
    def run_lisp(self, env=None):
        done = self.run_plain([runfile("//examples:tiny_lisp")], env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), [str(value) for value in SUMS])
        rows = [ROW.fullmatch(line) for line in done.stderr.splitlines()]
        return {row.group(2): (int(row.group(1)), int(row.group(3))) for row in rows if row}

    def test_profile_names_the_functions_of_the_program(self):
        rows = self.run_lisp()
        lines = {name: line for name, (_, line) in rows.items()}
        for name, line in (("range", 1), ("map", 2), ("sum", 4), ("square", 5), ("remember", 6)):
            self.assertEqual(lines.get(name), line, rows)
        # No other function makes lists as long.
        largest = sorted(rows, key=lambda name: -rows[name][0])[:2]
        self.assertEqual(set(largest), {"range", "map"}, rows)

    def test_bytes_are_those_that_the_heap_counted(self):
        for env in {}, {"ALLOMON_HEAP": "nursery=64K"}:
            done = self.run_plain([runfile("//examples:tiny_lisp"), "--profile"], env)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            match = COUNTED.search(done.stdout)
            total, counted, moved = (commas(number) for number in match.groups())
            self.assertEqual(total, counted)
            mlmon = Mlmon(self.path("mlmon.out"))
            self.assertEqual((mlmon.total, mlmon.total_gc), (counted, moved))
            self.assertGreater(moved, 0)
            table = self.table(self.path("mlmon.out.sources"), self.path("mlmon.out"))
            self.assertEqual(sum(table.raw.values()), counted + moved)
            self.assertEqual(table.raw["<gc>"], moved)
            functions = {"range", "map", "sum", "square", "remember", "repeat", "main", "lambda"}
            self.assertLessEqual(functions, set(table.raw))

    def test_files_are_run(self):
        for name, result in ("tak", "9"), ("nqueens", "724"), ("churn", "1"):
            path = os.path.join(runfile("//examples:lisp"), f"{name}.lisp")
            done = self.run_plain([runfile("//examples:tiny_lisp"), path])
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, result + "\n", ""))

    def test_recursion_without_end_is_an_error_and_no_fault(self):
        path = self.path("endless.lisp")
        with open(path, "w", encoding="utf-8") as file:
            file.write("(define (deeper n) (+ 1 (deeper n))) (define (main n) (deeper n))")
        done = self.run_plain([runfile("//examples:tiny_lisp"), path])
        said = "tiny_lisp: the calls are nested too deep\n"
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", said))

    def test_interpreter_keeps_the_rules(self):
        self.run_lisp({"ALLOMON_HEAP": "stress=13,nursery=64K"})


if __name__ == "__main__":
    sys.exit(unittest.main())
