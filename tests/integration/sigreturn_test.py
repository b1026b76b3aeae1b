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
    def profile(self, how, line, style="", situation="", least=115):
        done = self.run_preloaded([HOST, how, situation], {"ALLOMON_PROFILE": "time" + style,
                                                "ALLOMON_HZ": "1000", "ALLOMON_OUT": "out"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "fine\n", line))
        # Hundredths of a second: three threads of 0.4 s.
        self.assertGreater(Mlmon(self.path("out")).total, least)

    def test_without_filter(self):
        self.profile("none", "")

    def test_filter_by_prctl(self):
        self.profile("prctl", LINE)

    def test_filter_by_seccomp(self):
        self.profile("seccomp", LINE)

    def test_filter_beside_stacks(self):
        self.profile("seccomp", LINE, ",stack")

    def test_line_is_no_cancellation_point(self):
        self.profile("seccomp", LINE, situation="cancelled", least=38)

    def test_line_is_not_written_into_another_file(self):
        self.profile("seccomp", "", situation="data")
        self.assertEqual(self.read("data"), "")


if __name__ == "__main__":
    unittest.main()
