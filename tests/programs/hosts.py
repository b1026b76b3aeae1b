"""Runs a real program, plain or with Allomon preloaded, in a directory of its own."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import threading
import time


class HostError(Exception):
    """A program did not do what the campaign needs of it, with or without Allomon."""


class Host:
    """One way to run programs: without Allomon, or preloaded in one mode.

    The profile of every process goes into `directory`/profiles.  Programs under test run as `user`
    if that is not empty, and what they make of `directory` belongs to that user.
    """

    def __init__(self, directory, variables=None, user="", timeout_seconds=600):
        self.directory = directory
        self.timeout_seconds = timeout_seconds
        self.profiles = os.path.join(directory, "profiles")
        self.user = user if os.getuid() == 0 else ""
        os.makedirs(self.profiles)
        os.chmod(directory, 0o755)
        # A program may go on as another user (CPython's test_subprocess, apache's workers).
        os.chmod(self.profiles, 0o777)
        if self.user:
            shutil.chown(directory, self.user)
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": directory,
            "TMPDIR": directory,
            "LC_ALL": "C.UTF-8",
            "PYTHONHASHSEED": "0",
        }
        self.preload = dict(variables or {})
        if self.preload:
            self.preload["ALLOMON_OUT"] = os.path.join(self.profiles, "%p.out")
        self.memory = None
        self._stderr = []
        self._servers = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def file(self, name, text):
        """Writes a file that the program under test may change."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        if self.user:
            shutil.chown(self.path(name), self.user)
        return self.path(name)

    def helper(self, argv, **options):
        """Runs a program that is not under test.  It must succeed.  Returns standard output."""
        status, text, errors = self._run(argv, {}, **options)
        if status != 0:
            raise HostError(f"{argv[0]} ended with {status}: {errors[-300:]}")
        return text

    def run(self, argv, **options):
        """Runs a program under test: (status, standard output)."""
        return self.outcome(argv, **options)[:2]

    def outcome(self, argv, **options):
        """Runs a program under test: (status, standard output, what else it said)."""
        status, text, errors = self._run(argv, self.preload, **options)
        self._stderr.append(errors)
        return status, self.neutral(text), self.neutral(without_ours(errors))

    def start(self, argv):
        """Starts a server under test.  Its standard error goes to a file."""
        with open(self.path("server.stderr"), "a", encoding="utf-8") as log:
            server = subprocess.Popen(  # pylint: disable=consider-using-with
                argv,
                env={**self.environment, **self.preload},
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
                **self._identity(),
            )
        self._servers.append(server)
        return server

    def end(self, server, how=signal.SIGTERM, seconds=120):
        """Asks a server to end.  Returns its status."""
        server.send_signal(how)
        return self.wait(server, seconds)

    def wait(self, server, seconds=120):
        try:
            return server.wait(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise HostError(f"{server.args[0]} did not end in {seconds} s") from error

    def neutral(self, text):
        """The text without the name of this run's directory."""
        return text.replace(self.directory, "DIRECTORY")

    def said(self):
        """All that processes under test wrote to standard error."""
        texts = list(self._stderr)
        log = self.path("server.stderr")
        if os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
        return "".join(texts)

    def complaints(self):
        """Lines of Allomon's, of which none is expected since no summary is asked for, and of the
        loader's where it could not preload."""
        ours = re.compile(r"^allomon: .*$|^ERROR: ld\.so: object .*$", re.MULTILINE)
        return sorted(set(ours.findall(self.said())))

    def remove(self):
        for server in self._servers:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _identity(self):
        if not self.user:
            return {}
        entry = pwd.getpwnam(self.user)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def _run(self, argv, more, *, env=None, cwd=None, timeout=None, **options):
        """(status, standard output, standard error).  Ends the whole session if it takes too
        long."""
        data = options.pop("input", None)
        timeout = timeout or self.timeout_seconds
        with subprocess.Popen(
            argv,
            env={**self.environment, **more, **(env or {})},
            cwd=cwd or self.directory,
            stdin=subprocess.DEVNULL if data is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            **self._identity(),
            **options,
        ) as process:
            try:
                text, errors = process.communicate(data, timeout=timeout)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                raise HostError(f"{argv[0]} did not end in {timeout} s") from error
            return process.returncode, text, errors


def without_ours(errors):
    return re.sub(r"^allomon: .*\n", "", errors, flags=re.MULTILINE)


def wait_for(what, ready, seconds=120):
    """Polls, since the servers have no other way to say that they are up."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise HostError(f"{what} was not ready in {seconds} s")
        time.sleep(0.05)


def wait_for_answer(what, host, argv, server=None, seconds=120):
    """Waits until the command `argv`, which is not under test, succeeds."""

    def answers():
        if server is not None and server.poll() is not None:
            raise HostError(f"{what} ended with {server.returncode}: {host.said()[-300:]}")
        try:
            host.helper(argv)
        except HostError:
            return False
        return True

    wait_for(what, answers, seconds)


# ---- Resident memory and mappings of a server under steady load


class Watch:
    """Resident memory and mappings of a process, looked at once a second until stop()."""

    def __init__(self, pid):
        self.pid = pid
        self.samples = []  # (seconds, resident bytes, mappings)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self):
        self._ended.set()
        self._thread.join()
        return self.samples

    def _look(self):
        start = time.monotonic()
        while not self._ended.wait(1):
            try:
                with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
                    pages = int(file.read().split()[1])
                with open(f"/proc/{self.pid}/maps", encoding="ascii") as file:
                    mappings = sum(1 for _ in file)
            except OSError:
                return
            resident = pages * os.sysconf("SC_PAGE_SIZE")
            self.samples.append((time.monotonic() - start, resident, mappings))


def growth(samples, column):
    """Medians of the second and of the last fifth.  The memory that start-up took is in neither."""
    fifth = len(samples) // 5
    if fifth == 0:
        raise HostError("the server did not live long enough to be watched")
    early = sorted(it[column] for it in samples[fifth : 2 * fifth])[fifth // 2]
    late = sorted(it[column] for it in samples[-fifth:])[fifth // 2]
    return early, late


def memory(host):
    """((resident early, late), (mappings early, late)) of a server, or None."""
    samples = getattr(host, "memory", None)
    return samples and (growth(samples, 1), growth(samples, 2))
