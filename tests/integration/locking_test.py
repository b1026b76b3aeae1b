#!/usr/bin/env python3
"""A host that locks its memory (mlockall) is not made resident with all that may ever be needed to
watch it."""

import os
import resource
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
    # The first tick, which maps tables, comes near munlockall().
    "time": {"ALLOMON_PROFILE": "time", "ALLOMON_HZ": "100", "ALLOMON_OUT": "out"},
    "recorded": {"ALLOMON_RECORD": "x.rec"},
}


def lacks_leave():
    """Address space of the library counts against the limit."""
    with open("/proc/self/status", encoding="ascii") as file:
        (capabilities,) = (line.split()[1] for line in file if line.startswith("CapEff:"))
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return limit != resource.RLIM_INFINITY and not int(capabilities, 16) >> CAP_IPC_LOCK & 1


class Locking(Case):
    def figures(self, done, may_be_refused):
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        if done.stdout == "refused\n" and may_be_refused:
            self.skipTest("mlockall is refused")
        return [int(figure) for figure in done.stdout.split()]

    def alone(self, *arguments):
        return self.figures(self.run_plain([HOST, *arguments]), may_be_refused=True)

    def watch(self, arguments, check):
        """Checks the figures of each mode."""
        for mode, variables in MODES.items():
            with self.subTest(arguments=arguments, mode=mode):
                done = self.run_preloaded([HOST, *arguments], variables)
                check(*self.figures(done, may_be_refused=lacks_leave()))

    def check_little_is_resident(self, *arguments):
        alone, mapped, _ = self.alone(*arguments)
        self.assertEqual(mapped, 4096)

        def check(resident, mapped, locked):
            # The host's own pages are there, as without us, and all are locked.
            self.assertEqual(mapped, 4096)
            self.assertGreater(locked, resident / 2)
            self.assertLess(resident, alone + MOST_KIB)

        self.watch(arguments, check)

    def test_little_is_resident(self):
        for flags in CURRENT, CURRENT_AND_FUTURE:
            self.check_little_is_resident(flags)

    def test_first_thread_has_ended(self):
        self.check_little_is_resident(CURRENT, "ended")

    def test_later_pages_are_not_locked_any_more(self):
        for how in "unlocked", "forked":
            arguments = CURRENT_AND_FUTURE, how
            self.assertEqual(self.alone(*arguments)[2], 0)
            self.watch(arguments, lambda resident, mapped, locked: self.assertEqual(locked, 0))


CAP_IPC_LOCK = 14
# Beyond the host alone.  Measured: 9,000 to 18,000.
MOST_KIB = 24_000

if __name__ == "__main__":
    unittest.main()
