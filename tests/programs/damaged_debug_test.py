#!/usr/bin/env python3
"""Reports read debug files that anybody may have written: a .dwp, and sections compressed by zstd.

Each is damaged in many ways with a fixed seed.  A report of a damaged file ends by itself, without
a signal, and says at most one line.  Its memory does not grow with what a file states."""

import os
import random
import resource
import shutil
import struct
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


def claim_all(path, file_bytes):
    """Makes a package that has file_bytes; all its sections, and all parts in them, end there."""
    with open(path, "r+b") as file:
        elf = bytearray(file.read())
        header_at = struct.unpack_from("<Q", elf, 0x28)[0]
        count, names_at = struct.unpack_from("<HH", elf, 0x3C)

        def section(number):
            return struct.unpack_from("<IIQQQQ", elf, header_at + number * 64)

        names = section(names_at)[4]
        for number in range(count):
            name, _, _, _, offset, _ = section(number)
            name = elf[names + name : elf.index(b"\0", names + name)]
            if name.endswith(b".dwo"):
                struct.pack_into("<Q", elf, header_at + number * 64 + 32, file_bytes - offset)
            if name == b".debug_cu_index":
                index = offset
        offsets = {  # by the number of the index's column
            kind: section(number)[4]
            for number in range(count)
            for kind, name in ((1, b".debug_info.dwo"), (3, b".debug_abbrev.dwo"),
                               (6, b".debug_str_offsets.dwo"))
            if elf[names + section(number)[0] :].startswith(name + b"\0")
        }
        _, kinds, rows, slots = struct.unpack_from("<IIII", elf, index)
        kinds_at = index + 16 + slots * 12
        for column in range(kinds):
            kind = struct.unpack_from("<I", elf, kinds_at + column * 4)[0]
            for row in range(rows if kind in offsets else 0):
                begin_at = kinds_at + (kinds + row * kinds + column) * 4
                begin = offsets[kind] + struct.unpack_from("<I", elf, begin_at)[0]
                size_at = begin_at + rows * kinds * 4
                struct.pack_into("<I", elf, size_at, file_bytes - begin)
        file.seek(0)
        file.write(elf)
        file.truncate(file_bytes)


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

    # Of many units each row states that all of the file is the unit's.
    def test_package_whose_units_overlap(self):
        units, file_bytes = 48, 32 << 20
        with open(os.path.join(self.folder, "main.c"), "w", encoding="ascii") as main:
            main.write("".join(f"void *f{i}(void);\n" for i in range(units)))
            main.write("int main(void) {" + "".join(f"f{i}();" for i in range(units)) + "}\n")
        for i in range(units):
            with open(os.path.join(self.folder, f"f{i}.c"), "w", encoding="ascii") as unit:
                unit.write("#include <stdlib.h>\n" f"void *f{i}(void) {{ return malloc(1000); }}\n")
        sources = ["main.c"] + [f"f{i}.c" for i in range(units)]
        try:
            ways.run(["gcc", "-gdwarf-4", "-gsplit-dwarf", "-O1", "-fno-optimize-sibling-calls",
                      "-c", *sources], self.folder)
            ways.run(["gcc", *[name[:-1] + "o" for name in sources], "-o", "prog"], self.folder)
            ways.run(["dwp", "-e", "prog", "-o", "prog.dwp"], self.folder)
        except ways.Skipped as why:
            self.skipTest(str(why))
        for name in os.listdir(self.folder):
            if name.endswith(".dwo"):
                os.unlink(os.path.join(self.folder, name))
        ways.Program(self.folder, ALLOMON, LIBRARY).flat()
        self.assertEqual(self.report().count(b"f7.c"), 1)
        claim_all(os.path.join(self.folder, "prog.dwp"), file_bytes)
        most = 1 << 30
        said = self.report(lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        self.assertIn(b"f7", said)

    def report(self, before=None):
        done = subprocess.run(
            [ALLOMON, "report", "--json", "flat.out"],
            preexec_fn=before,
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
