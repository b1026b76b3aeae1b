#!/usr/bin/env python3
"""Modules that a host loads with RTLD_DEEPBIND look symbols up in the C library before they ask the
preloaded library: its free() would get our blocks."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, Mlmon, runfile  # noqa: E402

FOLDER = os.path.dirname(runfile("//tests/integration/deep_binding:libdeep_module.so"))
HOST = [runfile("//tests/integration/deep_binding:host"), FOLDER]
LINKED_HOST = [runfile("//tests/integration/deep_binding:linked_host"), FOLDER]
MODES = [
    {"ALLOMON_PROFILE": "no"},
    {"ALLOMON_RATE": "1"},
    {"ALLOMON_PROFILE": "live,stack", "ALLOMON_RATE": "1"},
    {"ALLOMON_GUARD": "1/10", "ALLOMON_RATE": "0.1"},
]


class DeepBinding(Case):
    def expected(self):
        done = self.run_plain(HOST)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("before main: 1\nmain: 1\nthreads: 1 1 1 1\nchild: 7\n", done.stdout)
        self.assertIn("the program: 1 1\nbase: 1\nother: 1 1\n", done.stdout)
        return done.stdout

    def test_host_preloaded(self):
        expected = self.expected()
        for env in MODES:
            with self.subTest(env):
                done = self.run_preloaded(HOST, env)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, expected)
        self.assertGreater(Mlmon(self.path("mlmon.out")).total, 0)

    def test_host_linked(self):
        done = self.run_plain(LINKED_HOST)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, self.expected())

    def test_line_is_said_once_and_only_where_asked_for(self):
        done = self.run_preloaded(HOST, {"ALLOMON_SUMMARY": "1"})
        self.assertEqual(done.stdout, self.expected())
        said = [line for line in done.stderr.splitlines() if "DEEPBIND" in line]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertTrue(said[0].startswith("allomon: dlopen: RTLD_DEEPBIND is left out"))
        self.assertIn("libdeep_module.so", said[0])


if __name__ == "__main__":
    sys.exit(unittest.main())
