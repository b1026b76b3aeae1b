#!/usr/bin/env python3
"""Allomon preloaded into programs that were not written for it.

Each program runs as it does alone.  It leaves a profile that mlprof prints with the names of real
functions.  The estimate is within SIGMAS of the bytes that the program asked for.
"""

import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import SIGMAS, SUMMARY, Case, Mlmon, Summary  # noqa: E402

# The two rates are strings of equal length, so that the environment takes the same memory.
EXACT = "1e-0"
SAMPLED = "1e-4"

# Python finds its arenas by a radix tree.  Its lowest nodes have this size and stand for 16 GiB of
# addresses each (Objects/obmalloc.c).  In 2 runs of 250 the arenas lie across such a border, and
# the tree has one node more.
PYTHON_ARENA_MAP_BYTES = 128 << 10

# The estimate of a process is normal if the sampler is expected to see the process so often.
# Smaller processes are judged together with the rest.
ENOUGH_SAMPLES = 100

# C names, and C++ names as c++filt writes them.  Addresses and <unknown> are neither.
REAL_NAME = re.compile(r"<[a-z]+>|[A-Za-z_~][^\t]*")  # Python has <module> and <lambda>


class Preloaded:
    """The output of one preloaded run, apart from Allomon's own summaries."""

    def __init__(self, done):
        self.result = (done.returncode, done.stdout)
        self.summaries = []
        self.stderr = ""
        for line in done.stderr.splitlines(keepends=True):
            match = SUMMARY.fullmatch(line.rstrip("\n"))
            if match:
                self.summaries.append(Summary(match))
            else:
                self.stderr += line


class RealPrograms(Case):
    def run_at(self, rate, argv, options):
        env = {
            **options.get("env", {}),
            "ALLOMON_RATE": rate,
            "ALLOMON_SEED": "1",
            "ALLOMON_SUMMARY": "1",
            "ALLOMON_OUT": f"{rate}.%p.out",
        }
        return Preloaded(self.run_preloaded(argv, **{**options, "env": env}))

    def check_profile(self, summary):
        """The file of one process is good.  Returns the names in it."""
        mlmon = Mlmon(self.path(summary.path))
        self.assertLessEqual(abs(mlmon.total - summary.bytes), 1)
        # The summary gives the stub by its bare name, in the current directory.
        table = self.table(self.path(summary.path + ".sources"), summary.path)
        self.assert_cells_sum_up(mlmon, table)
        strange = [name for name in table.raw if not REAL_NAME.fullmatch(name)]
        strange_bytes = sum(table.raw[name] for name in strange)
        self.assertLessEqual(strange_bytes, mlmon.total / 100, strange)
        return set(table.raw)

    def check_estimate(self, sampled, exact, again, step_bytes):
        """Compares lists of summaries of the same processes: one run sampled, two exact.

        By chance, a run may take step_bytes more or less than another.
        """
        for name, estimate, truth, other_truth in [
            *((str(i), *each) for i, each in enumerate(zip(sampled, exact, again))),
            ("all", Total(sampled), Total(exact), Total(again)),
        ]:
            with self.subTest(process=name):
                self.assertEqual(truth.sigma, 0)
                expected_samples = truth.bytes / 8 * float(SAMPLED)
                if name != "all" and expected_samples < ENOUGH_SAMPLES:
                    continue
                print(
                    f"{self.id()} process {name}: {truth.bytes:,} bytes, estimated"
                    f" {(estimate.bytes - truth.bytes) / estimate.sigma:+.2f} sigma off"
                )
                self.assertGreater(expected_samples, ENOUGH_SAMPLES)
                # The truth must hold still, or nothing would be compared.
                apart = abs(truth.bytes - other_truth.bytes)
                apart = min(apart, abs(apart - step_bytes))
                self.assertLess(apart, estimate.sigma / 10)
                self.assertLessEqual(
                    abs(estimate.bytes - truth.bytes), SIGMAS * estimate.sigma + step_bytes
                )
                # Sigma is about a tenth of the truth at ENOUGH_SAMPLES, and less with more samples.
                self.assertLess(estimate.sigma, truth.bytes / 5)

    def check(self, argv, processes, names, step_bytes=0, **options):
        """`names` are patterns, of which each fits a function that is charged.

        Which of a program's functions these are depends on whether its debug files are installed
        (python3-dbg, gcc's and sqlite's -dbgsym): with them, static functions have names too, and
        are charged in place of their callers.
        """
        plain = self.run_plain(argv, **options)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        runs = [self.run_at(rate, argv, options) for rate in (EXACT, EXACT, SAMPLED)]
        for run in runs:
            self.assertEqual(run.result, (plain.returncode, plain.stdout))
            self.assertEqual(run.stderr, plain.stderr)
            self.assertEqual(len(run.summaries), processes)
        exact, again, sampled = (run.summaries for run in runs)

        written = {name for name in self.files() if name.endswith(".out")}
        self.assertEqual(written, {summary.path for run in runs for summary in run.summaries})
        self.assertEqual(len(written), 3 * processes)
        for run in exact, sampled:
            found = set().union(*(self.check_profile(summary) for summary in run))
            for name in names:
                self.assertTrue(any(re.fullmatch(name, one) for one in found), (name, found))
        self.check_estimate(sampled, exact, again, step_bytes)

    def test_python_builds_a_dict_of_a_million_entries(self):
        script = "d = {i: str(i) for i in range(1000000)}; print(len(d), d[999999])"
        # Python allocates small objects in pages of its own, unless PYTHONMALLOC says otherwise.
        for malloc, frames, names, step_bytes in [
            ("default", "0", ["_?Py[A-Z].*"], PYTHON_ARENA_MAP_BYTES),
            ("malloc", "0", ["_?Py[A-Z].*", "_?PyUnicode_.*|PyObject_Str|PyDict_Copy"], 0),
            ("malloc", "1", ["_?Py[A-Z].*", "<dictcomp>|<module>"], 0),
        ]:
            with self.subTest(malloc=malloc, frames=frames):
                for name in self.files():
                    os.unlink(self.path(name))
                self.check(
                    ["/usr/bin/python3", "-c", script],
                    processes=1,
                    names=names,
                    step_bytes=step_bytes,
                    env={"PYTHONMALLOC": malloc, "ALLOMON_PYTHON": frames},
                )

    def test_sqlite3_loads_200000_rows(self):
        rows = "".join(
            f"INSERT INTO t VALUES({i},'row {i * 7919 % 1000003}',{i / 7});\n"
            for i in range(200000)
        )
        self.check(
            ["sqlite3"],
            processes=1,
            names=["sqlite3.*"],
            input="CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);\nBEGIN;\n"
            + rows
            + "COMMIT;\nSELECT count(*), sum(length(b)), max(b) FROM t;\n",
        )

    def test_gxx_compiles_regex(self):
        self.write(
            "matches.cc",
            "#include <regex>\n"
            "bool Matches(const char* s) {"
            ' return std::regex_match(s, std::regex("[a-z]+")); }\n',
        )
        # The compiler, the assembler and the driver that starts them are three processes.
        self.check(
            ["g++", "-c", "matches.cc"],
            processes=3,
            # The second are the compiler's; a stripped one, as of g++ 16, has names for few.
            names=[
                "_objalloc_alloc",
                r"(rtx_alloc|make_node|copy_node|ggc_realloc|make_pass_\w+|gcc_qsort)\(.*\)"
                r"|_cpp_\w+",
            ],
        )
        self.assertIn("matches.o", self.files())


class Total:
    """The sum of independent estimates."""

    def __init__(self, summaries):
        self.bytes = sum(summary.bytes for summary in summaries)
        self.sigma = sum(summary.sigma**2 for summary in summaries) ** 0.5


if __name__ == "__main__":
    sys.exit(unittest.main())
