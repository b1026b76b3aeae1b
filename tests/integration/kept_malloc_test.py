#!/usr/bin/env python3
"""liballomon-host.so: what is not sampled is given by the program's own malloc."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
LIBRARY = os.path.join(RUNFILES, "allocator/liballomon-host.so")
REPLACING = os.path.join(RUNFILES, "allocator/liballomon.so")
HOST = os.path.join(RUNFILES, "tests/integration/kept_malloc_host")

# By name; those that are not installed are left out.
ALLOCATORS = {
    "glibc": "",
    "jemalloc": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
    "tcmalloc": "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
    "tcmalloc_debug": "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal_debug.so.4",
    "mimalloc": "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0",
}
FUNCTIONS_OF_HOST = ("Take", "Work", "UseOthers", "PrintKept", "Thread")
SETTINGS = {
    "nothing sampled": {"ALLOMON_PROFILE": "no"},
    "flat": {"ALLOMON_RATE": "1e-3", "ALLOMON_OUT": "x.out"},
    "flat, each block": {"ALLOMON_RATE": "1", "ALLOMON_OUT": "x.out"},
    "live": {"ALLOMON_PROFILE": "live,stack", "ALLOMON_RATE": "1e-2", "ALLOMON_OUT": "x.out"},
    "recording": {"ALLOMON_RATE": "1e-3", "ALLOMON_RECORD": "%p.rec"},
    "recording, each block": {"ALLOMON_RATE": "1", "ALLOMON_RECORD": "%p.rec"},
    "guard": {"ALLOMON_RATE": "1e-2", "ALLOMON_GUARD": "1/10", "ALLOMON_OUT": "x.out"},
}


class KeptMallocTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def play(self, preload, *command, **variables):
        return subprocess.run(
            command or [HOST],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": preload, **variables},
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )

    def test_hosts_run_as_without_us_over_each_allocator(self):
        tried = 0
        for name, path in ALLOCATORS.items():
            if path and not os.path.exists(path):
                continue
            plain = self.play(path)
            self.assertIn("wrong 0, child 0", plain.stdout, plain.stderr)
            if name == "jemalloc":
                self.assertIn("jemalloc has most", plain.stdout)
            for setting, variables in SETTINGS.items():
                with self.subTest(name, setting=setting):
                    done = self.play(f"{LIBRARY}:{path}", **variables)
                    wanted = plain.stdout
                    if setting == "recording, each block":
                        # Followed blocks are ours.
                        wanted = wanted.replace("has most", "has little")
                    self.assertEqual(
                        (done.stdout, done.returncode), (wanted, plain.returncode), done.stderr
                    )
                    self.assertEqual(done.stderr, "")
                    tried += 1
        self.assertGreaterEqual(tried, len(SETTINGS))

    def test_profile_is_the_same_as_over_mimalloc(self):
        totals = set()
        for path in [path for path in ALLOCATORS.values() if not path or os.path.exists(path)]:
            for file in glob.glob(os.path.join(self.folder, "*.rec")):
                os.unlink(file)
            self.play(f"{LIBRARY}:{path}", ALLOMON_RATE="1", ALLOMON_RECORD="host.rec")
            report = ("report", "--metric=alloc", "--json", "--top=0", "host.rec")
            done = self.play("", ALLOMON, *report)
            self.assertEqual(done.stderr, "")
            # Allocators differ in what their own functions ask for, and no other row is ours.
            functions = json.loads(done.stdout)["functions"]
            rows = {row["function"]: row["self"] for row in functions if row["self"] > 0}
            totals.add(tuple(rows.get(name, 0) for name in FUNCTIONS_OF_HOST))
            self.assertNotIn("allomon::", "".join(rows))
            self.assertNotIn("allocx", "".join(rows))
        self.assertEqual(len(totals), 1, totals)
        self.assertGreater(min(*totals.pop()), 0)

    def test_a_malloc_that_is_replaced_is_said(self):
        path = ALLOCATORS["jemalloc"]
        if not os.path.exists(path):
            self.skipTest("jemalloc is not installed")
        replacing = f"{REPLACING}:{path}"
        done = self.play(replacing, "/bin/true")
        self.assertEqual(
            done.stderr,
            f"allomon: mimalloc takes the place of the malloc of {path}; allomon run "
            "--keep-malloc (liballomon-host.so) keeps it\n",
        )
        self.assertEqual(self.play(replacing, "/bin/true", ALLOMON_PROFILE="no").stderr, "")
        self.assertEqual(self.play(replacing, "/bin/true", ALLOMON_BACKEND="mimalloc").stderr, "")
        self.assertEqual(self.play(REPLACING, "/bin/true").stderr, "")
        done = self.play(replacing, "/bin/true", ALLOMON_BACKEND="host")
        remedy = r"\Aallomon: ALLOMON_BACKEND=host: .*liballomon-host[.]so.*\n\Z"
        self.assertRegex(done.stderr, remedy)
        kept = self.play(f"{LIBRARY}:{path}", "/bin/true", ALLOMON_BACKEND="host")
        self.assertEqual(kept.stderr, "")
        done = self.play("", ALLOMON, "run", "-q", "-o", "x", HOST, ALLOMON_BACKEND="host")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_functions_of_a_jemalloc_that_is_replaced_are_replaced_as_well(self):
        path = ALLOCATORS["jemalloc"]
        if not os.path.exists(path):
            self.skipTest("jemalloc is not installed")
        plain = self.play(path)
        for setting, variables in SETTINGS.items():
            with self.subTest(setting):
                done = self.play(f"{REPLACING}:{path}", **variables)
                wanted = plain.stdout.replace("has most", "has little")
                self.assertEqual((done.stdout, done.returncode), (wanted, plain.returncode))

    def test_reports_say_which_malloc_ran(self):
        jemalloc = ALLOCATORS["jemalloc"]
        cases = [
            (REPLACING, "", ["mimalloc", ""]),
            (LIBRARY, "malloc is the program's own\n", ["host", ""]),
        ]
        if os.path.exists(jemalloc):
            cases += [
                (
                    f"{REPLACING}:{jemalloc}",
                    "malloc is mimalloc in the place of libjemalloc.so.2: allomon run "
                    "--keep-malloc keeps that\n",
                    ["mimalloc", jemalloc],
                ),
                (
                    f"{LIBRARY}:{jemalloc}",
                    "malloc is the program's own, of libjemalloc.so.2\n",
                    ["host", jemalloc],
                ),
            ]
        for preload, line, facts in cases:
            with self.subTest(preload):
                self.play(preload, ALLOMON_RECORD="x.rec", ALLOMON_RATE="1e-2")
                # A file of pprof, too, has it.
                export = ["export", "--format=pprof", "-o", "x.pb.gz", "x.rec"]
                self.assertEqual(self.play("", ALLOMON, *export).stderr, "")
                for file in "x.rec", "x.pb.gz":
                    text = self.play("", ALLOMON, "report", file).stdout
                    found = re.findall(r"^malloc is .*\n", text, re.MULTILINE)
                    self.assertEqual("".join(found), line)
                    data = json.loads(self.play("", ALLOMON, "report", "--json", file).stdout)
                    self.assertEqual([data["allocator"], data["malloc_file"]], facts)

    def test_run_keeps_the_malloc(self):
        done = self.play("", ALLOMON, "run", "--keep-malloc", "-o", "x.pb.gz", HOST)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("wrong 0, child 0", done.stdout)
        report = self.play("", ALLOMON, "report", "x.pb.gz", "--metric=alloc")
        self.assertIn("Take", report.stdout, report.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
