#!/usr/bin/env python3
"""Commands on a server in namespaces of its own: from outside, and from inside as its user.

Its program lies where nobody outside has a file of this name, in a tmpfs of its mount namespace;
or below a root folder of its own.  It is process 1 or 2 of its pid namespace.
"""

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import meanwhile  # noqa: E402

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
SERVER = os.path.join(RUNFILES, "tests/control/server")
LIBRARY = os.path.join(RUNFILES, "allocator/liballomon.so")

# A user namespace lets a user that is not root make the other ones.
NAMESPACES = ["unshare", "--user", "--map-root-user", "--pid", "--mount", "--cgroup", "--ipc",
              "--fork", "--kill-child", "--mount-proc"]
CONTAINERS = 50

# What Docker's default profile refuses to a container without capabilities, by their numbers on
# x86-64.
REFUSED = [
    134, 139, 153, 155, 156, 159, 161, 163, 164, 165, 166, 167, 168, 169, 170, 172, 173, 174, 175,
    176, 177, 178, 179, 180, 212, 227, 237, 238, 239, 246, 248, 249, 250, 256, 272, 279, 298, 303,
    304, 305, 308, 312, 313, 320, 321, 323, 425, 426, 427, 428, 429, 430, 431, 432, 442,
]
CLONE3 = 435


def refuse_as_docker():
    """Between fork and exec: no new rights, and a filter of the kernel's (seccomp(2))."""
    load, equal, answer = 0x20, 0x15, 0x06
    allow, error = 0x7FFF0000, 0x00050000
    calls = [(number, 1) for number in REFUSED] + [(CLONE3, 38)]
    lines = [struct.pack("HBBI", load, 0, 0, 0)]
    for number, code in calls:
        lines.append(struct.pack("HBBI", equal, 0, 1, number))
        lines.append(struct.pack("HBBI", answer, 0, 0, error | code))
    lines.append(struct.pack("HBBI", answer, 0, 0, allow))
    code = ctypes.create_string_buffer(b"".join(lines))
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, filter_mode, program, 0, 0):
        os._exit(99)


def last_child(pid):
    """The id here of the innermost process that `pid` has started."""
    while True:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
        if not children:
            return pid
        pid = int(children[0])


def id_inside(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return [line.split()[-1] for line in file if line.startswith("NSpid:")][0]


class ContainersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)
        os.mkdir(self.path("app"))
        if subprocess.run([*NAMESPACES, "true"], capture_output=True).returncode != 0:
            self.skipTest("NOT TESTED: user, pid and mount namespaces are forbidden here")

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, command, **options):
        """A server that answers lines.  Returns its id here."""
        self.server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
            cwd=self.folder, **options)
        self.addCleanup(self.server.communicate)
        self.addCleanup(self.server.kill)
        self.assertEqual(self.server.stdout.readline(), "ready\n")
        pid = last_child(self.server.pid)
        self.addCleanup(self.remove_files, id_inside(pid), os.stat(f"/proc/{pid}/ns/pid").st_ino)
        return pid

    @staticmethod
    def remove_files(pid, namespace):
        for suffix in ("control", "rec"):
            for name in (f"allomon-{pid}.{namespace}", f"allomon-{pid}"):
                try:
                    os.unlink(f"/dev/shm/{name}.{suffix}")
                except FileNotFoundError:
                    pass

    def start_in_container(self, chroot=False, **variables):
        variables = {"LD_PRELOAD": LIBRARY, "ALLOMON_PROFILE": "idle", **variables}
        words = "env " + " ".join(f"{name}={value}" for name, value in variables.items())
        app = self.path("app")
        script = f"mount -t tmpfs none {app} && cp {SERVER} {app}/server && exec "
        if chroot:
            os.mkdir(self.path("root"))
            script = (f"mount --rbind / {self.path('root')} && "
                      f"mount -t tmpfs none {self.path('root')}{app} && "
                      f"cp {SERVER} {self.path('root')}{app}/server && "
                      f"exec chroot {self.path('root')} ")
        return self.start([*NAMESPACES, "sh", "-c", f"{script} {words} {app}/server"])

    def do(self, line):
        self.server.stdin.write(line + "\n")
        self.server.stdin.flush()
        return self.server.stdout.readline()

    def allomon(self, *args, inside=None, status=0):
        enter = []
        if inside is not None:
            enter = ["nsenter", f"--target={inside}", "--user", "--pid", "--mount", "--cgroup",
                     "--preserve-credentials"]
        done = subprocess.run([*enter, ALLOMON, *[str(arg) for arg in args]], cwd=self.folder,
                              capture_output=True, encoding="utf-8", timeout=120)
        self.assertEqual(done.returncode, status, (args, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def ask(self, number, *args, inside=None):
        """Asks, and allocates until the answer has come: a server looks once in 8 MiB."""
        with meanwhile(lambda: self.do("a 1")):
            return self.allomon("ctl", number, *args, inside=inside)

    def test_names_of_code_that_only_the_container_has(self):
        for chroot in (False, True):
            with self.subTest(chroot=chroot):
                pid = self.start_in_container(chroot, ALLOMON_IN_PLACE="1/4")
                self.assertFalse(os.path.exists(self.path("app/server")))
                self.assertRegex(self.allomon("list"), rf"process {pid} \(server\): idle")
                self.assertIn("records every block", self.ask(pid, "start", "--exact"))
                self.do("l 2")
                self.assertIn("records", self.allomon("ctl", pid, "status"))
                self.assertIn("Leak", self.allomon("top", pid, "-n", 1))
                for saved in (self.path(f"{chroot}.pb.gz"), self.path(f"{chroot}.rec")):
                    self.allomon("save", pid, "-o", saved)
                    self.assertIn("Leak", self.allomon("report", "--metric=live", saved))
                self.assertIn("live blocks", self.allomon("explain", pid))
                self.assertIn("Leak", self.allomon("leaks", pid, status=1))
                self.assertIn("global g_kept of server", self.allomon("leaks", pid, "--why=Leak"))
                self.assertIn("Leak", self.allomon("report", "--view=pages", pid))
                self.assertIn("Leak", self.serve(f"--pid={pid}"))
                self.assertIn("idle", self.ask(pid, "stop"))

    def serve(self, *options):
        """The profile of a server of `allomon serve`, as text."""
        server = subprocess.Popen([ALLOMON, "serve", "--listen=127.0.0.1:0", *options],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  encoding="utf-8")
        try:
            url = server.stdout.readline().split()[-1]
            with urllib.request.urlopen(url + "debug/pprof/heap", timeout=60) as reply:
                with open(self.path("served.pb.gz"), "wb") as file:
                    file.write(reply.read())
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
        return self.allomon("report", "--metric=live", self.path("served.pb.gz"))

    def test_from_inside(self):
        host = self.start_in_container()
        pid = id_inside(host)
        self.assertRegex(self.allomon("list", inside=host), rf"process {pid} \(server\): idle")
        self.assertIn("records every block", self.ask(pid, "start", "--exact", inside=host))
        self.do("l 2")
        self.assertIn("Leak", self.allomon("top", pid, "-n", 1, inside=host))
        self.assertIn("live blocks", self.allomon("explain", pid, inside=host))
        self.assertIn("Leak", self.allomon("leaks", pid, inside=host, status=1))
        self.assertIn("idle", self.ask(pid, "stop", inside=host))

    def test_children_by_their_ids_outside(self):
        pid = self.start_in_container()
        self.do("f")
        self.assertIn("records every block", self.ask(pid, "start", "--exact", "--all-children"))
        self.do("c a 200")
        self.do("c l 2")
        self.assertIn("Leak", self.allomon("top", pid, "--all-children", "-n", 1))
        child = last_child(pid)
        self.assertNotEqual(child, pid)
        self.assertIn("Leak", self.allomon("top", child, "-n", 1))

    def test_refused_system_calls_do_not_matter(self):
        environment = {"LD_PRELOAD": LIBRARY, "ALLOMON_PROFILE": "idle"}
        pid = self.start([SERVER], preexec_fn=refuse_as_docker, env=environment)
        self.assertIn("records every block", self.ask(pid, "start", "--exact"))
        self.do("t 10")
        self.do("l 2")
        self.assertIn("Leak", self.allomon("top", pid, "-n", 1))
        self.assertIn("idle", self.ask(pid, "stop"))

    def test_processes_1_of_many_containers_share_a_volume(self):
        os.mkdir(self.path("volume"))
        command = ["env", f"LD_PRELOAD={LIBRARY}", f"ALLOMON_RECORD={self.path('volume/%p.rec')}",
                   "ALLOMON_RATE=1", SERVER]
        hosts = [subprocess.Popen([*NAMESPACES, *command], stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, encoding="utf-8")
                 for _ in range(CONTAINERS)]
        for number, host in enumerate(hosts, 1):
            host.stdin.write(f"l {number % 3 + 1}\n")
            host.stdin.flush()
        deadline = time.monotonic() + 60
        while len(os.listdir(self.path("volume"))) < CONTAINERS and time.monotonic() < deadline:
            time.sleep(0.1)
        for host in hosts:
            host.communicate("q\n", timeout=60)
            self.assertEqual(host.returncode, 0)
        files = os.listdir(self.path("volume"))
        self.assertEqual(len(files), CONTAINERS, files)
        for file in files:
            self.assertIn("Leak", self.allomon("report", self.path("volume/" + file)))

    def test_processes_1_of_one_recording_are_told_apart(self):
        if os.geteuid() != 0:
            self.skipTest("NOT TESTED: a user namespace would not reach the file of the recording")
        container = "unshare --pid --fork --kill-child " + SERVER
        script = "".join(f"(echo l {mib}; exec sleep 60) | {container} & " for mib in (3, 1))
        run = subprocess.Popen(
            [ALLOMON, "run", "-q", "--exact", "-o", "x.pb.gz", "sh", "-c", script + "wait"],
            env={**os.environ, "ALLOMON_LIBRARY": LIBRARY}, stdout=subprocess.PIPE,
            encoding="utf-8", cwd=self.folder, start_new_session=True)
        self.addCleanup(run.communicate)
        self.addCleanup(os.killpg, run.pid, signal.SIGKILL)
        answers = sorted(run.stdout.readline() for _ in range(4))
        self.assertEqual(answers, ["done\n", "done\n", "ready\n", "ready\n"])
        live = []
        for pid in subprocess.run(["pgrep", "-s", str(run.pid), "server"], capture_output=True,
                                  encoding="utf-8", check=True).stdout.split():
            self.assertEqual(id_inside(pid), "1")
            for view in ("--view=functions", "--leaks"):
                rows = json.loads(self.allomon("report", "--json", view, pid))
                row = next(row for row in rows.get("leaks") or rows["functions"]
                           if row["function"] == "Leak")
                live.append(row["live"] if view == "--leaks" else row["self"])
        sizes = [mib * (1 << 20) // 1000 * 1000 for mib in (1, 3)]
        self.assertEqual(sorted(live), sorted(2 * sizes))


if __name__ == "__main__":
    unittest.main()
