#!/usr/bin/env python3
"""A preloaded Allomon never makes its host fail, whatever it is told and wherever it runs.

Allomon reports what it cannot do in one line on standard error.  The line names the thing and the
remedy.  The host's output and status stay as they are without Allomon.
"""

import os
import resource
import signal
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import SUMMARY, Case, Mlmon, runfile  # noqa: E402

PYTHON = "/usr/bin/python3"
# One process that prints and ends with a status of its own.  (dash would not do: it ends with
# _exit, and then leaves no file without samples.)
HOST = ["/bin/bash", "-c", "echo answer; exit 3"]


class PreloadCase(Case):
    def assert_host_unharmed(self, done, said=0):
        """Checks that HOST ran as it does alone.  Returns the lines on standard error, which are
        Allomon's."""
        self.assertEqual((done.stdout, done.returncode), ("answer\n", 3), done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), said, done.stderr)
        for line in lines:
            self.assertTrue(line.startswith("allomon: "), line)
        return lines

    def assert_one_line(self, done, *parts):
        (line,) = self.assert_host_unharmed(done, said=1)
        for part in parts:
            self.assertIn(part, line)


class BadVariables(PreloadCase):
    def check(self, name, value, *parts):
        with self.subTest(name=name, value=value):
            done = self.run_preloaded(HOST, {name: value})
            self.assert_one_line(done, f"{name}={value}: ", *parts, "runs unprofiled")
            self.assertEqual(self.files(), [])

    def test_rate(self):
        for value in ["abc", "2", "-1", "nan", "inf", "", " ", "1e-4x", "0x1", "1,5", "1.0001"]:
            self.check("ALLOMON_RATE", value, "a number in [0, 1]", "such as 1e-4")

    def test_other_values(self):
        for value in ["", "mlmon.%q.out"]:
            self.check("ALLOMON_OUT", value, "the name of a file, such as mlmon.%p.out")
        for value in ["abc", "-1", "1.5", "", "18446744073709551616"]:
            self.check("ALLOMON_SEED", value, "a number below 2^64")
        for value in ["yes", "", "2"]:
            self.check("ALLOMON_SUMMARY", value, "0 or 1")

    def test_unknown_variable(self):
        done = self.run_preloaded(HOST, {"ALLOMON_TYPO": "1"})
        self.assert_one_line(done, "ALLOMON_TYPO: unknown, and ignored")
        self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])

    def test_mistaken_name(self):
        done = self.run_preloaded(HOST, {"ALLOMON_RAET": "1"})
        self.assert_one_line(done, "ALLOMON_RAET: unknown", "ALLOMON_RATE is known")
        self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])

    def test_mistaken_name_without_which_too_much_would_be_written(self):
        done = self.run_preloaded(HOST, {"ALLOMON_PROFIEL": "no"})
        self.assert_one_line(
            done, "ALLOMON_PROFIEL: unknown", "ALLOMON_PROFILE is known", "runs unprofiled"
        )
        self.assertEqual(self.files(), [])

    def test_variables_of_other_components_change_nothing(self):
        for name in "ALLOMON_HEAP", "ALLOMON_LIBRARY", "ALLOMON_TOKEN", "ALLOMON_GATE_PROFILE":
            done = self.run_preloaded(HOST, {name: "x"})
            self.assert_host_unharmed(done)
            self.assertEqual(done.stderr, "")
            self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])
            for file in self.files():
                os.remove(self.path(file))

    def test_value_of_several_lines_is_still_one_line(self):
        done = self.run_preloaded(HOST, {"ALLOMON_RATE": "1\nanswer"})
        self.assert_one_line(done, "ALLOMON_RATE=1")

    def test_good_rates(self):
        for value in ["0", "1", "1e-4", "0.5", "1E-3", ".5"]:
            with self.subTest(value=value):
                done = self.run_preloaded(HOST, {"ALLOMON_RATE": value})
                self.assert_host_unharmed(done)
                self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])

    def test_rate_at_which_a_recording_has_no_samples(self):
        done = self.run_preloaded(HOST, {"ALLOMON_RATE": "0", "ALLOMON_RECORD": "x.rec"})
        self.assert_one_line(done, "ALLOMON_RATE=0", "runs unrecorded")
        self.assertEqual(self.files(), [])


class BadOutputs(PreloadCase):
    def run_with_out(self, path, **options):
        return self.run_preloaded(HOST, {"ALLOMON_RATE": "1", "ALLOMON_OUT": path}, **options)

    def test_missing_directory(self):
        done = self.run_with_out("missing/mlmon.out")
        self.assert_one_line(
            done, "cannot write missing/mlmon.out", "No such file", "create the directory"
        )
        self.assertEqual(self.files(), [])

    def test_directory_as_target(self):
        os.mkdir(self.path("directory"))
        done = self.run_with_out("directory")
        self.assert_one_line(done, "cannot write directory", "choose a file in it")
        self.assertEqual(self.files(), ["directory"])
        self.assertEqual(os.listdir(self.path("directory")), [])

    def test_file_as_directory(self):
        self.write("file", "precious\n")
        done = self.run_with_out("file/mlmon.out")
        self.assert_one_line(done, "cannot write file/mlmon.out", "part of the path is a file")
        self.assertEqual((self.files(), self.read("file")), (["file"], "precious\n"))

    def test_directory_that_nobody_can_write_to(self):
        done = self.run_with_out("/proc/mlmon.out")
        self.assert_one_line(done, "cannot write /proc/mlmon.out", "choose another output")

    def test_full_device(self):
        done = self.run_with_out("/dev/full")
        self.assert_one_line(done, "cannot write /dev/full", "No space left", "make room")
        self.assertEqual(self.files(), [])

    def test_no_stub_beside_a_device(self):
        self.assert_host_unharmed(self.run_with_out("/dev/null"))
        self.assertFalse(os.path.exists("/dev/null.sources"))

    def test_full_disk_keeps_the_old_profile(self):
        # The old profile has other samples.  A profile equal to the old one is not written again.
        self.assert_host_unharmed(self.run_preloaded(HOST, {"ALLOMON_RATE": "1e-2"}))
        before = [self.read(name) for name in ("mlmon.out", "mlmon.out.sources")]
        for limit_bytes in 0, 100:
            with self.subTest(limit_bytes=limit_bytes):
                done = self.run_with_out(
                    "mlmon.out",
                    preexec_fn=lambda: resource.setrlimit(
                        resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes)
                    ),
                )
                self.assert_one_line(done, "cannot write mlmon.out", "make room")
                after = [self.read(name) for name in ("mlmon.out", "mlmon.out.sources")]
                self.assertEqual(before, after)
                self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])

    def test_full_disk_keeps_an_old_profile_of_another_program(self):
        self.write("mlmon.out", "old\n")
        self.write("mlmon.out.sources", "old sources\n")
        limits = (0, 0)
        done = self.run_with_out(
            "mlmon.out", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        )
        self.assert_one_line(done, "cannot write mlmon.out", "make room")
        self.assertEqual(self.read("mlmon.out"), "old\n")
        self.assertEqual(self.read("mlmon.out.sources"), "old sources\n")

    def test_last_write_wins_and_leaves_no_temporary_file(self):
        for _ in range(2):
            self.assert_host_unharmed(self.run_with_out("mlmon.out"))
            self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])
            Mlmon(self.path("mlmon.out"))

    def test_name_with_a_newline_is_still_one_line(self):
        done = self.run_with_out("mis\nsing/mlmon.out")
        self.assert_one_line(done, "cannot write mis?sing/mlmon.out")


class Forks(PreloadCase):
    """A child that never calls exec has the library, and must not report for its parent."""

    # The parent asks for 50 MB before the fork.  The child asks for 20 MB after it.
    SCRIPT = """
import os, sys, time
before = [bytearray(5_000_000) for _ in range(10)]
child = os.fork()
if child == 0:
    mine = [bytearray(5_000_000) for _ in range(4)]
    time.sleep(float(sys.argv[1]))
    sys.exit(0)
print(child, flush=True)
if sys.argv[2] == "wait": os.waitpid(child, 0)
"""

    def fork(self, out, child_sleeps="0", parent="wait"):
        done = self.run_preloaded(
            [PYTHON, "-c", self.SCRIPT, child_sleeps, parent],
            {"ALLOMON_RATE": "1", "ALLOMON_OUT": out},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return int(done.stdout)

    def bytes_in(self, name):
        return Mlmon(self.path(name)).total

    def test_files_by_process(self):
        child = self.fork("%p.out")
        files = [name for name in self.files() if name.endswith(".out")]
        self.assertEqual(len(files), 2)
        (parent_file,) = set(files) - {f"{child}.out"}
        self.assertGreater(self.bytes_in(parent_file), 50_000_000)
        self.assertLess(self.bytes_in(parent_file), 65_000_000)
        self.assertGreater(self.bytes_in(f"{child}.out"), 20_000_000)
        self.assertLess(self.bytes_in(f"{child}.out"), 35_000_000)

    def test_child_that_ends_first_leaves_the_name_to_its_parent(self):
        self.fork("mlmon.out")
        self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])
        self.assertGreater(self.bytes_in("mlmon.out"), 50_000_000)

    def test_child_that_ends_last_does_not_overwrite(self):
        # The child's standard output is the pipe that the test reads to its end, so both processes
        # are gone then.
        self.fork("mlmon.out", child_sleeps="0.5", parent="leave")
        self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])
        self.assertGreater(self.bytes_in("mlmon.out"), 50_000_000)

    def test_forks_while_other_threads_allocate(self):
        script = """
import os, threading
stop = False
def allocate():
    while not stop:
        [bytearray(1000 * i) for i in range(50)]
threads = [threading.Thread(target=allocate) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(100):
    child = os.fork()
    if child == 0:
        [bytearray(1000 * i) for i in range(50)]
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stop = True
for thread in threads: thread.join()
print("done")
"""
        done = self.run_preloaded(
            [PYTHON, "-c", script], {"ALLOMON_RATE": "1", "PYTHONMALLOC": "malloc"}, timeout=120
        )
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("done\n", "", 0))


class OddHosts(PreloadCase):
    def python(self, script, env=None, **options):
        return self.run_preloaded(
            [PYTHON, "-c", script],
            {"ALLOMON_RATE": "1e-2", "ALLOMON_SUMMARY": "1", **(env or {})},
            **options,
        )

    def test_exit_without_handlers(self):
        done = self.python("import os; os.write(1, b'answer\\n'); os._exit(5)")
        self.assertEqual((done.stdout, done.returncode), ("answer\n", 5))
        self.assertRegex(done.stderr, SUMMARY)
        self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])

    def test_killed_by_a_signal(self):
        done = self.python("import os; os.kill(os.getpid(), 15)")
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("", "", -15))

    def test_closed_streams(self):
        for closed in ["1", "2", "1,2", "0,1,2"]:
            with self.subTest(closed=closed):
                script = f"import os\nfor fd in {closed},: os.close(fd)"
                plain = self.run_plain([PYTHON, "-c", script])
                done = self.python(script)
                stderr = "" if "2" in closed else SUMMARY.sub("", done.stderr).strip()
                self.assertEqual(done.returncode, plain.returncode)
                self.assertEqual((done.stdout, stderr), (plain.stdout, plain.stderr.strip()))
                self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])
                Mlmon(self.path("mlmon.out"))

    def test_streams_closed_from_the_start(self):
        for redirect in [">&-", "2>&-", "<&- >&- 2>&-"]:
            with self.subTest(redirect=redirect):
                done = self.run_plain(
                    ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", "env"]
                    + [f"LD_PRELOAD={runfile('//allocator:liballomon.so')}"]
                    + ["ALLOMON_RATE=1", "ALLOMON_SUMMARY=1", "/bin/bash", "-c", "exit 3"]
                )
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                Mlmon(self.path("mlmon.out"))
                stub = self.read("mlmon.out.sources")
                self.assertTrue(stub.startswith("#!/bin/sh\n") and "allomon:" not in stub)

    def test_file_that_took_the_place_of_standard_error_gets_no_message(self):
        script = """
import os
os.close(2)
assert os.open("data", os.O_WRONLY | os.O_CREAT, 0o644) == 2
os.write(2, b"precious\\n")
"""
        for env in {}, {"ALLOMON_OUT": "missing/mlmon.out"}:
            with self.subTest(env=env):
                done = self.python(script, env)
                self.assertEqual((done.stdout, done.returncode), ("", 0))
                self.assertEqual(self.read("data"), "precious\n")

    def test_daemons_log_gets_the_messages(self):
        to_log = 'os.dup2(os.open("log", os.O_WRONLY | os.O_CREAT | {flags}, 0o644), {fd})\n'
        both = to_log.format(flags="os.O_TRUNC", fd=1) + "os.dup2(1, 2)\n"
        for script in to_log.format(flags="os.O_APPEND", fd=2), both:
            with self.subTest(script=script):
                done = self.python("import os\n" + script, {"ALLOMON_OUT": "missing/mlmon.out"})
                self.assertEqual((done.stdout, done.stderr, done.returncode), ("", "", 0))
                self.assertIn("allomon: cannot write missing/mlmon.out", self.read("log"))
                os.remove(self.path("log"))

    def test_standard_error_that_nobody_reads(self):
        for env in {"ALLOMON_SUMMARY": "1"}, {"ALLOMON_RATE": "abc"}:
            with self.subTest(env=env):
                reader, writer = os.pipe()
                os.close(reader)
                done = self.run_preloaded(HOST, env, stderr=writer)
                os.close(writer)
                self.assertEqual((done.stdout, done.returncode), ("answer\n", 3))

    def test_profile_into_a_pipe_that_nobody_reads(self):
        done = self.run_preloaded(
            ["/bin/bash", "-c", "exec 4> >(exec true); wait $!; echo answer; exit 3"],
            {"ALLOMON_OUT": "/dev/fd/4"},
        )
        self.assertEqual((done.stdout, done.returncode), ("answer\n", 3), done.stderr)

    def test_threads_with_stacks_of_64_kibibytes(self):
        script = """
import threading
threading.stack_size(65536)
results = []
def work(n):
    results.append(sum(len(str(i)) for i in range(n)))
threads = [threading.Thread(target=work, args=(20000,)) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(results), set(results))
"""
        env = {"ALLOMON_RATE": "1", "PYTHONMALLOC": "malloc"}
        plain = self.run_plain([PYTHON, "-c", script], {"PYTHONMALLOC": "malloc"})
        self.assertEqual(plain.stdout, "8 {88890}\n")
        done = self.python(script, env)
        self.assertEqual((done.stdout, done.returncode), (plain.stdout, 0), done.stderr)
        self.assertGreater(Mlmon(self.path("mlmon.out")).total, 1_000_000)

    def test_small_address_space(self):
        script = "d = {i: str(i) for i in range(100000)}; print(len(d), d[99999])"
        host = ["/bin/sh", "-c", 'ulimit -v 204800; exec "$@"', "sh", PYTHON, "-c", script]
        plain = self.run_plain(host)
        self.assertEqual(plain.stdout, "100000 99999\n")
        for rate in "1e-4", "1":
            with self.subTest(rate=rate):
                done = self.run_preloaded(
                    host, {"ALLOMON_RATE": rate, "ALLOMON_OUT": f"{rate}.out"}
                )
                self.assertEqual((done.stdout, done.returncode), (plain.stdout, 0), done.stderr)
                self.assertGreater(Mlmon(self.path(f"{rate}.out")).total, 1_000_000)

    def test_out_of_memory_is_the_hosts_own_affair(self):
        script = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
blocks = []
try:
    while True: blocks.append(bytearray(10 << 20))
except MemoryError:
    del blocks
    print("answer")
"""
        done = self.python(script, {"ALLOMON_SUMMARY": "0"})
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("answer\n", "", 0))

    def test_host_that_clears_its_environment(self):
        script = "import os, ctypes; ctypes.CDLL(None).clearenv()"
        done = self.python(script, {"ALLOMON_SUMMARY": "0"})
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("", "", 0))
        self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources"])

    def test_host_that_changes_directory(self):
        """The file goes to the directory in which the host starts.  The summary must lead there."""
        os.mkdir(self.path("there"))
        done = self.python("import os; os.chdir('there')")
        self.assertEqual((done.stdout, done.returncode), ("", 0))
        self.assertIn(f".sources {self.path('mlmon.out')}\n", done.stderr)
        self.assertEqual(self.files(), ["mlmon.out", "mlmon.out.sources", "there"])
        self.assertEqual(os.listdir(self.path("there")), [])

    def test_host_ignores_or_handles_signals_that_writing_may_raise(self):
        """Signals that Allomon's own writing raises never reach the host's handlers."""
        script = """
import resource, signal, os
hits = []
signal.signal(signal.SIGXFSZ, lambda *_: os.write(1, b"handler\\n"))
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
print("answer", flush=True)
"""
        done = self.python(script, {"ALLOMON_SUMMARY": "0"})
        self.assertEqual((done.stdout, done.returncode), ("answer\n", 0))
        self.assertIn("make room", done.stderr)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as hosts find it
    sys.exit(unittest.main())
