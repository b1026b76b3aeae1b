#!/usr/bin/env python3
"""//examples:tiny_language and //examples/scheme compute what their programs say, move every object
meanwhile, and turn the errors of a program into a line, not a crash."""

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


# (Scheme program, the line)
SCHEME_ERRORS = [
    ("(define (f x)\n  (car x))\n(display 1)\n(f 5)",
     "x.scm:2: f: car: here must be a pair, not: 5"),
    ("(define (f) (g 1))\n(f)", "x.scm:1: f: unbound variable: g"),
    ("(define (f a) a)\n(f 1 2)", "x.scm:1: f: f: wrong number of arguments: 2"),
    ("(+ 1 \n(vector-ref (vector 1 2) 2))",
     "x.scm:2: (program): vector-ref: here must be an index of the vector, not: 2"),
    ("(display (+ 1 2)\n\n", "x.scm:1: a parenthesis is not closed"),
    ("1\n2)", "x.scm:2: a parenthesis closes nothing"),
    ('"abc', "x.scm:1: a string is not closed"),
    ("\n(if)", "x.scm:2: bad syntax: (if)"),
    ("(let ((x 1) (y)) x)", "x.scm:1: bad syntax: (y)"),
    ("(+ 1 (5 6))", "x.scm:1: (program): this is no procedure: 5"),
    ("(+ 1 (string-append 1 2))",
     "x.scm:1: (program): string-append: here must be string, not: 1"),
    ("(raise (list 1 2))", "raised, and nothing handles it: (1 2)"),
    ('(+ 1 (error "what" 1 "two"))', 'x.scm:1: (program): what 1 "two"'),
    ("(* 1000000000000 1000000000000)",
     "x.scm:1: (program): an exact integer of more than 51 bits"),
    ("(define (f x) (+ x (f x)))\n(f 1)", "the recursion is too deep: f"),
    ("(define (f) (+ 1 (call/cc (lambda (k) (+ 1 (f))))))\n(f)", "the recursion is too deep"),
    ("(define-syntax f (syntax-rules () ((_ x) (f x))))\n(f 1)",
     "x.scm:2: the expansion of a macro does not end: f"),
    ("(define-syntax f (syntax-rules () ((_ x) x)))\n(f)",
     "x.scm:2: no rule of the macro is for this: (f)"),
    ("(letrec ((a (lambda () b)) (b (a))) b)",
     "x.scm:1: a: a variable is used before its definition"),
    ("(" * 100000, "x.scm: a form or a value is nested too deep"),
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


class Scheme(Case):
    def run_scheme(self, *arguments, **options):
        return self.run_plain([runfile("//examples/scheme:scheme"), *arguments], **options)

    def write(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def check(self, options, depth):
        done = self.run_scheme(
            runfile("//examples/scheme:checks.scm"), str(depth), env={"ALLOMON_HEAP": options}
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "65 checks\n", ""))

    def test_checks_hold_with_a_million_calls(self):
        self.check("", 1000000)

    def test_interpreter_keeps_the_rules(self):
        for options in "stress=1", "stress=2,verify", "stress=3,incremental=0,slice=1":
            with self.subTest(options=options):
                self.check(options, 2000)
        self.check("nursery=64K,incremental=0,slice=1", 100000)

    def test_a_wrong_check_is_seen(self):
        with open(runfile("//examples/scheme:checks.scm"), encoding="utf-8") as file:
            text = file.read().replace("(in1 in2 body", "(in2 in1 body")
        done = self.run_scheme(self.write("wrong.scm", text))
        self.assertIn("(in2 in1 body", text)
        self.assertRegex(done.stdout, r"is \(in1 in2 body.*\n65 checks\n")

    def test_errors_are_lines(self):
        for program, line in SCHEME_ERRORS:
            self.write("x.scm", program)
            done = self.run_scheme("x.scm")
            with self.subTest(program=program[:100]):
                self.assertEqual((done.returncode, done.stderr), (1, f"scheme: {line}\n"))

    def test_memory_that_ends_is_a_line(self):
        program = "(let loop ((l '())) (loop (cons (make-vector 1000 1) l)))"
        done = self.run_scheme(self.write("x.scm", program), env={"ALLOMON_HEAP": "limit=64M"})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^scheme: .*x.scm: out of memory\n$")

    def test_programs_read_exit_and_print_what_they_had_printed(self):
        path = self.write("x.scm", "(display (+ (read) (read)))(newline)(exit 7)")
        done = self.run_scheme(path, input="; two numbers\n40 #;(no) 2")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "42\n", ""))

    def test_missing_and_empty_files(self):
        for path in "absent.scm", self.write("empty.scm", ""), self.directory:
            done = self.run_scheme(path)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, "^scheme: .*\n$")

    def test_recording_names_functions_and_types(self):
        program = (
            "(define-record-type node (make-node left right) node? (left left) (right right))\n"
            "(define (make-tree n)\n"
            "  (if (= n 0)\n"
            "      '()\n"
            "      (make-node (make-tree (- n 1)) (make-tree (- n 1)))))\n"
            "(define kept (make-tree 16))\n"
        )
        recording = self.path("x.rec")
        done = self.run_scheme(f"--record={recording}", self.write("x.scm", program))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = self.run_plain([runfile("//tools/allomon:allomon"), "report", recording])
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertRegex(report.stdout, r"make-tree +.*x\.scm:5")

    def test_profile_has_functions_types_and_ages(self):
        program = (
            "(define (keep n) (if (= n 0) '() (cons n (keep (- n 1)))))\n"
            "(define (drop n) (if (> n 0) (begin (make-vector 100 n) (drop (- n 1)))))\n"
            "(define kept (keep 200000))\n"
            "(drop 20000)\n"
        )
        done = self.run_scheme("--profile", self.write("x.scm", program))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        rows = {line.split()[-2]: line.split() for line in done.stderr.splitlines()[1:]}
        # KB, and shares that died young, that died old, that live.
        kept, dropped = rows["keep"], rows["drop"]
        self.assertAlmostEqual(float(kept[0]), 200000 * 16 / 1024, delta=3125 * 0.3)
        self.assertAlmostEqual(float(dropped[0]), 20000 * 808 / 1024, delta=15781 * 0.3)
        self.assertEqual((kept[4], kept[-1]), ("pair", f"({self.path('x.scm')})"))
        self.assertGreater(float(dropped[1].rstrip("%")), 90)
        self.assertGreater(float(kept[3].rstrip("%")), 80)


if __name__ == "__main__":
    sys.exit(unittest.main())
