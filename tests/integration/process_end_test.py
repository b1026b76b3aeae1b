#!/usr/bin/env python3
"""A profile is not lost to how a program ends, nor to what started it, and no thread of ours keeps
a program from what only a program of one thread may do."""

import os
import re
import resource
import signal
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, Mlmon, runfile  # noqa: E402

HOST = runfile("//tests/integration:ending_host")
GO = runfile("//tests/integration:like_go")
LINKED = runfile("//tests/integration:profiled_host")
HOOKED = runfile("//tests/integration/hooked_program:hooked_program")
LIBRARY = runfile("//allocator:liballomon.so")
PYTHON = "/usr/bin/python3"
MIB = 1 << 20
USED = 5 * MIB  # by the host, before it ends


class EndCase(Case):
    def host(self, *arguments, **variables):
        return self.run_preloaded([HOST, *arguments], {"ALLOMON_RATE": "1", **variables})

    def total(self, name="mlmon.out"):
        return Mlmon(self.path(name)).total

    def assert_host_is_seen(self, name="mlmon.out"):
        self.assertGreaterEqual(self.total(name), USED)
        self.assertIn("Use\t", self.read(name + ".sources"))


class Signals(EndCase):
    ALL = {"ALLOMON_DUMP": "USR2", "ALLOMON_SIGTERM": "1", "ALLOMON_SIGINT": "1"}

    def test_process_has_one_thread_before_and_after_a_file(self):
        done = self.host("lone-thread", ALLOMON_OUT="%n.out", **self.ALL)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            done.stdout.split("\n"),
            ["1 tasks", "changed user", "1 tasks", "changed user", "unshare allowed", ""],
        )
        self.assert_host_is_seen("1.out")
        self.assert_host_is_seen("2.out")

    def test_files_while_the_host_is_in_the_middle_of_malloc(self):
        for kind in "alloc", "live", "time":
            done = self.host("signalled", ALLOMON_PROFILE=kind, ALLOMON_OUT="%n.out", **self.ALL)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("2.out", self.files())

    def test_killed_by_sigint_or_sigterm_it_leaves_its_file_and_looks_killed(self):
        for number in signal.SIGINT, signal.SIGTERM:
            script = f"import os; x = bytearray(6_000_000); os.kill(os.getpid(), {int(number)})"
            host = [PYTHON, "-c", "import signal; signal.signal(2, signal.SIG_DFL); " + script]
            done = self.run_preloaded(host, {"ALLOMON_RATE": "1", **self.ALL})
            self.assertEqual((done.returncode, done.stderr), (-number, ""))
            self.assertGreater(self.total(), 6_000_000)
            os.remove(self.path("mlmon.out"))

    def test_interrupt_of_python_is_pythons_and_leaves_the_file(self):
        script = (
            "import os\nx = bytearray(6_000_000)\n"
            "try: os.kill(os.getpid(), 2)\nexcept KeyboardInterrupt: print('caught')\n"
            "os.kill(os.getpid(), 2)"
        )
        done = self.run_preloaded([PYTHON, "-c", script], {"ALLOMON_RATE": "1", **self.ALL})
        self.assertEqual((done.stdout, done.returncode), ("caught\n", -signal.SIGINT))
        self.assertEqual(done.stderr.rstrip().split("\n")[-1], "KeyboardInterrupt")
        self.assertGreater(self.total(), 6_000_000)

    def test_host_does_not_see_our_handlers(self):
        done = self.host("actions", **self.ALL)
        self.assertEqual(done.stdout, "default\ndefault\ndefault\nignored\n")
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGINT, ""))
        self.assert_host_is_seen()

    def test_handler_of_the_hosts_own(self):
        done = self.host("own-handler", **self.ALL)
        self.assertEqual((done.returncode, done.stdout), (4, "own\n"))
        line = r"\Aallomon: ALLOMON_DUMP: the program itself handles [^\n]+\n\Z"
        self.assertRegex(done.stderr, line)
        self.assert_host_is_seen()

    def test_host_that_waits_for_the_signal(self):
        done = self.host("sigwait", **self.ALL)
        self.assertEqual((done.returncode, done.stderr), (5, ""))
        self.assert_host_is_seen()


class Ends(EndCase):
    def test_end_without_exit_handlers(self):
        for how in "_exit", "_Exit", "quick_exit":
            with self.subTest(how=how):
                done = self.host(how)
                self.assertEqual((done.returncode, done.stderr), (3, ""))
                self.assert_host_is_seen()
                os.remove(self.path("mlmon.out"))

    def test_end_in_a_handler_that_interrupted_malloc(self):
        """The profile may be lost, which is said; the status is not."""
        for _ in range(20):
            done = self.host("exit-in-handler")
            self.assertEqual(done.returncode, 7)
            self.assertRegex(done.stderr, r"\A(allomon: the program ends by _exit [^\n]+\n)?\Z")
            self.assertEqual(bool(done.stderr), "mlmon.out" not in self.files(), done.stderr)
            for name in self.files():
                os.remove(self.path(name))

    def test_nothing_is_risked_after_a_fault(self):
        done = self.host("fault")
        self.assertEqual(done.returncode, 8)
        self.assertRegex(done.stderr, r"\Aallomon: the program ends by _exit in [^\n]+\n\Z")
        self.assertEqual(self.files(), [])

    def test_program_of_go_is_told(self):
        done = self.run_preloaded([GO], {"ALLOMON_RATE": "1"})
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Aallomon: this is a program of Go, [^\n]+\n\Z")

    def test_child_of_vfork_leaves_its_parents_profile_alone(self):
        done = self.host("vfork", ALLOMON_OUT="%p.out")
        self.assertEqual((done.stdout, done.returncode, done.stderr), ("3\n6\n", 0, ""))
        self.assertEqual(len([n for n in self.files() if n.endswith(".out")]), 1)

    def test_forked_child_that_ends_by_underscore_exit_has_its_own_file(self):
        script = (
            "import os\nif os.fork() == 0:\n  x = bytearray(6_000_000)\n  os._exit(0)\nos.wait()"
        )
        for out, files in ("mlmon.out", 1), ("%p.out", 2):
            done = self.run_preloaded(
                [PYTHON, "-c", script], {"ALLOMON_RATE": "1", "ALLOMON_OUT": out}
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(len([n for n in self.files() if n.endswith(".out")]), files)
            for name in self.files():
                os.remove(self.path(name))


class Wrappers(EndCase):
    def run_wrapped(self, *wrapper, rate="1"):
        done = self.run_plain(
            ["/usr/bin/env", f"LD_PRELOAD={LIBRARY}", f"ALLOMON_RATE={rate}", *wrapper]
        )
        self.assertEqual(done.stderr, "")
        return done

    def test_command_in_a_wrapper_leaves_its_profile(self):
        for wrapper in (
            ["/usr/bin/env"],
            ["/usr/bin/nice"],
            ["/usr/bin/timeout", "200"],
            ["/bin/sh", "-c", '"$@"; exit $?', "sh"],
            ["/bin/bash", "-c", '"$@"; exit $?', "bash"],
            ["/usr/bin/nice", "/bin/sh", "-c", '"$@"; exit $?', "sh", "/usr/bin/env"],
        ):
            with self.subTest(wrapper=wrapper):
                self.assertEqual(self.run_wrapped(*wrapper, HOST, "_exit").returncode, 3)
                self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])
                self.assert_host_is_seen()
                for name in self.files():
                    os.remove(self.path(name))

    def test_wrapper_that_only_executes_leaves_no_file(self):
        for wrapper in ["/usr/bin/env"], ["/usr/bin/nice"], ["/bin/sh", "-c", 'exec "$@"', "sh"]:
            with self.subTest(wrapper=wrapper):
                # What is executed has no library, hence no profile.
                self.run_wrapped(*wrapper, "/usr/bin/env", "-u", "LD_PRELOAD", "/bin/true")
                self.assertEqual(self.files(), [])

    def test_empty_profile_replaces_none_with_samples(self):
        self.host()
        self.host("nothing", ALLOMON_RATE="0")
        self.assert_host_is_seen()
        done = self.host("nothing", ALLOMON_RATE="0", ALLOMON_SUMMARY="1")
        self.assertEqual(
            done.stderr,
            "allomon: nothing was sampled; mlmon.out, which has samples, is left as it is\n",
        )

    def test_rate_of_0_is_the_reason_for_no_samples(self):
        done = self.host(ALLOMON_RATE="0", ALLOMON_SUMMARY="1")
        self.assertIn("that is what ALLOMON_RATE=0 asks for\n", done.stderr)
        self.assertNotIn("its own", done.stderr)

    def test_live_profile_without_leaks_replaces_an_older_one(self):
        self.host(ALLOMON_PROFILE="live")
        self.assert_host_is_seen()
        self.host("nothing", ALLOMON_PROFILE="live", ALLOMON_RATE="0")
        self.assertEqual(self.total(), 0)

    def test_smaller_profile_replaces_an_older_larger_one(self):
        self.host()
        self.run_preloaded(["/bin/bash", "-c", "true"], {"ALLOMON_RATE": "1"})
        self.assertLess(self.total(), USED)


class Exec(EndCase):
    def test_what_was_seen_before_exec_stays(self):
        done = self.host("exec", HOST, "_exit")
        self.assertEqual((done.returncode, done.stderr, done.stdout), (3, "", "still here\n"))
        self.assertEqual(
            self.files(),
            ["mlmon.out", "mlmon.out.exec", "mlmon.out.exec.sources", "mlmon.out.sources"],
        )
        self.assert_host_is_seen("mlmon.out.exec")
        self.assert_host_is_seen()

    def test_what_a_forked_child_used_before_exec_stays(self):
        program = (
            "import os\n"
            "if os.fork() == 0:\n"
            f"  used = bytearray({USED})\n"
            "  os.execv('/bin/true', ['true'])\n"
            "os.wait()\n"
        )
        for kind, out, files in (
            ("alloc", "%p.out", 1), ("alloc", "mlmon.out", 0), ("live", "%p.out", 0)
        ):
            variables = {"ALLOMON_RATE": "1", "ALLOMON_PROFILE": kind, "ALLOMON_OUT": out}
            done = self.run_preloaded([PYTHON, "-c", program], variables)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            executed = [name for name in self.files() if name.endswith(".exec")]
            self.assertEqual(len(executed), files)
            for name in executed:
                self.assertGreaterEqual(self.total(name), USED)
                os.remove(self.path(name))

    def test_exec_that_fails_leaves_nothing_beside(self):
        done = self.host("exec", "nonexistent-program")
        self.assertEqual((done.returncode, done.stderr), (9, ""))
        self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])


class OutOfMemory(EndCase):
    """The address space is full when the profile is written."""

    def run_full(self, argv, kind, preload, limit_bytes):
        env = {"ALLOMON_PROFILE": kind, "ALLOMON_RATE": "1"}
        if preload:
            env["LD_PRELOAD"] = LIBRARY
        limits = (limit_bytes, limit_bytes)
        return self.run_plain(
            argv, env, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits)
        )

    def check(self, argv, kind, preload):
        for limit_bytes in 160 * MIB, 400 * MIB:
            with self.subTest(argv=argv, kind=kind, limit_bytes=limit_bytes):
                done = self.run_full(argv, kind, preload, limit_bytes)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, r"\A(allomon: no memory is left [^\n]+\n)?\Z")
                if done.stderr == "":
                    self.assertEqual(Mlmon(self.path("mlmon.out")).style, kind.split(",")[-1]
                                     if "," in kind else "current")
                for name in self.files():
                    os.remove(self.path(name))

    def test_preloaded(self):
        for kind in "alloc", "live", "time", "alloc,stack", "live,stack", "time,stack":
            self.check([HOST, "take-all"], kind, True)

    def test_table_of_functions_is_whole_or_there_is_no_file(self):
        """What mlprof would take for another build's profile is worse than none."""
        answer = self.run_plain([HOOKED, "@MLton", "show-sources"]).stdout
        for mib in range(40, 120, 4):
            plain = self.run_full([HOOKED], "no", False, mib * MIB)
            done = self.run_full([HOOKED], "count", False, mib * MIB)
            self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout))
            if "mlmon.out" in self.files():
                self.assertEqual(Mlmon(self.path("mlmon.out")).magic, answer.split("\n")[0])
            for name in self.files():
                os.remove(self.path(name))

    def test_linked(self):
        for kind in "alloc", "live", "time", "count", "alloc,stack", "live,stack", "count,stack":
            self.check([LINKED, "take-all"], kind, False)


class OwnWork(EndCase):
    """What the profiler takes to do its work is not the program's."""

    SCRIPT = """
import os, signal, threading, time
kept = []
def work(n):
    kept.extend(str(i) for i in range(n))
threads = [threading.Thread(target=work, args=(20000,)) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for _ in range(3):
    os.kill(os.getpid(), signal.SIGUSR2)
    time.sleep(0.05)
    if os.fork() == 0: os._exit(0)
    os.wait()
sum(range(3000000))
"""

    # A tick may well interrupt what makes a thread's timer.  In a debug build a thread's function
    # is called by RunProfiled.
    OURS = {
        "time": re.compile("WriteAtExit|WriteLast|StopRecording"),
        "alloc": re.compile("allomon::(?!.*RunProfiled)"),
        "live": re.compile("allomon::(?!.*RunProfiled)"),
    }

    def test_no_function_of_ours_is_charged_or_on_a_stack(self):
        for kind in "alloc", "live", "alloc,stack", "live,stack", "time", "time,stack":
            done = self.run_preloaded(
                [PYTHON, "-c", self.SCRIPT],
                {
                    "PYTHONMALLOC": "malloc",
                    "ALLOMON_RATE": "1",
                    "ALLOMON_HZ": "1000",
                    "ALLOMON_PROFILE": kind,
                    "ALLOMON_OUT": "%p.%n.out",
                    "ALLOMON_EXCLUDE": "a_name_too_long_to_be_kept_in_a_string_itself",
                    **Signals.ALL,
                },
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            written = [name for name in self.files() if name.endswith(".out")]
            self.assertGreater(len(written), 1)
            for name in written:
                rows = self.read(name + ".sources").split("\n")
                ours = self.OURS[kind.split(",")[0]]
                self.assertEqual([row for row in rows if ours.search(row)], [], (kind, name))
            for name in self.files():
                os.remove(self.path(name))


if __name__ == "__main__":
    unittest.main()
