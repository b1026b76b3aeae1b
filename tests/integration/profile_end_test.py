#!/usr/bin/env python3
"""Profiles that the environment asks for: the files that are written, and the ways a program may
end."""

import ctypes
import os
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, Mlmon, runfile  # noqa: E402

HOST = runfile("//tests/integration:profiled_host")
HOOKED = runfile("//tests/integration/hooked_program:hooked_program")

PR_SET_MDWE = 65  # since Linux 6.3: refuses mappings that make memory executable


class ProfileEnd(Case):
    def host(self, what="", kind="count", executable=HOST, **variables):
        env = {"ALLOMON_PROFILE": kind, **variables}
        return self.run_plain([executable, what], env)

    def counts(self, executable=HOST, path="mlmon.out"):
        mlmon = Mlmon(self.path(path))
        answer = self.run_plain([executable, "@MLton", "show-sources"]).stdout.split("\n")
        self.assertEqual(answer[0], mlmon.magic)
        names = [line.split("\t")[0] for line in answer[2 : 2 + int(answer[1])]]
        return {n: c for n, c in zip(names, mlmon.masters) if c != 0}

    def test_count(self):
        done = self.host()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.counts(), {"Work": 1, "Step": 1})

    def test_nothing_is_profiled_unless_asked(self):
        for env in {}, {"ALLOMON_PROFILE": "no"}:
            done = self.run_plain([HOST], env)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.files(), [])

    def test_kinds_and_styles(self):
        for kind in "alloc", "time", "count":
            for style in "", ",stack":
                with self.subTest(kind=kind, style=style):
                    done = self.host(kind=kind + style)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    head = self.read("mlmon.out").split("\n")[1:3]
                    self.assertEqual(head, [kind, style[1:] or "current"])

    def test_sources_come_alone_although_constructors_talk(self):
        answer = self.run_plain([HOST, "@MLton", "show-sources"]).stdout
        self.assertRegex(answer, r"\A0x[0-9a-f]{8}\n5\n<unknown>\n<gc>\n<main>\n")
        self.assertNotIn("talks", answer)

    def test_exit_inside_with_data_writes_that_unit(self):
        done = self.host("exit-in-unit")
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        self.assertEqual(self.counts(), {"Work": 1, "Step": 7})

    def test_uncaught_exception_keeps_its_signal(self):
        done = self.host("throw")
        self.assertEqual(done.returncode, -signal.SIGABRT)
        self.assertEqual(self.files(), [])

    def test_exit_in_a_thread(self):
        done = self.host("thread-exits")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.counts(), {"Work": 1, "Step": 4})

    def test_forked_child_does_not_overwrite(self):
        done = self.host("fork")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.counts(), {"Work": 1, "Step": 10})

    def test_forked_child_counts_its_own(self):
        done = self.host("fork", ALLOMON_OUT="%p.out")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = [self.counts(path=name)["Step"] for name in self.files()]
        self.assertEqual(sorted(found), [3, 10])

    def terminate(self, **variables):
        env = {"ALLOMON_PROFILE": "count", **variables}
        host = subprocess.Popen(
            [HOST, "wait"], env=env, cwd=self.directory, stdout=subprocess.PIPE, text=True
        )
        self.assertIn("talks", host.stdout.readline())
        self.assertEqual(host.stdout.readline(), "waiting\n")
        host.terminate()
        host.stdout.close()
        return host.wait()

    def test_killed_by_sigterm_it_leaves_its_file_and_looks_killed(self):
        self.assertEqual(self.terminate(ALLOMON_SIGTERM="1"), -signal.SIGTERM)
        self.assertEqual(self.counts(), {"Work": 1, "Step": 5})

    def test_killed_without_having_asked(self):
        self.assertEqual(self.terminate(), -signal.SIGTERM)
        self.assertEqual(self.files(), [])

    def test_profiling_is_on_already(self):
        done = self.host("start-again")
        self.assertIn("Profile::Start: profiling is on; stop it first", done.stdout)

    def test_unwritable_output(self):
        done = self.host(ALLOMON_OUT="missing/mlmon.out")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Aallomon: cannot write missing/mlmon.out: [^\n]+\n\Z")

    def test_bad_values(self):
        for name, values in {
            "ALLOMON_PROFILE": ["", "Count", "count,", "count,stack,", "stack", "yes", "1"],
            "ALLOMON_HZ": ["", "0", "10001", "1.5", "-1", "x"],
            "ALLOMON_SIGTERM": ["", "2", "yes"],
        }.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    done = self.run_plain([HOST], {"ALLOMON_PROFILE": "count", name: value})
                    self.assertEqual(done.returncode, 0)
                    line = rf"\Aallomon: {name}={value}: expected [^\n]+\n\Z"
                    self.assertRegex(done.stderr, line)
                    self.assertEqual(self.files(), [])

    def test_preloaded_program_is_timed_by_symbol(self):
        loop = "BEGIN { for (i = 0; i < 3000000; i++) x += i }"
        for kind in "time", "time,stack":
            done = self.run_preloaded(["/usr/bin/awk", loop], {"ALLOMON_PROFILE": kind})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            mlmon = Mlmon(self.path("mlmon.out"))
            self.assertEqual(mlmon.kind, "time")
            self.assertGreater(mlmon.total, 0)
            self.assertEqual(sum(mlmon.masters), mlmon.total)

    def test_calls_of_a_program_without_hooks_cannot_be_counted(self):
        done = self.run_preloaded(["/bin/true"], {"ALLOMON_PROFILE": "count"})
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Aallomon: cannot start: nothing to count: [^\n]+\n\Z")
        self.assertEqual(self.files(), [])

    def test_hardened_system_costs_one_line(self):
        def harden():
            if ctypes.CDLL(None).prctl(PR_SET_MDWE, 1, 0, 0, 0) != 0:
                os._exit(99)

        for kind in "count", "count,stack":
            with self.subTest(kind=kind):
                done = self.run_plain([HOOKED], {"ALLOMON_PROFILE": kind}, preexec_fn=harden)
                self.assertEqual(done.returncode, 0)
                self.assertRegex(
                    done.stderr,
                    r"\Aallomon: cannot start: this system forbids [^\n]+; "
                    r"the program runs unprofiled\n\Z",
                )


if __name__ == "__main__":
    sys.exit(unittest.main())
