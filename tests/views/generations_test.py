#!/usr/bin/env python3
"""A leak is told from caches and churn, in a program that is recorded."""

import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import SIGMAS, SIGMAS_OF_SUMMARY, Case, runfile  # noqa: E402

SECONDS = 4
# A machine with other work to do may stop the program for a while, and a generation with it.
PACE = 0.5


class Generations(Case):
    def leaks(self):
        done = self.run_preloaded(
            [runfile("//tests/views:generations"), str(SECONDS)],
            {"ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": "1e-2", "ALLOMON_SEED": "3"},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = [runfile("//tools/allomon:allomon"), "report", "--leaks", "--format=json", "x.rec"]
        shown = self.run_plain(report)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return json.loads(shown.stdout)["leaks"]

    def test_leak_is_on_top_and_caches_are_not(self):
        rows = self.leaks()
        self.assertEqual((rows[0]["function"], rows[0]["verdict"]), ("LeakOne", "grows"), rows)
        by_name = {row["function"]: row for row in rows}
        self.assertIn(by_name["FillCache"]["verdict"], ("filled", "kept"))
        self.assertIn(by_name["TurnOver"]["verdict"], ("in use", "turns over"))
        self.assertNotIn("Churn", [row["function"] for row in rows if row["verdict"] == "grows"])
        for row in rows[1:]:
            self.assertLess(row["growth_high"], rows[0]["growth_low"], row)

    def test_growth_is_what_is_leaked_in_a_second(self):
        leak = self.leaks()[0]
        truth = 4000 * 1000 / SECONDS
        sigma = (leak["growth_high"] - leak["growth"]) / SIGMAS_OF_SUMMARY
        self.assertLessEqual(abs(leak["growth"] - truth), SIGMAS * sigma + PACE * truth)


if __name__ == "__main__":
    unittest.main()
