#!/usr/bin/env python3
"""`allomon run --leaks=error` finds at exit what the leak sanitizer finds, and harms no program."""

import concurrent.futures
import os
import re
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
CASES = runfile("//tests/leaks:exit_cases")
ALONE = runfile("//tests/leaks:exit_case_alone")
SANITIZED = runfile("//tests/leaks:exit_cases_lsan")
POINTER = runfile("//tests/leaks:libexit_cases.so")

LOST = 23

# Blocks and bytes, directly and indirectly lost.
EXPECTED = {
    "Malloc": (1, 100, 0, 0),
    "ManyOfOnePlace": (50, 1725, 0, 0),
    "Aligned": (2, 5512, 0, 0),
    "Realloc": (1, 100000, 0, 0),
    "Large": (1, 5 << 20, 0, 0),
    "StrDup": (1, 26, 0, 0),
    "StringObject": (1, 32, 1, 101),
    "VectorOfStrings": (1, 24, 21, 1660),
    "MapObject": (1, 48, 30, 1200),
    "List": (1, 48, 9, 432),
    "Ring": (1, 48, 9, 432),
    "CycleOfSharedPointers": (1, 32, 1, 32),
    "InDestroyedContainer": (5, 240, 0, 0),
    "OverwrittenGlobal": (1, 48, 0, 0),
    "OnStackOfEndedThread": (1, 70, 0, 0),
    "InStorageOfEndedThread": (1, 71, 0, 0),
    "InKeyOfEndedThread": (1, 72, 0, 0),
    "InUnloadedLibrary": (1, 73, 0, 0),
    "InHandler": (1, 74, 0, 0),
    "AtExit": (1, 75, 0, 0),
    "InChild": (1, 76, 0, 0),
    "WithOwnStatus": (1, 77, 0, 0),
    "XorPointer": (1, 48, 0, 0),
    "TaggedAbove": (1, 48, 0, 0),
    **dict.fromkeys(
        (
            "InGlobal",
            "ByMiddle",
            "TaggedBelow",
            "InStaticObjects",
            "InStorageOfThread",
            "OfRunningThread",
            "InLibrary",
            "OnStackOfExit",
            "InMapping",
            "InMappingOfOthers",
            "FirstThreadEnds",
            "QuickEnd",
        ),
        (0, 0, 0, 0),
    ),
}

# What the sanitizer says otherwise, and why (tools/leaks/README.md, section 6).
SANITIZER = {
    # Each block of a ring is led to by another one, so that it calls all indirectly lost.
    "MapObject": (0, 0, 31, 1248),
    "Ring": (0, 0, 10, 480),
    "CycleOfSharedPointers": (0, 0, 2, 64),
    # It does not search mappings that the program has made.
    "InMapping": (1, 48, 0, 0),
    "InMappingOfOthers": (1, 48, 0, 0),
}

HEAD = re.compile(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\) allocated from:")
FRAME = re.compile(r"    #\d+ 0x[0-9a-f]+ in .*[ /]exit_cases\.cc:(\d+)")


def leaks_in(text):
    """Rows of blocks, bytes, whether direct, and the lines of the program's own frames."""
    rows = []
    for line in text.splitlines():
        if match := HEAD.match(line):
            rows.append([int(match[3]), int(match[2]), match[1] == "Direct", []])
        elif rows and (match := FRAME.match(line)):
            # Of a lambda the sanitizer has two frames, one of them with its own name.
            if " in _FUN" not in line and (not rows[-1][3] or rows[-1][3][-1] != match[1]):
                rows[-1][3].append(match[1])
    return rows


def sums_of(rows):
    direct = [row for row in rows if row[2]]
    other = [row for row in rows if not row[2]]
    return tuple(sum(row[i] for row in part) for part in (direct, other) for i in (0, 1))


def by_stack(rows):
    """Blocks and bytes of each stack, however they were lost."""
    sums = {}
    for blocks, size, _, lines in rows:
        known = sums.get(tuple(lines), (0, 0))
        sums[tuple(lines)] = (known[0] + blocks, known[1] + size)
    return sums


class ExitLeaks(Case):
    def environment(self, **more):
        return {"PATH": "/usr/bin:/bin", "ALLOMON_LIBRARY": LIBRARY, **more}

    def execute(self, argv, **environment):
        return subprocess.run(
            argv,
            env=self.environment(**environment),
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def run_case(self, *argv, leaks="error", out="x", options=(), **environment):
        return self.execute(
            [ALLOMON, "run", "-q", "-o", out + ".pb.gz", "--leaks=" + leaks, *options, *argv],
            **environment,
        )

    def expect_case(self, name, expected):
        done = self.run_case(CASES, name, POINTER, out=name)
        rows = leaks_in(done.stderr)
        self.assertEqual(sums_of(rows), expected, name + ":\n" + done.stderr)
        status = 3 if name == "WithOwnStatus" else LOST if rows else 0
        self.assertEqual(done.returncode, status, name + ":\n" + done.stderr)
        summary = "SUMMARY: Allomon: %d byte(s) leaked in %d allocation(s)." % (
            expected[1] + expected[3],
            expected[0] + expected[2],
        )
        self.assertEqual(summary in done.stderr, bool(rows))
        return rows

    # Returns whether both show stacks, which are the same then.
    def compare(self, name, expected):
        ours = self.expect_case(name, expected)
        done = self.execute(
            [SANITIZED, name, POINTER], LSAN_OPTIONS="fast_unwind_on_malloc=0:exitcode=23"
        )
        if "has encountered a fatal error" in done.stderr:
            return None
        rows = leaks_in(done.stderr)
        self.assertEqual(
            sums_of(rows), SANITIZER.get(name, expected), name + ":\n" + done.stderr
        )
        if not ours:
            return False
        self.assertEqual(by_stack(ours), by_stack(rows), name)
        return True

    def test_the_leak_sanitizer_says_the_same(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            compared = list(pool.map(self.compare, EXPECTED.keys(), EXPECTED.values()))
        if None in compared:
            self.skipTest("NOT TESTED: the leak sanitizer may not trace here; ours was tested")
        self.assertEqual(compared.count(True), 24)

    def test_a_program_all_of_whose_blocks_are_sampled(self):
        done = self.run_case(ALONE)
        self.assertEqual(sums_of(leaks_in(done.stderr)), (1, 100, 0, 0), done.stderr)
        self.assertEqual(done.returncode, LOST)
        done = self.run_case(ALONE, "frees")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_report_alone_does_not_fail(self):
        done = self.run_case(CASES, "Malloc", leaks="report")
        self.assertEqual((done.returncode, sums_of(leaks_in(done.stderr))), (0, (1, 100, 0, 0)))

    def suppress(self, text):
        return self.write("x.supp", text)

    def test_suppressions(self):
        self.suppress("# known\nleak:^StringObject$\n")
        option = ["--suppressions=" + self.path("x.supp")]
        for name, status in (("StringObject", 0), ("Malloc", LOST)):
            done = self.run_case(CASES, name, options=option)
            self.assertEqual(done.returncode, status, done.stderr)
        for line, status in (
            ("leak:*tringObj*", 0),
            ("leak:exit_cases.cc", 0),
            ("leak:leaks/exit_cases", 0),
            ("leak:Malloc", LOST),
        ):
            self.suppress(line)
            variable = {"ALLOMON_LEAKS_SUPPRESSIONS": self.path("x.supp")}
            done = self.run_case(CASES, "StringObject", **variable)
            self.assertEqual(done.returncode, status, line + done.stderr)

    def test_samples_are_estimates(self):
        done = self.run_case(CASES, "Large", options=["--rate=1e-3"])
        self.assertEqual(done.returncode, LOST)
        self.assertRegex(done.stderr, r"Direct leak of about 5\d{6} byte\(s\) in about 1 object")

    def test_a_filter_that_kills_for_system_calls(self):
        done = self.run_case(CASES, "BehindFilter")
        self.assertEqual((done.returncode, sums_of(leaks_in(done.stderr))), (LOST, (1, 80, 0, 0)))

    def test_a_process_that_may_not_be_stopped_keeps_its_status(self):
        done = self.run_case(CASES, "Traced")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(
            done.stderr,
            r"^allomon run: exit_cases \(\d+\) was not searched for lost blocks: process \d+ may "
            r"not be stopped: .*\n"
            r"allomon run: 1 process could not be searched for lost blocks\n$",
        )

    def test_a_thread_that_sleeps_in_the_kernel(self):
        done = self.run_case(CASES, "AsleepInKernel")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(
            done.stderr,
            r"^allomon run: exit_cases \(\d+\) was not searched for lost blocks: 1 thread sleeps "
            r"in the kernel, so registers are not known\n.*\n$",
        )

    def test_many_at_once(self):
        script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do $0 Malloc & done; wait"
        done = self.run_case("/bin/sh", "-c", script, CASES)
        self.assertEqual(done.returncode, LOST)
        self.assertEqual(sums_of(leaks_in(done.stderr)), (12, 1200, 0, 0))

    # The recording is full after two processes or so.
    def test_what_found_no_room_may_be_lost(self):
        script = "for i in 1 2 3 4 5 6 7 8 9 10; do $0 InGlobal; done"
        done = self.execute(
            [ALLOMON, "run", "-o", "x.pb.gz", "--leaks=error", "--limit=1m", "/bin/sh", "-c"]
            + [script, CASES]
        )
        self.assertEqual(done.returncode, 0)
        self.assertIn("may have lost blocks that found no room in the recording", done.stderr)
        count = re.search(r"(\d+) process(?:es)? could not be searched", done.stderr)
        self.assertGreaterEqual(int(count[1]), 5, done.stderr)
        searched = re.search(r"(\d+) process(?:es)? searched for lost blocks", done.stderr)
        self.assertLessEqual(int(searched[1]) if searched else 0, 6, done.stderr)

    def test_only_the_first_process_if_asked(self):
        done = self.run_case("/bin/sh", "-c", "$0 Malloc; true", CASES, options=["--no-children"])
        self.assertEqual((done.returncode, leaks_in(done.stderr)), (0, []))
        done = self.execute(
            [ALLOMON, "run", "-o", "x.pb.gz", "--leaks=error", "--no-children", CASES, "InChild"]
        )
        self.assertEqual(done.returncode, 0)
        self.assertIn("1 process searched for lost blocks", done.stderr)

    def test_a_program_that_never_exits_is_told_apart(self):
        done = self.run_case(CASES, "QuickEnd")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no process was searched for lost blocks: each ended by _exit", done.stderr)

    def start_waiting(self):
        child = subprocess.Popen(
            [ALLOMON, "run", "-q", "-o", "x.pb.gz", "--leaks=error", CASES, "AfterLine"],
            env=self.environment(),
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    # The pipe of its output ends with the program.
    def test_the_program_exits_alone_if_allomon_run_was_killed(self):
        child = self.start_waiting()
        child.kill()
        child.wait()
        begin = time.monotonic()
        child.stdin.write("go\n")
        child.stdin.flush()
        self.assertEqual(child.stdout.read(), "")
        self.assertLess(time.monotonic() - begin, 60)
        child.communicate()

    def test_the_roots_of_a_running_process(self):
        child = self.start_waiting()
        (pid,) = subprocess.run(
            ["pgrep", "-P", str(child.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        done = self.execute([ALLOMON, "leaks", "--roots", pid])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        searched, unsearched = done.stdout.split("\n\n")
        for what in ("data of exit_cases ", "stack of the first thread", "registers of threads"):
            self.assertRegex(searched, what + r" +\d+ +[0-9.]+ [KM]?i?B +\d+")
        self.assertIn("Allomon's tables and recording", unsearched)
        for options, line in (
            (["--why=x"], "--roots and --why: give one of them"),
            (["--direct"], "--roots and --direct: give one of them"),
            (["--json"], "--roots: shown as text alone"),
            (["--view=tree"], "--roots and --view: give one of them"),
            (["--by=type"], "--roots and --by: give one of them"),
        ):
            done = self.execute([ALLOMON, "leaks", "--roots", *options, pid])
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertIn(line, done.stderr)
        _, err = child.communicate("go\n", timeout=60)
        self.assertEqual((child.returncode, sums_of(leaks_in(err))), (LOST, (1, 82, 0, 0)))

    def test_bad_input_is_one_line(self):
        self.suppress("race:a\n")
        for options, line in (
            (["--leaks=yes"], '--leaks: "yes" is not error'),
            (["--suppressions=x"], "--suppressions is for --leaks=error"),
            (["--leaks=error", "--suppressions=none"], "none"),
            (["--leaks=error", "--suppressions=x.supp"], "x.supp, line 1: give leak:TEXT"),
            (["--leaks=error", "--keep-malloc"], "--leaks and --keep-malloc"),
        ):
            done = self.execute([ALLOMON, "run", *options, CASES, "Malloc"])
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        done = self.run_case(CASES, "Malloc", ALLOMON_BACKEND="host")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--leaks and ALLOMON_BACKEND=host", done.stderr)

    def test_without_allomon_run_a_line_says_what_to_use(self):
        done = self.execute(
            [CASES, "Malloc"],
            LD_PRELOAD=LIBRARY,
            ALLOMON_LEAKS="exit",
            ALLOMON_RECORD=self.path("x.rec"),
        )
        self.assertEqual(done.returncode, 0)
        self.assertIn("ALLOMON_LEAKS=exit: allomon run --leaks=error sets it", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
