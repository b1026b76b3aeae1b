#!/usr/bin/env python3
"""gprof beside a time profile: both see the host as each does alone."""

import os
import struct
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, Mlmon, runfile  # noqa: E402

HOST = runfile("//tests/integration:gprof_host")
# Of the 75 hundredths of a second that the host takes, what is not in its own code is in mcount and
# clock_gettime: measured were 3.
LEAST = 50


class Gprof(Case):
    def gprof_samples(self):
        """Those that lie in the program's own code: of gmon.out's first record, a histogram."""
        with open(self.path("gmon.out"), "rb") as file:
            data = file.read()
        self.assertEqual((data[:4], data[20]), (b"gmon", 0))
        _, _, bins, rate = struct.unpack_from("<QQII", data, 21)
        self.assertEqual(rate, 100)
        return sum(struct.unpack_from(f"<{bins}H", data, 61))

    def run_host(self, **variables):
        done = self.run_preloaded([HOST], {"ALLOMON_OUT": "out", **variables})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "fine\n", ""))
        return self.gprof_samples()

    def test_alone(self):
        self.assertGreater(self.run_host(ALLOMON_PROFILE="no"), LEAST)

    def test_neither_loses(self):
        for style, hz in ("", "100"), ("", "1000"), (",stack", "1000"), (",stack", "10000"):
            with self.subTest(style=style, hz=hz):
                samples = self.run_host(ALLOMON_PROFILE="time" + style, ALLOMON_HZ=hz)
                self.assertGreater(samples, LEAST)
                self.assertGreaterEqual(Mlmon(self.path("out")).total, 74)


if __name__ == "__main__":
    unittest.main()
