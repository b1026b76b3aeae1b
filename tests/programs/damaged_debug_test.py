#!/usr/bin/env python3
"""Reports read debug files that anybody may have written: a .dwp, and sections compressed by zstd.

Each is damaged in many ways with a fixed seed.  A report of a damaged file ends by itself, without
a signal, and says at most one line."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import ways_to_build as ways  # noqa: E402

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
LIBRARY = os.path.join(RUNFILES, "allocator/liballomon.so")
DAMAGES = 60
MOST_SECONDS = 20


def sections(path):
    """(offset, bytes) of the file's sections: small ones are damaged as often as large ones."""
    text = ways.run(["readelf", "-SW", path], "/")
    found = []
    for line in text.splitlines():
        words = line.partition("]")[2].split()
        if len(words) > 4 and words[0].startswith(".debug"):
            found.append((int(words[3], 16), int(words[4], 16)))
    return [(offset, size) for offset, size in found if size > 0]


class DamagedDebugFiles(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(20261127)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def prepare(self, build):
        try:
            build(self.folder)
        except ways.Skipped as why:
            self.skipTest(str(why))
        program = ways.Program(self.folder, ALLOMON, LIBRARY)
        self.assertEqual(program.flat(), ways.LINES)

    def damage(self, path, places):
        with open(path, "r+b") as file:
            for _ in range(self.random.randint(1, 6)):
                offset, size = self.random.choice(places)
                file.seek(offset + self.random.randrange(min(size, self.random.choice([64, size]))))
                two = self.random.randbytes(2)
                file.write(self.random.choice([b"\0", b"\xff" * 4, b"\x7f", two]))

    def check(self, file):
        path = os.path.join(self.folder, file)
        shutil.copy(path, path + ".whole")
        places = sections(path)
        self.assertTrue(places)
        changed = 0
        whole = self.report()
        for _ in range(DAMAGES):
            shutil.copy(path + ".whole", path + ".new")
            self.damage(path + ".new", places)
            os.rename(path + ".new", path)
            changed += self.report() != whole
        self.assertGreater(changed, DAMAGES // 10, "the damage is where it matters")

    def report(self):
        done = subprocess.run(
            [ALLOMON, "report", "--json", "flat.out"],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "HOME": self.folder},
            capture_output=True,
            timeout=MOST_SECONDS,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(done.stderr.count(b"\n"), 1, done.stderr)
        return done.stdout

    def test_package_of_dwarf_4(self):
        self.prepare(ways.packed("g++", 4, "dwp"))
        self.check("prog.dwp")

    def test_package_of_dwarf_5(self):
        self.prepare(ways.packed("clang++", 5, "llvm-dwp"))
        self.check("prog.dwp")

    # The program itself is not changed: a file that is not the one that ran is left alone.
    def test_debug_file_by_zstd(self):
        self.prepare(ways.then(
            ways.PLAIN,
            "objcopy --only-keep-debug --compress-debug-sections=zstd prog prog.debug",
            "strip prog",
            "objcopy --add-gnu-debuglink=prog.debug prog",
        ))
        self.check("prog.debug")


if __name__ == "__main__":
    sys.exit(unittest.main())
