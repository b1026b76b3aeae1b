#!/usr/bin/env python3
"""Programs of other people that are recorded by ALLOMON_RECORD: whatever ends them, the file is
whole, and nothing but the file tells that they were recorded.

  ALLOMON_KILLS=200   so many kills at random moments, in place of 10
"""

import os
import random
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

import recording_file  # noqa: E402
from support import SIGMAS, Case, runfile  # noqa: E402

HOST = runfile("//tests/recording:allocating_host")
LIBRARY = runfile("//tests/integration:libreloaded.so")


class Recorded(Case):
    def record(self, argv, env=None, **options):
        variables = {"ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": "0.01", **(env or {})}
        return self.run_preloaded(argv, variables, **options)

    def expect_silent(self, done, status=0):
        self.assertEqual((done.returncode, done.stderr), (status, ""))

    def process(self, name="x.rec"):
        (process,) = recording_file.read(self.path(name))
        return process

    def expect_bytes(self, process, true_bytes, size_bytes=56):
        """Blocks of 56 bytes, with a trial on 8 words."""
        p = 1 - (1 - process.rate) ** (size_bytes / 8 + 1)
        sigma = size_bytes * (true_bytes / size_bytes * (1 - p) / p) ** 0.5
        self.assertLessEqual(abs(process.allocated["bytes"] - true_bytes), SIGMAS * sigma + 100_000)

    def test_ends_of_all_kinds(self):
        for end, status in (("return", 0), ("_exit", 3), ("kill", -9), ("abort", -6)):
            with self.subTest(end):
                done = self.record([HOST, "300000", end])
                self.expect_silent(done, status)
                self.assertEqual(self.files(), ["x.rec"])
                self.expect_bytes(self.process(), 300_000 * 56)
                self.assertEqual(self.process().ended, 0)

    def test_names_of_threads(self):
        self.expect_silent(self.record([HOST, "1000", "threads"]))
        self.assertLessEqual(
            {"allocating_host", "by_itself", "by_creator", "by_prctl"},
            self.process().thread_names(),
        )

    def test_profile_and_recording_together(self):
        self.expect_silent(self.record([HOST, "1000", "return"], {"ALLOMON_PROFILE": "alloc"}))
        self.assertIn("mlmon.out", self.files())
        self.assertGreater(self.process().allocated["samples"], 0)

    def test_recording_alone_makes_no_profile(self):
        self.expect_silent(self.record([HOST, "1000", "return"]))
        self.assertEqual(self.files(), ["x.rec"])

    def test_executed_program_replaces_what_executed_it(self):
        self.expect_silent(self.record(["/bin/sh", "-c", f"exec {HOST} 300000 return"]))
        self.assertEqual(self.files(), ["x.rec"])
        self.assertEqual(self.process().program, os.path.realpath(HOST))
        self.expect_bytes(self.process(), 300_000 * 56)

    def test_program_of_a_program_that_runs_has_a_name_of_its_own(self):
        self.expect_silent(self.record(["/bin/sh", "-c", f"{HOST} 300000 return; true"]))
        names = self.files()
        self.assertIn("x.rec", names)
        programs = {self.process(name).program for name in names}
        self.assertIn(os.path.realpath(HOST), programs)
        self.assertGreater(len(programs), 1)

    def test_only_one_process(self):
        done = self.record([HOST, "1000", "return"], {"ALLOMON_RECORD_ONLY": "1"})
        self.expect_silent(done)
        self.assertEqual(self.files(), [])

    def test_bad_values_are_one_line_and_no_recording(self):
        for name, value in (
            ("ALLOMON_RECORD", "x.%q.rec"),
            ("ALLOMON_RECORD", "no/such/directory/x.rec"),
            ("ALLOMON_RECORD_LIMIT", "1k"),
            ("ALLOMON_RECORD_LIMIT", "lots"),
            ("ALLOMON_RECORD_ONLY", "me"),
            ("ALLOMON_RECORD_INODE", "4711"),
            ("ALLOMON_RECORD_INODE", "1:0"),
        ):
            with self.subTest(name=name, value=value):
                done = self.record([HOST, "1000", "return"], {name: value})
                self.assertEqual(done.returncode, 0)
                self.assertRegex(done.stderr, rf"\Aallomon: {name}=.*\n\Z")
                self.assertEqual(self.files(), [])

    def test_memory_file_whose_number_another_file_has_is_not_opened(self):
        """The process that held it has ended, and another one has its number."""
        other = os.memfd_create("other", os.MFD_ALLOW_SEALING)
        self.addCleanup(os.close, other)
        os.write(other, bytes(100))
        path = f"/proc/{os.getpid()}/fd/{other}"
        file = os.fstat(other)
        for inode in f"{file.st_dev}:{file.st_ino + 1}", f"{file.st_dev + 1}:{file.st_ino}":
            done = self.record(
                [HOST, "1000", "return"], {"ALLOMON_RECORD": path, "ALLOMON_RECORD_INODE": inode}
            )
            self.expect_silent(done)
        self.assertEqual(os.pread(other, 200, 0), bytes(100))

    def test_memory_file_that_is_gone_is_no_error(self):
        done = self.record([HOST, "1000", "return"], {"ALLOMON_RECORD": "/proc/1/fd/987"})
        self.expect_silent(done)

    def test_resident_memory_is_read_beside(self):
        self.expect_silent(self.record([HOST, "50000", "keep"], {"ALLOMON_RATE": "1"}))
        nanos, resident, live, most = self.process().memory
        self.assertGreater(nanos, 0)
        self.assertLessEqual(live, 51_100_000)
        self.assertGreaterEqual(live, 50_000_000)
        self.assertGreater(resident, live)
        self.assertLess(resident, live + (200 << 20))
        self.assertGreaterEqual(most, resident)
        points = self.process().resident
        self.assertEqual(max(points), most)
        self.assertEqual(points[-1], resident)
        self.assertLess(points[0], resident)
        self.assertGreater(points[0], 0)

    def test_resident_memory_is_read_after_the_first_thread_has_ended(self):
        self.expect_silent(self.record([HOST, "50000", "headless"], {"ALLOMON_RATE": "1"}))
        _, resident, live, _ = self.process().memory
        self.assertGreaterEqual(live, 50_000_000)
        self.assertGreater(resident, live)

    def test_resident_memory_is_not_read_once_there_may_be_a_filter(self):
        """A filter of system calls may kill the host for a call that it does not make itself."""
        self.expect_silent(self.record([HOST, "50000", "filter"], {"ALLOMON_RATE": "1"}))
        self.assertLess(self.process().memory[2], 1_000_000)
        self.assertFalse(any(self.process().resident[-1:]))

    def test_library_that_comes_and_goes_takes_its_room_once(self):
        self.expect_silent(self.record([HOST, "400", "dlclose", LIBRARY], {"ALLOMON_RATE": "1"}))
        process = self.process()
        self.assertLess(process.modules_count, 20)
        self.assertEqual(process.dropped_samples, 0)

    def test_killed_at_a_random_moment(self):
        chance = random.Random(15)
        for _ in range(int(os.environ.get("ALLOMON_KILLS", "10"))):
            environment = {
                "LD_PRELOAD": runfile("//allocator:liballomon.so"),
                "ALLOMON_RECORD": "x.rec",
                "ALLOMON_RATE": "0.01",
            }
            with subprocess.Popen(
                [HOST, "1000000000", "count"], env=environment, cwd=self.directory,
                stdout=subprocess.PIPE,
            ) as host:
                host.stdout.readline()
                time.sleep(chance.random() * 0.05)
                host.kill()
                counted = host.stdout.read().split()
            process = self.process()
            # Every 1,000 blocks the host says how many it has made.
            self.expect_bytes(process, int(counted[-1] if counted else 0) * 56)
            self.assertLessEqual(process.live["samples"], 40)


if __name__ == "__main__":
    unittest.main()
