"""Runs a real program, plain or with Allomon preloaded, and records what became of its memory."""

import glob
import os
import re
import shutil
import subprocess
import threading
import time


class HostError(Exception):
    """A program did not do what the campaign needs of it, with or without Allomon."""


class Host:
    """One way to run programs: without Allomon, or preloaded at one rate.

    The profile of every process goes into `directory`/profiles.  complaints() and count_profiles()
    look there afterwards.
    """

    def __init__(self, name, directory, library=None, rate=None, extra=None):
        self.name = name
        self.directory = directory
        os.makedirs(os.path.join(directory, "profiles"))
        # A host may go on as another user (CPython's test_subprocess does).
        os.chmod(directory, 0o755)
        os.chmod(os.path.join(directory, "profiles"), 0o777)
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": directory,
            "TMPDIR": directory,
            "LC_ALL": "C.UTF-8",
            "PYTHONHASHSEED": "0",
        }
        self.preload = {}
        if library:
            self.preload = {
                "LD_PRELOAD": library,
                "ALLOMON_RATE": rate,
                "ALLOMON_OUT": os.path.join(directory, "profiles", "%p.out"),
                **(extra or {}),
            }
        self.stderr_of_hosts = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def file(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def helper(self, argv, **options):
        """Runs a program that is not under test.  It must succeed."""
        done = self._run(argv, {}, **options)
        if done.returncode != 0:
            raise HostError(f"{argv[0]} ended with {done.returncode}: {done.stderr[-300:]}")
        return done.stdout

    def run(self, argv, **options):
        """Runs a program under test: (status, standard output)."""
        done = self._run(argv, self.preload, **options)
        self.stderr_of_hosts.append(done.stderr)
        return done.returncode, done.stdout

    def start(self, argv, **options):
        """Starts a server under test.  Its standard error goes to a file."""
        log = open(self.path("server.stderr"), "a", encoding="utf-8")  # pylint: disable=R1732
        return subprocess.Popen(
            argv,
            env={**self.environment, **self.preload},
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            **options,
        )

    def complaints(self):
        """Allomon's lines on a host's standard error.  None is expected, since no summary is asked
        for."""
        texts = list(self.stderr_of_hosts)
        for log in glob.glob(self.path("*.stderr")):
            with open(log, encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
        return [it for text in texts for it in re.findall(r"^allomon: .*$", text, re.MULTILINE)]

    def count_profiles(self):
        """Counts the profiles whose last line is there, and those cut off."""
        whole = broken = 0
        for path in glob.glob(self.path("profiles/*.out")):
            with open(path, encoding="ascii") as file:
                text = file.read()
            if text.startswith("MLton prof\n") and text.endswith("\n"):
                whole += 1
            else:
                broken += 1
        return whole, broken

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def _run(self, argv, more, **options):
        options = {"timeout": 3600, "stdin": subprocess.DEVNULL, **options}
        if "input" in options:
            del options["stdin"]
        return subprocess.run(
            argv,
            env={**self.environment, **more, **options.pop("env", {})},
            cwd=options.pop("cwd", self.directory),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            **options,
        )


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


def wait_for(what, ready, seconds=60):
    """Polls, since the servers have no other way to say that they are up."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise HostError(f"{what} was not ready in {seconds} s")
        time.sleep(0.05)
