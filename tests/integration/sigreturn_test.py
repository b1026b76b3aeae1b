#!/usr/bin/env python3
"""A time profile in a host whose filter of system calls refuses rt_sigreturn: it goes on."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, Mlmon, runfile  # noqa: E402

HOST = runfile("//tests/integration:sigreturn_host")
LINE = ("allomon: a filter of system calls (seccomp) refuses rt_sigreturn, so no thread is "
        "interrupted from here on: its time goes to where it was last seen\n")


class Sigreturn(Case):
    def profile(self, how, line, style=""):
        done = self.run_preloaded([HOST, how], {"ALLOMON_PROFILE": "time" + style,
                                                "ALLOMON_HZ": "1000", "ALLOMON_OUT": "out"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "fine\n", line))
        # Hundredths of a second: three threads of 0.4 s.
        self.assertGreater(Mlmon(self.path("out")).total, 115)

    def test_without_filter(self):
        self.profile("none", "")

    def test_filter_by_prctl(self):
        self.profile("prctl", LINE)

    def test_filter_by_seccomp(self):
        self.profile("seccomp", LINE)

    def test_filter_beside_stacks(self):
        self.profile("seccomp", LINE, ",stack")


if __name__ == "__main__":
    unittest.main()
