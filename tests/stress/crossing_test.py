#!/usr/bin/env python3
"""Each row of the table in README.md crossed with each of its columns.

A row is what a host does (crossing/rows.h), a column is what Allomon does meanwhile.  The
host must print, say and return what it does without Allomon, and the profile must be there,
complete and of the kind that was asked for.  test_fork_alloc is row fork and column alloc.
"""

import dataclasses
import functools
import glob
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
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
PRELOAD = {"LD_PRELOAD": runfile("//allocator:liballomon.so")}
PLUGINS = [runfile(f"//tests/stress:libcrossing_{name}.so") for name in "ab"]

# A limit of the address space that the hosts are content with.  (The backend takes 32 MiB for
# each thread.)  What a managed heap has taken it keeps: room for the names of the profile is left.
LIMITED_BYTES = 640 << 20
ROOM_BEHIND_MANAGED_BYTES = 64 << 20

# Functions of a program that has used up its memory may lose their names, which is said.
NAMES_UNREAD = r"(allomon: no memory is left to read [^\n]+ are named by their addresses\n)+"
CANNOT_WRITE = r"(allomon: cannot write [^\n]+: Operation not permitted; [^\n]+\n)+"

# How a guard ends a host that misuses memory.
REPORT = r"allomon: heap-use-after-free: "


@dataclasses.dataclass(frozen=True)
class Act:
    """What the host is told to do."""

    arguments: tuple
    limited: bool = False
    writes: bool = True  # a profile
    returns: bool = True  # to the end of the host's main
    # Whether a linked host can still be asked for the names of its functions (README, "Not held").
    names: bool = True
    # By how much the calls in a profile may differ from the host's own count of them; None:
    # they cannot be compared.
    calls_off: int = None

    def of(self, host):
        return [host, *(host if word == "HOST" else word for word in self.arguments)]


ROWS = {
    "fork": [Act(("fork",), calls_off=0)],
    "unload": [Act(("unload", *PLUGINS), calls_off=0)],
    # Threads that end at once count the calls of their last destructors in the same cells, and
    # lose a few.
    "keys": [Act(("keys",), calls_off=3000)],
    "exit": [
        # The host's last threads are detached, and may be at work when it counts.
        Act(("exit",)),
        # A thread is cancelled between the entry of a function and the host's own count.
        Act(("cancel",), calls_off=200),
        Act(("last",), returns=False),
    ],
    "signals": [Act(("signals",), calls_off=0)],
    # Where threads cannot have counters of their own they lose calls.
    "seccomp": [Act(("seccomp",)), Act(("seccomp", "open"), writes=False)],
    "limits": [Act(("limit",)), Act(("limited",), limited=True, names=False)],
    "exec": [Act(("exec", "HOST", "3"), calls_off=0)],
}


@dataclasses.dataclass(frozen=True)
class Run:
    """What Allomon is told to do."""

    host: str
    env: tuple
    misuse: bool = False

    @property
    def variables(self):
        return dict(self.env)

    @property
    def profile(self):
        return self.variables.get("ALLOMON_PROFILE", "no")


def run(host, *, preload=False, misuse=False, **env):
    env = {"ALLOMON_OUT": "%p.out", "ALLOMON_PROFILE": "no", **(PRELOAD if preload else {}), **env}
    if misuse:
        env["CROSSING_MISUSE"] = "1"
    return Run(host, tuple(env.items()), misuse)


def profiled(kind, style_kind, **env):
    """Preloaded and linked; each block and few; by function and by stack."""
    return [
        run(HOST, preload=True, ALLOMON_PROFILE=kind, ALLOMON_RATE="1", **env),
        run(HOST, preload=True, ALLOMON_PROFILE=style_kind, ALLOMON_RATE="1e-3", **env),
        run(LINKED, ALLOMON_PROFILE=kind, ALLOMON_RATE="1", **env),
    ]


def guarded(**env):
    return {"ALLOMON_SUMMARY": "1", "ALLOMON_RATE": "1", **env}


OFTEN = {"ALLOMON_HZ": "10000", "CROSSING_TIME": "1"}
FOLLOWED = {"CROSSING_TRACKERS": "1"}

COLUMNS = {
    "alloc": profiled("alloc", "alloc,stack"),
    "live": profiled("live", "live,stack"),
    "time": profiled("time", "time,stack", **OFTEN)
    # A tracker's many call stacks make what looks at all of them last.
    + [run(TRACKERS, ALLOMON_PROFILE="time,stack", **OFTEN, **FOLLOWED)]
    # No tick arrives: all time is read at the end.
    + [run(LINKED, ALLOMON_PROFILE="time", ALLOMON_HZ="1", CROSSING_TIME="1")],
    "count": [
        run(HOST, preload=True, ALLOMON_PROFILE="count"),
        run(LINKED, ALLOMON_PROFILE="count"),
    ],
    "count_stack": [
        run(HOST, preload=True, ALLOMON_PROFILE="count,stack"),
        run(LINKED, ALLOMON_PROFILE="count,stack"),
    ],
    "guard": [
        run(HOST, preload=True, **guarded(ALLOMON_GUARD="1/10")),
        run(LINKED, **guarded(ALLOMON_GUARD="1/10", ALLOMON_PROFILE="live")),
        run(HOST, preload=True, misuse=True, **guarded(ALLOMON_GUARD="1/1")),
    ],
    "managed": [
        run(MANAGED, **FOLLOWED),
        run(MANAGED, ALLOMON_PROFILE="alloc", ALLOMON_RATE="1"),
        run(MANAGED, ALLOMON_PROFILE="time,stack", **OFTEN, **FOLLOWED),
        run(MANAGED, ALLOMON_PROFILE="count,stack"),
    ],
    "trackers": [
        run(TRACKERS, **FOLLOWED),
        run(TRACKERS, ALLOMON_PROFILE="alloc", ALLOMON_RATE="1e-3", **FOLLOWED),
        run(TRACKERS, ALLOMON_PROFILE="count,stack", **FOLLOWED),
    ],
}


def play(act, host, env, directory):
    room = ROOM_BEHIND_MANAGED_BYTES if host == MANAGED else 0

    def set_limit():
        resource.setrlimit(resource.RLIMIT_AS, (LIMITED_BYTES, LIMITED_BYTES + room))

    return subprocess.run(
        act.of(host),
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **env},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=240,
        check=False,
        preexec_fn=set_limit if act.limited else None,
    )


@functools.lru_cache(maxsize=None)
def without_allomon(act, host):
    with tempfile.TemporaryDirectory() as directory:
        return play(act, host, {}, directory)


class Crossing(Case):
    def cross(self, row, column):
        for act in ROWS[row]:
            for allomon in COLUMNS[column]:
                with self.subTest(
                    act=act.arguments[0],
                    host=os.path.basename(allomon.host),
                    env={k: v for k, v in allomon.env if k != "LD_PRELOAD"},
                ):
                    self.check(act, allomon)

    def check(self, act, allomon):
        for name in self.files():
            os.unlink(self.path(name))
        # The managed heap is the host's own; all other hosts do the same.
        plain = without_allomon(act, MANAGED if allomon.host == MANAGED else HOST)
        self.assertEqual((plain.stderr, plain.returncode < 0), ("", False), "the host by itself")
        env = {**allomon.variables, "CROSSING_COUNTED": "counted"}
        done = play(act, allomon.host, env, self.directory)
        if allomon.misuse:
            self.check_misuse_is_found(act, plain, done)
            return
        self.assertEqual(
            (done.stdout, done.returncode), (plain.stdout, plain.returncode), done.stderr
        )
        self.check_messages(act, allomon, done.stderr)
        if allomon.profile != "no" and act.writes:
            self.check_profiles(act, allomon)

    def check_misuse_is_found(self, act, plain, done):
        """The guard works as ever behind what the row has done."""
        if act.returns:
            self.assertRegex(done.stderr, REPORT)
            self.assertEqual(done.returncode, -signal.SIGSEGV)
        else:
            self.assertEqual((done.stdout, done.returncode), (plain.stdout, plain.returncode))

    def check_messages(self, act, allomon, stderr):
        if "ALLOMON_GUARD" in allomon.variables:
            guarded = re.findall(r"allomon: guard: (\d+) blocks guarded.* 0 errors\n", stderr)
            self.assertTrue(guarded, stderr)
            # A child of fork may have so few blocks that none is chosen.
            self.assertGreater(max(int(it) for it in guarded), 0)
            stderr = re.sub(r"allomon: (guard: |[0-9,]+ bytes |only )[^\n]*\n", "", stderr)
        if act.limited:
            stderr = re.sub(NAMES_UNREAD, "", stderr)
        if allomon.profile != "no" and not act.writes:
            self.assertRegex(stderr, rf"\A{CANNOT_WRITE}\Z")
        else:
            self.assertEqual(stderr, "")

    def check_profiles(self, act, allomon):
        paths = sorted(glob.glob(self.path("*.out")))
        self.assertNotEqual(paths, [])
        kind, _, style = allomon.profile.partition(",")
        totals = {}
        for path in paths:
            mlmon = Mlmon(path)
            self.assertEqual(mlmon.kind, {"live": "alloc"}.get(kind, kind))
            self.assertEqual(mlmon.style, style or "current")
            totals[path] = mlmon.total
        # A child may have used less than a hundredth of a second.
        fullest = max(paths, key=totals.get)
        self.assertGreater(totals[fullest] if kind == "time" else min(totals.values()), 0, totals)
        sources = [allomon.host] if allomon.host != HOST and kind != "live" else []
        report = self.run_plain(
            [runfile("//tools/allomon:allomon"), "report", *sources, fullest]
        )
        if not act.names and "is of another build" in report.stderr:
            return
        self.assertEqual((report.returncode, report.stderr), (0, ""), report.stdout)
        self.assertIn(os.path.basename(fullest), report.stdout)
        if kind == "count" and act.calls_off is not None:
            self.check_calls(act, allomon)

    def check_calls(self, act, allomon):
        found = []
        counted = int(self.read("counted"))
        for path in glob.glob(self.path("*.out")):
            explainer = path + ".sources" if allomon.host == HOST else allomon.host
            answer = self.run_plain([explainer, "@MLton", "show-sources"]).stdout.split("\n")
            names = [line.split("\t")[0] for line in answer[2 : 2 + int(answer[1])]]
            calls = [c for n, c in zip(names, Mlmon(path).masters) if "Counted" in n]
            self.assertEqual(len(calls), 1, names)
            found += calls
        self.assertTrue(
            any(abs(calls - counted) <= act.calls_off for calls in found), (found, counted)
        )

    def test_fork_alloc(self):
        self.cross("fork", "alloc")

    def test_fork_live(self):
        self.cross("fork", "live")

    def test_fork_time(self):
        self.cross("fork", "time")

    def test_fork_count(self):
        self.cross("fork", "count")

    def test_fork_count_stack(self):
        self.cross("fork", "count_stack")

    def test_fork_guard(self):
        self.cross("fork", "guard")

    def test_fork_managed(self):
        self.cross("fork", "managed")

    def test_fork_trackers(self):
        self.cross("fork", "trackers")

    def test_unload_alloc(self):
        self.cross("unload", "alloc")

    def test_unload_live(self):
        self.cross("unload", "live")

    def test_unload_time(self):
        self.cross("unload", "time")

    def test_unload_count(self):
        self.cross("unload", "count")

    def test_unload_count_stack(self):
        self.cross("unload", "count_stack")

    def test_unload_guard(self):
        self.cross("unload", "guard")

    def test_unload_managed(self):
        self.cross("unload", "managed")

    def test_unload_trackers(self):
        self.cross("unload", "trackers")

    def test_keys_alloc(self):
        self.cross("keys", "alloc")

    def test_keys_live(self):
        self.cross("keys", "live")

    def test_keys_time(self):
        self.cross("keys", "time")

    def test_keys_count(self):
        self.cross("keys", "count")

    def test_keys_count_stack(self):
        self.cross("keys", "count_stack")

    def test_keys_guard(self):
        self.cross("keys", "guard")

    def test_keys_managed(self):
        self.cross("keys", "managed")

    def test_keys_trackers(self):
        self.cross("keys", "trackers")

    def test_exit_alloc(self):
        self.cross("exit", "alloc")

    def test_exit_live(self):
        self.cross("exit", "live")

    def test_exit_time(self):
        self.cross("exit", "time")

    def test_exit_count(self):
        self.cross("exit", "count")

    def test_exit_count_stack(self):
        self.cross("exit", "count_stack")

    def test_exit_guard(self):
        self.cross("exit", "guard")

    def test_exit_managed(self):
        self.cross("exit", "managed")

    def test_exit_trackers(self):
        self.cross("exit", "trackers")

    def test_signals_alloc(self):
        self.cross("signals", "alloc")

    def test_signals_live(self):
        self.cross("signals", "live")

    def test_signals_time(self):
        self.cross("signals", "time")

    def test_signals_count(self):
        self.cross("signals", "count")

    def test_signals_count_stack(self):
        self.cross("signals", "count_stack")

    def test_signals_guard(self):
        self.cross("signals", "guard")

    def test_signals_managed(self):
        self.cross("signals", "managed")

    def test_signals_trackers(self):
        self.cross("signals", "trackers")

    def test_seccomp_alloc(self):
        self.cross("seccomp", "alloc")

    def test_seccomp_live(self):
        self.cross("seccomp", "live")

    def test_seccomp_time(self):
        self.cross("seccomp", "time")

    def test_seccomp_count(self):
        self.cross("seccomp", "count")

    def test_seccomp_count_stack(self):
        self.cross("seccomp", "count_stack")

    def test_seccomp_guard(self):
        self.cross("seccomp", "guard")

    def test_seccomp_managed(self):
        self.cross("seccomp", "managed")

    def test_seccomp_trackers(self):
        self.cross("seccomp", "trackers")

    def test_limits_alloc(self):
        self.cross("limits", "alloc")

    def test_limits_live(self):
        self.cross("limits", "live")

    def test_limits_time(self):
        self.cross("limits", "time")

    def test_limits_count(self):
        self.cross("limits", "count")

    def test_limits_count_stack(self):
        self.cross("limits", "count_stack")

    def test_limits_guard(self):
        self.cross("limits", "guard")

    def test_limits_managed(self):
        self.cross("limits", "managed")

    def test_limits_trackers(self):
        self.cross("limits", "trackers")

    def test_exec_alloc(self):
        self.cross("exec", "alloc")

    def test_exec_live(self):
        self.cross("exec", "live")

    def test_exec_time(self):
        self.cross("exec", "time")

    def test_exec_count(self):
        self.cross("exec", "count")

    def test_exec_count_stack(self):
        self.cross("exec", "count_stack")

    def test_exec_guard(self):
        self.cross("exec", "guard")

    def test_exec_managed(self):
        self.cross("exec", "managed")

    def test_exec_trackers(self):
        self.cross("exec", "trackers")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as hosts find it
    sys.exit(unittest.main())
