#!/usr/bin/env python3
"""--by=source tells where memory comes from: of a program with memory of known sources, and of the
examples of memory that its owner reports."""

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

from support import SIGMAS, Case, runfile  # noqa: E402

ALLOMON = runfile("//tools/allomon:allomon")
LIBRARY = runfile("//allocator:liballomon.so")
MIB = 1 << 20


class Sources(Case):
    def rows(self, file, *options, key="labels"):
        shown = self.run_plain(
            [ALLOMON, "report", "--by=source", *options, "--format=json", file]
        )
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return json.loads(shown.stdout)[key]

    def live(self, file, *options):
        return {row["value"]: row["live"] for row in self.rows(file, *options)}

    def record(self, *argv, preload=(), rate="1", stdout):
        done = self.run_preloaded(
            argv,
            {
                "ALLOMON_RECORD": "x.rec",
                "ALLOMON_RATE": rate,
                "ALLOMON_SEED": "5",
                "LD_PRELOAD": " ".join([LIBRARY, *preload]),
            },
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, stdout, ""))

    def export(self, file, to, *options):
        done = self.run_plain([ALLOMON, "export", "--format=pprof", *options, "-o", to, file])
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def record_all(self, mappings):
        env = {"ALLOMON_PROFILE": "alloc", "ALLOMON_RATE": "1", "ALLOMON_MMAP": mappings}
        done = self.run_preloaded([runfile("//tests/views:memory_sources"), "x.rec"], env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_all_sources(self):
        self.record_all("1")
        live = self.live("x.rec")
        self.assertEqual(set(live), {"malloc", "custom", "mmap"})
        self.assertEqual(live["mmap"], 8 * MIB)
        self.assertEqual(live["custom"], 2 * MIB)
        self.assertGreaterEqual(live["malloc"], 5 * MIB)
        self.assertLess(live["malloc"], 5 * MIB + 65536)

    def test_mappings_are_not_made_up(self):
        self.record_all("0")
        self.assertEqual(set(self.live("x.rec")), {"malloc", "custom"})

    def test_exported_file_says_the_same(self):
        self.record_all("1")
        self.export("x.rec", "x.pb.gz")
        self.assertEqual(self.rows("x.pb.gz"), self.rows("x.rec"))
        done = self.run_plain([ALLOMON, "export", "--format=json", "x.pb.gz"])
        sources = {sample["source"] for sample in json.loads(done.stdout)["samples"]}
        self.assertEqual(sources, {"malloc", "custom", "mmap"})

    def test_file_without_sources_says_so(self):
        self.write("x.folded", "main;f 4096\n")
        for command in (["report"], ["flame", "-o", "x.html"], ["export", "--format=json"]):
            done = self.run_plain([ALLOMON, *command, "--by=source", "x.folded"])
            self.assertEqual((done.returncode, done.stdout), (2, ""), command)
            self.assertRegex(
                done.stderr, r"\A[^\n]*x\.folded: the sources of memory are unknown: [^\n]+\n\Z"
            )

    def test_sources_are_frames_of_other_commands(self):
        self.record_all("1")
        tree = self.run_plain([ALLOMON, "report", "--by=source", "--view=tree", "x.rec"]).stdout
        self.assertIn("source=mmap", tree)
        self.export("x.rec", "by.pb.gz", "--by=source")
        with gzip.open(self.path("by.pb.gz")) as file:
            self.assertIn(b"memory source=custom", file.read())
        page = self.run_plain([ALLOMON, "flame", "--by=source", "-o", "x.html", "x.rec"])
        self.assertEqual((page.returncode, page.stderr), (0, ""))
        data = re.search(r'id="data"[^>]*>([^<]+)<', self.read("x.html"))[1]
        self.assertIn(b"memory source=mmap", gzip.decompress(base64.b64decode(data)))

    def test_difference_by_source(self):
        self.record_all("0")
        os.rename(self.path("x.rec"), self.path("before.rec"))
        self.record_all("1")
        done = self.run_plain(
            [ALLOMON, "diff", "--by=source", "--format=json", "before.rec", "x.rec"]
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = {row["function"]: row for row in json.loads(done.stdout)["functions"]}
        self.assertEqual(rows["memory source=mmap"]["outcome"], "new")

    def test_memory_of_a_gpu(self):
        self.record(
            runfile("//examples:gpu_program"),
            preload=[runfile("//examples:libgpu_memory.so")],
            stdout="256 images\n",
        )
        rows = {row["value"]: row for row in self.rows("x.rec")}
        self.assertEqual(rows["custom"]["live"], (512 + 64) * MIB)
        self.assertEqual(rows["custom"]["alloc"], (512 + 10 * 64) * MIB)
        self.assertGreaterEqual(rows["malloc"]["live"], 256 * 32 * 1024)
        self.assertLess(rows["malloc"]["live"], 10 * MIB)
        tree = self.run_plain([ALLOMON, "report", "--by=source", "--view=tree", "x.rec"]).stdout
        self.assertRegex(tree, r"512\.0 MiB [^\n]*LoadWeights")

    def test_gpu_program_without_allomon(self):
        program = runfile("//examples:gpu_program")
        alone = self.run_plain([program])
        self.assertEqual((alone.returncode, alone.stdout), (0, "256 images\n"))
        shim = {"LD_PRELOAD": runfile("//examples:libgpu_memory.so")}
        with_shim = self.run_plain([program], shim)
        self.assertEqual((with_shim.returncode, with_shim.stdout), (0, "256 images\n"))

    def test_pool(self):
        self.record(runfile("//examples:memory_pool"), stdout="20100 blocks\n")
        rows = {row["value"]: row for row in self.rows("x.rec")}
        self.assertEqual(rows["custom"]["live"], 20100 * 240)
        self.assertEqual(rows["custom"]["alloc"], 70000 * 240)
        self.assertLess(rows["malloc"]["live"], MIB)

    def test_pool_sampled(self):
        rate = 1e-3
        self.record(runfile("//examples:memory_pool"), rate=str(rate), stdout="20100 blocks\n")
        live = self.live("x.rec")["custom"]
        # A block of 30 words, without a header.
        p = 1 - (1 - rate) ** 30
        sigma = 240 * (20100 * (1 - p) / p) ** 0.5
        self.assertAlmostEqual(live, 20100 * 240, delta=SIGMAS * sigma)

    def test_pool_without_allomon(self):
        alone = self.run_plain([runfile("//examples:memory_pool")])
        self.assertEqual((alone.returncode, alone.stdout), (0, "20100 blocks\n"))


if __name__ == "__main__":
    unittest.main()
