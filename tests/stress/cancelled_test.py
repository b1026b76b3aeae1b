#!/usr/bin/env python3
"""Threads that somebody has cancelled end nowhere inside of Allomon.

Two dozen threads of a host (crossing/cancelled.h) are cancelled, each holds a mutex of the host's,
and allocates and frees, or starts, saves and stops, with each kind of profile.  All must come to
the end of it, let the mutex go and end where they ask for it.
"""

import itertools
import os
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, Mlmon, runfile  # noqa: E402

HOST = runfile("//tests/stress:crossing_host")
LINKED = runfile("//tests/stress:crossing_linked")
TRACKERS = runfile("//tests/stress:crossing_trackers")
MANAGED = runfile("//tests/stress:crossing_managed")
CONTROL = runfile("//tests/stress:cancelled_control")
ALLOMON = runfile("//tools/allomon:allomon")
PRELOAD = {"LD_PRELOAD": runfile("//allocator:liballomon.so")}

THREADS = 24

PROFILES = ["alloc", "alloc,stack", "live", "live,stack", "time", "time,stack"]
COUNTS = ["count", "count,stack"]

NONE = {"ALLOMON_PROFILE": "no"}
# Profiles and recordings that the environment asks for.
MEANWHILE = {
    "nothing": NONE,
    **{
        kind: {
            "ALLOMON_PROFILE": kind,
            "ALLOMON_OUT": "%p.out",
            "ALLOMON_RATE": "1",
            "ALLOMON_HZ": "10000",
            "CROSSING_TIME": "1",  # so that a profile of it is not empty
        }
        for kind in PROFILES + COUNTS
    },
    "guard": {**NONE, "ALLOMON_GUARD": "1/10", "ALLOMON_RATE": "1"},
    "recording": {**NONE, "ALLOMON_RECORD": "%p.rec", "ALLOMON_RATE": "1"},
    "idle": {"ALLOMON_PROFILE": "idle"},
}
TRACKED = {**NONE, "CROSSING_TRACKERS": "1"}

MALLOC = ["malloc", "free", "calloc", "realloc", "new"]

# These sample allocations.
SESSIONS = {"alloc", "alloc,stack", "live", "live,stack", "recording", "idle", "guard"}

# How many of two dozen threads that do it at once succeed.
TRACKERS_AT_ONCE = 8
RECORDINGS_AT_ONCE = 2


def line(work, succeeded=THREADS):
    return (
        f"{work}: {THREADS} came to the end, {succeeded} succeeded, "
        f"{THREADS} ended where asked, {THREADS} mutexes let go\n"
    )


class CancelledTest(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.remove_pages)

    def remove_pages(self):
        """Of hosts that have ended otherwise than they should."""
        subprocess.run([ALLOMON, "list", "--clean"], capture_output=True, check=False)

    def each(self, check, **choices):
        """Calls check() with one of each of the choices, in a directory that is empty."""
        for chosen in itertools.product(*choices.values()):
            chosen = dict(zip(choices, chosen))
            with self.subTest(**chosen):
                for name in self.files():
                    os.unlink(self.path(name))
                check(**chosen)

    def host(self, argv, env, status=0):
        done = self.run_plain(argv, env)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def check(self, env):
        """What the environment has asked for is there, and whole."""
        if "ALLOMON_OUT" in env:
            mlmon = Mlmon(self.path(*[n for n in self.files() if n.endswith(".out")]))
            kind, _, style = env["ALLOMON_PROFILE"].partition(",")
            self.assertEqual(mlmon.kind, {"live": "alloc"}.get(kind, kind))
            self.assertEqual(mlmon.style, style or "current")
        if "ALLOMON_RECORD" in env:
            (name,) = [n for n in self.files() if n.endswith(".rec") and n.count(".") == 1]
            report = self.run_plain([ALLOMON, "report", name])
            self.assertEqual((report.returncode, report.stderr), (0, ""), report.stdout)

    def check_malloc(self, how, meanwhile, work):
        program, env = {"preloaded": (HOST, PRELOAD), "linked": (LINKED, {})}[how]
        env = {**env, **MEANWHILE[meanwhile]}
        done = self.host([program, "cancelled", work], env)
        self.assertEqual((done.stdout, done.stderr), (line(work), ""))
        self.check(env)

    def test_malloc_and_its_kin_preloaded(self):
        self.each(self.check_malloc, how=["preloaded"], meanwhile=MEANWHILE, work=MALLOC)

    def test_malloc_and_its_kin_linked(self):
        meanwhile = ["alloc", "recording"]
        self.each(self.check_malloc, how=["linked"], meanwhile=meanwhile, work=MALLOC)

    def check_beside(self, host, work):
        done = self.host([host, "cancelled", work], TRACKED)
        self.assertEqual((done.stdout, done.stderr), (line(work), ""))

    def test_malloc_and_its_kin_beside_trackers(self):
        self.each(self.check_beside, host=[TRACKERS], work=MALLOC)

    def test_malloc_and_its_kin_beside_a_managed_heap(self):
        self.each(self.check_beside, host=[MANAGED], work=MALLOC)

    def check_control(self, what, meanwhile, succeed):
        """`succeed`: how many of the threads that start, save and stop at once."""
        env = MEANWHILE[meanwhile]
        done = self.host([CONTROL, what], env)
        expected = [line(work, threads) for work, threads in succeed.items()]
        self.assertEqual(done.stdout, "".join(expected), done.stderr)
        self.check(env)

    def test_trackers(self):
        def check(meanwhile):
            started = TRACKERS_AT_ONCE - (1 if meanwhile in SESSIONS else 0)
            succeed = {"start": started, "save": THREADS, "stop": started}
            self.check_control("tracker", meanwhile, succeed)

        self.each(check, meanwhile=MEANWHILE)

    def test_recordings(self):
        def check(meanwhile):
            started = RECORDINGS_AT_ONCE - (1 if meanwhile == "recording" else 0)
            succeed = {"start": started, "save": THREADS, "stop": started}
            self.check_control("recording", meanwhile, succeed)

        self.each(check, meanwhile=MEANWHILE)

    def test_profiles(self):
        def check(what, meanwhile):
            self.check_control(what, meanwhile, {"start": 1, "save": THREADS, "stop": 1})

        meanwhile = ["nothing", "guard", "recording"]
        self.each(check, what=PROFILES + COUNTS, meanwhile=meanwhile)

    def test_guard(self):
        self.check_control("guard", "nothing", {"start": 1})

    def test_monitor(self):
        self.check_control("monitor", "nothing", {"start": THREADS, "stop": THREADS})

    def test_copies_of_a_recording(self):
        env = {**PRELOAD, **MEANWHILE["recording"], "ALLOMON_SAVE": "peak+10%"}
        done = self.host([HOST, "saved"], env)
        self.assertEqual((done.stdout, done.stderr), (line("save"), ""))
        (copy,) = [name for name in self.files() if name.endswith(".peak.1.rec")]
        report = self.run_plain([ALLOMON, "report", copy])
        self.assertEqual((report.returncode, report.stderr), (0, ""), report.stdout)

    def check_end(self, meanwhile, end):
        env = {**PRELOAD, **MEANWHILE[meanwhile]}
        self.host([HOST, "end", end], env, status=7)
        self.check(env)

    def test_end_of_the_process(self):
        self.each(self.check_end, meanwhile=MEANWHILE, end=["exit"])
        self.each(self.check_end, meanwhile=["alloc"], end=["_exit", "quick_exit"])

    def check_orders(self, more):
        host = subprocess.Popen(
            [HOST, "told"],
            env={**PRELOAD, **MEANWHILE["idle"], **more},
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            self.assertEqual(host.stdout.readline(), "ready\n")
            for turn in range(3):
                for order in ["start", "--record=" + self.path(f"{turn}.rec")], ["stop"]:
                    argv = [ALLOMON, "ctl", str(host.pid), *order]
                    done = self.run_plain(argv)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            output = host.communicate("that is all\n", timeout=60)
        finally:
            host.kill()
            host.communicate()
        self.assertEqual((*output, host.returncode), (line("told"), "", 0))
        for turn in range(3):
            report = self.run_plain([ALLOMON, "report", f"{turn}.rec"])
            self.assertEqual((report.returncode, report.stderr), (0, ""), report.stdout)

    def test_orders(self):
        """Of allomon ctl, which are carried out inside of malloc."""
        guard = {"ALLOMON_GUARD": "1/10"}
        self.each(self.check_orders, more=[{}, guard])


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as hosts find it
    sys.exit(unittest.main())
