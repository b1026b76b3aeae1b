#!/usr/bin/env python3
"""A seccomp filter that refuses what allocators call, or how handlers return, does not take its
host down."""

import errno
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, Mlmon, runfile  # noqa: E402

HOST = runfile("//tests/integration:seccomp_host")
MODES = {
    "not profiled": {"ALLOMON_PROFILE": "no"},
    "counted": {"ALLOMON_PROFILE": "alloc", "ALLOMON_RATE": "1"},
    "followed": {"ALLOMON_PROFILE": "live,stack", "ALLOMON_RATE": "1"},
    "guarded": {"ALLOMON_PROFILE": "no", "ALLOMON_GUARD": "1/1", "ALLOMON_RATE": "0.1"},
}
# The numbers of x86-64.
MPROTECT, MREMAP, MADVISE = 10, 25, 28


class Seccomp(Case):
    def expect_fine(self, call):
        for error in errno.EPERM, errno.ENOSYS:
            for had_threads in "0", "1":
                for mode, variables in MODES.items():
                    with self.subTest(error=error, had_threads=had_threads, mode=mode):
                        self.run_filtered([HOST, str(call), str(error), had_threads], variables)

    def run_filtered(self, argv, variables):
        try:
            done = self.run_preloaded(argv, variables, timeout=120)
        except subprocess.TimeoutExpired:
            self.fail("does not end")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "fine\n", ""))

    def test_no_mprotect(self):
        self.expect_fine(MPROTECT)

    def test_no_madvise(self):
        self.expect_fine(MADVISE)

    def test_no_mremap(self):
        self.expect_fine(MREMAP)


SIGRETURN_HOST = runfile("//tests/integration:sigreturn_host")
LINE = ("allomon: a filter of system calls (seccomp) refuses rt_sigreturn, so no thread is "
        "interrupted from here on: its time goes to where it was last seen\n")


class Sigreturn(Case):
    """A time profile in a host whose filter refuses rt_sigreturn goes on."""

    def profile(self, how, line, style="", situation="", least=115):
        variables = {"ALLOMON_PROFILE": "time" + style, "ALLOMON_HZ": "1000", "ALLOMON_OUT": "out"}
        done = self.run_preloaded([SIGRETURN_HOST, how, situation], variables)
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
