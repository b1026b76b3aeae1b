#!/usr/bin/env python3
"""//examples:tiny_language computes what its program says, moves every object meanwhile, and turns
the errors of a program into a line, not a crash."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, runfile  # noqa: E402

# (sum (map (add 10) (range 1000))), (fib 24), 100000 * 0.5
RESULTS = [str(sum(n + 10 for n in range(1, 1001))), "46368", "50000.000000"]

# (program, what the line says)
ERRORS = [
    ("(def f (fn (n) (+ 1 (f n)))) (f 1)", "10000 values are its limit"),
    ("(+ 1 null)", "cannot compute with 1 and null"),
    ("(1 2)", "1 is no function"),
    ("(get x 1)", "is no record"),
    ("(record p x) (get y (p 1))", "p has no field y"),
    ("((fn (x) x))", "wrong number of arguments"),
    ("(fn (x) (+ x", "ends within a form"),
]


class TinyLanguage(Case):
    def run_language(self, *arguments, env=None):
        return self.run_plain([runfile("//examples:tiny_language"), *arguments], env)

    def test_program_computes(self):
        for env in {}, {"ALLOMON_HEAP": "stress=7,verify,nursery=64K"}:
            done = self.run_language(runfile("//examples:tiny_language.txt"), env=env)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.split(), RESULTS)

    def test_errors_are_lines(self):
        for number, (program, line) in enumerate(ERRORS):
            path = self.path(f"{number}.lisp")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program)
            done = self.run_language(path)
            with self.subTest(program=program):
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, "^tiny_language: .*" + line + ".*\n$")


if __name__ == "__main__":
    sys.exit(unittest.main())
