#!/usr/bin/env python3
"""`allomon explain` of a program whose memory is known, under each kind of profile and without."""

import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from support import SIGMAS, Case, runfile  # noqa: E402

ALLOMON = runfile("//tools/allomon:allomon")
HOST = runfile("//tests/explain:explain_host")
LIBRARY = runfile("//allocator:liballomon.so")
HOST_LIBRARY = runfile("//allocator:liballomon-host.so")

PYTHON = "/usr/bin/python3"
MIB = 1 << 20
BLOCK_CLASS = 1024  # of blocks of 1,000 bytes
# {row: resident bytes} of what the host makes, the least and the most.  Rows of the C library's
# own, of which a host has some anyway, may have that much more.
OWN_OF_HOSTS = MIB
HEAP = {
    "free_in_pages": 30000 * BLOCK_CLASS,
    "large": 24 * MIB,
}
MAPPED = {
    "stacks": 3 * MIB,
    "other_anonymous": 9 * MIB + MIB // 2,
    "shared_memory": 5 * MIB,
    "files": 6 * MIB,
    "break": 7 * MIB,
    "generated_code": 2 * MIB,
}
LIVE = 10000 * BLOCK_CLASS
UNTOUCHED = 40 * MIB


class Explain(Case):
    def start(self, **variables):
        self.write("file", "x" * (6 * MIB))
        return self.spawn([HOST, self.path("file")], variables)

    def spawn(self, command, variables, file=False):
        if file:
            self.write("file", "x" * (6 * MIB))
        host = subprocess.Popen(
            command,
            env={"PATH": "/usr/bin:/bin", **variables},
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.addCleanup(host.stdout.close)
        self.addCleanup(host.communicate)
        line = host.stdout.readline()
        if command[0] == "unshare" and line == b"":
            return None
        self.assertEqual(line, b"ready\n")
        return host

    def explain(self, host, *options):
        done = self.run_plain([ALLOMON, "explain", str(host.pid), "--format=json", *options])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(len(done.stdout), 8192)
        found = json.loads(done.stdout)
        self.assertEqual((found["format"], found["version"]), ("allomon explain", 1))
        self.assertLessEqual(len(found["next"]), 1)
        rows = {row["id"]: row for row in found["rows"]}
        self.assertEqual(sum(row["resident_bytes"] for row in found["rows"]), found["sum_bytes"])
        self.assert_near(found["sum_bytes"], found["resident_bytes"], found["resident_bytes"] / 100)
        # Another file of the kernel's, whose figure may lag by some pages of each CPU.
        with open(f"/proc/{host.pid}/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        self.assert_near(found["sum_bytes"], resident, resident / 100)
        return found, rows

    def assert_near(self, found, expected, most):
        self.assertLessEqual(abs(found - expected), most, (found, expected))

    def check_mapped(self, rows):
        for name, least in MAPPED.items():
            self.assertIn(name, rows)
            self.assertGreaterEqual(rows[name]["resident_bytes"], least, name)
            self.assertLessEqual(rows[name]["resident_bytes"], least + OWN_OF_HOSTS, name)

    def check_heap(self, found, rows):
        self.assertIn(found["allocator"], ("mimalloc 2.0.9", "mimalloc 3.0.1"))
        for name, least in HEAP.items():
            # The first and the last page of a size may have been free from the start.
            self.assert_near(rows[name]["resident_bytes"], least, least / 20)
        rounding = rows.get("rounding", {"resident_bytes": 0})["resident_bytes"]
        live = rows["live"]["resident_bytes"] + rounding
        # A guarded block is not in these rows: it has a page of its own.
        pages = rows.get("guard", {"resident_bytes": 0})["resident_bytes"] // 4096
        self.assertGreaterEqual(live + pages * BLOCK_CLASS, LIVE)
        self.assertLessEqual(live, LIVE + OWN_OF_HOSTS)
        self.assert_near(found["untouched_bytes"], UNTOUCHED, MIB / 4)

    def test_without_allomon(self):
        found, rows = self.explain(self.start())
        self.assertIn("Allomon is not in this process", found["notes"][0])
        # The heap is not divided: it is a part of these.
        self.assertNotIn("live", rows)
        heap = 40000 * 1000 + HEAP["large"]
        self.assertGreaterEqual(
            rows["break"]["resident_bytes"] + rows["other_anonymous"]["resident_bytes"],
            heap + MAPPED["break"] + MAPPED["other_anonymous"],
        )
        for name in ("stacks", "shared_memory", "files", "generated_code"):
            self.assert_near(rows[name]["resident_bytes"], MAPPED[name], OWN_OF_HOSTS)

    def check_preloaded(self, **variables):
        found, rows = self.explain(self.start(LD_PRELOAD=LIBRARY, **variables))
        self.check_mapped(rows)
        self.check_heap(found, rows)
        return found, rows

    def test_not_profiled(self):
        self.check_preloaded(ALLOMON_PROFILE="no")

    def test_it_gets_no_page_tables_by_being_read(self):
        """Each look at one of 10 GiB's pages that were never touched would take 4 KiB."""
        host = self.start(LD_PRELOAD=LIBRARY, ALLOMON_PROFILE="idle")

        def page_tables():
            with open(f"/proc/{host.pid}/status", encoding="ascii") as file:
                return int(file.read().split("VmPTE:")[1].split()[0])

        before = page_tables()
        self.explain(host)
        self.assertLessEqual(page_tables() - before, 64)

    def test_idle(self):
        self.check_preloaded(ALLOMON_PROFILE="idle")

    def test_flat_profiles(self):
        for mode in ("alloc", "time"):
            with self.subTest(mode):
                _, rows = self.check_preloaded(ALLOMON_PROFILE=mode, ALLOMON_OUT=self.path("out"))
                self.assertGreater(rows["tables"]["resident_bytes"], 0)

    def test_live_profile(self):
        """At 1e-4 per word 1.2 % of the blocks are sampled, and so is the large one; they lie in
        Allomon's own range."""
        found, rows = self.explain(
            self.start(
                LD_PRELOAD=LIBRARY, ALLOMON_PROFILE="live", ALLOMON_OUT=self.path("out")
            )
        )
        self.check_mapped(rows)
        self.assert_near(rows["live"]["resident_bytes"], LIVE + 24 * MIB, OWN_OF_HOSTS)
        self.assert_near(rows["free_in_pages"]["resident_bytes"], HEAP["free_in_pages"], 3 * MIB)
        self.assert_near(found["untouched_bytes"], UNTOUCHED, MIB / 4)

    def test_recording_says_what_was_asked_for(self):
        """At 1e-3 per word 11.8 % of the blocks are sampled, so that what was asked for is known to
        2.7 %, and rounding to 10 times itself: its interval holds it."""
        found, rows = self.explain(
            self.start(LD_PRELOAD=LIBRARY, ALLOMON_RECORD=self.path("rec"), ALLOMON_RATE="1e-3")
        )
        self.check_mapped(rows)
        rounding = rows.get("rounding", {"resident_bytes": 0})
        live = rows["live"]["resident_bytes"] + rounding["resident_bytes"]
        self.assert_near(live, LIVE + 24 * MIB, OWN_OF_HOSTS)
        self.assertLessEqual(rounding["resident_bytes"], SIGMAS * 0.027 * LIVE + OWN_OF_HOSTS)
        if "rounding" in rows:
            self.assertRegex(rounding["name"], r"classes: .* to ")
        elif found["notes"]:
            self.assertIn("its interval is", found["notes"][0])
        else:  # all of it may be pages of the large block that nobody has touched
            self.assertEqual(rows["live"]["name"], "live blocks, as asked for")
        free = rows["free_in_pages"]["resident_bytes"] + rows["sampled_free"]["resident_bytes"]
        self.assert_near(free, HEAP["free_in_pages"], 3 * MIB)
        self.assertGreater(rows["recording"]["resident_bytes"], 0)

    def test_below_allomon_run(self):
        """The recording is a memory file, which no path leads to."""
        run = self.spawn(
            [ALLOMON, "run", "-q", "--exact", "-o", "x.pb.gz", HOST, self.path("file")],
            {"ALLOMON_LIBRARY": LIBRARY},
            file=True,
        )
        (child,) = subprocess.check_output(["pgrep", "-P", str(run.pid)], text=True).split()
        done = self.run_plain([ALLOMON, "explain", child, "--format=json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        (live,) = [row for row in json.loads(done.stdout)["rows"] if row["id"] == "live"]
        self.assertEqual(live["name"], "live blocks, as asked for")

    def test_a_fork_has_blocks_that_its_recording_does_not_have(self):
        script = "my @kept = map { 'x' x 1000 } 1 .. 5000; $| = 1; " \
            "if (fork) { wait; exit } push @kept, 'y' x 1e6; print qq(ready\\n); <STDIN>"
        host = self.spawn(
            ["perl", "-e", script], {"LD_PRELOAD": LIBRARY, "ALLOMON_RECORD": self.path("rec")})
        (child,) = subprocess.check_output(["pgrep", "-P", str(host.pid)], text=True).split()
        done = self.run_plain([ALLOMON, "explain", child, "--format=json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        rows = {row["id"]: row for row in found["rows"]}
        self.assertGreater(rows["live"]["resident_bytes"], 6_000_000)
        self.assertNotIn("rounding", rows)
        self.assertIn("before the fork", found["notes"][0])

    def test_every_block_is_sampled(self):
        """Then live blocks lie in Allomon's own range, whose classes are others."""
        found, rows = self.explain(
            self.start(LD_PRELOAD=LIBRARY, ALLOMON_RECORD=self.path("rec"), ALLOMON_RATE="1")
        )
        self.check_mapped(rows)
        self.assertEqual(found["notes"], [])
        self.assert_near(rows["live"]["resident_bytes"], 10000 * 1000 + 24 * MIB, OWN_OF_HOSTS)
        self.assert_near(rows["sampled_free"]["resident_bytes"], 30000 * 1024, 30000 * 1024 / 10)
        self.assertEqual(rows["rounding"]["name"], "rounding up to size classes")

    def test_guarded_blocks(self):
        # Of 1/100 none would be live in one run of a hundred.
        _, rows = self.check_preloaded(ALLOMON_PROFILE="no", ALLOMON_GUARD="1/10")
        self.assertGreater(rows["guard"]["resident_bytes"], 4096)

    def test_python_arenas(self):
        """Objects of 144 bytes, of which every second one was freed."""
        if not os.path.exists(PYTHON):
            self.skipTest(f"NOT TESTED: no {PYTHON}")
        program = (
            "import sys, time\nkept = [bytes(100) for _ in range(400000)]\ndel kept[::2]\n"
            "print('ready', flush=True)\nsys.stdin.readline()\n"
        )
        each = 200000 * 144
        for variables in ({}, {"LD_PRELOAD": LIBRARY, "ALLOMON_PROFILE": "idle"}):
            with self.subTest(variables):
                host = self.spawn([PYTHON, "-S", "-c", program], variables)
                _, rows = self.explain(host)
                for name in ("python", "python_free"):
                    self.assert_near(rows[name]["resident_bytes"], each, 2 * MIB)
                self.assert_near(rows["python"]["count"], 200000, 20000)
        host = self.spawn(
            [PYTHON, "-S", "-c", program],
            {"LD_PRELOAD": LIBRARY, "ALLOMON_RECORD": self.path("rec")},
        )
        found, _ = self.explain(host)
        self.assertIn("Python's objects in arenas", found["notes"][0])

    def test_text(self):
        host = self.start(LD_PRELOAD=LIBRARY, ALLOMON_PROFILE="no")
        done = self.run_plain([ALLOMON, "explain", str(host.pid), "--width=100"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^explain_host \(pid \d+, 4 threads\): [0-9.]+ MiB resident")
        self.assertLessEqual(max(map(len, lines[2:])), 100)
        self.assertTrue(any("in all" in line for line in lines))
        self.assertRegex(lines[-1], r"^Not resident: 40\.\d MiB of live blocks")

    def test_who_may_not_read_it(self):
        """Someone without the rights of a debugger sees nothing, and is told what to do."""
        if os.geteuid() != 0:
            self.skipTest("NOT TESTED: only root may give up capabilities that the host keeps")
        host = self.start()
        drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
        done = self.run_plain([*drop, ALLOMON, "explain", str(host.pid)])
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("cannot be read (Permission denied)", done.stderr)
        self.assertIn("as root", done.stderr)

    def test_process_that_has_ended(self):
        """Nobody has waited for it yet."""
        host = self.start()
        host.communicate(b"end\n")
        gone = subprocess.Popen(["/bin/true"])
        self.addCleanup(gone.wait)
        while True:
            with open(f"/proc/{gone.pid}/stat", encoding="ascii") as file:
                if file.read().split(")")[1].split()[0] == "Z":
                    break
        for pid, line in ((gone.pid, "has no memory"), (host.pid, "there is no process")):
            done = self.run_plain([ALLOMON, "explain", str(pid)])
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_process_whose_first_thread_has_ended(self):
        """The kernel shows its memory by the ids of the others alone."""
        code = (
            "import ctypes, threading, time\n"
            "kept = b'x' * (32 << 20)\n"
            "threading.Thread(target=time.sleep, args=[600]).start()\n"
            "ctypes.CDLL(None).syscall(60, 0)\n"  # exit, of this thread alone
        )
        host = subprocess.Popen(
            [PYTHON, "-c", code], env={"LD_PRELOAD": LIBRARY, "ALLOMON_PROFILE": "idle"}
        )
        self.addCleanup(host.wait)
        self.addCleanup(host.kill)
        while True:
            with open(f"/proc/{host.pid}/status", encoding="ascii") as file:
                if "(zombie)" in file.read():
                    break
        done = self.run_plain([ALLOMON, "explain", str(host.pid), "--format=json"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        rows = {row["id"]: row["resident_bytes"] for row in found["rows"]}
        self.assertEqual(sum(rows.values()), found["sum_bytes"])
        self.assert_near(found["sum_bytes"], found["resident_bytes"], found["resident_bytes"] / 100)
        self.assert_near(rows["large"], 32 * MIB, OWN_OF_HOSTS)
        done = self.run_plain([ALLOMON, "leaks", str(host.pid)])
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("its first thread has ended", done.stderr)

    def test_process_that_ends_while_it_is_read(self):
        """Whatever is read last, there is one line, or a whole answer."""
        for _ in range(30):
            gone = subprocess.Popen(["/bin/sleep", "0.02"])
            for _ in range(4):
                done = self.run_plain([ALLOMON, "explain", str(gone.pid), "--format=json"])
                if done.returncode == 2:
                    self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))
                else:
                    found = json.loads(done.stdout)
                    rows = sum(row["resident_bytes"] for row in found["rows"])
                    self.assertEqual(rows, found["sum_bytes"])
                    self.assertGreater(rows, 0)
            gone.wait()

    def test_container_with_ids_of_its_own(self):
        """The recording has the id that the process knows."""
        host = self.spawn(
            ["unshare", "--pid", "--fork", "--kill-child", HOST, self.path("file")],
            {"LD_PRELOAD": LIBRARY, "ALLOMON_RECORD": self.path("%p.rec")},
            file=True,
        )
        if host is None:
            self.skipTest("NOT TESTED: no namespaces of process ids here")
        with open(f"/proc/{host.pid}/task/{host.pid}/children", encoding="ascii") as file:
            inner = int(file.read())
        done = self.run_plain([ALLOMON, "explain", str(inner), "--format=json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["process"], "explain_host")
        self.assertNotIn("several processes", done.stderr)
        rows = {row["id"]: row for row in found["rows"]}
        self.assertIn("live", rows)

    def test_file(self):
        # After the pause the resident memory is read again; nothing is freed after that.
        program = (
            "import os, time\nkept = [bytes(1000) for _ in range(50000)]\ntime.sleep(0.03)\n"
            "more = [bytes(1000) for _ in range(1000)]\nos._exit(0)"
        )
        done = self.run_plain(
            [PYTHON, "-S", "-c", program],
            {"LD_PRELOAD": LIBRARY, "ALLOMON_RECORD": self.path("x.rec"), "ALLOMON_RATE": "1"},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_plain([ALLOMON, "explain", self.path("x.rec"), "--format=json"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        rows = {row["id"]: row["resident_bytes"] for row in found["rows"]}
        self.assertEqual(sum(rows.values()), found["resident_bytes"])
        self.assertEqual(set(rows), {"live", "not_known"})
        self.assertGreater(rows["live"], 50_000_000)
        self.assertLess(rows["live"], 60 * MIB)
        done = self.run_plain([ALLOMON, "report", self.path("x.rec")])
        self.assertRegex(done.stdout, r"\nRSS [0-9.]+ MiB, of which live [0-9.]+ MiB, after ")

    def copied(self, library, **variables):
        """What is said of the process, and of a copy of its recording."""
        host = self.spawn(
            [HOST, self.path("file"), "copied"],
            {"LD_PRELOAD": library, "ALLOMON_RECORD": self.path("x.rec"),
             "ALLOMON_RATE": "1e-3", "ALLOMON_SAVE": "every=1s,keep=1", **variables},
            file=True,
        )
        running, of_process = self.explain(host)
        host.communicate(b"end\n")
        done = self.run_plain([ALLOMON, "explain", self.path("x.every.1.rec"), "--format=json"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        rows = {row["id"]: row for row in found["rows"]}
        self.assertEqual(
            sum(row["resident_bytes"] for row in found["rows"]), found["resident_bytes"]
        )
        # The kernel's figure in statm lags by some pages of each processor.
        self.assert_near(found["resident_bytes"], running["resident_bytes"], 2 * MIB)
        return running, of_process, rows

    def test_copy_of_a_process_that_is_gone(self):
        running, of_process, rows = self.copied(LIBRARY)

        def resident(*names):
            return sum(of_process[name]["resident_bytes"] for name in names if name in of_process)

        if running["allocator"] != "mimalloc 2.0.9":
            self.assertEqual(set(rows), {"live", "not_known"})
            self.assertIn("counts pages of mimalloc 2.0.9 alone", rows["not_known"]["name"])
            return
        found = {name: row["resident_bytes"] for name, row in rows.items()}
        self.assert_near(found["free_in_pages"], resident("free_in_pages"), MIB / 2)
        self.assertGreater(found["free_in_pages"], 20 * MIB)
        self.assert_near(found["sampled_free"], resident("sampled_free"), MIB)
        self.assert_near(
            found["file_pages"], resident("module_code", "files", "shared_memory"), 2 * MIB
        )
        # The estimate has 2.7 % for its standard error; rounding is what is in use beyond it.
        self.assert_near(found["live"], 10000 * 1000, SIGMAS * 0.027 * LIVE + OWN_OF_HOSTS)
        self.assert_near(
            found["live"] + found.get("rounding", 0), resident("live", "rounding"),
            SIGMAS * 0.027 * LIVE + MIB,
        )
        rest = sum(MAPPED[name] for name in ("stacks", "other_anonymous", "break",
                                             "generated_code"))
        self.assert_near(found["not_known"], rest, SIGMAS * 0.027 * LIVE + 4 * MIB)
        self.assertRegex(rows["not_known"]["name"], r"was not read \(free pages: .* at most\)$")

    def test_copy_over_an_allocator_whose_pages_are_not_counted(self):
        _, _, rows = self.copied(HOST_LIBRARY)
        self.assertEqual(set(rows), {"live", "not_known"})
        self.assertIn("counts pages of mimalloc 2.0.9 alone", rows["not_known"]["name"])

    def test_recording_that_is_no_copy_does_not_say_what_pages_held(self):
        self.copied(LIBRARY)
        done = self.run_plain([ALLOMON, "explain", self.path("x.rec"), "--format=json"])
        rows = {row["id"] for row in json.loads(done.stdout)["rows"]}
        self.assertEqual(rows, {"live", "not_known"})

    def test_file_that_does_not_say(self):
        self.write("a.heap", "heap profile: 1: 100 [1: 100] @ heap_v2/8\n 1: 100 [1: 100] @ 0x1\n")
        done = self.run_plain([ALLOMON, "explain", self.path("a.heap")])
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("does not say how large the process was", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_bad_input(self):
        for words, line in (
            (["0"], '"0" is not the id of a process'),
            (["99999999999"], '"99999999999" is not the id of a process'),
            (["./x"], "./x"),
            (["./x", "1"], 'one process at a time: "1"'),
            (["1", "2"], 'one process at a time: "2"'),
            ([], "name a process by its id, or a recording"),
            (["999999999"], "there is no process 999999999"),
            (["1", "--format=xml"], '--format: "xml" is not text or json'),
        ):
            done = self.run_plain([ALLOMON, "explain", *words])
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
