"""The parts that the integration tests share: hosts run with Allomon preloaded, and their files."""

import contextlib
import os
import re
import subprocess
import tempfile
import threading
import unittest

# kSigmas of tests/support/statistics.h.  A normal variable goes further out once in 83 million
# draws.  This is the only bound that tests of estimates may use.
SIGMAS = 5.7
# The summary prints a 95 % interval.
SIGMAS_OF_SUMMARY = 1.96

SUMMARY = re.compile(
    r"allomon: (?P<bytes>[0-9,]+) bytes allocated"
    r"(?: \+- (?P<half_width>[0-9,]+) \(95 %\))?"
    r", rate (?P<rate>[-+.e0-9]+) per word, seed (?P<seed>[0-9]+)"
    r"; mlprof (?P<sources>.*)\.sources (?P<path>.*)"
)


def runfile(label):
    """The path of a file that the test's `data` names, such as //tools/mlprof:mlprof."""
    path = label.lstrip("/").replace(":", "/")
    return os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], path)


@contextlib.contextmanager
def meanwhile(step):
    """Takes the step again and again, on another thread, while the block runs."""
    is_over = threading.Event()

    def run():
        while not is_over.is_set():
            step()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def commas(number):
    return int(number.replace(",", ""))


class Summary:
    """The line that a preloaded Allomon prints when its host exits."""

    def __init__(self, match):
        self.bytes = commas(match["bytes"])
        self.sigma = commas(match["half_width"] or "0") / SIGMAS_OF_SUMMARY
        self.rate = float(match["rate"])
        self.path = match["path"]


class Mlmon:
    """An mlmon.out.  For style stack only its first column is read."""

    def __init__(self, path):
        with open(path, encoding="ascii") as file:
            lines = file.read().split("\n")
        assert lines[0] == "MLton prof", lines[0]
        self.kind, self.style = lines[1:3]
        assert lines[-1] == "", "the last line has a newline"
        self.magic = lines[3]
        self.total, self.total_gc = map(int, lines[4].split())
        splits = int(lines[5])
        self.splits = [int(line.split()[0]) for line in lines[6 : 6 + splits]]
        masters = int(lines[6 + splits])
        self.masters = [int(line.split()[0]) for line in lines[7 + splits : -1]]
        assert len(self.splits) == splits and len(self.masters) == masters


class Table:
    """The output of `mlprof -raw true`: the total, and bytes by function."""

    ROW = re.compile(r"(?P<name>.*\S)\s+[0-9.]+%\s+\((?P<raw>[0-9,]+)\)\s*")

    def __init__(self, text):
        lines = text.rstrip("\n").split("\n")
        self.total = commas(re.fullmatch(r"([0-9,]+) bytes allocated.*", lines[0])[1])
        assert len(lines) == 1 or re.fullmatch(r"[- ]+", lines[2]), lines[:3]
        self.raw = {}
        for line in lines[3:]:
            row = self.ROW.fullmatch(line)
            assert row, line
            self.raw[row["name"]] = self.raw.get(row["name"], 0) + commas(row["raw"])


class Case(unittest.TestCase):
    """A test with a directory of its own, in which hosts run."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.directory = os.path.realpath(self.scratch.name)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def files(self):
        return sorted(os.listdir(self.directory))

    def run_plain(self, argv, env=None, **options):
        """Runs a program with next to nothing in its environment."""
        options = {"stdin": subprocess.DEVNULL, "timeout": 240, **options}
        if "input" in options:
            del options["stdin"]
        return subprocess.run(
            argv,
            env={
                "PATH": "/usr/bin:/bin",
                "LC_ALL": "C.UTF-8",
                "HOME": self.directory,
                "PYTHONHASHSEED": "0",
                # From 3.12 on it warns of a fork beside other threads, which hosts here do.
                "PYTHONWARNINGS": "ignore::DeprecationWarning",
                **(env or {}),
            },
            cwd=options.pop("cwd", self.directory),
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE),
            text=True,
            check=False,
            **options,
        )

    def run_preloaded(self, argv, env=None, **options):
        """Runs a program as run_plain() does, with liballomon.so preloaded."""
        preload = {"LD_PRELOAD": runfile("//allocator:liballomon.so"), **(env or {})}
        return self.run_plain(argv, preload, **options)

    def table(self, executable, *mlmon_files, options=("-raw", "true")):
        done = self.run_plain(
            [runfile("//tools/mlprof:mlprof"), *options, executable, *mlmon_files]
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), mlmon_files)
        return Table(done.stdout)

    def assert_cells_sum_up(self, mlmon, table):
        """Each number is rounded to a byte by itself, so the sum of a column may be off by half
        a byte per number."""
        rounding = len(mlmon.splits)
        self.assertLessEqual(abs(sum(mlmon.splits) - mlmon.total), rounding)
        self.assertEqual(mlmon.splits, mlmon.masters)
        self.assertEqual(mlmon.total_gc, 0)
        self.assertEqual(table.total, mlmon.total)
        self.assertEqual(sum(table.raw.values()), sum(mlmon.splits))
        self.assertGreater(mlmon.total, 0)
