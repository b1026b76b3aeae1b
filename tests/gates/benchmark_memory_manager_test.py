#!/usr/bin/env python3
"""What BenchmarkMemoryManager writes into Google Benchmark's JSON is exact, however many
iterations the timing took, and the JSON is otherwise Google's own."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BENCHMARK = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"],
                         "tests/gates/counted_benchmark")

# name -> allocations and bytes per iteration, peak and growth of the pass
EXPECTED = {
    "BM_Nothing": (0, 0, 0, 0),
    "BM_ThreeBlocks": (3, 60, 30, 0),
    "BM_FiveIterations/iterations:5": (3, 60, 30, 0),
    "BM_TwoThreads/threads:2": (3, 60, 30, 0),
    "BM_Repeated/repeats:2": (3, 60, 30, 0),
    "BM_SetUpAndPausedAllocationsDoNotCount": (1, 8, 8, 0),
    "BM_KeepRunningLoop": (1, 8, 8, 0),
    "BM_BlocksThatStay/iterations:16": (1, 8, 128, 0),
    "BM_ManagedObjects/iterations:16": (4, 64, 1024, 0),
    "BM_OnAnotherThread/iterations:16": (2, None, None, None),
}


def run(min_time, **environment):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        done = subprocess.run(
            [BENCHMARK, f"--benchmark_min_time={min_time}", f"--benchmark_out={out}"],
            env={**os.environ, **environment}, text=True, check=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(out, encoding="utf-8") as file:
            return json.load(file), done.stderr


class Figures(unittest.TestCase):
    def check(self, min_time):
        output, _ = run(min_time)
        seen = set()
        for entry in output["benchmarks"]:
            name = entry["name"]
            if entry["run_type"] != "iteration" or entry.get("error_occurred"):
                self.assertNotIn("allocs_per_iter", entry)
                continue
            seen.add(name)
            # For each repetition, Google Benchmark 1.7.1 keeps a pointer into a vector, which the
            # next one moves: what it prints of the earlier ones is freed memory (valgrind says so).
            if entry.get("repetition_index", 0) + 1 < entry.get("repetitions", 1):
                continue
            passes = min(16, entry["iterations"] // entry["threads"])
            found = (entry["allocs_per_iter"], entry["total_allocated_bytes"] / passes,
                     entry["max_bytes_used"], entry["net_heap_growth"])
            with self.subTest(name=name, iterations=entry["iterations"]):
                for is_now, expected in zip(found, EXPECTED[name]):
                    if expected is not None:
                        self.assertEqual(is_now, expected)
        self.assertEqual(seen, set(EXPECTED))

    def test_exact_with_one_iteration(self):
        self.check(0)

    def test_exact_with_many_iterations(self):
        self.check(0.001)

    def test_json_has_what_googles_compare_py_reads(self):
        output, _ = run(0)
        self.assertIn("context", output)
        for entry in output["benchmarks"]:
            for key in "name", "run_name", "run_type", "real_time", "cpu_time", "time_unit":
                self.assertIn(key, entry)


class Profile(unittest.TestCase):
    def test_a_pass_per_run_with_sites_that_add_up(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile.json")
            run(0, ALLOMON_GATE_PROFILE=path)
            with open(path, encoding="utf-8") as file:
                passes = json.load(file)["passes"]
        self.assertEqual(len(passes), len(EXPECTED) + 2)  # one is repeated, one skipped
        for one in passes:
            for key in "allocations", "bytes":
                self.assertEqual(one[key], sum(site[key] for site in one["sites"]))
        innermost, outermost = passes[1]["sites"][0]["frames"]
        self.assertEqual(innermost["function"], "allomon::Take")
        self.assertTrue(innermost["file"].endswith("tests/gates/keep.h"), innermost)
        self.assertIn("BM_ThreeBlocks", outermost["function"])

    def test_unwritable_path_is_named_and_the_run_succeeds(self):
        _, errors = run(0, ALLOMON_GATE_PROFILE="/no/such/folder/profile")
        self.assertIn("allomon: cannot write ALLOMON_GATE_PROFILE /no/such/folder/profile: "
                      "No such file or directory\n", errors)


if __name__ == "__main__":
    sys.exit(unittest.main())
