#!/usr/bin/env python3
"""A program that links nothing of Allomon has labels where the library is preloaded, and runs
without them elsewhere: examples/tenants by `allomon run`, then its reports and `go tool pprof`."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

# From Go 1.25 on, pprof is built when it is first asked for.
os.environ.setdefault("GOCACHE", os.path.join(os.environ["TEST_TMPDIR"], "go"))

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
LIBRARY = os.path.join(RUNFILES, "allocator/liballomon.so")
TENANTS = os.path.join(RUNFILES, "examples/tenants")
IN_C = os.path.join(RUNFILES, "tests/labels/labels_in_c")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class PreloadTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.profile = os.path.join(folder.name, "tenants.pb.gz")

    def record(self, *program):
        os.environ["ALLOMON_LIBRARY"] = LIBRARY
        run(ALLOMON, "run", "--rate=0.001", "-o", self.profile, "--", *program)

    def report(self, *options):
        return json.loads(run(ALLOMON, "report", "--format=json", *options, self.profile))

    def test_leaking_tenant_is_on_top(self):
        self.record(TENANTS, "3")
        leaks = self.report("--leaks", "--by=label:tenant")["leaks"]
        self.assertEqual(leaks[0]["value"], "tenant-17")
        for other in leaks[1:]:
            self.assertGreater(leaks[0]["live_low"], other["live_high"], other)
        labels = self.report("--by=label:tenant", "--metric=alloc")["labels"]
        values = {row["value"] for row in labels}
        self.assertLessEqual({f"tenant-{i}" for i in range(50)}, values)
        focused = run("go", "tool", "pprof", "-top", "-tagfocus=tenant=tenant-17$", self.profile)
        self.assertIn("Serve", focused)
        self.assertIn("tenant-17", run("go", "tool", "pprof", "-tags", self.profile))

    def test_program_without_allomon(self):
        self.assertIn("answers leaked", run(TENANTS, "0.1"))
        self.assertIn("labels are absent\n", run(IN_C))

    def test_c_program(self):
        self.record(IN_C)
        rows = self.report("--by=label:tenant", "--metric=alloc")["labels"]
        amounts = {row["value"]: row["alloc"] for row in rows}
        self.assertAlmostEqual(amounts["acme"], 2e6, delta=4e5)
        self.assertAlmostEqual(amounts["zeta"], 1e6, delta=4e5)


if __name__ == "__main__":
    unittest.main()
