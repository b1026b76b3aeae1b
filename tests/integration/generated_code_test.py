#!/usr/bin/env python3
"""Code that a program makes while it runs is named by the map that it writes for perf."""

import glob
import os
import subprocess
import sys
import tempfile
import unittest

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
LIBRARY = os.path.join(RUNFILES, "allocator/liballomon.so")
HOST = os.path.join(RUNFILES, "tests/integration/generating_host")


class GeneratedCodeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addCleanup(lambda: [os.unlink(path) for path in self.maps() - before])
        before = self.maps()

    def maps(self):
        return set(glob.glob("/tmp/perf-*.map"))

    def allomon(self, *args):
        done = subprocess.run(
            [ALLOMON, *args],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "ALLOMON_LIBRARY": LIBRARY},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_name_and_callers(self):
        self.allomon("run", "--exact", "-o", "x.pb.gz", HOST)
        tree = self.allomon("report", "--view=callers", "--metric=alloc", "--width=0", "x.pb.gz")
        self.assertRegex(tree, r"\bhandler +/srv/app[.]js:12\b")
        self.assertIn("CallGenerated", tree)


if __name__ == "__main__":
    sys.exit(unittest.main())
