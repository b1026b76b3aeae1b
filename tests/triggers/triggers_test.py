#!/usr/bin/env python3
"""Programs that save copies of their recordings (ALLOMON_SAVE), and come to no harm by it."""

import json
import os
import re
import resource
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, runfile  # noqa: E402

HOST = runfile("//tests/triggers:leaking_host")
ALLOMON = runfile("//tools/allomon:allomon")
LIBRARY = runfile("//allocator:liballomon.so")
MIB = 1 << 20


class Saved(Case):
    def variables(self, save, **more):
        return {
            "ALLOMON_RECORD": self.path("x.rec"),
            "ALLOMON_SAVE": save,
            "ALLOMON_RATE": "1e-3",
            **more,
        }

    def host(self, save, *commands, env=None, **options):
        variables = self.variables(save, **(env or {}))
        return self.run_preloaded([HOST, *commands], variables, **options)

    def expect(self, done, files, status=0, said=""):
        self.assertEqual((done.returncode, done.stderr), (status, said))
        self.assertEqual(self.files(), sorted(files))

    def report(self, name, *options):
        done = self.run_plain([ALLOMON, "report", *options, self.path(name)])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def expect_explained(self, name, least_live):
        """`allomon explain` divides what was resident when the copy was made."""
        done = self.run_plain([ALLOMON, "explain", "--format=json", self.path(name)])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        rows = {row["id"]: row["resident_bytes"] for row in found["rows"]}
        self.assertEqual(sum(rows.values()), found["resident_bytes"])
        # Of mimalloc 2.0.9 pages of files are a row, too, and what else there is of the others.
        others = set(rows) - {"file_pages", "free_in_pages", "rounding", "sampled_free"}
        self.assertEqual(others, {"live", "not_known"})
        self.assertEqual("file_pages" in rows, len(rows) > 2)
        # At a rate of 1e-3, 30 MiB are 3,900 samples: the bound is 6 standard errors below.
        self.assertGreater(rows["live"], 0.9 * least_live)
        self.assertGreater(found["resident_bytes"], least_live)
        self.assertLess(found["resident_bytes"], least_live + 200 * MIB)

    def first_row(self, name):
        return self.report(name, "--format=csv", "--metric=live").splitlines()[1]


class Triggers(Saved):
    def test_address_space_that_runs_out(self):
        """The issue's: a program that leaks until it dies, and the file that was saved before."""
        limit = 700 * MIB
        done = self.host(
            "limit=90%",
            "until-null",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            env={"ALLOMON_SUMMARY": "1"},
        )
        self.assertEqual(done.returncode, 0)
        said = re.search(r"x\.limit\.1\.rec: (\d+) of 700 MiB of `ulimit -v` are used", done.stderr)
        self.assertIsNotNone(said, done.stderr)
        self.assertGreaterEqual(int(said[1]), 0.9 * 700 - 1)
        self.assertLess(int(said[1]), 0.97 * 700)
        self.assertEqual(self.files(), ["x.limit.1.rec", "x.rec"])
        self.assertIn("LeakBlock", self.first_row("x.limit.1.rec"))

    def test_cgroup_that_runs_out(self):
        """The same where the kernel kills the program."""
        group = Cgroup.make(100 * MIB)
        if group is None:
            self.skipTest("NOT TESTED: no memory cgroup can be made here (root, and a cgroup that "
                          "may be written to, are needed)")
        self.addCleanup(group.remove)
        done = self.host("limit=90%", "leak", "500", preexec_fn=group.enter)
        self.assertEqual(done.returncode, -9, done.stderr)
        self.assertIn("x.limit.1.rec", self.files())
        self.assertIn("LeakBlock", self.first_row("x.limit.1.rec"))
        leaked = self.report("x.limit.1.rec", "--format=csv", "--metric=live")
        self.assertIn("leaking_host.c", leaked)

    def test_peak(self):
        done = self.host("peak+10%,keep=2", "leak", "40", "for", "0.1", "free", "for", "0.1")
        self.expect(done, ["x.peak.1.rec", "x.peak.2.rec", "x.rec"])
        newest = self.report("x.peak.1.rec")
        self.assertRegex(newest, r"\b(3\d|4\d)\.\d MiB \([^)]*\) live at the peak")

    def test_every_second(self):
        done = self.host("every=1s,keep=2", "for", "3.5")
        self.expect(done, ["x.every.1.rec", "x.every.2.rec", "x.rec"])
        self.assertGreater(
            os.path.getmtime(self.path("x.every.1.rec")),
            os.path.getmtime(self.path("x.every.2.rec")),
        )

    def test_age(self):
        done = self.host("age=1s", "leak", "2", "for", "1.5")
        self.expect(done, ["x.age.1.rec", "x.rec"])
        self.assertIn("LeakBlock", self.first_row("x.age.1.rec"))

    def test_copies_of_one_kind_do_not_take_the_place_of_another(self):
        done = self.host("every=1s,peak+1000%,keep=1", "leak", "5", "for", "2.5")
        self.expect(done, ["x.every.1.rec", "x.peak.1.rec", "x.rec"])

    def test_directory_of_its_own_as_the_program_saw_it_at_the_start(self):
        os.mkdir(self.path("copies"))
        os.mkdir(self.path("else"))
        done = self.host("every=1s,dir=copies", "chdir", "else", "for", "1.5")
        self.expect(done, ["copies", "else", "x.rec"])
        self.assertEqual(os.listdir(self.path("copies")), ["x.every.1.rec"])

    def test_process_that_is_asked_to_record(self):
        environment = self.variables("every=1s", LD_PRELOAD=LIBRARY, ALLOMON_PROFILE="idle")
        with subprocess.Popen([HOST, "for", "8"], env=environment, cwd=self.directory) as host:
            # It can be asked when its constructors have run.
            while self.run_plain([ALLOMON, "ctl", str(host.pid), "status"]).returncode != 0:
                self.assertIsNone(host.poll())
            started = self.run_plain([ALLOMON, "ctl", str(host.pid), "start"])
            self.assertEqual(started.returncode, 0, started.stderr)
            time.sleep(2.5)
            stopped = self.run_plain([ALLOMON, "ctl", str(host.pid), "stop"])
            self.assertEqual(stopped.returncode, 0, stopped.stderr)
            copies = [name for name in self.files() if ".every." in name]
            self.assertIn("x.every.1.rec", copies)
            time.sleep(1.5)
            self.assertEqual([name for name in self.files() if ".every." in name], copies)
            host.kill()

    def test_memory_file_of_allomon_run(self):
        run = [ALLOMON, "run", "-o", "x.pb.gz", "--", HOST, "leak", "30", "for", "1.5"]
        lost = self.run_plain(run, {"ALLOMON_SAVE": "every=1s"})
        self.assertIn("name a directory for copies by dir=DIRECTORY\n", lost.stderr)
        self.assertEqual(self.files(), ["x.pb.gz"])
        saves = {"ALLOMON_SAVE": f"every=1s,dir={self.directory}", "ALLOMON_RATE": "1e-3"}
        kept = self.run_plain(run, saves)
        self.assertNotIn("ALLOMON_SAVE", kept.stderr)
        self.assertEqual(len(self.files()), 2)
        copy = self.files()[0]
        self.assertRegex(copy, r"^allomon\.\d+\.every\.1\.rec$")
        # The memory file itself is never told the resident memory.
        self.expect_explained(copy, 30 * MIB)


class Harm(Saved):
    def test_bad_values_are_one_line_that_names_the_word(self):
        for value, word in (
            ("evry=60s", "'evry=60s' is not known"),
            ("peak+10%,limit=200%", "'limit=200%' is not known, out of range"),
            ("every=1s,every=2s", "'every=2s' is not known, out of range or there twice"),
            ("every=1s,", "a word is empty"),
            ("keep=3", "it does not say when"),
            ("", "a word is empty"),
        ):
            with self.subTest(value):
                done = self.host(value, "churn", "1")
                self.assertEqual(done.returncode, 0)
                self.assertRegex(done.stderr, r"\Aallomon: ALLOMON_SAVE=.*\n\Z")
                self.assertIn(word, done.stderr)
                self.assertIn("expected peak+10%, every=60s", done.stderr)
                self.assertEqual(self.files(), [])

    def test_nothing_that_could_be_saved(self):
        for variables in ({}, {"ALLOMON_PROFILE": "no"}):
            variables = {"ALLOMON_SAVE": "every=1s", **variables}
            done = self.run_preloaded([HOST, "for", "0.1"], variables)
            self.assertEqual(done.returncode, 0)
            self.assertIn("allomon: ALLOMON_SAVE: nothing is recorded", done.stderr)

    def test_children_of_fork(self):
        both = ["leak", "1", "fork", "leak", "1", "for", "1.3", "fork", "for", "1.3"]
        done = self.host("every=1s", *both)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        copies = [name for name in self.files() if ".every." in name]
        self.assertEqual(len(copies), 2, copies)
        for name in copies:
            self.assertRegex(name, r"^x\.rec\.\d+\.every\.1\.rec$")

    def test_smallest_stack(self):
        save = "every=1s,limit=90%,age=1s,peak+10%,keep=1"
        done = self.host(save, "leak", "2", "small", "for", "1.3")
        self.expect(done, [f"x.{k}.1.rec" for k in ("age", "every", "peak")] + ["x.rec"])

    def test_filter_that_kills(self):
        done = self.host("every=1s", "churn", "1", "filter", "for", "1.3", "say", "alive")
        self.assertEqual((done.returncode, done.stdout), (0, "alive\n"))
        self.assertRegex(
            done.stderr,
            r"\Aallomon: ALLOMON_SAVE: the program takes system calls from itself.*\n\Z",
        )
        self.assertEqual(self.files(), ["x.rec"])

    def test_descriptors_that_the_host_closes(self):
        done = self.host("every=1s", "churn", "1", "close-all", "for", "1.3")
        self.expect(done, ["x.every.1.rec", "x.rec"])

    def test_descriptors_that_are_all_taken(self):
        done = self.host("every=1s", "churn", "1", "fd-exhaust", "for", "1.3", "say", "alive")
        self.assertEqual((done.returncode, done.stdout), (0, "alive\n"))
        self.assertRegex(done.stderr, r"\A.*too many files are open; raise `ulimit -n`.*\n\Z")

    def test_limit_of_file_sizes(self):
        done = self.host(
            "every=1s", "leak", "1", "for", "1.3", "say", "alive",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10 * MIB, 10 * MIB)),
        )
        self.assertEqual((done.returncode, done.stdout), (0, "alive\n"))

    def test_directory_that_may_not_be_written_to(self):
        os.mkdir(self.path("closed"), 0o500)
        closed = "closed" if os.getuid() != 0 else "/sys/kernel"  # which root may not, either
        done = self.host(f"every=1s,dir={closed}", "for", "2.5", "say", "alive")
        self.assertEqual((done.returncode, done.stdout), (0, "alive\n"))
        self.assertRegex(done.stderr, r"\A.*its directory may not be written to.*tried again\)\n\Z")

    def test_directory_that_goes(self):
        os.mkdir(self.path("copies"))
        done = self.host("every=1s,dir=copies", "churn", "1", "remove", "copies", "for", "2.5")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\A.*its directory is not there.*\n\Z")

    def test_disk_that_is_full(self):
        disk = self.path("disk")
        os.mkdir(disk)
        mount = ["mount", "-t", "tmpfs", "-o", "size=1200k", "none", disk]
        if os.getuid() != 0 or subprocess.run(mount, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("NOT TESTED: no small disk can be mounted here (root is needed)")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        commands = ["for", "1.5", "leak", "20", "for", "2", "say", "alive"]
        done = self.host("every=1s,dir=disk", *commands)
        self.assertEqual((done.returncode, done.stdout), (0, "alive\n"))
        self.assertRegex(done.stderr, r"\A.*there is no room on its disk.*\n\Z")
        self.assertEqual(os.listdir(disk), ["x.every.1.rec"], "the copy before, and nothing else")
        self.report("disk/x.every.1.rec")

    def test_other_root_directory(self):
        if os.getuid() != 0:
            self.skipTest("NOT TESTED: chroot needs root")
        os.mkdir(self.path("root"))
        done = self.host("every=1s", "churn", "1", "chroot", self.path("root"), "for", "1.3")
        self.expect(done, ["root", "x.every.1.rec", "x.rec"])


class Cgroup:
    """A memory cgroup below the test's own."""

    def __init__(self, path, limit_file):
        self.path = path
        self.limit_file = limit_file

    @staticmethod
    def own_directories():
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            for line in file:
                _, controllers, path = line.rstrip("\n").split(":", 2)
                if "memory" in controllers.split(","):
                    yield "/sys/fs/cgroup/memory" + path, "memory.limit_in_bytes"
                    yield "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
                elif controllers == "":
                    yield "/sys/fs/cgroup" + path, "memory.max"

    @classmethod
    def make(cls, limit_bytes):
        for directory, limit_file in cls.own_directories():
            group = cls(os.path.join(directory, f"allomon-test-{os.getpid()}"), limit_file)
            try:
                os.mkdir(group.path)
                group.write(limit_file, str(limit_bytes))
                return group
            except OSError:
                group.remove()
        return None

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
            file.write(text)

    def enter(self):
        self.write("cgroup.procs", "0")

    def remove(self):
        for _ in range(50):
            try:
                return os.rmdir(self.path)
            except FileNotFoundError:
                return None
            except OSError:
                time.sleep(0.1)
        return None


if __name__ == "__main__":
    unittest.main()
