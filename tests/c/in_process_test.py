#!/usr/bin/env python3
"""Programs that were linked without Allomon find its functions where liballomon.so is preloaded,
and hear that it is absent where it is not."""

import os
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, runfile  # noqa: E402

LIBRARY = runfile("//allocator:liballomon.so")
PACKAGE = runfile("//tracker/c/python:allomon")
QUIET = {"ALLOMON_PROFILE": "no"}
ABSENT = "no Allomon in this process: preload liballomon.so, or link Allomon"
FOLLOWED = ["ready: ok", "start: ok", "stop: ok", "followed"]
MISSING = [f"ready: {ABSENT}", f"start: {ABSENT}", f"stop: {ABSENT}", "not followed"]


def version():
    with open(runfile("//tracker/formats:version.h"), encoding="utf-8") as header:
        return header.read().split('"allomon ')[1].split('"')[0]


class InProcess(Case):
    def lines(self, argv, env=None):
        done = self.run_plain(argv, env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        lines = done.stdout.splitlines()
        return lines[1], [lines[0]] + lines[2:]

    def check(self, argv):
        self.assertEqual(self.lines(argv), ("version ", MISSING))
        said, lines = self.lines(argv, {**QUIET, "LD_PRELOAD": LIBRARY})
        self.assertEqual((said, lines), (f"version {version()}", FOLLOWED))
        self.assertEqual(self.files(), [])

    def test_position_independent_program(self):
        self.check([runfile("//tests/c:host_pie")])

    def test_position_dependent_program(self):
        self.check([runfile("//tests/c:host_no_pie")])

    def test_plugin(self):
        self.check([runfile("//tests/c:plugin_host"), runfile("//tests/c:libplugin.so")])

    def test_static_program_has_none(self):
        for env in {}, {"LD_PRELOAD": LIBRARY}:
            self.assertEqual(self.lines([runfile("//tests/c:host_static")], env)[1], MISSING)

    def test_plugin_of_a_program_that_links_allomon(self):
        host = [runfile("//tests/c:linked_host"), runfile("//tests/c:libplugin.so")]
        self.assertEqual(self.lines(host), (f"version {version()}", FOLLOWED))

    def test_program_that_links_allomon_goes_before_the_preloaded_one(self):
        host = [runfile("//tests/c:linked_host"), runfile("//tests/c:libplugin.so")]
        done = self.run_plain(host, {"LD_PRELOAD": LIBRARY})
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Aallomon: .*the program itself.*stands aside.*\n\Z")
        self.assertIn("followed\n", done.stdout)
        self.assertNotIn("not followed", done.stdout)
        self.assertEqual(self.files(), [])

    def test_of_two_preloaded_copies_the_first_samples_and_the_second_says_one_line(self):
        copy = shutil.copy(LIBRARY, self.path("second.so"))
        env = {"LD_PRELOAD": f"{LIBRARY} {copy}", "ALLOMON_RATE": "1"}
        done = self.run_plain([runfile("//tests/c:host_pie")], env)
        self.assertEqual(done.returncode, 0)
        self.assertIn("\nfollowed\n", done.stdout)
        self.assertEqual(
            done.stderr,
            f"allomon: {LIBRARY} comes first and samples; another copy of liballomon.so stands "
            "aside (name one in LD_PRELOAD)\n",
        )
        self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources", "second.so"])

    def test_of_two_preloaded_copies_in_many_kinds_of_programs(self):
        copy = shutil.copy(LIBRARY, self.path("second.so"))
        fork = "import os, threading; t = threading.Thread(target=lambda: [0] * 99999); t.start(); "
        fork += "t.join(); p = os.fork(); p and os.waitpid(p, 0); p or os._exit(0); print('done')"
        for argv, out in (
            (["/usr/bin/python3", "-c", fork], "done\n"),
            (["/usr/bin/perl", "-e", "print join ',', map { 'x' x $_ } 1..3"], "x,xx,xxx"),
            (["/bin/sh", "-c", "echo $(echo inner)"], "inner\n"),
        ):
            for env in QUIET, {"ALLOMON_RATE": "1"}, {"ALLOMON_GUARD": "1/10"}:
                with self.subTest(argv=argv, env=env):
                    done = self.run_plain(
                        argv, {**env, "LD_PRELOAD": f"{LIBRARY} {copy}", "PYTHONMALLOC": "malloc"}
                    )
                    self.assertEqual((done.returncode, done.stdout), (0, out), done.stderr)

    def test_library_that_stands_aside_says_so_to_who_calls_it(self):
        code = (
            "import ctypes; library = ctypes.CDLL({!r}); "
            "library.allomon_status_text.restype = ctypes.c_char_p; "
            "print(library.allomon_status_text(library.allomon_ready()).decode())"
        )
        done = self.run_plain(["/usr/bin/python3", "-c", code.format(LIBRARY)], QUIET)
        self.assertIn("another malloc comes before", done.stdout)

    def test_library_that_stands_aside_follows_what_a_heap_of_the_host_reports(self):
        code = (
            "import ctypes; library = ctypes.CDLL({!r}); number = ctypes.c_uint32(); "
            "start = lambda: library.allomon_tracker_start(None, None, ctypes.byref(number)); "
            "report = lambda: library.allomon_custom_memory_report(ctypes.c_uint64(1 << 30)); "
            "print(start() < 0, report() == 0, library.allomon_custom_memory_serve()); "
            "print(library.allomon_ready(), start(), report() != 0)"
        )
        done = self.run_plain(["/usr/bin/python3", "-c", code.format(LIBRARY)], QUIET)
        self.assertEqual((done.returncode, done.stdout), (0, "True True 0\n0 0 True\n"))

    def test_trackers_of_cxx(self):
        host = [runfile("//tests/c:cxx_host")]
        done = self.run_plain(host)  # its own bytes alone
        self.assertEqual((done.returncode, done.stdout), (2, "no block of malloc is followed\n"))
        done = self.run_plain(host, {**QUIET, "LD_PRELOAD": LIBRARY})
        self.assertEqual((done.returncode, done.stdout), (0, "all is well\n"), done.stderr)
        self.assertEqual(self.files(), ["cxx_host.rec"])

    def test_trackers_of_cxx_beside_a_profile(self):
        host = [runfile("//tests/c:cxx_host")]
        done = self.run_plain(host, {"LD_PRELOAD": LIBRARY, "ALLOMON_RATE": "1"})
        self.assertEqual((done.returncode, done.stdout), (0, "all is well\n"), done.stderr)
        self.assertIn("mlmon.out", self.files())


class Python(Case):
    """The example of README.md, in a process that is preloaded and in one that is not."""

    EXAMPLE = runfile("//examples:record_from_python.py")

    def run_example(self, env):
        env = {**QUIET, "ALLOMON_PROFILE": "idle", "PYTHONDONTWRITEBYTECODE": "1", **env}
        return self.run_plain(["/usr/bin/python3", self.EXAMPLE, self.path("python.rec")], env)

    def test_recording_and_snapshot(self):
        done = self.run_example({"LD_PRELOAD": LIBRARY})
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertRegex(done.stdout, r"(?m)^[0-9,]+ bytes in [0-9,]+ blocks live: .*build")
        self.assertRegex(done.stdout, r"(?m)^[0-9,]+ samples in .*python\.rec$")
        command = runfile("//tools/allomon:allomon")
        report = self.run_plain([command, "report", self.path("python.rec")])
        self.assertEqual(report.returncode, 0, report.stderr)

    # The page's attendant, a tracker, a counting and a recording have a session each, with ids from
    # 1 on.  A number of one kind, forged into an object of another, is none.
    FORGED = """
import ctypes, sys
import allomon
from allomon import recording
def refused(call):
    try:
        call()
    except allomon.Error:
        return True
    return False
allomon.start(sys.argv[1])
kept, tracker, forged = recording._recording, allomon.Tracker(rate=1), allomon.Tracker(rate=1)
with allomon.counted() as counts:
    others = [number for number in range(1, 40) if number != kept.value & 0x7fffffff]
    for number in others:
        for given in number, number | 1 << 31:
            recording._recording = ctypes.c_uint32(given)
            assert refused(allomon.statistics), given
            assert refused(allomon.stop), given
            assert refused(lambda: allomon.save(sys.argv[1] + ".copy")), given
    recording._recording, number = kept, forged._number
    for other in set(range(1, 40)) - {tracker._number.value, number.value}:
        for given in other, other | 1 << 31:
            forged._number = ctypes.c_uint32(given)
            assert refused(forged.snapshot), given
            assert refused(forged.snapshot_by_labels), given
            assert refused(forged.stop), given
    forged._number = number
assert allomon.statistics()["samples"] >= 0
allomon.stop()
tracker.stop()
forged.stop()
assert counts.blocks > 0
print("each is there still")
"""

    def test_forged_numbers(self):
        env = {
            "LD_PRELOAD": LIBRARY, "ALLOMON_PROFILE": "idle",
            "PYTHONPATH": os.path.dirname(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = ["/usr/bin/python3", "-c", self.FORGED, self.path("forged.rec")]
        done = self.run_plain(command, env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual(done.stdout, "each is there still\n")

    def test_absent(self):
        done = self.run_example({})
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\A[^\n]*preload liballomon\.so[^\n]*\n\Z")
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
