#!/usr/bin/env python3
"""`allomon run` with liballomon.so, around a program whose allocations are known."""

import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
LIBRARY = os.path.join(RUNFILES, "allocator/liballomon.so")
KNOWN = os.path.join(RUNFILES, "tests/run/known_program")

# (blocks, bytes) of known_program.
TOTAL = (11001, 100 * 1000 + 5000000 + 10000 * 1000)
PEAK = (1001, 100 * 1000 + 5000000)
LIVE = (1000, 100 * 1000)
CHILD = (1000, 200 * 1000)


def plus(a, b, times=1):
    return (a[0] + b[0] * times, a[1] + b[1] * times)


def fields(message):
    """(number, value) of a message of protocol buffers: integers, or bytes."""
    at = 0

    def integer():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = integer()
        if tag & 7 == 0:
            yield tag >> 3, integer()
        else:
            length = integer()
            yield tag >> 3, message[at : at + length]
            at += length


def integers(packed):
    return [value for _, value in fields(b"".join(b"\0" + piece for piece in split(packed)))]


def split(packed):
    """The varints of a packed field, as bytes."""
    piece = b""
    for byte in packed:
        piece += bytes([byte])
        if byte < 128:
            yield piece
            piece = b""


def read_totals(path):
    """Sums of a pprof file by the names of its sample types."""
    with gzip.open(path) as file:
        parts = list(fields(file.read()))
    strings = [value.decode() for number, value in parts if number == 6]
    types = [strings[dict(fields(value))[1]] for number, value in parts if number == 1]
    sums = dict.fromkeys(types, 0)
    for number, value in parts:
        if number != 2:
            continue
        for name, amount in zip(types, integers(dict(fields(value))[2])):
            sums[name] += amount
    return sums


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "x.pb.gz")

    def start(self, *args, **variables):
        child = subprocess.Popen(
            [ALLOMON, "run", "--exact", "-o", self.out, *args],
            env={"PATH": os.environ["PATH"], "ALLOMON_LIBRARY": LIBRARY, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.addCleanup(child.kill)
        return child

    def run_it(self, *args, **variables):
        child = self.start(*args, **variables)
        child.out, child.err = child.communicate(timeout=60)
        return child


class RealLibraryTest(Case):
    def assert_recorded(self, total, peak, live, err=None):
        sums = read_totals(self.out)
        recorded = {
            name: (sums[f"{name}_objects"], sums[f"{name}_space"])
            for name in ("alloc", "peak", "inuse")
        }
        self.assertEqual(recorded, {"alloc": total, "peak": peak, "inuse": live}, err)

    def test_samples_that_stay_in_place_have_the_same_totals(self):
        done = self.run_it("--in-place=1/1", KNOWN)
        self.assertEqual(done.returncode, 3, done.err)
        self.assert_recorded(TOTAL, PEAK, LIVE, done.err)
        program = (
            "import ctypes; malloc = ctypes.CDLL(None).malloc; malloc.restype = ctypes.c_void_p; "
            "print(malloc(1000) >> 46)"
        )
        # Python's objects would be more than the table has room for.
        python = ["env", "ALLOMON_PYTHON=0", sys.executable, "-c", program]
        for share, bit in (["--in-place=1/1"], "0\n"), ([], "1\n"):
            done = self.run_it("-q", *share, *python)
            self.assertEqual(done.out, bit, done.err)

    def test_exact_profile_is_the_truth(self):
        done = self.run_it(KNOWN)
        self.assertEqual((done.returncode, done.out), (3, ""))
        self.assert_recorded(TOTAL, PEAK, LIVE)
        self.assertEqual(
            [line.split(":")[1].split()[:3] for line in done.err.splitlines()[:3]],
            [["total", "14.4", "MiB"], ["peak", "4.9", "MiB"], ["live", "97.7", "KiB"]],
        )

    def test_wrappers_do_not_hide_the_program(self):
        for wrapper in (["timeout", "50"], ["env", "A=b"], ["nice"], ["sh", "-c", '"$@"; :', "x"],
                        ["sh", "-c", 'exec "$@"', "x"], ["timeout", "50", "nice", "env"]):
            with self.subTest(wrapper):
                done = self.run_it(*wrapper, KNOWN)
                self.assert_recorded(TOTAL, PEAK, LIVE, done.err)

    def test_forked_children_begin_from_zero_and_are_added(self):
        done = self.run_it(KNOWN, "50")
        self.assertIn("by known_program, 51 processes\n", done.err)
        sums = read_totals(self.out)
        self.assertEqual(
            (sums["alloc_objects"], sums["alloc_space"]), plus(TOTAL, CHILD, times=50)
        )
        self.assertEqual((sums["inuse_objects"], sums["inuse_space"]), plus(LIVE, CHILD, times=50))

    def test_children_that_execute_a_program_at_the_same_time(self):
        done = self.run_it("sh", "-c", f"seq 40 | xargs -P 4 -n 1 sh -c '{KNOWN}; exit 0'")
        self.assertEqual(done.returncode, 0, done.err)
        self.assertIn("by known_program, 40 processes\n", done.err)
        sums = read_totals(self.out)
        self.assertEqual(
            (sums["alloc_objects"], sums["alloc_space"]), plus((0, 0), TOTAL, times=40)
        )

    def test_full_recording_is_said_once_and_by_the_command(self):
        script = f'i=0; while [ $i -lt 4 ]; do "{KNOWN}"; i=$((i+1)); done'
        done = self.run_it("--limit=1m", "sh", "-c", script)
        self.assertEqual((done.returncode, done.out), (0, ""))
        self.assertRegex(done.err, r"allomon run: not in the recording, .*--limit may help\n")
        self.assertEqual(done.err.count("for want of room"), 1)

    def test_want_of_addresses_names_the_option(self):
        done = self.run_it("sh", "-c", f'ulimit -v 200000; "{KNOWN}"; exit 0')
        self.assertIn("give allomon run a smaller --limit; the program runs unrec", done.err)

    def test_library_that_takes_no_variable_was_loaded(self):
        done = self.run_it(KNOWN, ALLOMON_HZ="0")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(
            done.err,
            r"\Aallomon: ALLOMON_HZ=0: .*\n"
            r"allomon run: nothing was recorded: .* library has said why it records nothing\n\Z",
        )

    def test_no_children(self):
        done = self.run_it("--no-children", KNOWN, "5")
        self.assertEqual(done.returncode, 3)
        self.assert_recorded(TOTAL, PEAK, LIVE, done.err)

    def test_kill_with_all_descriptors_closed_loses_nothing(self):
        done = self.run_it(KNOWN, "0", "die")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assert_recorded(plus(TOTAL, (1000, 100 * 1000)), PEAK, plus(LIVE, LIVE))

    def test_signal_to_the_command_ends_the_program_and_there_is_a_file(self):
        child = self.start(KNOWN, "0", "wait")
        self.assertEqual(child.stdout.readline(), "ready\n")
        child.terminate()
        _, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, -signal.SIGTERM, err)
        self.assert_recorded(TOTAL, PEAK, LIVE)

    def test_background_process_is_written_as_it_is(self):
        script = f'"{KNOWN}" 0 wait >"{self.folder}/said" 2>&1 & echo $!; ' \
                 f'until [ -s "{self.folder}/said" ]; do sleep 0.05; done'
        done = self.run_it("sh", "-c", script)
        os.kill(int(done.out), signal.SIGKILL)
        self.assertIn(f"goes on: known_program ({done.out.strip()})", done.err)
        self.assert_recorded(TOTAL, PEAK, LIVE, done.err)

    def test_resident_memory_is_read_from_outside(self):
        buffer = 64 << 20
        done = self.run_it("nice", "dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=200")
        self.assertEqual(done.returncode, 0, done.err)
        report = [ALLOMON, "report", "--format=json", self.out]
        shown = json.loads(subprocess.run(report, capture_output=True, check=True).stdout)
        for resident in (shown["resident_bytes"], shown["resident_bytes_at_most"]):
            self.assertTrue(buffer < resident < buffer + (16 << 20), resident)
        self.assertTrue(buffer <= shown["resident_live_bytes"] < buffer + (1 << 20))

    def live_bytes(self, born, file):
        report = [ALLOMON, "report", "--json", "--born=" + born, file]
        done = subprocess.run(report, capture_output=True, encoding="utf-8", timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return sum(row["self"] for row in json.loads(done.stdout)["functions"])

    # Allocates 5 MB, and is quiet until a line comes.
    QUIET = (
        "import ctypes, os, sys; malloc = ctypes.CDLL(None).malloc; "
        "kept = [malloc(100_000) for _ in range(50)]; "
        "print('ready', flush=True); sys.stdin.readline(); os._exit(0)"
    )

    def expect_old(self, file):
        """What was allocated before a quiet second is older than that."""
        self.assertLess(self.live_bytes("1s..", file), 1_000_000)
        self.assertGreater(self.live_bytes("..1s", file), 4_900_000)

    def test_profile_ends_with_the_process(self):
        command = [ALLOMON, "run", "-q", "--exact", "-o", self.out, "/usr/bin/python3", "-c"]
        child = subprocess.Popen(
            [*command, self.QUIET],
            env={"PATH": os.environ["PATH"], "ALLOMON_LIBRARY": LIBRARY},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(1.2)
        child.communicate("\n", timeout=60)
        self.assertEqual(child.returncode, 0)
        self.expect_old(self.out)

    def test_file_of_a_process_that_runs_ends_now(self):
        file = os.path.join(self.folder, "x.rec")
        child = subprocess.Popen(
            ["/usr/bin/python3", "-c", self.QUIET],
            env={"LD_PRELOAD": LIBRARY, "ALLOMON_RECORD": file, "ALLOMON_RATE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(1.2)
        self.expect_old(file)
        child.kill()
        child.communicate(timeout=60)
        # The process is gone, and its file does not say when.
        self.assertGreater(self.live_bytes("1s..", file), 4_900_000)

    def test_pid_namespaces(self):
        """/proc of the outside has the memory file; one of the inside has not, and that is said."""
        unshare = ["unshare", "-pf"]
        if subprocess.run([*unshare, "--mount-proc", "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no namespaces may be made here")
        done = self.run_it(*unshare, KNOWN)
        self.assertEqual(done.returncode, 3, done.err)
        self.assert_recorded(TOTAL, PEAK, LIVE, done.err)
        done = self.run_it(*unshare, "--mount-proc", "sh", "-c", f'"{KNOWN}"; exit 4')
        self.assertEqual(done.returncode, 4, done.err)
        said = [line for line in done.err.splitlines() if "pid namespace of its own" in line]
        self.assertEqual(len(said), 1, done.err)


class StaticPrograms(Case):
    """Programs that have Allomon linked, and no loader that could find a function of the C library
    for it.  Each place of static_program allocates BLOCK."""

    HOSTS = [
        os.path.join(RUNFILES, "tests/run", name + suffix)
        for name in ("static_host", "static_pie_host")
        for suffix in ("", "_with_hooks")
    ]
    BLOCK = (1000, 1000 * 1000)
    # What the C library and libstdc++ allocate themselves, and a host's `true` beside it.
    MOST_OTHERS = (200, 200000)

    def assert_places(self, places, err):
        sums = read_totals(self.out)
        for name in "alloc", "inuse":
            blocks, size = sums[f"{name}_objects"], sums[f"{name}_space"]
            self.assertLessEqual(0, blocks - places * self.BLOCK[0], err)
            self.assertLess(blocks - places * self.BLOCK[0], self.MOST_OTHERS[0], err)
            self.assertLess(abs(size - places * self.BLOCK[1]), self.MOST_OTHERS[1], err)

    def environment(self, **variables):
        return {"PATH": os.environ["PATH"], **variables}

    def report(self, *args):
        return subprocess.run(
            [ALLOMON, "report", *args], capture_output=True, encoding="utf-8", check=True
        ).stdout

    def test_they_are_static(self):
        for host in self.HOSTS:
            headers = subprocess.run(
                ["readelf", "-lW", host], capture_output=True, text=True, check=True
            ).stdout
            self.assertNotIn("INTERP", headers, host)
            self.assertIn("GNU_EH_FRAME", headers, host)

    def test_run_records_each_place(self):
        places_of_one = ["thread", "child", "spawned", "atexit", "callback", "names", "locks"]
        one_each = [([], 0)] + [([word], 1) for word in places_of_one]
        for host in self.HOSTS:
            for words, places in (
                *(one_each if host == self.HOSTS[0] else []),
                (["executed"], 1),
                (places_of_one, len(places_of_one)),
            ):
                with self.subTest(host=host, words=words):
                    done = self.run_it(host, "3", *words)
                    status = 6 if "executed" in words else 3
                    self.assertEqual((done.returncode, done.out), (status, ""), done.err)
                    self.assert_places(places, done.err)

    def test_stacks_go_through_the_c_library_and_threads_have_names(self):
        for host in self.HOSTS:
            with self.subTest(host):
                self.run_it(host, "0", "callback", "names")
                stacks = subprocess.run(
                    [ALLOMON, "export", "--format=collapsed", "-o", "-", self.out],
                    capture_output=True,
                    encoding="utf-8",
                    check=True,
                ).stdout
                self.assertRegex(stacks, r"main;Do;.*qsort.*;Compare;AllocateKnown ")
                self.assertRegex(stacks, r"clone3?;start_thread;.*InNamedThread;AllocateKnown ")
                self.assertIn("named worker", self.report("--view=threads", self.out))

    def test_recording_and_flat_profile_by_the_environment(self):
        for host in self.HOSTS:
            with self.subTest(host):
                for variables, most in (
                    ({"ALLOMON_RECORD": self.out + ".rec"}, 1),
                    ({"ALLOMON_PROFILE": "alloc", "ALLOMON_OUT": self.out + ".%p.out"}, 2),
                ):
                    done = subprocess.run(
                        [host, "4", "child", "thread", "atexit"],
                        env=self.environment(ALLOMON_RATE="1", **variables),
                        capture_output=True,
                        encoding="utf-8",
                        timeout=60,
                    )
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (4, "", ""))
                    files = [
                        os.path.join(self.folder, name)
                        for name in os.listdir(self.folder)
                        if name.endswith((".rec", ".out"))
                    ]
                    self.assertEqual(len(files), most)
                    for path in files:
                        program = [host] if host.endswith("_with_hooks") and most == 2 else []
                        self.assertIn("AllocateKnown", self.report(*program, path))
                        os.unlink(path)

    def test_calls_are_counted_by_entry_hooks(self):
        for host in self.HOSTS:
            if not host.endswith("_with_hooks"):
                continue
            with self.subTest(host):
                done = subprocess.run(
                    [host, "0", "thread", "callback", "atexit"],
                    env=self.environment(ALLOMON_PROFILE="count", ALLOMON_OUT=self.out + ".out"),
                    capture_output=True,
                    encoding="utf-8",
                    timeout=60,
                )
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(self.report(host, self.out + ".out"), r"AllocateKnown .*\b3\b")

    def test_idle_program_is_started_from_outside(self):
        for host in self.HOSTS:
            with self.subTest(host):
                recording = self.out + ".ctl.rec"
                child = subprocess.Popen(
                    [host, "0", "wait"],
                    env=self.environment(
                        ALLOMON_PROFILE="idle", ALLOMON_RECORD=recording, ALLOMON_RATE="1e-2"
                    ),
                )
                self.addCleanup(child.wait)
                self.addCleanup(child.kill)
                deadline = time.monotonic() + 60
                while True:
                    done = subprocess.run(
                        [ALLOMON, "ctl", str(child.pid), "start"], capture_output=True, text=True
                    )
                    if done.returncode == 0 and "records" in done.stdout + done.stderr:
                        break
                    self.assertLess(time.monotonic(), deadline, done.stderr)
                    time.sleep(0.1)
                while True:
                    done = subprocess.run(
                        [ALLOMON, "save", str(child.pid), "-o", self.out],
                        capture_output=True,
                        text=True,
                    )
                    if done.returncode == 0 and "AllocateKnown" in self.report(self.out):
                        break
                    self.assertLess(time.monotonic(), deadline, done.stderr)
                    time.sleep(0.1)
                child.kill()


if __name__ == "__main__":
    sys.exit(unittest.main())
