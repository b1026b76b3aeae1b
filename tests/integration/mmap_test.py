#!/usr/bin/env python3
"""ALLOMON_MMAP=1 counts what a program maps itself, and nothing that Allomon maps; a summary says
where malloc is not what the memory came from."""

import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, runfile  # noqa: E402

HOST = runfile("//tests/integration:mapping_host")
LINKED = runfile("//tests/integration:profiled_host")
ALLOMON = runfile("//tools/allomon:allomon")
LIBRARY = runfile("//allocator:liballomon.so")
PYTHON = "/usr/bin/python3"
MIB = 1 << 20


class Mappings(Case):
    def run_host(self, kind, *arguments, **variables):
        done = self.run_preloaded(
            [HOST, *arguments],
            {"ALLOMON_RATE": "1", "ALLOMON_PROFILE": kind, "ALLOMON_MMAP": "1", **variables},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def mapped(self, name="mlmon.out"):
        rows = self.table(self.path(name + ".sources"), self.path(name)).raw
        return {row: raw / MIB for row, raw in rows.items() if row.startswith("Map")}, rows

    def test_allocated(self):
        self.run_host("alloc")
        mapped, rows = self.mapped()
        expected = {
            "MapKept": 5,
            "MapTrimmed": 8,
            "MapReleased": 100,
            "MapMoved": 5,
            "MapReplaced": 4,
            "MapFailed": 2,
            "MapRefused": 4,
            "MapHoled": 8,
            "MapHoledAndGone": 8,
            "MapPartlyMoved": 8,
            "MapOdd": 1 - 100 / MIB,
            "MapInPlaceOfFile": 5,
        }
        self.assertEqual(mapped, expected)
        # What malloc gave besides is little.
        self.assertLess(sum(rows.values()), (sum(expected.values()) + 1) * MIB)

    def test_live(self):
        self.run_host("live")
        mapped, _ = self.mapped()
        self.assertEqual(
            mapped,
            {
                "MapKept": 5,
                "MapTrimmed": 5,
                "MapMoved": 4,
                "MapReplaced": 3,
                "MapFailed": 2,
                "MapRefused": 4,
                "MapHoled": 6,
                "MapPartlyMoved": 6,
                "MapInPlaceOfFile": 3,
            },
        )

    def test_forked_child_holds_what_it_inherited(self):
        self.run_host("live", "fork", ALLOMON_OUT="%p.out")
        files = [name for name in self.files() if name.endswith(".out")]
        self.assertEqual(len(files), 2)
        for name in files:
            self.assertEqual(self.mapped(name)[0]["MapTrimmed"], 5)

    def test_not_unless_asked(self):
        self.run_host("live", ALLOMON_MMAP="0")
        self.assertEqual(self.mapped()[0], {})

    def test_linked_program_is_told(self):
        done = self.run_plain([LINKED], {"ALLOMON_PROFILE": "alloc", "ALLOMON_MMAP": "1"})
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Aallomon: ALLOMON_MMAP: [^\n]+\n\Z")

    def test_time_has_no_bytes(self):
        done = self.run_preloaded(["/bin/true"], {"ALLOMON_PROFILE": "time", "ALLOMON_MMAP": "1"})
        self.assertRegex(done.stderr, r"\Aallomon: ALLOMON_MMAP: [^\n]+\n\Z")


class Recordings(Case):
    def test_a_recording_says_that_it_has_none(self):
        for variables in (
            {"ALLOMON_RECORD": "a.rec"},
            {"ALLOMON_RECORD": "b.rec", "ALLOMON_PROFILE": "alloc"},
            {"ALLOMON_PROFILE": "idle"},
        ):
            done = self.run_preloaded([HOST], {"ALLOMON_MMAP": "1", **variables})
            self.assertEqual(done.returncode, 0)
            self.assertRegex(
                done.stderr, r"\Aallomon: ALLOMON_MMAP: recordings have no mappings[^\n]+\n\Z"
            )

    def test_run_says_it_once(self):
        done = self.run_plain(
            [ALLOMON, "run", "-o", "x.pb.gz", "--", "/bin/sh", "-c", f"{HOST}; {HOST}"],
            {"ALLOMON_MMAP": "1", "ALLOMON_LIBRARY": LIBRARY},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("ALLOMON_MMAP: recordings have no mappings"), 1)
        self.assertEqual(done.stderr.count("ALLOMON_MMAP"), 1)


class Explained(Case):
    """Where a profile has next to nothing of a program's memory the summary says why."""

    MAPS = """
import mmap
m = mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(0, 200 << 20, 4096): m[i] = 1
"""

    def lines(self, script, **variables):
        env = {"ALLOMON_SUMMARY": "1", **variables}
        done = self.run_preloaded([PYTHON, "-c", script], env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.splitlines()

    def test_memory_that_was_mapped(self):
        for kind in "alloc", "live":
            _, why = self.lines(self.MAPS + "import os\nos._exit(0)", ALLOMON_PROFILE=kind)
            self.assertRegex(why, r"only .* of the 2[0-9]{2} MiB .* ALLOMON_MMAP=1")

    def test_mappings_that_are_counted_need_no_words(self):
        lines = self.lines(self.MAPS, ALLOMON_MMAP="1")
        self.assertEqual(len(lines), 1, lines)

    def test_memory_that_was_mapped_and_is_gone(self):
        _, why = self.lines(self.MAPS + "m.close()")
        self.assertRegex(why, r"of the 2[0-9]{2} MiB of anonymous memory in use at once")

    def test_memory_that_came_from_malloc_needs_no_words(self):
        lines = self.lines("x = [bytearray(b'x' * 1000000) for i in range(200)]")
        self.assertEqual(len(lines), 1, lines)

    def test_nothing_was_sampled(self):
        done = self.run_preloaded(["/bin/true"], {"ALLOMON_SUMMARY": "1"})
        if re.match(r"allomon: 0 bytes", done.stderr):
            self.assertRegex(done.stderr, r"\n\Z")
            self.assertEqual(done.stderr.count("\n"), 2)
            self.assertIn("malloc", done.stderr.split("\n")[1])


if __name__ == "__main__":
    unittest.main()
