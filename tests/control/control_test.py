#!/usr/bin/env python3
"""A host that idles is asked to record, by `allomon ctl` and its kin, while it runs."""

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import meanwhile  # noqa: E402

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
SERVER = os.path.join(RUNFILES, "tests/control/server")
LINKED_SERVER = os.path.join(RUNFILES, "tests/control/linked_server")
LIBRARY = os.path.join(RUNFILES, "allocator/liballomon.so")

FIRST_PID_NAMESPACE = 0xEFFFFFFC
# Offsets of control_layout.h.
VERSION_AT = 8
REQUEST_AT = 88


def stem(pid, namespace=None):
    """Of the names of files in /dev/shm."""
    namespace = namespace or os.stat("/proc/self/ns/pid").st_ino
    return f"allomon-{pid}" + (f".{namespace}" if namespace != FIRST_PID_NAMESPACE else "")


PAGE = f"/dev/shm/{stem('%d')}.control"
RECORDING = f"/dev/shm/{stem('%d')}.rec"


class Server:
    """tests/control/server.c, preloaded or linked."""

    # In a pid namespace of its own, where it is process 1.
    ALONE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]

    def __init__(self, folder, program=SERVER, wrapper=(), **variables):
        environment = {"ALLOMON_PROFILE": "idle", **variables}
        if program == SERVER:
            # The wrapper is no host.
            if wrapper:
                wrapper = [*wrapper, "env", "LD_PRELOAD=" + LIBRARY]
            else:
                environment["LD_PRELOAD"] = LIBRARY
        self.process = subprocess.Popen(
            [*wrapper, program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=folder,
            env=environment,
        )
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"
        if wrapper:
            with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="utf-8") as file:
                self.pid = int(file.read())

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def do(self, line):
        self.send(line)
        return self.process.stdout.readline().strip()

    def end(self):
        """What it said on standard error."""
        _, error = self.process.communicate(timeout=60)
        return error


class Terminal:
    """tmux, with one program in it."""

    def __init__(self, folder, command, columns=100, rows=24):
        self.tmux = ["tmux", "-f", "/dev/null", "-S", os.path.join(folder, "tmux")]
        self.run("new-session", "-d", "-x", str(columns), "-y", str(rows), command)

    def run(self, *arguments):
        return subprocess.run([*self.tmux, *arguments], check=True, capture_output=True,
                              encoding="utf-8", timeout=60).stdout

    def press(self, *keys):
        self.run("send-keys", *keys)

    def screen(self):
        return self.run("capture-pane", "-p")

    def wait_for(self, pattern):
        """The screen, once it has that."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            screen = self.screen()
            if re.search(pattern, screen):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"no {pattern} on the screen:\n{self.screen()}")


class ControlTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.pids = []
        self.addCleanup(self.remove_files)

    def remove_files(self):
        for pid in self.pids:
            for path in (PAGE % pid, RECORDING % pid):
                if os.path.exists(path):
                    os.unlink(path)

    def start(self, **variables):
        server = Server(self.folder, **variables)
        self.addCleanup(server.process.communicate)
        self.addCleanup(server.process.kill)
        self.pids.append(server.pid)
        return server

    def allomon(self, *args):
        return subprocess.run(
            [ALLOMON, *[str(arg) for arg in args]],
            cwd=self.folder,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )

    def busy(self, server):
        """Allocates while the block runs: a process looks once in 8 MiB."""
        return meanwhile(lambda: server.do("a 1"))

    def ask(self, server, *args, status=0):
        with self.busy(server):
            answer = self.allomon("ctl", server.pid, *args)
        self.assertEqual(answer.returncode, status, answer.stdout + answer.stderr)
        return answer.stdout + answer.stderr

    # ---- what it is for

    def check_recording_between_start_and_stop(self, server):
        server.do("l 8")
        self.assertIn("idle", self.allomon("ctl", server.pid, "status").stdout)
        self.assertIn("records every block", self.ask(server, "start", "--exact"))
        server.do("l 2")
        self.assertIn("idle; the last recording is", self.ask(server, "stop"))
        server.do("l 16")
        saved = self.allomon("save", server.pid, "-o", "s.pb.gz")
        self.assertEqual(saved.returncode, 0, saved.stderr)
        report = self.allomon("report", "--format=csv", "s.pb.gz").stdout
        leak = next(line for line in report.splitlines() if line.startswith("Leak,"))
        self.assertIn(str(2 * (1 << 20) // 1000 * 1000), leak)

    def test_a_recording_has_what_was_allocated_between_start_and_stop(self):
        self.check_recording_between_start_and_stop(self.start())

    def test_a_program_that_links_the_library_is_asked_as_one_that_is_preloaded(self):
        self.check_recording_between_start_and_stop(self.start(program=LINKED_SERVER))

    def test_an_hour_of_idling_leaves_nothing_behind(self):
        server = self.start()
        self.assertTrue(os.path.exists(PAGE % server.pid))
        self.assertEqual(os.stat(PAGE % server.pid).st_mode & 0o777, 0o600)
        server.do("a 200")
        server.send("q")
        self.assertEqual(server.end(), "")
        self.assertFalse(os.path.exists(PAGE % server.pid))
        self.assertFalse(os.path.exists(RECORDING % server.pid))
        self.assertEqual(os.listdir(self.folder), [])

    def test_start_and_stop_again_and_again(self):
        server = self.start()
        with self.busy(server):
            for _ in range(20):
                for verb in ("start", "stop"):
                    answer = self.allomon("ctl", server.pid, verb)
                    self.assertEqual(answer.returncode, 0, answer.stderr)
        server.send("q")
        self.assertEqual(server.end(), "")
        self.assertEqual(server.process.returncode, 0)

    def test_what_an_earlier_recording_has_lost_is_nothing_of_this_one(self):
        server = self.start()
        unreachable = []
        for _ in range(2):
            self.ask(server, "start", "--exact")
            server.do("k 1")
            shown = self.allomon("report", server.pid, "--leaks", "--json")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            rows = {row["function"]: row for row in json.loads(shown.stdout)["leaks"]}
            unreachable.append(rows["Keep"]["unreachable"])
            self.ask(server, "stop")
        self.assertEqual(unreachable, [0, 0])

    def test_the_environment_says_what_start_does_not(self):
        path = os.path.join(self.folder, "mine.%p.rec")
        server = self.start(ALLOMON_RECORD=path, ALLOMON_RATE="1")
        self.assertFalse(os.path.exists(path.replace("%p", str(server.pid))))
        answer = self.ask(server, "start")
        self.assertIn("records every block into " + path.replace("%p", str(server.pid)), answer)

    def test_a_relative_path_goes_by_the_folder_at_the_start(self):
        server = self.start(ALLOMON_RECORD="mine.%p.rec")
        server.do("d")
        path = os.path.join(self.folder, f"mine.{server.pid}.rec")
        self.assertIn("into " + path, self.ask(server, "start"))
        self.assertTrue(os.path.exists(path))

    def test_a_rate_at_which_nothing_is_sampled_is_refused(self):
        server = self.start(ALLOMON_RATE="0")
        with self.busy(server):
            refused = self.allomon("ctl", server.pid, "start")
        self.assertIn("its rate is 0", refused.stderr)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("records every block", self.ask(server, "start", "--exact"))

    def test_another_rate_begins_anew(self):
        server = self.start()
        self.ask(server, "start", "--exact")
        server.do("l 4")
        self.assertIn("one sample per 7.8 KiB", self.ask(server, "rate", "1e-3"))
        report = self.allomon("report", "--format=csv", RECORDING % server.pid)
        self.assertNotIn("Leak,", report.stdout)

    def test_top_stops_what_it_has_started(self):
        server = self.start()
        with self.busy(server):
            top = self.allomon("top", server.pid, "--every=0.1", "-n", "2")
        self.assertEqual(top.returncode, 0, top.stderr)
        self.assertEqual(top.stdout.count("sampled about every"), 2, top.stdout)
        # Neither the heading nor what is suggested names a folder of /proc.
        self.assertIn(RECORDING % server.pid, top.stdout)
        self.assertNotIn("/proc/", top.stdout)
        self.assertIn("idle", self.allomon("ctl", server.pid, "status").stdout)

    def test_a_thread_with_the_smallest_stack_carries_it_out(self):
        server = self.start()
        asked = self.allomon("ctl", server.pid, "start", "--wait=0")
        self.assertEqual(asked.returncode, 1)
        server.do("t 200")
        self.assertIn("records", self.allomon("ctl", server.pid, "status").stdout)

    # ---- fork

    def test_workers_are_asked_with_their_parent(self):
        server = self.start()
        child = int(server.do("f"))
        self.pids.append(child)
        server.do("c a 200")  # the child has its page now
        self.assertTrue(os.path.exists(PAGE % child))
        asked = self.allomon("ctl", server.pid, "start", "--all-children", "--wait=0")
        self.assertEqual(asked.returncode, 1)
        server.do("a 200")
        server.do("c a 200")
        listed = self.allomon("list").stdout
        self.assertIn(RECORDING % server.pid, listed)
        self.assertIn(RECORDING % child, listed)

    def test_a_worker_that_has_not_looked_yet_does_as_its_parent_was_asked(self):
        server = self.start()
        child = int(server.do("f"))
        self.pids.append(child)
        self.ask(server, "start", "--all-children")
        self.assertFalse(os.path.exists(PAGE % child))
        server.do("c a 200")
        self.assertIn("records", self.allomon("ctl", child, "status").stdout)

    def test_a_worker_forked_while_its_parent_records_is_stopped_by_itself(self):
        server = self.start()
        self.ask(server, "start", "--exact")
        child = int(server.do("f"))
        self.pids.append(child)
        server.do("c l 8")
        server.do("c a 200")
        status = self.allomon("ctl", child, "status").stdout
        self.assertIn("records every block into " + RECORDING % child, status)
        self.allomon("ctl", child, "stop", "--wait=0")
        server.do("c a 200")
        self.assertIn("idle", self.allomon("ctl", child, "status").stdout)
        self.assertIn("records", self.allomon("ctl", server.pid, "status").stdout)

    def test_a_parent_that_never_allocates_keeps_nobody_waiting(self):
        server = self.start()
        child = int(server.do("f"))
        self.pids.append(child)
        server.do("c a 200")  # the child has its page now
        begun = time.monotonic()
        asked = subprocess.Popen(
            [ALLOMON, "ctl", str(server.pid), "start", "--all-children", "--wait=60"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        while asked.poll() is None:
            server.do("c a 20")
        out, errors = asked.communicate()
        self.assertEqual(asked.returncode, 0, errors)
        self.assertIn(f"process {child} (", out)
        self.assertIn("1 of 2 processes have not answered", errors)
        self.assertLess(time.monotonic() - begun, 30)

    def test_workers_are_shown_and_saved_with_their_parent(self):
        server = self.start()
        child = int(server.do("f"))
        self.pids.append(child)
        server.do("c a 200")  # the child has its page now
        self.allomon("ctl", server.pid, "start", "--exact", "--all-children", "--wait=0")
        server.do("a 200")
        server.do("c a 200")
        server.do("l 3")
        server.do("c l 4")
        top = self.allomon("top", server.pid, "--all-children")
        self.assertEqual(top.returncode, 0, top.stderr)
        self.assertRegex(top.stdout, r"Leak +.*7\.0 MiB")
        saved = self.allomon("save", server.pid, "--all-children", "-o", "all.pb.gz")
        self.assertEqual(saved.returncode, 0, saved.stderr)
        report = self.allomon("report", "all.pb.gz").stdout
        self.assertRegex(report, r"Leak +.*7\.0 MiB")
        alone = self.allomon("save", server.pid, "-o", "one.pb.gz")
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertRegex(self.allomon("report", "one.pb.gz").stdout, r"Leak +.*3\.0 MiB")

    def test_a_worker_started_before_its_parent_has_answered_does_as_that_was_asked(self):
        server = self.start()
        asked = self.allomon("ctl", server.pid, "start", "--all-children", "--wait=0")
        self.assertEqual(asked.returncode, 1)
        child = int(server.do("f"))
        self.pids.append(child)
        server.do("c a 200")
        self.assertIn("records", self.allomon("ctl", child, "status").stdout)
        self.assertIn("idle", self.allomon("ctl", server.pid, "status").stdout)

    def test_all_are_stopped_though_one_does_not_record(self):
        server = self.start()
        child = int(server.do("f"))
        self.pids.append(child)
        server.do("c a 200")
        self.ask(server, "start")
        self.allomon("ctl", server.pid, "stop", "--all-children", "--wait=0")
        server.do("a 200")
        server.do("c a 200")
        statuses = self.allomon("ctl", server.pid, "status", "--all-children").stdout
        self.assertEqual(statuses.count(": idle"), 2, statuses)

    # ---- the same number in another pid namespace

    def start_alone(self, **variables):
        """A server that is process 1; the names of its files in /dev/shm are unlinked later."""
        if subprocess.run([*Server.ALONE, "true"], capture_output=True).returncode != 0:
            self.skipTest("NOT TESTED: no pid namespace can be made here (root is needed)")
        server = self.start(wrapper=Server.ALONE, **variables)
        name = stem(1, os.stat(f"/proc/{server.pid}/ns/pid").st_ino)
        for suffix in ("control", "rec"):
            self.addCleanup(lambda path=f"/dev/shm/{name}.{suffix}": os.path.exists(path)
                            and os.unlink(path))
        return server, f"/dev/shm/{name}.control"

    def test_processes_of_one_number_in_two_pid_namespaces_have_a_page_each(self):
        first, first_page = self.start_alone()
        before = os.stat(first_page).st_ino
        second, second_page = self.start_alone()
        self.assertNotEqual(first_page, second_page)
        self.assertEqual(os.stat(first_page).st_ino, before)
        self.assertIn("records every block", self.ask(first, "start", "--exact"))
        self.assertIn("idle", self.allomon("ctl", second.pid, "status").stdout)
        self.assertIn("records", self.ask(second, "start"))
        listed = self.allomon("list", "--clean").stdout
        # A killed child of another test may have left one, since the kernel gives a namespace's
        # number again.
        self.assertNotIn("of process 1, which has ended", listed)
        second.send("q")
        second.end()
        self.assertFalse(os.path.exists(second_page))
        self.assertEqual(os.stat(first_page).st_ino, before)
        self.assertIn("idle; the last recording is", self.ask(first, "stop"))

    def test_children_of_one_number_in_two_pid_namespaces_have_a_recording_each(self):
        path = os.path.join(self.folder, "x.rec")
        servers = [self.start_alone(ALLOMON_RECORD=path)[0] for _ in range(2)]
        for server in servers:
            self.ask(server, "start", "--exact")
        children = {server.do("f") for server in servers}
        self.assertEqual(len(children), 1)
        for mib, server in enumerate(servers, 2):
            server.do(f"c l {mib}")
        child = children.pop()
        self.assertEqual(
            sorted(os.listdir(self.folder)),
            sorted(["x.rec", "x.rec.1", f"x.rec.{child}", f"x.rec.{child}.2"]),
        )
        leaks = []
        for name in (f"x.rec.{child}", f"x.rec.{child}.2"):
            report = self.allomon("report", "--format=csv", name).stdout
            leaks.append(next(line for line in report.splitlines() if line.startswith("Leak,")))
        self.assertIn(str((2 << 20) // 1000 * 1000), leaks[0])
        self.assertIn(str((3 << 20) // 1000 * 1000), leaks[1])

    def test_pages_of_a_container_that_is_not_seen_are_left_by_list(self):
        first, first_page = self.start_alone()
        self.ask(first, "start")
        listed = subprocess.run(
            [*Server.ALONE, ALLOMON, "list", "--clean"], capture_output=True, encoding="utf-8"
        )
        # Pages of other tests, which have ended, may be removed.
        self.assertNotIn(first_page, listed.stdout)
        self.assertTrue(os.path.exists(first_page))
        self.assertTrue(os.path.exists(first_page.replace(".control", ".rec")))

    def test_a_page_tells_the_file_that_is_written_where_the_name_was_another_processes(self):
        path = os.path.join(self.folder, "x.rec")
        first = self.start(ALLOMON_RECORD=path)
        second = self.start(ALLOMON_RECORD=path)
        self.assertIn(f"into {path}\n", self.ask(first, "start"))
        self.assertIn(f"into {path}.{second.pid}\n", self.ask(second, "start"))
        self.assertIn(f"recording is {path}.{second.pid}\n", self.ask(second, "stop"))

    # ---- ends

    def killed_server(self):
        """A server that was killed while it recorded."""
        server = self.start()
        self.ask(server, "start", "--exact")
        server.do("l 2")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        return server

    def test_a_killed_server_leaves_its_recording_to_be_saved(self):
        server = self.killed_server()
        self.assertIn("which has ended", self.allomon("list").stdout)
        saved = self.allomon("save", server.pid, "-o", "dead.pb.gz")
        self.assertEqual(saved.returncode, 0, saved.stderr)
        cleaned = self.allomon("list", "--clean").stdout
        self.assertIn("removed " + PAGE % server.pid, cleaned)
        self.assertIn("removed " + RECORDING % server.pid, cleaned)

    def test_what_cannot_be_removed_is_no_success(self):
        alone = ["unshare", "--mount", "sh", "-c"]
        sealed = "mount --bind /dev/shm /dev/shm && mount -o remount,ro,bind /dev/shm"
        if subprocess.run([*alone, sealed], capture_output=True, check=False).returncode != 0:
            self.skipTest("NOT TESTED: mounts are refused here")
        self.pids.append(4194303)
        with open(RECORDING % 4194303, "w", encoding="utf-8"):
            pass
        done = subprocess.run(
            [*alone, f"{sealed} && {ALLOMON} list --clean"],
            capture_output=True, encoding="utf-8", check=False,
        )
        self.assertIn("cannot remove " + RECORDING % 4194303, done.stdout)
        self.assertEqual(done.returncode, 2)

    def test_what_a_killed_server_left_is_not_of_the_next_process_with_its_id(self):
        server = self.killed_server()
        time.sleep(0.2)
        other = subprocess.Popen(["sleep", "600"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.pids.append(other.pid)
        os.rename(RECORDING % server.pid, RECORDING % other.pid)  # as if it had the id
        saved = self.allomon("save", other.pid, "-o", "other.pb.gz")
        self.assertEqual(saved.returncode, 2, saved.stderr)
        self.assertIn("takes no requests", saved.stderr)
        # Its own, whose page was removed, is younger than it.
        os.utime(RECORDING % other.pid)
        saved = self.allomon("save", other.pid, "-o", "own.pb.gz")
        self.assertEqual(saved.returncode, 0, saved.stderr)

    # ---- processes that record from their start on

    def start_recorded(self, *before):
        """A server that `allomon run` records, with what another process records in that file."""
        run = [ALLOMON, "run", "-o", os.path.join(self.folder, "run.pb.gz"), "--",
               "sh", "-c", "perl -e 'print 1 x 3e7' >/dev/null; exec \"$@\"", "sh", *before]
        server = Server(self.folder, wrapper=run)
        # The shell is `allomon run`'s child, and becomes the server.
        self.addCleanup(server.process.communicate)
        self.addCleanup(server.process.kill)
        server.do("l 3")
        return server

    def test_one_that_allomon_run_records_is_shown_by_its_id(self):
        server = self.start_recorded()
        shown = json.loads(self.allomon("report", server.pid, "--json", "--metric=live").stdout)
        self.assertEqual((os.path.basename(shown["program"]), shown["pid"]), ("server", server.pid))
        self.assertAlmostEqual(shown["live_bytes"] / 3e6, 1, delta=0.9)
        self.assertLess(shown["alloc_bytes"], 2e7)
        # The id that a shell knows is that of allomon run.
        for command in ("report", "save", "top"):
            parent = self.allomon(command, server.process.pid)
            self.assertEqual(parent.returncode, 2)
            self.assertRegex(
                parent.stderr,
                f"^allomon {command}: .* process {server.pid}.* which it has started")
        top = self.allomon("top", server.pid, "--once", "--metric=live")
        self.assertEqual((top.returncode, top.stderr), (0, ""))
        self.assertRegex(top.stdout, r"\nLeak ")
        for command in (["save", server.pid, "-o", "s.pb.gz"], ["flame", server.pid],
                        ["export", "--format=csv", server.pid], ["diff", "s.pb.gz", server.pid]):
            done = self.allomon(*command)
            self.assertEqual(done.returncode, 0, (command, done.stderr))
        status = self.allomon("ctl", server.pid, "status")
        self.assertEqual(
            status.stderr, f"allomon ctl: process {server.pid} (server) takes no requests, since "
            f"it records from its start on: allomon report {server.pid}\n")

    def test_a_program_that_another_one_executed_is_not_taken_for_that(self):
        server = self.start_recorded(
            "python3", "-c", "import os, sys; kept = [bytearray(1000) for _ in range(50000)]; "
            "os.execvp(sys.argv[1], sys.argv[1:])")
        for view in ("--view=functions", "--leaks", "--view=types"):
            shown = self.allomon("report", server.pid, "--json", view)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))
            self.assertEqual(os.path.basename(json.loads(shown.stdout)["program"]), "server")
            self.assertLess(json.loads(shown.stdout)["alloc_bytes"], 2e7, view)

    def test_a_fork_that_has_allocated_nothing_is_not_its_parent(self):
        server = self.start_recorded()
        child = int(server.do("f"))
        shown = self.allomon("report", child)
        self.assertEqual(
            (shown.returncode, shown.stdout, shown.stderr),
            (2, "", f"allomon report: process {child}: nothing is recorded of it yet; read it "
             "again when it has begun to allocate\n"))
        top = self.allomon("top", server.pid, "--once", "--all-children", "--metric=live")
        self.assertEqual((top.returncode, top.stderr), (0, ""))
        self.assertRegex(top.stdout, r"\nLeak ")

    def test_one_whose_allomon_run_has_ended_goes_on_to_record(self):
        drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
        run = [*drop, ALLOMON, "run", "-o", os.path.join(self.folder, "run.pb.gz"), "--"]
        server = Server(self.folder, wrapper=run)
        self.addCleanup(server.process.communicate)
        self.addCleanup(os.kill, server.pid, signal.SIGKILL)
        server.process.kill()
        server.process.wait()
        server.do("l 3")
        shown = subprocess.run([*drop, ALLOMON, "report", str(server.pid)], capture_output=True,
                               encoding="utf-8", timeout=120)
        self.assertEqual((shown.returncode, shown.stdout), (2, ""))
        self.assertIn("records for an allomon run that has ended", shown.stderr)

    def test_one_that_records_nothing_is_no_profile(self):
        plain = self.allomon("report", os.getpid())
        self.assertEqual((plain.returncode, plain.stdout), (2, ""))
        self.assertEqual(
            plain.stderr, f"allomon report: process {os.getpid()} records nothing: allomon run "
            "records from the start on; one that idles begins by allomon ctl "
            f"{os.getpid()} start\n")
        gone = self.allomon("report", 4194304)
        self.assertEqual(
            (gone.returncode, gone.stderr),
            (2, "allomon report: process 4194304 is not there, and no file has this name\n"))
        with open(os.path.join(self.folder, str(os.getpid())), "w", encoding="utf-8") as file:
            file.write("main;f 3\n")
        named = self.allomon("report", os.getpid(), "--json")
        self.assertEqual((named.returncode, named.stderr), (0, ""))
        self.assertEqual(json.loads(named.stdout)["live_bytes"], 3)

    # ---- bad input

    def test_a_server_that_nobody_has_waited_for_has_ended(self):
        server = self.start()
        self.ask(server, "start", "--exact")
        server.do("l 2")
        server.process.send_signal(signal.SIGKILL)
        # Leaves the zombie to Popen.
        os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
        with open(f"/proc/{server.pid}/status", encoding="utf-8") as file:
            self.assertIn("(zombie)", file.read())
        line = f"{RECORDING % server.pid} of process {server.pid}, which has ended"
        self.assertIn(line, self.allomon("list").stdout)
        saved = self.allomon("save", server.pid, "-o", "dead.pb.gz")
        self.assertEqual(saved.returncode, 0, saved.stderr)

    def test_a_server_whose_first_thread_has_ended_runs(self):
        code = ("import ctypes, threading, time\n"
                "threading.Thread(target=time.sleep, args=[600]).start()\n"
                "ctypes.CDLL(None).syscall(60, 0)\n")  # exit, of this thread alone
        process = subprocess.Popen(["python3", "-c", code])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        state = f"/proc/{process.pid}/status"
        while True:
            with open(state, encoding="utf-8") as file:
                if "(zombie)" in file.read():
                    break
            time.sleep(0.01)
        recording = RECORDING % process.pid
        self.pids.append(process.pid)
        with open(recording, "w", encoding="utf-8"):
            pass
        self.assertNotIn(recording, self.allomon("list").stdout)

    def test_a_server_whose_first_thread_has_ended_is_asked(self):
        code = ("import ctypes, threading, time\n"
                "def work():\n"
                "    while True: bytearray(1 << 20); time.sleep(0.001)\n"
                "threading.Thread(target=work).start()\n"
                "ctypes.CDLL(None).syscall(60, 0)\n")
        process = subprocess.Popen(
            ["/usr/bin/python3", "-c", code],
            env={"LD_PRELOAD": LIBRARY, "ALLOMON_PROFILE": "idle"},
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.pids.append(process.pid)
        state = f"/proc/{process.pid}/status"
        while True:
            with open(state, encoding="utf-8") as file:
                if "(zombie)" in file.read():
                    break
            time.sleep(0.01)
        started = self.allomon("ctl", process.pid, "start")
        self.assertEqual(started.returncode, 0, started.stderr)
        self.assertIn("records one sample per", started.stdout)
        saved = self.allomon("save", process.pid, "-o", "s.pb.gz")
        self.assertEqual(saved.returncode, 0, saved.stderr)

    def test_processes_that_cannot_be_asked(self):
        gone = self.allomon("ctl", 4194304, "start")
        self.assertEqual(gone.returncode, 2)
        self.assertEqual(gone.stderr, "allomon ctl: there is no process 4194304\n")
        plain = self.allomon("ctl", os.getpid(), "start")
        self.assertEqual(plain.returncode, 2)
        self.assertIn("takes no requests: start it with ALLOMON_PROFILE=idle", plain.stderr)
        off = self.start(ALLOMON_PROFILE="no")
        self.assertIn(
            "has Allomon in it, but takes no requests",
            self.allomon("ctl", off.pid, "start").stderr,
        )

    def test_one_who_waits_is_told_that_nothing_was_allocated(self):
        server = self.start()
        asked = self.allomon("ctl", server.pid, "start", "--wait=0.05")
        self.assertEqual(asked.returncode, 1)
        self.assertIn("has not answered yet", asked.stderr)

    def test_refusals_say_why(self):
        server = self.start()
        self.assertIn("refuses: it does not record", self.ask(server, "stop", status=2))
        self.assertIn(
            "cannot be created; name a file in a directory",
            self.ask(server, "start", "--record=/nowhere/at/all.rec", status=2),
        )
        self.ask(server, "start")
        self.assertIn("refuses: it records already", self.ask(server, "start", status=2))

    def test_two_commands_at_once(self):
        server = self.start()
        with open(PAGE % server.pid, "r+b") as page:
            fcntl.flock(page, fcntl.LOCK_EX)
            second = self.allomon("ctl", server.pid, "start")
        self.assertEqual(second.returncode, 2)
        self.assertIn("another command talks to", second.stderr)

    def test_a_page_of_another_version(self):
        server = self.start()
        with open(PAGE % server.pid, "r+b") as page:
            page.seek(VERSION_AT)
            page.write(struct.pack("<I", 99))
        answer = self.allomon("ctl", server.pid, "start")
        self.assertEqual(answer.returncode, 2)
        self.assertRegex(answer.stderr, r"has Allomon \d+\.\d+\.\d+.*use its own")

    def test_a_truncated_page_harms_nobody(self):
        server = self.start()
        os.truncate(PAGE % server.pid, 0)
        self.assertEqual(server.do("a 200"), "done")
        answer = self.allomon("ctl", server.pid, "start")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("is damaged; restart the process", answer.stderr)

    def test_requests_that_nobody_would_write(self):
        """Verbs, rates, limits and paths without an end: refused, and the host goes on."""
        server = self.start()
        forms = [
            struct.pack("<IIdQ", 77, 1, 0.0, 0) + b"/" * 1024,
            struct.pack("<IIdQ", 1, 0, float("nan"), 0) + b"\0" * 1024,
            struct.pack("<IIdQ", 1, 0, 2.0, 0) + b"\0" * 1024,
            struct.pack("<IIdQ", 1, 0, 1.0, 1) + b"\0" * 1024,
            struct.pack("<IIdQ", 1, 0, 1.0, 1 << 63) + b"\0" * 1024,
            struct.pack("<IIdQ", 1, 0, 1.0, 0) + b"x" * 1024,
        ]
        for number, form in enumerate(forms, 1):
            with open(PAGE % server.pid, "r+b") as page:
                page.seek(REQUEST_AT + 8)
                page.write(form)
                page.seek(REQUEST_AT)
                page.write(struct.pack("<Q", number))
            self.assertEqual(server.do("a 200"), "done")
            self.assertIn("idle", self.allomon("ctl", server.pid, "status").stdout)
        server.send("q")
        self.assertEqual(server.end(), "")
        self.assertEqual(server.process.returncode, 0)

    # ---- allomon top on a terminal

    def open(self, pid, *options, columns=100, rows=24):
        self.assertIsNotNone(shutil.which("tmux"), "apt-get install tmux libncursesw6")
        command = shlex.join(["env", "LC_ALL=C.UTF-8", ALLOMON, "top", str(pid), "--every=0.2",
                              *options])
        terminal = Terminal(self.folder, f"cd {self.folder}; {command}; echo status $?; sleep 1000",
                            columns, rows)
        self.addCleanup(terminal.run, "kill-server")
        return terminal

    def leaking(self):
        """A server that records already, and has something live."""
        server = self.start()
        self.ask(server, "start")
        server.do("l 20")
        return server

    def test_keys_are_pressed_and_the_screen_is_read(self):
        server = self.leaking()
        terminal = self.open(server.pid)
        terminal.wait_for(rf"server {server.pid}: functions, live\n(.*\n)+.*Leak +.*MiB")
        terminal.press("Enter")
        terminal.wait_for(r"callers of Leak, live\n(.*\n)+.*MiB .* main")
        terminal.press("Escape", "m")
        self.assertNotIn("main", terminal.wait_for(r"functions, (?!live)\w+\n(.*\n)+.*Leak"))
        terminal.press("s")
        terminal.wait_for(r", by stack\n(.*\n)+main ")
        terminal.press("/", "L", "e", "a", "Enter")
        self.assertNotIn("Churn", terminal.wait_for(r", /Lea/\n"))
        terminal.press("?")
        terminal.wait_for("Space +freeze, or go on")
        terminal.press("x", "h")
        terminal.wait_for("threads, ")
        terminal.press("w", "Enter")
        terminal.wait_for(f"next: allomon report allomon.{server.pid}.pb.gz")
        self.assertIn("Leak", self.allomon("report", f"allomon.{server.pid}.pb.gz").stdout)
        terminal.press("q")
        terminal.wait_for("status 0")

    def test_what_is_frozen_stays(self):
        server = self.leaking()
        terminal = self.open(server.pid)
        terminal.wait_for("Leak +.*MiB")
        terminal.press("Space")
        before = terminal.wait_for(", frozen")
        server.do("l 100")
        time.sleep(1)
        self.assertEqual(terminal.screen(), before)
        terminal.press("Space")
        terminal.wait_for(r"Leak +.* 1[0-9][0-9]\.[0-9] MiB")

    def test_a_terminal_of_20_columns_and_one_that_changes(self):
        server = self.leaking()
        terminal = self.open(server.pid, columns=20, rows=4)
        terminal.wait_for("Leak +.*MiB")
        terminal.run("resize-window", "-x", "90", "-y", "20")
        terminal.wait_for(r"allocated, .*\n(.*\n)+.*? keys  q quit  Enter callers")
        terminal.run("resize-window", "-x", "20", "-y", "1")
        terminal.wait_for(f"^server {server.pid}: ?func")
        terminal.run("resize-window", "-x", "40", "-y", "5")
        terminal.press("C-c")
        terminal.wait_for("status 0")

    def test_the_recording_ends_with_the_interface(self):
        server = self.start()
        terminal = self.open(server.pid)
        with self.busy(server):
            terminal.wait_for("functions")
        self.assertIn("records", self.allomon("ctl", server.pid, "status").stdout)
        with self.busy(server):
            terminal.press("q")
            terminal.wait_for("status 0")
        self.assertIn("idle", self.allomon("ctl", server.pid, "status").stdout)

    def test_once_and_json_need_no_keys(self):
        server = self.leaking()
        terminal = self.open(server.pid, "--once")
        terminal.wait_for(r"sampled about every(.*\n)+.*status 0")
        top = self.allomon("top", server.pid, "--json")
        self.assertEqual(json.loads(top.stdout)["metric"], "live", top.stderr)
        with open("/dev/full", "w", encoding="utf-8") as full:
            top = subprocess.run(
                [ALLOMON, "top", str(server.pid), "--json"],
                stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False,
            )
        self.assertIn("allomon top: cannot write standard output: No space left", top.stderr)
        self.assertEqual(top.returncode, 2)


if __name__ == "__main__":
    unittest.main()
