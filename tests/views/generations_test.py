#!/usr/bin/env python3
"""A leak is told from caches and churn, in a program that is recorded."""

import json
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import SIGMAS, SIGMAS_OF_SUMMARY, Case, runfile  # noqa: E402

# Of the source tree, not of the link to this file that Bazel runs.
SOURCES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
SECONDS = 4
# A machine with other work to do may stop the program for a while, and a generation with it.
PACE = 0.5


# As bursts of 25 s, a pause of 2.5 minutes, and 12 s.
BURSTS = ["1.25", "7.5", "0.6"]


class Generations(Case):
    def record(self, seconds):
        """Returns the numbers of blocks that each burst leaked."""
        done = self.run_preloaded(
            [runfile("//tests/views:generations"), *seconds],
            {"ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": "1e-2", "ALLOMON_SEED": "3"},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [int(line) for line in done.stdout.split()]

    def report(self, *options):
        report = [runfile("//tools/allomon:allomon"), "report", "--format=json", *options]
        shown = self.run_plain(report)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return json.loads(shown.stdout)

    def leaks(self):
        self.record([str(SECONDS)])
        return self.report("--leaks", "x.rec")["leaks"]

    def test_leak_is_on_top_and_caches_are_not(self):
        rows = self.leaks()
        self.assertEqual((rows[0]["function"], rows[0]["verdict"]), ("LeakOne", "grows"), rows)
        by_name = {row["function"]: row for row in rows}
        self.assertIn(by_name["FillCache"]["verdict"], ("filled", "kept"))
        self.assertIn(by_name["TurnOver"]["verdict"], ("in use", "turns over"))
        self.assertEqual(by_name["Append"]["verdict"], "grows in steps")
        self.assertIsNone(by_name["Append"]["growth"])
        self.assertNotIn("Churn", [row["function"] for row in rows if row["verdict"] == "grows"])
        for row in rows[1:]:
            self.assertLess(row["growth_high"] or 0, rows[0]["growth_low"], row)

    def test_growth_is_what_is_leaked_in_a_second(self):
        leak = self.leaks()[0]
        truth = 4000 * 1000 / SECONDS
        sigma = (leak["growth_high"] - leak["growth"]) / SIGMAS_OF_SUMMARY
        self.assertLessEqual(abs(leak["growth"] - truth), SIGMAS * sigma + PACE * truth)

    def test_leak_is_on_top_if_its_load_comes_in_bursts(self):
        self.record(BURSTS)
        rows = self.report("--leaks", "x.rec")["leaks"]
        self.assertEqual((rows[0]["function"], rows[0]["verdict"]), ("LeakOne", "grows"), rows)
        self.assertNotIn("grows", [row["verdict"] for row in rows[1:]], rows)

    def test_leak_is_on_top_if_the_program_then_waited(self):
        self.record(["2", "4", "0.1"])
        rows = self.report("--leaks", "x.rec")["leaks"]
        self.assertEqual((rows[0]["function"], rows[0]["verdict"]), ("LeakOne", "grows"), rows)
        self.assertNotIn("grows", [row["verdict"] for row in rows[1:]], rows)

    def test_each_member_of_the_json_is_in_the_schema(self):
        with open(os.path.join(SOURCES, "docs/for_programs.md"), encoding="utf-8") as page:
            known = set(re.findall(r"`([\w.]+)`", page.read()))
        parts = re.compile(r"(.+)_(low|high|sure|percent|blocks)$")

        def check(item, where):
            for key in item:
                part = parts.match(key)
                self.assertTrue(key in known or (part and part[1] in known), (where, key))

        self.record(["1"])
        views = ["functions", "tree", "lines", "sizes", "modules", "types", "threads", "lifetimes",
                 "ages"]
        for option in [*("--view=" + view for view in views), "--leaks", "--timeline"]:
            report = self.report(option, "x.rec")
            check(report, option)
            tables = [rows for rows in report.values() if rows and isinstance(rows, list)]
            rows = [row for table in tables for row in table if isinstance(row, dict)]
            self.assertNotEqual(rows, [], option)
            for row in rows:
                check(row, option)
        diff = [runfile("//tools/allomon:allomon"), "diff", "--json", "x.rec", "x.rec"]
        difference = json.loads(self.run_plain(diff).stdout)
        self.assertEqual(difference["format"], "allomon diff")
        check(difference, "diff")
        check(difference["functions"][0], "diff")

    def test_views_of_all_ages_refuse_a_part_of_them(self):
        for view in ("--leaks", "--timeline"):
            report = [runfile("//tools/allomon:allomon"), "report", view, "--born=1s..", "x.rec"]
            refused = self.run_plain(report)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn("of all ages\n", refused.stderr)

    def test_what_lives_of_each_burst(self):
        leaked = self.record(BURSTS)
        # What `allomon run` writes has ages by the same classes.
        export = [runfile("//tools/allomon:allomon"), "export", "--format=pprof", "-o", "x.pb.gz"]
        self.assertEqual(self.run_plain([*export, "x.rec"]).returncode, 0)
        for file in ("x.rec", "x.pb.gz"):
            for born, truth in (("5s..", leaked[1]), ("..5s", leaked[0]), ("3s..5s", 0)):
                shown = self.report("--blocks", "--born=" + born, file)
                rows = {row["function"]: row for row in shown["functions"]}
                if not truth:
                    self.assertNotIn("LeakOne", rows)
                    continue
                row = rows["LeakOne"]
                sigma = (row["self_high"] - row["self"]) / SIGMAS_OF_SUMMARY
                self.assertLessEqual(abs(row["self"] - truth), SIGMAS * sigma, (born, row, truth))
                self.assertIn("only what is live of blocks born", "\n".join(shown["notes"]))


if __name__ == "__main__":
    unittest.main()
