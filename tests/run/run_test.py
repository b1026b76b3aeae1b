#!/usr/bin/env python3
"""`allomon run` around programs that it records by a fake library, whose numbers are known."""

import array
import ctypes
import fcntl
import gzip
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
FAKE = os.path.join(RUNFILES, "tests/run/libfake_recorder.so")
STATIC = os.path.join(RUNFILES, "tests/run/static_program")
MIB = 1 << 20


class RunCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def environment(self, variables):
        return {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm",
            "TMPDIR": self.folder,
            "ALLOMON_LIBRARY": FAKE,
            "FAKE_sleep": f"{64 * MIB},{2 * MIB},{16 * MIB},1000",
            **variables,
        }

    def run_it(self, *args, **variables):
        return subprocess.run(
            [ALLOMON, "run", *args],
            cwd=self.folder,
            env=self.environment(variables),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )

    def start(self, *args, **variables):
        child = subprocess.Popen(
            [ALLOMON, "run", *args],
            cwd=self.folder,
            env=self.environment(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.addCleanup(child.kill)
        return child

    def files(self):
        return sorted(os.listdir(self.folder))

    def profile(self, name):
        with gzip.open(os.path.join(self.folder, name)) as file:
            return file.read()


class StatusTest(RunCase):
    def test_status_is_the_programs(self):
        for status in 0, 1, 77, 255:
            done = self.run_it("-o", "x", "sh", "-c", f"exit {status}")
            self.assertEqual(done.returncode, status)

    def test_status_is_the_programs_where_nobody_reads_the_lines(self):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as closed:
            done = subprocess.run([ALLOMON, "run", "-o", "x.pb.gz", "sh", "-c", "exit 3"],
                                  cwd=self.folder, env=self.environment({}), stderr=closed)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(self.files(), ["x.pb.gz"])

    def test_limit_of_file_sizes_is_one_line(self):
        done = subprocess.run(
            ["sh", "-c", 'ulimit -f 100; exec "$@"', "sh", ALLOMON, "run", "touch", "ran"],
            cwd=self.folder, env=self.environment({}), capture_output=True, encoding="utf-8",
        )
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^allomon run: the limit of file sizes \(ulimit -f\).*\n\Z")
        self.assertEqual(self.files(), [])

    def test_signal_that_ended_the_program_ends_the_command(self):
        for number in signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGINT:
            with self.subTest(number):
                done = self.run_it("-o", "x.pb.gz", "sh", "-c", f"kill -{int(number)} $$")
                self.assertEqual(done.returncode, -number)
                self.assertIn(b"allomon", self.profile("x.pb.gz"))

    def test_program_that_is_not_there_or_cannot_be_executed(self):
        done = self.run_it("--", "no-such-program")
        self.assertEqual((done.returncode, done.stdout), (127, ""))
        self.assertRegex(done.stderr, "^allomon run: cannot execute no-such-program: .*\n$")
        done = self.run_it("/etc/passwd")
        self.assertEqual(done.returncode, 126)
        self.assertRegex(done.stderr, "^allomon run: cannot execute /etc/passwd: .*\n$")
        self.assertEqual(self.files(), [])

    def test_rate_of_the_environment_is_looked_at_as_that_of_the_option(self):
        for rate in "0", "abc", "":
            done = self.run_it("touch", "ran", ALLOMON_RATE=rate)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, f'^allomon run: ALLOMON_RATE: "{rate}" is .*\n\\Z')
            self.assertEqual(self.files(), [])
        self.assertEqual(self.run_it("-q", "--rate=1", "true", ALLOMON_RATE="0").returncode, 0)

    def test_arguments_and_output_are_the_programs(self):
        done = self.run_it("-q", "--", "printf", "%s|", "a b", "", "$x", "--version")
        self.assertEqual((done.stdout, done.stderr), ("a b||$x|--version|", ""))


class HostTest(RunCase):
    def test_program_has_no_descriptor_of_ours(self):
        done = self.run_it("-q", "sh", "-c", "ls -l /proc/self/fd")
        self.assertNotIn("allomon", done.stdout)
        self.assertNotIn("memfd", done.stdout)

    def test_closed_streams_stay_closed_and_harm_nothing(self):
        """The recording has the number of none, to which a line of ours would be written."""
        script = (
            "for fd in 0 1 2; do [ ! -e /proc/$$/fd/$fd ] || : >open.$fd; done; "
            "sleep 60 & echo $! >pid; sleep 1"
        )
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", ALLOMON, "run", "-o", "x.pb.gz", "sh",
             "-c", script], cwd=self.folder, env=self.environment({}), timeout=60,
        )
        with open(os.path.join(self.folder, "pid"), encoding="utf-8") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.files(), ["pid", "x.pb.gz"])

    def test_program_has_the_signals_that_it_would_have(self):
        lines = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
        plain = subprocess.run(["sh", "-c", lines], capture_output=True, encoding="utf-8")
        self.assertEqual(self.run_it("-q", "sh", "-c", lines).stdout, plain.stdout)
        ignoring = f"trap '' INT CHLD USR1; {lines}"
        plain = subprocess.run(["sh", "-c", ignoring], capture_output=True, encoding="utf-8")
        recorded = ignoring.replace("; ", f"; {ALLOMON} run -q ")
        done = subprocess.run(
            ["sh", "-c", recorded], capture_output=True, encoding="utf-8", cwd=self.folder,
            env=self.environment({}), timeout=60,
        )
        self.assertEqual(done.stdout, plain.stdout)

    def test_environment_is_ours_besides_the_users(self):
        done = self.run_it("-q", "--exact", "--seed=5", "--guard=9", "--in-place=1/16", "env",
                           LD_PRELOAD=FAKE, ALLOMON_SUMMARY="1", ALLOMON_RECORD_LIMIT="1m",
                           ALLOMON_RATE="0.5")
        variables = dict(line.split("=", 1) for line in done.stdout.splitlines())
        self.assertEqual(variables["LD_PRELOAD"].split(":"), [os.path.realpath(FAKE), FAKE])
        self.assertRegex(variables["ALLOMON_RECORD"], r"^/proc/\d+/fd/\d+$")
        ours = {name: value for name, value in variables.items() if name.startswith("ALLOMON_")}
        del ours["ALLOMON_RECORD"]
        self.assertRegex(ours.pop("ALLOMON_RECORD_INODE"), r"^\d+:\d+$")
        self.assertEqual(
            ours, {"ALLOMON_RATE": "1", "ALLOMON_SEED": "5", "ALLOMON_GUARD": "1/9",
                   "ALLOMON_IN_PLACE": "1/16", "ALLOMON_SUMMARY": "1"}
        )

    def test_signal_for_which_no_recording_waits_is_said_once(self):
        names = "env | grep ALLOMON_DUMP; true"
        done = self.run_it("-q", "sh", "-c", names, ALLOMON_DUMP="USR2")
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aallomon run: ALLOMON_DUMP: recordings wait [^\n]+\n\Z")
        done = self.run_it("-q", "sh", "-c", names, ALLOMON_DUMP="USR2", ALLOMON_PROFILE="live")
        self.assertEqual((done.stdout, done.stderr), ("ALLOMON_DUMP=USR2\n", ""))

    def test_the_memory_file_is_named_with_its_inode(self):
        program = (
            "import os\n"
            "file = os.stat(os.environ['ALLOMON_RECORD'])\n"
            "print(os.environ['ALLOMON_RECORD_INODE'] == f'{file.st_dev}:{file.st_ino}')\n"
        )
        self.assertEqual(self.run_it("-q", sys.executable, "-c", program).stdout, "True\n")

    def test_orphans_leave_no_zombies(self):
        """As the first process of a container it gets them all, and so does a subreaper."""
        script = "(true & echo $! >pid); sleep 1; [ ! -e /proc/$(cat pid) ]"
        become_reaper = lambda: ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # noqa: E731
        done = subprocess.run(
            [ALLOMON, "run", "-q", "-o", "x.pb.gz", "sh", "-c", script], cwd=self.folder,
            env=self.environment({}), preexec_fn=become_reaper, timeout=60,
        )
        self.assertEqual(done.returncode, 0)

    def test_memory_can_be_neither_cut_nor_grown(self):
        program = (
            "import os\n"
            "fd = os.open(os.environ['ALLOMON_RECORD'], os.O_RDWR)\n"
            "size = os.fstat(fd).st_size\n"
            "for length in 0, size - 1, size + 1:\n"
            "  try: os.ftruncate(fd, length); print('cut')\n"
            "  except PermissionError: pass\n"
            "print(size, os.pread(fd, 8, 0))\n"
        )
        done = self.run_it("-q", "--limit=3m", sys.executable, "-c", program)
        self.assertEqual(done.stdout, f"{3 * MIB} {b'ALLOREC' + bytes([10])}\n", done.stderr)

    def test_only_the_first_process(self):
        done = self.run_it("-o", "x.pb.gz", "--no-children", "sh", "-c", "sleep 0.01; true",
                           FAKE_sh=f"{MIB},0,0,10", FAKE_dash=f"{MIB},0,0,10",
                           FAKE_bash=f"{MIB},0,0,10")
        self.assertIn("total 1.0 MiB (exactly)\n", done.stderr)
        self.assertEqual(self.files(), ["x.pb.gz"])


class ServiceTest(RunCase):
    """The program of a service: its manager (systemd) has started `allomon run`."""

    def run_by_shell(self, assignments, script):
        """`allomon run -q sh -c script`; in `assignments` $$ is its own number."""
        return subprocess.run(
            ["sh", "-c", f'{assignments} exec "$@"', "sh"]
            + [ALLOMON, "run", "-q", "sh", "-c", script],
            cwd=self.folder, env=self.environment({}), capture_output=True, encoding="utf-8",
            timeout=60,
        )

    def test_variables_that_name_the_command_name_the_program(self):
        names = ["LISTEN_PID", "WATCHDOG_PID", "SYSTEMD_EXEC_PID"]
        ours = " ".join(f"{name}=$$" for name in names)
        echo = "echo $$ $LISTEN_PID $WATCHDOG_PID $SYSTEMD_EXEC_PID ${LISTEN_PIDFDID-unset}"
        done = self.run_by_shell(ours + " LISTEN_PIDFDID=7", echo)
        own, *others = done.stdout.split()
        self.assertEqual(others, [own, own, own, "unset"], done.stderr)

    def test_variables_that_name_others_stay(self):
        echo = "echo $LISTEN_PID $WATCHDOG_PID ${SYSTEMD_EXEC_PID-unset} $LISTEN_PIDFDID"
        done = self.run_by_shell("LISTEN_PID=1 WATCHDOG_PID=x LISTEN_PIDFDID=7", echo)
        self.assertEqual(done.stdout, "1 x unset 7\n", done.stderr)

    def notified(self, address, send):
        """(text, sender, number of descriptors) of what came to the manager at `address`."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            manager.bind(address.replace("@", "\0"))
            manager.settimeout(0)
            program = (
                "import array, os, socket\n"
                "to = os.environ['NOTIFY_SOCKET'].replace('@', '\\0')\n"
                "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                "def send(text, fds=()):\n"
                "  parts = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))]\n"
                "  s.sendmsg([text], parts if fds else [], 0, to)\n" + send
            )
            child = self.start("-q", sys.executable, "-c", program, NOTIFY_SOCKET=address)
            self.assertEqual(child.communicate(timeout=60), ("", ""))
            self.assertEqual(child.returncode, 0)
            came = []
            while True:
                try:
                    text, parts, _, _ = manager.recvmsg(1 << 16, 4096)
                except BlockingIOError:
                    return came
                sender = descriptors = 0
                for _, kind, data in parts:
                    if kind == socket.SCM_CREDENTIALS:
                        sender = struct.unpack("3i", data)[0]
                    else:
                        for fd in array.array("i", data):
                            os.close(fd)
                            descriptors += 1
                came.append((text, sender == child.pid, descriptors))

    def test_the_manager_hears_the_program_as_its_main_process(self):
        send = (
            "send(b'READY=1\\nMAINPID=%d\\nSTATUS=up\\n' % os.getpid())\n"
            "send(b'FDSTORE=1', [os.open('/dev/null', 0) for _ in range(3)])\n"
            "send(b'MAINPID=7')\n"
            "send(b'WATCHDOG=1')\n"
        )
        for address in self.folder + "/notify", f"@allomon-run-test-{os.getpid()}":
            with self.subTest(address):
                self.assertEqual(self.notified(address, send), [
                    (b"READY=1\nSTATUS=up\n", True, 0),
                    (b"FDSTORE=1", True, 3),
                    (b"WATCHDOG=1", True, 0),
                ])

    def test_a_barrier_is_passed_when_the_manager_has_closed_it(self):
        send = (
            "r, w = os.pipe()\n"
            "send(b'BARRIER=1', [w])\n"
            "os.close(w)\n"
            "import select, sys\n"
            "sys.exit(0 if not select.select([r], [], [], .2)[0] else 1)\n"
        )
        self.assertEqual(self.notified(self.folder + "/notify", send), [(b"BARRIER=1", True, 1)])

    def test_a_manager_that_is_slow_hears_all(self):
        """It has no room for so many: the kernel's queue has 10 places, or some hundreds."""
        with open("/proc/sys/net/unix/max_dgram_qlen", encoding="utf-8") as file:
            count = 5 * (int(file.read()) + 2)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(self.folder + "/notify")
            manager.settimeout(30)
            program = (
                "import os, socket\n"
                "to = os.environ['NOTIFY_SOCKET'].replace('@', '\\0')\n"
                "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                f"for i in range({count}): s.sendto(b'STATUS=%d' % i, to)\n"
            )
            child = self.start("-q", sys.executable, "-c", program,
                               NOTIFY_SOCKET=self.folder + "/notify")
            time.sleep(0.5)
            for i in range(count):
                self.assertEqual(manager.recv(100), b"STATUS=%d" % i)
            self.assertEqual(child.communicate(timeout=60), ("", ""))

    def test_a_manager_that_is_gone_or_none_keeps_nobody_waiting(self):
        send = "import os; print(os.environ['NOTIFY_SOCKET'][:12])"
        done = self.run_it("-q", sys.executable, "-c", send, NOTIFY_SOCKET="/nowhere")
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("@allomon-run\n", "", 0))
        done = self.run_it("-q", sys.executable, "-c", send, NOTIFY_SOCKET="vsock:2:1")
        self.assertEqual((done.stdout, done.returncode), ("vsock:2:1\n", 0))
        self.assertRegex(done.stderr, "^allomon run: NOTIFY_SOCKET is no address .*vsock:2:1.*\n$")


class OutputTest(RunCase):
    def test_ends_with_three_totals_and_the_next_command(self):
        done = self.run_it("sleep", "0")
        self.assertEqual(done.stdout, "")
        self.assertRegex(
            done.stderr,
            r"\Aallomon run: total 64\.0 MiB \(exactly\)\n"
            r"allomon run: peak  16\.0 MiB \(exactly\) after 0\.0 s\n"
            r"allomon run: live  2\.0 MiB \(exactly\) at the end\n"
            r"allomon run: next: allomon report allomon\.sleep\.\d+\.pb\.gz, "
            r"or allomon flame allomon\.sleep\.\d+\.pb\.gz\n\Z",
        )
        self.assertRegex(" ".join(self.files()), r"^allomon\.sleep\.\d+\.pb\.gz$")

    def test_file_is_named_as_the_program_was_called(self):
        os.symlink(shutil.which("sleep"), os.path.join(self.folder, "nap"))
        self.run_it("./nap", "0")
        self.assertRegex(" ".join(self.files()), r"^allomon\.nap\.\d+\.pb\.gz nap$")

    def test_wrappers_are_not_the_program(self):
        for wrapper in (["timeout", "20"], ["env"], ["nice"], ["sh", "-c", 'sleep 0; true "$@"'],
                        ["sh", "-c", "exec sleep 0"], ["timeout", "9", "sh", "-c", "sleep 0; :"]):
            with self.subTest(wrapper):
                done = self.run_it("-o", "x.pb.gz", *wrapper, "sleep", "0")
                self.assertIn("total 64.0 MiB (exactly) by sleep", done.stderr)
                self.assertEqual(self.files(), ["x.pb.gz"])

    def test_other_programs_have_files_beside(self):
        script = "sleep 0; sleep 0; cat /dev/null; nice true"
        done = self.run_it("-o", "x.pb.gz", "sh", "-c", script,
                           FAKE_cat=f"{40 * MIB},0,0,9", FAKE_true=f"{MIB // 2},0,0,9")
        self.assertEqual(self.files(), ["x.cat.pb.gz", "x.pb.gz"])
        self.assertIn("total 128.0 MiB (exactly) by sleep, 2 processes\n", done.stderr)
        self.assertIn("other programs: x.cat.pb.gz\n", done.stderr)
        self.assertRegex(done.stderr, "without a file, since they allocated little: .*true")

    def test_place_is_looked_at_before_the_program_runs(self):
        for out in "nowhere/x", ".":
            done = self.run_it("-o", out, "touch", "ran")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"^allomon run: cannot write .*\n\Z")
        self.assertEqual(self.files(), [])

    def test_recording_that_was_written_over_is_lost(self):
        program = (
            "import os\n"
            "fd = os.open(os.environ['ALLOMON_RECORD'], os.O_WRONLY)\n"
            "os.pwrite(fd, bytes(64), 0)\n"
        )
        done = self.run_it("-o", "x.pb.gz", sys.executable, "-c", program)
        self.assertRegex(done.stderr, r"^allomon run: the recording cannot .*; it is lost\n\Z")
        self.assertEqual(self.files(), [])

    def test_folder_that_vanishes_loses_nothing(self):
        os.mkdir(os.path.join(self.folder, "gone"))
        done = self.run_it("-o", "gone/x.pb.gz", "sh", "-c", "sleep 0; rmdir gone")
        saved = os.path.join(self.folder, "x.pb.gz")
        self.assertIn("cannot write gone/x.pb.gz: No such file or directory", done.stderr)
        self.assertIn(f"it is saved as {saved}\n", done.stderr)
        self.assertEqual(self.files(), ["x.pb.gz"])

    @unittest.skipIf(os.geteuid() != 0, "mounts")
    def test_full_disk_loses_nothing(self):
        disk = os.path.join(self.folder, "disk")
        os.mkdir(disk)
        script = (f"mount -t tmpfs -o size=16k none {disk} && head -c 16384 /dev/zero >{disk}/full"
                  f" && {ALLOMON} run -o {disk}/x.pb.gz sleep 0")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True,
                              encoding="utf-8", env=self.environment({}), timeout=60)
        if "mount:" in done.stderr or "unshare:" in done.stderr:
            self.skipTest("mounting is forbidden here")
        self.assertEqual(done.returncode, 0)
        self.assertIn("No space left on device", done.stderr)
        self.assertIn(f"it is saved as {self.folder}/x.pb.gz\n", done.stderr)

    def test_device_gets_the_main_program_only(self):
        done = self.run_it("-o", "/dev/null", "sh", "-c", "sleep 0; nice true",
                           FAKE_true=f"{9 * MIB},0,0,9")
        self.assertIn("by sleep", done.stderr)
        self.assertEqual(self.files(), [])

    def test_no_library_is_one_line_with_the_remedy(self):
        done = self.run_it("true", ALLOMON_LIBRARY="/nowhere/lib.so")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^allomon run: cannot read /nowhere/lib\.so; set .*\n\Z")

    def install(self, prefix, place):
        os.makedirs(os.path.join(prefix, place))
        os.makedirs(os.path.join(prefix, "bin"))
        shutil.copy(FAKE, os.path.join(prefix, place, "liballomon.so"))
        return shutil.copy(ALLOMON, os.path.join(prefix, "bin"))

    def run_installed(self, command):
        env = self.environment({})
        del env["ALLOMON_LIBRARY"]
        run = [command, "run", "-o", "/dev/null", "sleep", "0"]
        return subprocess.run(run, capture_output=True, encoding="utf-8", env=env)

    def test_library_is_found_beside_the_command(self):
        for place in "lib", "lib/allomon", "lib/x86_64-linux-gnu", "lib64":
            with self.subTest(place):
                root = os.path.join(self.folder, place.replace("/", "-"))
                command = self.install(root, place)
                self.assertIn("total 64.0 MiB", self.run_installed(command).stderr)
                os.unlink(os.path.join(root, place, "liballomon.so"))
                done = self.run_installed(command)
                self.assertRegex(done.stderr, r"^allomon run: no liballomon\.so in .*\n\Z")

    def test_installation_is_moved_and_linked_to(self):
        prefix = os.path.join(self.folder, "here")
        self.install(prefix, "lib")
        moved = os.path.join(self.folder, "there")
        os.rename(prefix, moved)
        link = os.path.join(self.folder, "allomon")
        os.symlink("there/bin/allomon", link)
        for command in os.path.join(moved, "bin/allomon"), link:
            self.assertIn("total 64.0 MiB", self.run_installed(command).stderr)

    def test_loader_takes_a_path_with_spaces(self):
        for folder in "a b", "a:b", "$LIB":
            command = self.install(os.path.join(self.folder, folder), "lib")
            self.assertIn("total 64.0 MiB", self.run_installed(command).stderr, folder)
        spaced = shutil.copy(FAKE, os.path.join(self.folder, "a b.so"))
        done = self.run_it("-o", "/dev/null", "sleep", "0", ALLOMON_LIBRARY=spaced)
        self.assertIn("total 64.0 MiB", done.stderr)

    def test_program_that_cannot_be_recorded(self):
        done = self.run_it(STATIC, "3")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^allomon run: nothing was recorded: .* statically.*\n\Z")
        self.assertEqual(self.files(), [])

    @unittest.skipIf(os.geteuid() != 0, "changes owners")
    def test_set_uid_program_cannot_be_recorded(self):
        program = shutil.copy("/bin/sleep", self.folder)
        try:
            os.chown(program, 65534, 65534)
        except OSError:
            self.skipTest("there is one user only")
        os.chmod(program, 0o4755)
        os.chmod(self.folder, 0o755)
        done = self.run_it("-o", "/dev/null", program, "0")
        self.assertRegex(done.stderr, r"^allomon run: nothing was recorded: .*set-uid.*\n\Z")

    def test_programs_that_go_on_are_named(self):
        script = "sleep 60 >/dev/null 2>&1 & echo $!; sleep 1"
        done = self.run_it("-o", "x.pb.gz", "sh", "-c", script)
        os.kill(int(done.stdout), signal.SIGKILL)
        pid = done.stdout.strip()
        self.assertIn(f"1 process goes on: sleep ({pid}); written is what was", done.stderr)


class SignalTest(RunCase):
    def wait_until(self, is_so):
        for _ in range(600):
            if is_so():
                return
            time.sleep(0.05)
        self.fail("waited in vain")

    def test_signals_reach_the_program(self):
        for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1:
            with self.subTest(number):
                name = signal.Signals(number).name[3:]
                script = f"trap 'echo got; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
                child = self.start("-o", "x.pb.gz", "sh", "-c", script)
                self.assertEqual(child.stdout.readline(), "ready\n")
                child.send_signal(number)
                out, err = child.communicate(timeout=60)
                self.assertEqual((out, child.returncode), ("got\n", 9), err)
                self.assertIn("total", err)

    def test_alarm_of_before_ends_the_program(self):
        """`perl -e 'alarm 60; exec @ARGV'` is a time limit for whatever it executes."""
        alarm = "import os, signal, sys; signal.alarm(1); os.execv(sys.argv[1], sys.argv[1:])"
        done = subprocess.run(
            [sys.executable, "-c", alarm, ALLOMON, "run", "-o", "x.pb.gz", "sleep", "30"],
            cwd=self.folder, env=self.environment({}), capture_output=True, timeout=60,
        )
        self.assertEqual(done.returncode, -signal.SIGALRM, done.stderr)
        self.assertEqual(self.files(), ["x.pb.gz"])

    def test_program_dies_with_who_has_started_it_if_that_is_wanted(self):
        die_with_parent = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0); " \
                          "os.execv(sys.argv[1], sys.argv[1:])"
        script = 'python="$1"; shift; "$python" -c "$@" & wait'
        child = subprocess.Popen(
            ["sh", "-c", script, "sh", sys.executable, die_with_parent, ALLOMON, "run", "-q", "-o",
             "x.pb.gz", "sh", "-c", "echo $$; exec sleep 60"],
            cwd=self.folder, env=self.environment({}), stdout=subprocess.PIPE, encoding="utf-8",
        )
        self.addCleanup(child.stdout.close)
        pid = int(child.stdout.readline())
        child.kill()
        child.wait()
        self.wait_until(lambda: not os.path.exists(f"/proc/{pid}/exe"))

    def test_program_that_is_killed_leaves_a_file(self):
        child = self.start("-o", "x.pb.gz", "sh", "-c", "echo $$; exec sleep 60")
        pid = int(child.stdout.readline())
        self.wait_until(lambda: os.readlink(f"/proc/{pid}/exe").endswith(("sleep", "coreutils")))
        time.sleep(0.2)
        os.kill(pid, signal.SIGKILL)
        _, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, -signal.SIGKILL)
        self.assertIn("total 64.0 MiB", err)


class TerminalTest(RunCase):
    """With a terminal of its own, as the leader of a session that is a shell."""

    def on_terminal(self, *command, **variables):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(command[0], command, self.environment(variables))
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.addCleanup(os.close, terminal)
        return pid, terminal

    def read_until(self, terminal, pattern):
        text = b""
        end = time.monotonic() + 60
        while not re.search(pattern, text):
            if not select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
                self.fail(f"no {pattern} in {text}")
            try:
                chunk = os.read(terminal, 65536)
            except OSError:
                chunk = b""
            if not chunk:
                self.fail(f"no {pattern} in {text}")
            text += chunk
        return text

    def ended(self, pid):
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_ctrl_c_is_the_programs(self):
        script = "trap 'echo got; exit 9' INT; echo ready; while :; do sleep 0.05; done"
        pid, terminal = self.on_terminal(ALLOMON, "run", "-o", "x.pb.gz", "sh", "-c", script)
        self.read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        text = self.read_until(terminal, b"next: ")
        self.assertEqual(text.count(b"got"), 1)
        self.assertEqual(self.ended(pid), 9)

    def test_ctrl_c_that_kills_the_program_leaves_a_file(self):
        pid, terminal = self.on_terminal(ALLOMON, "run", "-o", "x.pb.gz", "sh", "-c",
                                         "echo ready; exec sleep 60")
        self.read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        self.read_until(terminal, b"next: ")
        self.assertEqual(self.ended(pid), -signal.SIGINT)

    def test_hangup_of_the_terminal_reaches_the_program(self):
        """The kernel sends it to the leader of the session alone."""
        pid, terminal = pty.fork()
        if pid == 0:
            script = "trap 'exit 9' HUP; echo ready; for i in $(seq 600); do sleep 0.05; done"
            os.chdir(self.folder)
            command = [ALLOMON, "run", "-o", "x.pb.gz", "sh", "-c", script]
            os.execve(ALLOMON, command, self.environment({}))
        try:
            self.read_until(terminal, b"ready")
        finally:
            os.close(terminal)
        self.assertEqual(self.ended(pid), 9)
        self.assertEqual(self.files(), ["x.pb.gz"])

    def test_ctrl_z_stops_and_fg_goes_on(self):
        pid, terminal = self.on_terminal("/bin/bash", "--norc", "-i", PS1="# ")
        os.write(terminal, f"{ALLOMON} run -o x.pb.gz sh -c "
                 "'echo rea\"\"dy; read line; echo got-$line'\n".encode())
        self.read_until(terminal, b"ready")
        os.write(terminal, b"\x1a")
        self.read_until(terminal, b"Stopped")
        os.write(terminal, b"fg\n")
        self.read_until(terminal, b"fg")
        os.write(terminal, b"more\n")
        self.read_until(terminal, b"(?s)got-more.*next: ")
        os.write(terminal, b"exit 5\n")
        self.assertEqual(self.ended(pid), 5)

    def test_progress_is_a_title_where_the_program_writes(self):
        pid, terminal = self.on_terminal(ALLOMON, "run", "-o", "x.pb.gz", "sleep", "1.2")
        text = self.read_until(terminal, b"next: ")
        self.assertEqual(self.ended(pid), 0)
        self.assertRegex(text, rb"\x1b\[22;0t\x1b\]0;\d\.\d s, live 2\.0 MiB, peak 16\.0 MiB, "
                               rb"1,000 samples\x07")
        self.assertIn(b"\x1b[23;0t", text)
        self.assertNotIn(b"\x1b[K", text)

    def test_progress_is_a_line_where_the_program_is_silent(self):
        pid, terminal = self.on_terminal("/bin/sh", "-c",
                                         f"{ALLOMON} run -o x.pb.gz sleep 1.2 >out")
        text = self.read_until(terminal, b"next: ")
        self.assertEqual(self.ended(pid), 0)
        self.assertRegex(text, rb"\r\x1b\[K\d\.\d s, live 2\.0 MiB, .* samples\r")
        self.assertRegex(text, rb"\r\x1b\[Kallomon run: total")

    def test_dumb_and_quiet_terminals_have_no_progress(self):
        for arguments, variables in (["-q"], {}), ([], {"TERM": "dumb"}):
            pid, terminal = self.on_terminal("/bin/sh", "-c", f"{ALLOMON} run {' '.join(arguments)}"
                                             " -o x.pb.gz sleep 0.7 >out; echo over", **variables)
            text = self.read_until(terminal, b"over")
            self.assertNotIn(b"\x1b", text)
            self.assertNotIn(b" s, live", text)
            self.ended(pid)


if __name__ == "__main__":
    sys.exit(unittest.main())
