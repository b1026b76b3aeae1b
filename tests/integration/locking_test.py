#!/usr/bin/env python3
"""A host that locks its memory (mlockall) is not made resident with all that may ever be needed to
watch it."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, runfile  # noqa: E402

HOST = runfile("//tests/integration:locking_host")
CURRENT, CURRENT_AND_FUTURE = "1", "3"
MODES = {
    "not profiled": {"ALLOMON_PROFILE": "no"},
    "profiled": {"ALLOMON_OUT": "out"},
    "time": {"ALLOMON_PROFILE": "time", "ALLOMON_OUT": "out"},
    "recorded": {"ALLOMON_RECORD": "x.rec"},
}


class Locking(Case):
    def figures(self, done):
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        if done.stdout == "refused\n":
            self.skipTest("mlockall is refused")
        return [int(figure) for figure in done.stdout.split()]

    def test_little_is_resident(self):
        for flags in CURRENT, CURRENT_AND_FUTURE:
            alone, mapped, _ = self.figures(self.run_plain([HOST, flags]))
            self.assertEqual(mapped, 4096)
            for mode, variables in MODES.items():
                with self.subTest(flags=flags, mode=mode):
                    resident, mapped, locked = self.figures(
                        self.run_preloaded([HOST, flags], variables))
                    # The host's own pages are there, as without us, and all are locked.
                    self.assertEqual(mapped, 4096)
                    self.assertGreater(locked, resident / 2)
                    self.assertLess(resident, alone + MOST_KIB)


# Beyond the host alone.  Measured: 9,000 to 18,000.
MOST_KIB = 24_000

if __name__ == "__main__":
    unittest.main()
