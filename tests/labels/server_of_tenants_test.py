#!/usr/bin/env python3
"""What outlives requests of a server, by `allomon run`: named, with its amount, and nothing else on
top; in the file, in exported pprof, in pictures, and in the metrics of a server."""

import base64
import gzip
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

ALLOMON = runfile("//tools/allomon:allomon")
SERVER = runfile("//tests/labels:server_of_tenants")
REQUESTS = 400_000


class ServerOfTenants(Case):
    def record(self):
        """Returns the bytes of kept sessions, and of kept results."""
        done = self.run_preloaded(
            [SERVER, str(REQUESTS)],
            {"ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": "1e-3", "ALLOMON_SEED": "7"},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [int(word) for word in done.stdout.split()]

    def run_allomon(self, *words):
        return self.run_plain([ALLOMON, *words])

    def report(self, *options):
        done = self.run_allomon("report", "--format=json", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def check(self, row, truth):
        sigma = (row["self_high"] - row["self"]) / SIGMAS_OF_SUMMARY
        self.assertLessEqual(abs(row["self"] - truth), SIGMAS * sigma, (row, truth))

    def test_what_outlived_is_named_with_its_amount(self):
        sessions, results = self.record()
        export = self.run_allomon("export", "--format=pprof", "-o", "x.pb.gz", "x.rec")
        self.assertEqual((export.returncode, export.stderr), (0, ""))
        for file in ("x.rec", "x.pb.gz"):
            shown = self.report("--outlived=request", file)
            rows = shown["functions"]
            self.assertEqual([row["function"] for row in rows if row["self"]], ["OpenSession"])
            self.check(rows[0], sessions)
            self.assertIn("live of the label request whose scope has ended", shown["notes"][-1])
            jobs = self.report("--outlived=job", file)["functions"]
            self.assertEqual([row["function"] for row in jobs if row["self"]], ["ComputeResult"])
            self.check(jobs[0], results)
            both = self.report("--outlived", file)["functions"]
            named = {row["function"] for row in both if row["self"]}
            self.assertEqual(named, {"OpenSession", "ComputeResult"})
            tenants = self.report("--outlived=request", "--by=label:tenant", file)["labels"]
            self.assertEqual([row["value"] for row in tenants], ["tenant-17"])
            values = self.report("--outlived=request", "--by=label:request", file)["labels"]
            self.assertEqual([row["value"] for row in values], ["PUT"])

    def test_leaks_have_it_on_top(self):
        self.record()
        rows = self.report("--leaks", "x.rec")["leaks"]
        verdicts = [(row["function"], row["verdict"]) for row in rows]
        outlived = [name for name, verdict in verdicts if verdict == "outlived its scope"]
        self.assertEqual(set(outlived), {"OpenSession", "ComputeResult"}, verdicts)
        self.assertEqual([name for name, _ in verdicts[:2]], outlived)

    def test_pictures_and_collapsed_stacks(self):
        self.record()
        for option in "--outlived=request", "--metric=outlived":
            flame = self.run_allomon("flame", option, "-o", "x.html", "x.rec")
            self.assertEqual(flame.returncode, 0, flame.stderr)
            data = re.search(r'id="data"[^>]*>([^<]*)<', self.read("x.html"))[1]
            page = gzip.decompress(base64.b64decode(data)).decode()
            self.assertTrue("OpenSession" in page and "whose scope has ended" in page)
        stacks = self.run_allomon(
            "export", "--format=collapsed", "--metric=live", "--outlived", "x.rec"
        )
        self.assertEqual(stacks.returncode, 0, stacks.stderr)
        self.assertIn("OpenSession", stacks.stdout)
        self.assertNotIn("FillCache", stacks.stdout)

    def test_what_cannot_be_asked_is_one_line(self):
        self.record()
        for options, line in (
            (["--outlived", "--born=1s.."], "--born and --outlived: give one of them"),
            (["--outlived", "--leaks"], "--timeline and --view=unused are of all blocks"),
        ):
            done = self.run_allomon("report", *options, "x.rec")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        plain = self.run_preloaded(["/bin/true"], {"ALLOMON_RECORD": "y.rec"})
        self.assertEqual(plain.returncode, 0)
        done = self.run_allomon("report", "--outlived", "y.rec")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no end of a scope is known: open scopes with ScopedLabel", done.stderr)


if __name__ == "__main__":
    unittest.main()
