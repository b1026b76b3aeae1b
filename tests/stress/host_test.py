#!/usr/bin/env python3
"""Hosts that are linked, limited, privileged or profiled in ways of their own, and the places where
their profiles go."""

import os
import re
import signal
import stat
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, Mlmon, runfile  # noqa: E402

PYTHON = "/usr/bin/python3"
ALLOCATES = "d = {i: str(i) for i in range(100000)}; print(len(d), d[99999])"
ANSWER = "100000 99999\n"
NAMES_UNREAD = r"(allomon: no memory is left to read [^\n]+ are named by their addresses\n)+"


class Linked(Case):
    def test_life_of_a_process_however_it_is_linked(self):
        for name in "pie", "fixed_executable", "static_executable", "static_pie":
            with self.subTest(name):
                done = self.run_plain([runfile(f"//tests/stress:life_of_{name}")], timeout=60)
                self.assertEqual((done.stdout, done.stderr, done.returncode), ("ok\n", "", 0))


class TwoProfilers(Case):
    """gperftools' profiler of processor time, which unwinds in a handler of SIGPROF."""

    PROFILER = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"
    WORKS = "x = 0\nfor i in range(3): x = sum(len(str(j)) for j in range(1000000))\nprint(x)"

    def test_beside_gperftools_at_its_highest_rate(self):
        for profile in "alloc", "time":
            with self.subTest(profile):
                done = self.run_plain(
                    [PYTHON, "-c", self.WORKS],
                    {
                        "LD_PRELOAD": f"{runfile('//allocator:liballomon.so')} {self.PROFILER}",
                        "ALLOMON_RATE": "1e-2",
                        "ALLOMON_PROFILE": profile,
                        "PYTHONMALLOC": "malloc",
                        "CPUPROFILE": self.path("cpu.prof"),
                        "CPUPROFILE_FREQUENCY": "4000",
                    },
                    timeout=120,
                )
                self.assertEqual((done.stdout, done.returncode), ("5888890\n", 0), done.stderr)
                self.assertIn("PROFILE: interrupts/evictions/bytes", done.stderr)
                self.assertNotIn("allomon:", done.stderr)
                self.assertGreater(Mlmon(self.path("mlmon.out")).total, 0)
                self.assertGreater(os.path.getsize(self.path("cpu.prof")), 1000)


class Privileged(Case):
    """The kernel sets AT_SECURE for set-uid programs (getauxval(3)).  Here a library pretends that
    it is set."""

    def test_environment_is_ignored_in_a_set_uid_program(self):
        host = runfile("//tests/integration:profiled_host")
        for preload, files in ("", ["mlmon.out"]), (runfile("//tests/stress:libsecure.so"), []):
            with self.subTest(preload):
                env = {"LD_PRELOAD": preload, "ALLOMON_PROFILE": "alloc"}
                done = self.run_plain([host, "0"], env)
                self.assertNotIn("allomon", done.stderr)
                self.assertEqual([name for name in self.files() if name == "mlmon.out"], files)
                for name in self.files():
                    os.unlink(self.path(name))

    def test_wrong_values_in_a_set_uid_program_say_nothing(self):
        done = self.run_plain(
            [runfile("//tests/integration:profiled_host"), "0"],
            {"LD_PRELOAD": runfile("//tests/stress:libsecure.so"), "ALLOMON_RATE": "abc"},
        )
        self.assertEqual(done.stderr, "")


class Limited(Case):
    # A host that allocates until there is no more memory, and then goes on.
    FILLS = f"""
{ALLOCATES}
blocks = []
try:
    while True: blocks.append(bytearray(1 << 20))
except MemoryError:
    count = len(blocks)
    del blocks
{ALLOCATES}
print(count)
"""

    LIMITS_ITSELF = f"""
{ALLOCATES}
import resource
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
"""

    def mebibytes_at(self, command, env):
        done = self.run_preloaded(command, {"PYTHONMALLOC": "malloc", **env})
        self.assertEqual(done.returncode, 0, done.stderr)
        # The host has used up its memory, so that names may not be read, which is said.
        self.assertEqual(re.sub(NAMES_UNREAD, "", done.stderr), "")
        self.assertTrue(done.stdout.endswith(ANSWER + done.stdout.split()[-1] + "\n"), done.stdout)
        return int(done.stdout.split()[-1])

    def check(self, command):
        """The sampled range may take an eighth of the memory that an unprofiled host has."""
        unprofiled = self.mebibytes_at(command, {"ALLOMON_PROFILE": "no"})
        self.assertGreater(unprofiled, 100)
        for rate in "1e-4", "1":
            with self.subTest(rate):
                profiled = self.mebibytes_at(command, {"ALLOMON_RATE": rate})
                self.assertGreaterEqual(profiled, unprofiled * 7 // 8 - 32)
                self.assertGreater(Mlmon(self.path("mlmon.out")).total, profiled << 20)

    def test_ulimit_of_512_mebibytes(self):
        limited = ["/bin/sh", "-c", 'ulimit -v 524288; exec "$@"', "sh"]
        self.check([*limited, PYTHON, "-c", self.FILLS])

    def test_limit_that_the_host_sets_later(self):
        self.check([PYTHON, "-c", self.LIMITS_ITSELF + self.FILLS])


class Output(Case):
    def run_to(self, out, **options):
        return self.run_preloaded(
            [PYTHON, "-c", ALLOCATES], {"ALLOMON_OUT": out, **options.pop("env", {})}, **options
        )

    def assert_host_unharmed(self, done):
        self.assertEqual((done.stdout, done.returncode), (ANSWER, 0), done.stderr)

    def test_files_are_their_owners(self):
        for umask, mode in (0o022, 0o600), (0o777, 0):
            with self.subTest(umask):
                out = f"{umask}.out"
                self.assert_host_unharmed(
                    self.run_to(out, preexec_fn=lambda mask=umask: os.umask(mask))
                )
                status = os.stat(self.path(out))
                self.assertEqual(stat.S_IMODE(status.st_mode), mode)
                sources = os.stat(self.path(out + ".sources"))
                self.assertEqual(stat.S_IMODE(sources.st_mode), mode and 0o700)

    def test_link_that_somebody_laid_out_is_not_followed(self):
        self.write("precious", "precious\n")
        os.symlink("precious", self.path("mlmon.out"))
        os.symlink("precious", self.path("mlmon.out.sources"))
        self.assert_host_unharmed(self.run_to("mlmon.out"))
        self.assertEqual(self.read("precious"), "precious\n")
        self.assertFalse(os.path.islink(self.path("mlmon.out")))
        Mlmon(self.path("mlmon.out"))

    def test_named_pipe_that_nobody_reads_does_not_hang(self):
        os.mkfifo(self.path("pipe"))
        done = self.run_to("pipe", timeout=60)
        self.assert_host_unharmed(done)
        self.assertIn("allomon: cannot write pipe: ", done.stderr)
        self.assertIn("start its reader first", done.stderr)

    def test_named_pipe_with_a_reader(self):
        os.mkfifo(self.path("pipe"))
        # The descriptor is both ends of the pipe, so that neither side waits for the other.
        ends = os.open(self.path("pipe"), os.O_RDWR | os.O_NONBLOCK)
        self.assert_host_unharmed(self.run_to("pipe", timeout=60))
        self.assertTrue(os.read(ends, 100000).startswith(b"MLton prof\n"))
        os.close(ends)
        self.assertEqual(self.files(), ["pipe"])

    def test_standard_output_keeps_what_the_host_wrote(self):
        with open(self.path("out"), "w", encoding="ascii") as out:
            out.write("before\n")
            out.flush()
            done = self.run_to("/dev/stdout", stdout=out)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(self.read("out").startswith("before\n" + ANSWER + "MLton prof\n"))
        self.assertFalse(os.path.exists("/dev/stdout.sources"))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as hosts find it
    sys.exit(unittest.main())
