#!/usr/bin/env python3
"""Python's functions and objects in a program that loads Python by dlopen, as servers with plugins
do: from the first extension module on."""

import os
import sys
import sysconfig
import unittest

sys.dont_write_bytecode = True
for folder in ("tests/integration", "tests/recording_reader"):
    sys.path.insert(0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"],
                                    folder))

from interpreted_frames import Process  # noqa: E402
from support import Case, runfile  # noqa: E402

HOST = runfile("//tests/cpython:loading_host")
LIBRARY = sysconfig.get_config_var("INSTSONAME")
SCRIPT = """
import ctypes, os
def fill(): return [(i, str(i) * 9) for i in range(2000)]
def empty():
    for _ in range(2000): [(1, 2.5)] * 5
kept = fill()
empty()
del kept[1000:]
kept = [len(text) for _, text in kept]
again = fill()
os._exit(0)
"""


class LoadedPython(Case):
    def run_host(self, **variables):
        env = {"ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": "0.01",
               "ALLOMON_RECORD_LIMIT": "1g", "PYTHONDONTWRITEBYTECODE": "1", **variables}
        done = self.run_preloaded([HOST, LIBRARY, SCRIPT], env)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return Process(self.path("x.rec"))

    def assert_names_fill(self, **variables):
        process = self.run_host(ALLOMON_RATE="1", **variables)
        names = {name.split("\t")[0] for name in process.names()}
        self.assertTrue("fill" in names, sorted(names)[:20])

    def test_functions_are_named(self):
        self.assert_names_fill()

    def test_small_objects_are_sampled_at_any_rate(self):
        """A tuple of two has 64 bytes with its header, a text 49 and its letters: 2,000 of them."""
        for rate in ("1", "0.1", "0.01"):
            with self.subTest(rate):
                lines = self.run_host(ALLOMON_RATE=rate).live_bytes_by_line()
                expected = 2000 * 64 + sum(49 + 9 * len(str(i)) for i in range(2000))
                # At 0.01 that is 400 samples and more, so 5.7 sigma are 29 % and less.
                self.assertAlmostEqual(lines["<string>:3"], expected, delta=0.35 * expected)

    def test_memory_that_python_debugs_is_left_alone(self):
        for variables in ({"PYTHONMALLOC": "debug"}, {"PYTHONDEVMODE": "1"},
                          {"PYTHONMALLOC": "malloc"}, {"PYTHONTRACEMALLOC": "5"}):
            with self.subTest(variables):
                self.assert_names_fill(**variables)

    def test_variable_turns_it_off(self):
        self.assertEqual(self.run_host(ALLOMON_PYTHON="0", ALLOMON_RATE="1").names(), set())


if __name__ == "__main__":
    unittest.main()
