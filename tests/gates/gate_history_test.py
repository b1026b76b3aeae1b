#!/usr/bin/env python3
"""`allomon gate --history` names the commit at which figures changed, and no other.

The error of the README, of 1,000 histories without a change:

  ALLOMON_HISTORIES=1000 bazel run //tests/gates:gate_history_test
"""

import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, runfile  # noqa: E402

ALLOMON = runfile("//tools/allomon:allomon")
BENCHMARK = runfile("//tests/gates:counted_benchmark")
HISTORIES = int(os.environ.get("ALLOMON_HISTORIES", "0"))
COMMITS = 50


def commit(number):
    """Commits are shown by their first 12 digits."""
    return f"{number:012x}{0:028x}"


class GateHistory(Case):
    def gate(self, *options, **environment):
        return subprocess.run(
            [ALLOMON, "gate", *options],
            env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": self.directory,
                 **environment},
            cwd=self.directory, capture_output=True, text=True, timeout=60, check=False,
        )

    def write_run(self, allocations, instructions=None, name="run.json"):
        """As Google Benchmark writes it."""
        entry = {"name": "BM_Parse", "run_name": "BM_Parse", "run_type": "iteration",
                 "iterations": 16, "threads": 1, "allocs_per_iter": allocations,
                 "total_allocated_bytes": allocations * 16 * 40, "max_bytes_used": 4096}
        if instructions is not None:
            entry["INSTRUCTIONS"] = instructions
        self.write(name, json.dumps({"context": {}, "benchmarks": [entry]}))

    def keep(self, number, *options):
        return self.gate("--history=h", "--current=run.json", f"--commit={commit(number)}",
                         *options)

    def write_history(self, lines):
        os.makedirs(self.path("h"), exist_ok=True)
        self.write("h/gate_history.jsonl", "".join(line + "\n" for line in lines))

    @staticmethod
    def line(number, **figures):
        return json.dumps({"allomon_gate_history": 1, "commit": commit(number),
                           "date": f"2026-11-28T00:{number:02}:00Z",
                           "figures": {"BM_Parse": figures}})

    def named(self):
        """The commits at which the history has changes."""
        shown = self.gate("--history=h")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return re.findall(r"^commit ([0-9a-f]+),", shown.stdout, re.M), shown.stdout

    # --- Changes.

    def test_the_commit_that_allocates_more_is_named_20_of_20(self):
        for seed in range(20):
            at = random.Random(seed).randrange(5, COMMITS - 5)
            self.write_history(self.line(i, allocations=2 if i < at else 3, bytes=80 if i < at else
                                         120) for i in range(COMMITS))
            commits, text = self.named()
            self.assertEqual(commits, [commit(at)[:12]], text)
            self.assertIn("BM_Parse allocations 2 -> 3 (+50.0 %); exact", text)

    def test_no_commit_is_named_without_one_20_of_20(self):
        for seed in range(20):
            noise = random.Random(seed)
            self.write_history(
                self.line(i, allocations=2, instructions=noise.gauss(1e6, 1e4))
                for i in range(COMMITS))
            commits, text = self.named()
            self.assertEqual(commits, [], text)
            self.assertIn("1 % is the chance", text)

    def test_a_change_in_noise_is_named_at_its_commit_or_beside_it(self):
        for seed in range(20):
            noise = random.Random(seed)
            at = noise.randrange(15, COMMITS - 15)
            self.write_history(
                self.line(i, instructions=noise.gauss(1e6 if i < at else 1.1e6, 1e4))
                for i in range(COMMITS))
            commits, text = self.named()
            self.assertEqual(len(commits), 1, text)
            self.assertLessEqual(abs(int(commits[0], 16) - at), 1, text)

    @unittest.skipIf(HISTORIES == 0, "ALLOMON_HISTORIES=1000 takes a minute")
    def test_the_error_is_as_stated(self):
        wrong = 0
        for seed in range(HISTORIES):
            noise = random.Random(seed)
            self.write_history(
                self.line(i, instructions=noise.gauss(1e6, 1e4), bytes=noise.expovariate(1e-3),
                          allocations=noise.randrange(3)) for i in range(COMMITS))
            wrong += len(self.named()[0]) > 0
        print(f"{100 * wrong / HISTORIES:.2f} % of {HISTORIES} histories", flush=True)
        # 5.7 standard deviations above the stated 1 %.
        self.assertLess(wrong, HISTORIES * 0.01 + 5.7 * (HISTORIES * 0.0099) ** 0.5)

    # --- Runs.

    def test_each_run_is_kept_and_growth_fails(self):
        self.write_run(2)
        for number in range(3):
            done = self.keep(number)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.write_run(3)
        done = self.keep(3)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("BM_Parse allocations 2 -> 3 (+50.0 %)", done.stdout)
        done = self.keep(4)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        with open(self.path("h/gate_history.jsonl"), encoding="utf-8") as file:
            runs = [json.loads(line) for line in file]
        self.assertEqual([run["commit"] for run in runs], [commit(i) for i in range(5)])
        self.assertEqual(runs[3]["figures"]["BM_Parse"]["allocations"], 3)

    def test_the_commit_is_gits_or_that_of_the_ci_system(self):
        def git(*words):
            return subprocess.run(
                ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
                cwd=self.directory, capture_output=True, text=True, check=True).stdout.strip()

        self.write_run(2)
        done = self.gate("--history=h", "--current=run.json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^allomon gate: no commit .*; give it by --commit=NAME\n$")
        self.assertEqual(self.gate("--history=h", "--current=run.json",
                                   GITHUB_SHA="f" * 40).returncode, 0)
        git("init", "-q")
        git("add", "run.json")
        git("commit", "-q", "-m", "first")
        self.assertEqual(self.gate("--history=h", "--current=run.json").returncode, 0)
        self.write("run.json", self.read("run.json") + " ")
        self.assertEqual(self.gate("--history=h", "--current=run.json").returncode, 0)
        with open(self.path("h/gate_history.jsonl"), encoding="utf-8") as file:
            commits = [json.loads(line)["commit"] for line in file]
        head = git("rev-parse", "HEAD")
        self.assertEqual(commits, ["f" * 40, head, head + "+"])

    def test_figures_of_a_real_benchmark(self):
        subprocess.run(
            [BENCHMARK, "--benchmark_min_time=0", "--benchmark_filter=BM_ThreeBlocks",
             "--benchmark_out=" + self.path("run.json")], capture_output=True, check=True)
        for number in range(2):
            done = self.keep(number)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        with open(self.path("h/gate_history.jsonl"), encoding="utf-8") as file:
            figures = json.loads(file.readline())["figures"]["BM_ThreeBlocks"]
        self.assertEqual((figures["allocations"], figures["bytes"]), (3, 60))

    def test_twenty_runs_at_once_are_all_kept(self):
        self.write_run(2)
        with concurrent.futures.ThreadPoolExecutor(20) as threads:
            statuses = list(threads.map(lambda i: self.keep(i).returncode, range(20)))
        self.assertEqual(statuses, [0] * 20)
        with open(self.path("h/gate_history.jsonl"), encoding="utf-8") as file:
            commits = {json.loads(line)["commit"] for line in file}
        self.assertEqual(commits, {commit(i) for i in range(20)})

    # --- What is written.

    def test_a_picture_and_other_formats(self):
        self.write_history(self.line(i, allocations=2 if i < 30 else 3) for i in range(COMMITS))
        self.assertEqual(self.gate("--history=h", "--draw=h.svg").returncode, 0)
        picture = xml.etree.ElementTree.parse(self.path("h.svg")).getroot()
        self.assertTrue(picture.tag.endswith("svg"))
        self.assertIn("BM_Parse allocations", "".join(picture.itertext()))
        self.write_run(4)
        done = self.keep(99, "--format=markdown")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("| BM\\_Parse allocations 3 -> 4", done.stdout)
        self.assertRegex(
            done.stdout,
            r"\n\n51 runs in the history, 3 figures: changes at 2 commits\n\n\| commit \| run \|",
        )
        self.assertNotIn("\\x", done.stdout)
        done = self.gate("--current=run.json", "--format=github-action-benchmark")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        figures = {entry["name"]: (entry["value"], entry["unit"])
                   for entry in json.loads(done.stdout)}
        self.assertEqual(figures["BM_Parse allocations"], (4, "allocations/iteration"))

    # --- Bad input.

    def test_a_file_cut_in_the_middle_loses_one_run(self):
        self.write_run(2)
        for number in range(3):
            self.keep(number)
        whole = self.read("h/gate_history.jsonl")
        self.write("h/gate_history.jsonl", whole[:-20])
        done = self.keep(3)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^allomon gate: h/gate_history.jsonl:3: cut or damaged, so "
                                      r"this run is left out; all others are read\n$")
        kept = self.read("h/gate_history.jsonl")
        self.assertTrue(kept.startswith(whole[:-20] + "\n"))
        self.assertEqual(json.loads(kept.splitlines()[-1])["commit"], commit(3))

    def test_bad_input_is_one_line_and_changes_nothing(self):
        self.write_run(2)
        self.write("file", "")
        for text, line in (
            ("{}\n", "not a history of allomon gate"),
            ('{"allomon_gate_history":2,"commit":"a"}\n', "a history of version 2"),
        ):
            os.makedirs(self.path("h"), exist_ok=True)
            self.write("h/gate_history.jsonl", text)
            done = self.keep(1)
            self.assertEqual((done.returncode, done.stdout), (2, ""), text)
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertEqual(self.read("h/gate_history.jsonl"), text)
        for options, line in (
            (["--history=file", "--current=run.json", "--commit=a"], "cannot be"),
            (["--history=none"], "there is no history yet"),
            (["--draw=x.svg", "--current=run.json", "--baseline=b"], "name its folder by --hist"),
            (["--history=h", "--commit=a b", "--current=run.json"], "not the name of a commit"),
        ):
            done = self.gate(*options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.write("nan.json", self.read("run.json").replace('"allocs_per_iter": 2',
                                                             '"allocs_per_iter": NaN'))
        done = self.gate("--history=h2", "--current=nan.json", "--commit=a")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertFalse(os.path.exists(self.path("h2")))


if __name__ == "__main__":
    unittest.main()
