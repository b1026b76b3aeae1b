#!/usr/bin/env python3
"""A host that exports a malloc of its own is left alone, and one that exports operators is not
disturbed.  Their blocks are never given to us, though they lack some of the names that we have."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, Mlmon, runfile  # noqa: E402

FOLDER = "//tests/integration/own_allocator"
LIBRARY = runfile("//allocator:liballomon.so")
OWN_MALLOC = runfile(f"{FOLDER}:libown_malloc.so")
ASIDE = "allomon: malloc is that of {}; liballomon.so stands aside: no profile, no guard"
MODES = [
    {"ALLOMON_PROFILE": "no"},
    {},
    {"ALLOMON_RATE": "1"},
    {"ALLOMON_PROFILE": "live,stack", "ALLOMON_RATE": "1", "ALLOMON_SUMMARY": "1"},
    {"ALLOMON_PROFILE": "time", "ALLOMON_HZ": "1000"},
    {"ALLOMON_PROFILE": "no", "ALLOMON_GUARD": "1/1", "ALLOMON_RATE": "1"},
]


class OwnAllocator(Case):
    def check_aside(self, name):
        plain = self.run_plain([runfile(f"{FOLDER}:{name}")])
        self.assertEqual((plain.returncode, plain.stderr), (0, ""), plain.stdout)
        for env in MODES:
            with self.subTest(env):
                done = self.run_preloaded([runfile(f"{FOLDER}:{name}")], env)
                self.assertEqual((done.returncode, done.stdout), (0, plain.stdout))
                said = "" if env == MODES[0] else ASIDE.format("the program itself") + "\n"
                self.assertEqual(done.stderr, said)
                self.assertEqual(self.files(), [])

    def test_malloc_and_operators_but_no_sized_delete(self):
        self.check_aside("host_with_malloc_and_operators")

    def test_malloc_alone(self):
        self.check_aside("host_with_malloc")

    def test_operators_alone_are_called_in_each_form_and_the_program_is_profiled(self):
        host = [runfile(f"{FOLDER}:host_with_operators")]
        plain = self.run_plain(host)
        self.assertEqual((plain.returncode, plain.stderr), (0, ""), plain.stdout)
        self.assertNotIn("news 0,", plain.stdout)
        for env in MODES[:-1]:
            with self.subTest(env):
                done = self.run_preloaded(host, env)
                self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        self.run_preloaded(host, {"ALLOMON_RATE": "1"})
        self.assertGreater(Mlmon(self.path("mlmon.out")).total, 10_000_000)

    def test_operators_alone_are_guarded(self):
        host = [runfile(f"{FOLDER}:host_with_operators")]
        done = self.run_preloaded(host, {"ALLOMON_GUARD": "1/1", "ALLOMON_RATE": "1e-3"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, self.run_plain(host).stdout)

    def test_library_that_is_preloaded_before_is_named(self):
        python = ["/usr/bin/python3", "-c", "print(len(str(list(range(1000)))))"]
        first = {"LD_PRELOAD": f"{OWN_MALLOC} {LIBRARY}", "PYTHONMALLOC": "malloc"}
        done = self.run_plain(python, first)
        self.assertEqual((done.returncode, done.stdout), (0, "4890\n"))
        remedy = " (name liballomon.so first in LD_PRELOAD)\n"
        self.assertEqual(done.stderr, ASIDE.format(OWN_MALLOC) + remedy)
        self.assertEqual(self.files(), [])
        # Where it is told to.
        behind = {**first, "LD_PRELOAD": f"{LIBRARY} {OWN_MALLOC}"}
        done = self.run_plain(python, behind)
        self.assertEqual((done.returncode, done.stdout), (0, "4890\n"))
        self.assertIn(f"takes the place of the malloc of {OWN_MALLOC};", done.stderr)
        self.assertGreater(Mlmon(self.path("mlmon.out")).total, 0)

    def test_library_that_is_loaded_late_leaves_the_program_alone(self):
        load = f"import ctypes; ctypes.CDLL({LIBRARY!r}); print(len(str(list(range(1000)))))"
        done = self.run_plain(["/usr/bin/python3", "-c", load], {"PYTHONMALLOC": "malloc"})
        self.assertEqual((done.returncode, done.stdout), (0, "4890\n"), done.stderr)
        self.assertIn("stands aside", done.stderr)
        self.assertEqual(self.files(), [])

    def test_addresses_that_a_host_takes_are_not_its_own_functions(self):
        host = [runfile(f"{FOLDER}:addresses")]
        done = self.run_preloaded(host, {"ALLOMON_RATE": "1"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "done\n", ""))
        self.assertGreaterEqual(Mlmon(self.path("mlmon.out")).total, 1_000_000)


if __name__ == "__main__":
    sys.exit(unittest.main())
