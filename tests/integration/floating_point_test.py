#!/usr/bin/env python3
"""The host's floating point is the host's: where it traps exceptions nothing of ours raises one,
and where it asks for flags later, none of ours is set."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, runfile  # noqa: E402

HOST = runfile("//tests/integration:floating_host")
# The ways to have allocations sampled, so that each has some thousand samples.
WAYS = {
    "alloc": {"ALLOMON_PROFILE": "alloc", "ALLOMON_RATE": "0.01", "ALLOMON_SUMMARY": "1"},
    "stack": {"ALLOMON_PROFILE": "alloc,stack", "ALLOMON_RATE": "0.01"},
    "live": {"ALLOMON_PROFILE": "live", "ALLOMON_RATE": "0.01", "ALLOMON_MMAP": "1"},
    "time": {"ALLOMON_PROFILE": "time", "ALLOMON_HZ": "1000"},
    "guard": {"ALLOMON_PROFILE": "no", "ALLOMON_RATE": "0.01", "ALLOMON_GUARD": "1/20"},
    "record": {"ALLOMON_RECORD": "a.rec", "ALLOMON_RATE": "0.01"},
    "save": {
        "ALLOMON_RECORD": "a.rec",
        "ALLOMON_RATE": "0.01",
        "ALLOMON_SAVE": "limit=90%,peak+10%,every=1s,age=1s",
    },
    "idle": {"ALLOMON_PROFILE": "idle"},
}
DUMPS = {"alloc", "stack", "live", "time"}


class FloatingPoint(Case):
    def check(self, what):
        for way, variables in WAYS.items():
            with self.subTest(way=way):
                dumps = ["dumps"] if way in DUMPS else []
                dump = {"ALLOMON_DUMP": "USR2", "ALLOMON_OUT": "%p.%n.out"} if dumps else {}
                done = self.run_preloaded([HOST, what, *dumps], {**variables, **dump})
                self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)

    def test_no_exception_of_ours_meets_the_hosts_traps(self):
        self.check("trapped")

    def test_no_flag_of_ours_is_left(self):
        self.check("flags")


if __name__ == "__main__":
    unittest.main()
