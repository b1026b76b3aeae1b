#!/usr/bin/env python3
"""ALLOMON_PROFILE=live and ALLOMON_DUMP show the memory that a running server holds."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, Mlmon, runfile  # noqa: E402

HOST = runfile("//tests/integration:leaking_host")
LIBRARY = runfile("//allocator:liballomon.so")
BLOCK_BYTES = 1000


class LiveProfile(Case):
    def start(self, before_exec=None, **variables):
        """Starts a host whose profile holds every block, so that the figures are exact."""
        self.host = subprocess.Popen(  # pylint: disable=consider-using-with
            [HOST],
            env={
                "LD_PRELOAD": LIBRARY,
                "ALLOMON_PROFILE": "live",
                "ALLOMON_RATE": "1",
                "ALLOMON_DUMP": "USR2",
                "ALLOMON_OUT": self.path("%p.%n.out"),
                **variables,
            },
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            preexec_fn=before_exec,
        )
        self.addCleanup(self.end)

    def end(self):
        """Ends the host, if it runs, and closes its streams."""
        if self.host.returncode is None:
            self.host.kill()
            self.host.wait()
        for stream in self.host.stdin, self.host.stdout, self.host.stderr:
            stream.close()

    def tell(self, *commands):
        for command in commands:
            self.host.stdin.write(command + "\n")
            self.assertEqual(self.host.stdout.readline(), "done\n")

    def finish(self):
        self.host.stdin.close()
        self.host.stdin = open(os.devnull, "w", encoding="ascii")  # pylint: disable=R1732
        error = self.host.stderr.read()
        self.assertEqual(self.host.wait(timeout=60), 0)
        return error

    def dump(self, number, pid=None):
        """Asks for a file and waits for it.  The file comes by rename, so it is whole."""
        pid = pid or self.host.pid
        os.kill(pid, signal.SIGUSR2)
        return self.wait_for(f"{pid}.{number}.out")

    def wait_for(self, name):
        end = time.monotonic() + 60
        while not os.path.exists(self.path(name)):
            self.assertLess(time.monotonic(), end, name)
            time.sleep(0.01)
        return self.bytes_of(name)

    def bytes_of(self, name):
        sources = self.path(name + ".sources")
        return self.table(sources, self.path(name)).raw

    def test_freed_blocks_are_not_in_it(self):
        self.start()
        self.tell("leak 10", "both 500", "release 4")
        self.finish()
        found = self.bytes_of(f"{self.host.pid}.1.out")
        self.assertEqual(found["Leak"], 6 * BLOCK_BYTES)
        self.assertNotIn("AllocateAndFree", found)

    def test_each_signal_writes_what_is_live_then(self):
        self.start()
        self.tell("leak 10")
        self.assertEqual(self.dump(1)["Leak"], 10 * BLOCK_BYTES)
        self.tell("leak 20")
        self.assertEqual(self.dump(2)["Leak"], 30 * BLOCK_BYTES)
        self.tell("release 25")
        self.assertEqual(self.dump(3)["Leak"], 5 * BLOCK_BYTES)
        self.tell("release 5")
        self.finish()
        self.assertNotIn("Leak", self.bytes_of(f"{self.host.pid}.4.out"))

    def test_without_number_the_newest_wins(self):
        self.start(ALLOMON_OUT=self.path("heap.out"))
        self.tell("leak 10")
        os.kill(self.host.pid, signal.SIGUSR2)
        self.assertEqual(self.wait_for("heap.out")["Leak"], 10 * BLOCK_BYTES)
        self.tell("release 7")
        self.finish()
        self.assertEqual(self.bytes_of("heap.out")["Leak"], 3 * BLOCK_BYTES)

    # The writer holds the control's mutex and takes the tracker's locks: checks inv.fork.order.
    def test_fork_while_a_file_is_written(self):
        self.start(ALLOMON_OUT=self.path("heap.out"))
        self.tell("leak 100000", "dumpfork 100")
        self.finish()
        self.assertEqual(self.bytes_of("heap.out")["Leak"], 100000 * BLOCK_BYTES)

    def test_what_a_child_executes_does_not_ignore_the_signal(self):
        # setsid forks.  A shell may vfork, and timeout may handle the signal itself.
        grep = subprocess.run(
            ["setsid", "--fork", "--wait", "grep", "SigIgn:", "/proc/self/status"],
            env={
                "LD_PRELOAD": LIBRARY,
                "ALLOMON_DUMP": "USR2",
                "ALLOMON_OUT": self.path("grep.out"),  # without %p a child writes nothing
                "PATH": os.environ["PATH"],
            },
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(grep.stderr, "")
        ignored = int(grep.stdout.split()[1], 16)
        self.assertEqual(ignored >> (signal.SIGUSR2 - 1) & 1, 0)

    def test_child_without_a_thread_that_writes_is_killed_alone(self):
        # Without %p the child writes nothing.  With %p it would write.
        for out in "heap.out", "%p.out":
            self.start(ALLOMON_SIGTERM="1", ALLOMON_OUT=self.path(out))
            self.host.stdin.write("terminate 1\n")
            for _ in "fork", "_Fork", "vfork":
                self.assertEqual(self.host.stdout.readline(), f"{int(signal.SIGTERM)}\n")
            self.assertEqual(self.host.stdout.readline(), "done\n")
            self.finish()

    def test_forked_child_answers_signals_of_its_own(self):
        self.start()
        self.tell("leak 10")
        self.host.stdin.write("fork 7\n")
        child = int(self.host.stdout.readline())
        self.addCleanup(lambda: os.path.exists(f"/proc/{child}") and os.kill(child, 9))
        # The blocks that the child inherited are live in it too.
        self.assertEqual(self.dump(1, child)["Leak"], 17 * BLOCK_BYTES)
        self.assertEqual(self.host.stdout.readline(), "awake\n")
        os.kill(child, signal.SIGKILL)
        self.assertEqual(self.host.stdout.readline(), "done\n")
        self.assertEqual(self.dump(1)["Leak"], 10 * BLOCK_BYTES)
        self.finish()

    def test_forked_child_without_a_name_of_its_own_survives_the_signal(self):
        self.start(ALLOMON_OUT=self.path("heap.out"))
        self.tell("leak 10")
        self.host.stdin.write("fork 7\n")
        child = int(self.host.stdout.readline())
        for _ in range(2):
            os.kill(child, signal.SIGUSR2)
            self.assertEqual(self.host.stdout.readline(), "awake\n")  # "done" if the child died
        os.kill(child, signal.SIGKILL)
        self.assertEqual(self.host.stdout.readline(), "done\n")
        self.finish()
        self.assertEqual(self.bytes_of("heap.out")["Leak"], 10 * BLOCK_BYTES)

    def test_stack_style_charges_callers(self):
        self.start(ALLOMON_PROFILE="live,stack", ALLOMON_OUT=self.path("heap.out"))
        self.tell("leak 10")
        self.finish()
        mlmon = Mlmon(self.path("heap.out"))
        self.assertEqual((mlmon.kind, mlmon.style), ("alloc", "stack"))
        names = [line.split("\t")[0] for line in self.read("heap.out.sources").split("\n")]
        self.assertIn("Leak", names)
        self.assertIn("main", names)

    def test_excluded_functions_are_charged_to_their_callers(self):
        for pattern in "Leak", "no,Le?k", "Lea*,Release":
            self.start(ALLOMON_EXCLUDE=pattern, ALLOMON_OUT=self.path("heap.out"))
            self.tell("leak 10")
            self.finish()
            found = self.bytes_of("heap.out")
            self.assertNotIn("Leak", found)
            self.assertEqual(found["main"], 10 * BLOCK_BYTES)

    def test_nothing_is_lost_if_all_is_excluded(self):
        self.start(ALLOMON_EXCLUDE="*", ALLOMON_OUT=self.path("heap.out"))
        self.tell("leak 10")
        self.finish()
        self.assertEqual(self.bytes_of("heap.out")["Leak"], 10 * BLOCK_BYTES)

    def test_any_kind_can_be_asked_for_by_signal(self):
        self.start(ALLOMON_PROFILE="alloc")
        self.tell("leak 10", "release 10")
        self.assertEqual(self.dump(1)["Leak"], 10 * BLOCK_BYTES)
        self.finish()

    def test_summary_says_live(self):
        self.start(ALLOMON_SUMMARY="1", ALLOMON_OUT=self.path("heap.out"))
        self.tell("leak 10")
        self.assertRegex(self.finish(), r"\Aallomon: [0-9,]+ bytes live, rate 1 per word")

    def test_samples_without_room_are_said_to_be_missing(self):
        """Samples take an eighth of a limited address space at most."""

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (320 << 20, 320 << 20))

        self.start(limit, ALLOMON_SUMMARY="1", ALLOMON_OUT=self.path("heap.out"))
        self.tell("leak 60000")
        summary = self.finish()
        found = re.match(r"allomon: ([0-9,]+) bytes live, .* samples of ([0-9,]+) bytes;", summary)
        self.assertIsNotNone(found, summary)
        live, missing = (int(group.replace(",", "")) for group in found.groups())
        self.assertLess(live, 60000 * BLOCK_BYTES * 3 // 4)
        self.assertGreaterEqual(live + missing, 60000 * BLOCK_BYTES)

    def test_signal_that_is_ignored_stays_ignored(self):
        ignore = lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # noqa: E731
        self.start(ignore, ALLOMON_OUT=self.path("heap.out"))
        self.tell("leak 10")
        os.kill(self.host.pid, signal.SIGUSR2)
        error = self.finish()
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn("ALLOMON_DUMP", error)
        self.assertEqual(self.bytes_of("heap.out")["Leak"], 10 * BLOCK_BYTES)

    def test_recording_waits_for_no_signal(self):
        for kind, variables in ("no", {"ALLOMON_RECORD": "x.rec"}), ("idle", {}):
            self.start(ALLOMON_PROFILE=kind, **variables)
            error = self.finish()
            self.end()
            self.assertRegex(error, r"\Aallomon: ALLOMON_DUMP: recordings wait for no [^\n]+\n\Z")

    def test_bad_signal_is_one_line(self):
        self.start(ALLOMON_DUMP="KILL")
        self.tell("leak 10")
        self.assertEqual(
            self.finish(),
            "allomon: ALLOMON_DUMP=KILL: expected a signal at which to write: USR1, USR2 or HUP; "
            "the program runs unprofiled\n",
        )
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
