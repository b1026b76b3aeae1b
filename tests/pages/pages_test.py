#!/usr/bin/env python3
"""`allomon report --view=pages` says which blocks hold the free memory of half-empty pages, and
`--view=unused` which bytes of blocks were never used.

The figures of the README, which take minutes:

  ALLOMON_PAGES_RUNS=1000 bazel run //tests/pages:pages_test
"""

import base64
import gzip
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, runfile  # noqa: E402

ALLOMON = runfile("//tools/allomon:allomon")
LIBRARY = runfile("//allocator:liballomon.so")
HALF_EMPTY = runfile("//tests/pages:half_empty_pages")
UNUSED = runfile("//tests/pages:unused_contents")
OCCUPANCY = {"KeepOneInTen": 10, "KeepOneInFour": 25, "KeepHalf": 50, "KeepMost": 90,
             "KeepAll": 100}
BLOCK_BYTES = {"KeepOneInTen": 48, "KeepOneInFour": 96, "KeepHalf": 640, "KeepMost": 320}
RUNS = int(os.environ.get("ALLOMON_PAGES_RUNS", "0"))
SIGMAS = 5.7


class Recorded(Case):
    """Programs that say what they keep, and wait."""

    def start(self, *argv, **environment):
        child = subprocess.Popen(
            argv,
            env={"PATH": "/usr/bin:/bin", **environment},
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(child.kill)
        return child

    def record(self, *argv, rate="1", in_place="1/1", **environment):
        """Returns the process, and what it says until it is ready."""
        child = self.start(
            *argv, LD_PRELOAD=LIBRARY, ALLOMON_RECORD=self.path("x.rec"), ALLOMON_RATE=rate,
            ALLOMON_IN_PLACE=in_place, **environment
        )
        said = {}
        for line in child.stdout:
            if line == "ready\n":
                return child, said
            name, free_bytes = line.split()
            said[name] = int(free_bytes)
        self.fail(child.stderr.read())

    def finish(self, child):
        out, err = child.communicate("go\n", timeout=60)
        self.assertEqual((child.returncode, out, err), (0, "done\n", ""))

    def flame_page(self, metric, pid):
        """The data of a page with one metric, and the amounts of it."""
        done = self.run_plain(
            [ALLOMON, "flame", "--metric=" + metric, "-o", self.path("x.html"), str(pid)]
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path("x.html"), encoding="utf-8") as file:
            (data,) = re.findall('id="data">([^<]*)<', file.read())
        page = json.loads(gzip.decompress(base64.b64decode(data)))
        self.assertEqual((page["metric"], page["metrics"][0]["name"]), (metric, metric))
        (amounts,) = page["metrics"]
        (side,) = amounts["sides"]
        return page, side


class Pages(Recorded):
    def pages(self, pid, *options):
        return self.run_plain([ALLOMON, "report", "--view=pages", *options, str(pid)])

    def report(self, pid, *options):
        done = self.pages(pid, "--json", *options)
        if done.returncode == 2 and "may not be read" in done.stderr:
            self.skipTest("NOT TESTED: " + done.stderr.strip())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        return report, {row["function"]: row for row in report["pages"]}

    def test_every_block_in_place_is_exact(self):
        child, said = self.record(HALF_EMPTY, "1")
        report, rows = self.report(child.pid)
        self.assertEqual(report["without_room"], 0)
        for name, free_bytes in said.items():
            row = rows[name]
            self.assertEqual((row["held_low"], row["held_high"]), (row["held"], row["held"]), name)
            self.assertAlmostEqual(row["held"], free_bytes, delta=0.5 + free_bytes * 1e-9, msg=name)
            self.assertAlmostEqual(row["occupancy_percent"], OCCUPANCY[name], delta=1, msg=name)
            self.assertTrue(0 < row["age_seconds"] < 60, name)
        self.finish(child)

    def test_it_may_be_asked_again_and_the_process_goes_on(self):
        child, _ = self.record(HALF_EMPTY, "4", rate="1e-2", in_place="1/2")
        for _ in range(20):
            report, _ = self.report(child.pid)
            self.assertEqual(report["unknown_blocks"], 0)
            self.assertEqual(report["in_place_one_in"], 2)
        shown = self.pages(child.pid, "--width=0").stdout
        self.assertIn("free blocks in pages with live ones: ", shown)
        self.assertRegex(shown, r"of which .* beside blocks allocated at Keep\w+ \(.*\), .* s old, "
                                r"in pages that are \d+\.\d% full")
        self.finish(child)

    def test_a_flame_page_of_what_is_held(self):
        child, _ = self.record(HALF_EMPTY, "4", rate="1e-2", in_place="1/2")
        report, _ = self.report(child.pid)
        page, side = self.flame_page("hostage", child.pid)
        self.assertAlmostEqual(sum(side["bytes"]), report["held"], delta=len(side["bytes"]))
        self.assertGreater(sum(side["bytesVariance"]), 0)
        self.assertRegex(page["shown"][0]["notes"][-1], "free blocks in pages .* own walk")
        for words, line in (
            (["x.rec"], "is of one process that runs: name it by its id"),
            (["--diff=x.rec", str(child.pid)], "leave out --diff, --born and --outlived"),
            (["4000000"], "there is no process 4000000"),
        ):
            done = self.run_plain([ALLOMON, "flame", "--metric=hostage", *words])
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(line, done.stderr)
        self.finish(child)

    # Threads allocate, free and end while their pages are read.
    CROWD = """
import sys, threading
def work():
    kept = []
    for i in range(200):
        kept += [bytearray(1000) for _ in range(20)]
        del kept[::3]
        thread = threading.Thread(target=lambda: [bytearray(3000) for _ in range(10)])
        thread.start()
        thread.join()
threads = [threading.Thread(target=work) for _ in range(8)]
print("ready", flush=True)
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.stdin.readline()
print("done", flush=True)
"""

    def test_a_process_that_changes(self):
        child, _ = self.record("/usr/bin/python3", "-c", self.CROWD, rate="1e-2", in_place="1/2")
        for _ in range(5):
            report, _ = self.report(child.pid)
            self.assertLessEqual(report["held_low"], report["held_high"])
        self.finish(child)

    def test_what_cannot_be_asked_is_one_line(self):
        plain = self.start("/bin/cat")
        idle = self.start("/bin/cat", LD_PRELOAD=LIBRARY, ALLOMON_PROFILE="idle")
        # Says that it is ready when its recording has begun.
        none, _ = self.record("/usr/bin/python3", "-c", "print('ready', flush=True); input()",
                              in_place="no")
        unrecorded = self.start(HALF_EMPTY, "1", LD_PRELOAD=LIBRARY, ALLOMON_IN_PLACE="1/1",
                                ALLOMON_PROFILE="idle")
        for line in unrecorded.stdout:
            if line == "ready\n":
                break
        for words, line in (
            ([], "name a process by its id"),
            (["0"], '"0" is not the id of a process'),
            (["4000000"], "there is no process 4000000"),
            ([str(plain.pid)], "Allomon is not in this process"),
            ([str(idle.pid)], "no sample of it stays on its page: start it by allomon run --in-pl"),
            ([str(none.pid)], "no sample of it stays on its page"),
            ([str(unrecorded.pid)], "it records nothing"),
            ([self.path("x.rec")], "is known only of a process that runs: allomon report --view"),
            (["--born=1s..", str(none.pid)], "--view=pages is of all blocks"),
            (["--blocks", str(none.pid)], "leave out --metric and --blocks"),
            (["--metric=live", str(none.pid)], "leave out --metric and --blocks"),
        ):
            done = self.run_plain([ALLOMON, "report", "--view=pages", *words])
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        done = self.run_plain([ALLOMON, "leaks", "--view=pages", str(none.pid)])
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("allomon report --view=pages PID", done.stderr)

    # --- Estimates.

    RATE, ONE_IN = 1e-3, 2

    def run_once(self, seed=None, pages="64", rate=RATE, one_in=ONE_IN):
        """Returns for each function, and for all together, what is held, the interval of its
        estimate, and the truth."""
        seeded = {} if seed is None else {"ALLOMON_SEED": str(seed)}
        child, said = self.record(
            HALF_EMPTY, pages, rate=str(rate), in_place=f"1/{one_in}", **seeded
        )
        report, rows = self.report(child.pid)
        self.finish(child)
        os.remove(self.path("x.rec"))
        self.assertEqual(report["without_room"], 0)
        none = {"held": 0, "held_low": 0, "held_high": 0}
        found = {name: (rows.get(name, none), said[name]) for name in BLOCK_BYTES}
        found["all"] = (report, report["free_bytes_in_pages"])
        return found

    def variance(self, name, free_bytes, rate=RATE, one_in=ONE_IN):
        """Of what the function's blocks are estimated to hold, by the law of sampling."""
        size = BLOCK_BYTES[name]
        p = -math.expm1((size // 8 + 1) * math.log1p(-rate))
        weight = one_in / p - one_in + 1
        of_block = free_bytes / (free_bytes / size * OCCUPANCY[name] / (100 - OCCUPANCY[name]))
        return free_bytes * of_block * (weight - 1)

    def test_estimates_have_no_bias(self):
        runs = [self.run_once(seed) for seed in range(1, 13)]
        every = 0
        for name in BLOCK_BYTES:
            off = sum(run[name][0]["held"] - run[name][1] for run in runs)
            variance = sum(self.variance(name, run[name][1]) for run in runs)
            self.assertLess(abs(off), SIGMAS * math.sqrt(variance), name)
            every += variance
        # The functions have nearly all that is held; others add less than a tenth.
        off = sum(run["all"][0]["held"] - run["all"][1] for run in runs)
        truth = sum(run["all"][1] for run in runs)
        self.assertLess(abs(off), SIGMAS * math.sqrt(every) + truth / 50)
        self.assertLess(SIGMAS * math.sqrt(every) / truth, 0.35)
        within = [run["all"][0]["held_low"] <= run["all"][1] <= run["all"][0]["held_high"]
                  for run in runs]
        self.assertGreaterEqual(sum(within), 8)  # of 12, in 99.98 % of such runs

    def test_samples_that_do_not_stay_are_on_no_page(self):
        """At this rate nearly all blocks of 640 bytes are samples, and most of them lie elsewhere:
        a weight without regard to that is 13 times too large."""
        law = {"rate": 0.05, "one_in": 16}
        runs = [self.run_once(seed, "8", **law) for seed in range(1, 5)]
        for name in BLOCK_BYTES:
            off = sum(run[name][0]["held"] - run[name][1] for run in runs)
            variance = sum(self.variance(name, run[name][1], **law) for run in runs)
            self.assertLess(abs(off), SIGMAS * math.sqrt(variance), name)
        half = [run["KeepHalf"] for run in runs]
        self.assertLess(sum(row["held"] for row, _ in half), 1.5 * sum(held for _, held in half))

    # --- A real program.

    @unittest.skipUnless(shutil.which("redis-server"), "NOT TESTED: no redis-server")
    def test_redis_whose_keys_were_deleted(self):
        socket = self.path("redis.sock")
        libraries = {key: value for key, value in os.environ.items() if key == "LD_LIBRARY_PATH"}
        # On a busy machine its log of slow commands would keep small blocks on many pages.
        server = self.start(
            *(shutil.which("redis-server"), "--port", "0", "--unixsocket", socket, "--save", ""),
            *("--slowlog-log-slower-than", "-1"),
            **libraries, LD_PRELOAD=LIBRARY, ALLOMON_RECORD=self.path("x.rec"),
            ALLOMON_RATE="1e-3", ALLOMON_IN_PLACE="1/2",
        )
        for _ in range(100):
            if os.path.exists(socket):
                break
            time.sleep(0.1)

        def ask(*words):
            done = subprocess.run(
                [shutil.which("redis-cli"), "-s", socket, *words], env=libraries,
                capture_output=True, text=True, timeout=60, check=True,
            )
            self.assertNotIn("ERR", done.stdout)

        ask("EVAL", "for i = 1, 100000 do redis.call('SET', 'key:' .. i, "
                    "string.rep('v', 40 + i % 300)) end", "0")
        ask("EVAL", "for i = 1, 100000 do if (i * 7919) % 1009 >= 101 then "
                    "redis.call('DEL', 'key:' .. i) end end", "0")
        report, rows = self.report(server.pid)
        walked, held = report["free_bytes_in_pages"], report["held"]
        self.assertGreater(walked, 10 << 20)
        # Three times as wide as for 95 %.
        self.assertLess(held - 3 * (held - report["held_low"]), walked)
        self.assertGreater(held + 3 * (report["held_high"] - held), walked)
        self.assertIn("sds", max(rows.values(), key=lambda row: row["held"])["function"])
        self.assertLess(max(rows.values(), key=lambda row: row["held"])["occupancy_percent"], 20)
        ask("FLUSHALL")
        report, _ = self.report(server.pid)
        self.assertLess(report["free_bytes_in_pages"], walked / 5)
        self.assertLess(report["held_low"], walked / 5)
        server.terminate()
        server.communicate(timeout=60)

    @unittest.skipIf(RUNS == 0, "ALLOMON_PAGES_RUNS=1000 takes minutes")
    def test_intervals_cover(self):
        covered = dict.fromkeys((*BLOCK_BYTES, "all"), 0)
        for _ in range(RUNS):
            for name, (row, truth) in self.run_once().items():
                covered[name] += row["held_low"] <= truth <= row["held_high"]
        print({name: f"{100 * count / RUNS:.1f} %" for name, count in covered.items()}, flush=True)
        for name, count in covered.items():
            self.assertTrue(0.93 <= count / RUNS <= 0.97, (name, count))


# Bytes and number of blocks, as in unused_contents.cc.
ASKED = {"FillPart": (4096, 1000), "NeverWrite": (8192, 1000)}


class UnusedContents(Recorded):
    def unused(self, pid, *options):
        return self.run_plain([ALLOMON, "report", "--view=unused", *options, str(pid)])

    def rows(self, pid):
        done = self.unused(pid, "--json", "--top=0")
        if done.returncode == 2 and "may not be read" in done.stderr:
            self.skipTest("NOT TESTED: " + done.stderr.strip())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        return report, {row["function"]: row for row in report["unused_sites"]}

    @staticmethod
    def resident_bytes(pid):
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
            return int(re.search(r"^Rss: +(\d+) kB$", file.read(), re.M)[1]) << 10

    def test_what_is_never_written_is_exact_and_stays_untouched(self):
        child, said = self.record(UNUSED)
        before = self.resident_bytes(child.pid)
        report, rows = self.rows(child.pid)
        self.assertLess(abs(self.resident_bytes(child.pid) - before), 1 << 20)
        self.assertEqual((report["unseen_blocks"], report["unread_blocks"]), (0, 0))
        for name in ("Reserve", "FillPart", "NeverWrite"):
            row = rows[name]
            self.assertEqual(row["unused"], said[name], name)
            self.assertEqual(row["untouched"] + row["zero"], said[name], name)
            self.assertIn("less saves", row["advice"])
        self.assertGreater(rows["Reserve"]["untouched"], 0.99 * said["Reserve"])
        self.assertNotIn("FillAll", rows)
        self.assertNotIn("EndInNull", rows)
        self.assertRegex(
            self.unused(child.pid).stdout,
            r"\nReserve: asks for 1\.0 GiB a block and uses 51\.2 MiB: less saves 972\.8 MiB, of "
            r"which 972\.\d MiB were never resident\n",
        )
        self.finish(child)

    def test_a_flame_page_of_what_is_unused(self):
        child, _ = self.record(UNUSED, rate="1e-3")
        report, _ = self.rows(child.pid)
        page, side = self.flame_page("unused", child.pid)
        self.assertAlmostEqual(sum(side["bytes"]), report["unused"], delta=len(side["bytes"]))
        self.assertGreater(sum(side["bytesVariance"]), 0)
        self.assertRegex(page["shown"][0]["notes"][-1], r"by the contents of \d+ sampled blocks")
        self.finish(child)

    def run_unused(self, seed=None):
        """Returns what is estimated of each function, and the truth."""
        seeded = {} if seed is None else {"ALLOMON_SEED": str(seed)}
        child, said = self.record(UNUSED, rate="1e-3", in_place="1/2", **seeded)
        _, rows = self.rows(child.pid)
        self.finish(child)
        os.remove(self.path("x.rec"))
        self.assertEqual(rows["Reserve"]["unused"], said["Reserve"])  # surely sampled
        return {name: (rows[name], said[name]) for name in ASKED}

    def test_estimates_of_what_is_unused_have_no_bias(self):
        runs = [self.run_unused(seed) for seed in range(1, 9)]
        for name, (size, blocks) in ASKED.items():
            off = sum(run[name][0]["unused"] - run[name][1] for run in runs)
            p = -math.expm1((size // 8 + 1) * math.log1p(-1e-3))
            of_block = runs[0][name][1] / blocks
            variance = len(runs) * blocks * of_block**2 * (1 / p - 1)
            self.assertLess(abs(off), SIGMAS * math.sqrt(variance), name)
            within = [run[name][0]["unused_low"] <= run[name][1] <= run[name][0]["unused_high"]
                      for run in runs]
            self.assertGreaterEqual(sum(within), 3)  # of 8, in all but 1 of 2 million such runs

    @unittest.skipIf(RUNS == 0, "ALLOMON_PAGES_RUNS=1000 takes minutes")
    def test_intervals_of_what_is_unused_cover(self):
        covered = dict.fromkeys(ASKED, 0)
        for _ in range(RUNS):
            for name, (row, truth) in self.run_unused().items():
                covered[name] += row["unused_low"] <= truth <= row["unused_high"]
        print({name: f"{100 * count / RUNS:.1f} %" for name, count in covered.items()}, flush=True)
        for name, count in covered.items():
            self.assertTrue(0.93 <= count / RUNS <= 0.97, (name, count))

    def test_a_process_that_cannot_be_asked_is_one_line(self):
        plain = self.start("/bin/cat")
        for words, line in ((["4000000"], "there is no process 4000000"),
                            ([str(plain.pid)], "Allomon is not in this process")):
            done = self.run_plain([ALLOMON, "report", "--view=unused", *words])
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
