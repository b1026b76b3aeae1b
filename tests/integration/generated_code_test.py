#!/usr/bin/env python3
"""Code that a program makes while it runs is named by what it writes for perf, and stacks go on
through its frames."""

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

    def record(self, *arguments):
        self.allomon("run", "--exact", "-o", "x.pb.gz", HOST, *arguments)

    def check(self):
        """Both functions, and the stack through them."""
        functions = self.allomon("report", "--metric=alloc", "--width=0", "x.pb.gz")
        self.assertRegex(functions, r"\bhandler +/srv/app[.]js:12\b")
        self.assertRegex(functions, r"\bdispatch +/srv/app[.]js:40\b")
        stacks = self.allomon("export", "--format=collapsed", "--metric=alloc", "x.pb.gz")
        self.assertRegex(stacks, r"main;CallGenerated;dispatch;handler [0-9]+")

    def test_memory_and_files_of_code_miss_no_names(self):
        for how in "", "shared", "memfd", "file":
            with self.subTest(how=how):
                environment = {
                    "LD_PRELOAD": LIBRARY,
                    "ALLOMON_PROFILE": "alloc,stack",
                    "ALLOMON_RATE": "1",
                    "ALLOMON_OUT": "out",
                }
                done = subprocess.run(
                    [HOST, how],
                    cwd=self.folder,
                    env=environment,
                    check=True,
                    stderr=subprocess.PIPE,
                    encoding="utf-8",
                    timeout=60,
                )
                self.assertEqual(done.stderr, "")
                with open(os.path.join(self.folder, "out.sources"), encoding="utf-8") as file:
                    code = {"": "[anon]", "shared": "zero", "memfd": "memfd:doublemapper"}
                    self.assertIn("\n" + code.get(how, "code") + "+0x", file.read())

    def test_map(self):
        self.record()
        self.check()

    def test_dump_in_the_folder(self):
        self.record("dump")
        self.check()

    def test_dump_of_another_process_names_nothing(self):
        environment = {"LD_PRELOAD": LIBRARY, "ALLOMON_RECORD": "raw", "ALLOMON_RATE": "1"}
        subprocess.run([HOST, "dump"], cwd=self.folder, env=environment, check=True, timeout=60)
        (dump,) = glob.glob(os.path.join(self.folder, "jit-*.dump"))
        self.assertIn("handler", self.allomon("report", "--metric=alloc", "raw"))
        with open(dump, "r+b") as file:
            file.seek(20)  # its process
            file.write(b"\1\0\0\0")
        self.assertNotIn("handler", self.allomon("report", "--metric=alloc", "raw"))

    def test_names_of_a_map_travel(self):
        environment = {"LD_PRELOAD": LIBRARY, "ALLOMON_RECORD": "raw", "ALLOMON_RATE": "1"}
        before = self.maps()
        subprocess.run([HOST], cwd=self.folder, env=environment, check=True, timeout=60)
        report = ["report", "--metric=alloc", "--view=tree", "--width=0", "--top=0"]
        here = self.allomon(*report, "raw")
        self.assertIn("handler", here)
        self.allomon("symbols", "pack", "-o", "raw.symbols", "raw")
        (path,) = self.maps() - before
        os.unlink(path)
        self.assertNotIn("handler", self.allomon(*report, "raw"))
        # The last line is a command, which has the pack, too.
        packed = self.allomon(*report, "--symbols=raw.symbols", "raw")
        self.assertEqual(packed.replace(" --symbols=raw.symbols", ""), here)


if __name__ == "__main__":
    sys.exit(unittest.main())
