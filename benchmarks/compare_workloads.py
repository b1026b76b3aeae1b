"""The programs that compare.py runs, and how it measures their processor time."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
JSON_ROUND_TRIP = """
import json
data = [{"id": i, "name": str(i), "tags": ["a%d" % (i % 7), "b"], "x": i / 3} for i in range(8000)]
for _ in range(6):
    data = json.loads(json.dumps(data))
"""
SQL = """
create table t(a integer primary key, b text);
create index i on t(b);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
insert into t select i, hex(i * 7919) from n;
select count(*), sum(length(x.b)) from t x join t y on y.b = hex(x.a);
select count(distinct substr(b, 3)) from t;
update t set b = b || a;
"""


@dataclass(frozen=True)
class Workload:
    """One row.  `operations` is 0 for a program that always runs as a whole."""

    name: str
    command: tuple
    operations: int = 0
    in_grid: bool = False
    settings: tuple = ()  # a variable and its value
    without: tuple = ()  # configurations under which it takes minutes

    def can_run(self):
        """False if its program is not installed."""
        return not self.command[0].startswith("/") or os.path.exists(self.command[0])


def grid():
    operations = {16: 12_000_000, 64: 12_000_000, 256: 8_000_000, 4096: 2_000_000}
    for work, title in ("pair", "pair"), ("batch", "batch of 1000"), ("random", "random order"):
        for size, count in operations.items():
            yield Workload(f"{title}, {size} B", (work, str(size)), count, in_grid=True)


START_UP = "start-up, /bin/true"
STARTS = 50
WORKLOADS = [
    *grid(),
    Workload("larson, 2 threads", ("larson",), 12_000_000),
    Workload("xmalloc, 2 threads", ("xmalloc",), 8_000_000),
    Workload("python3 JSON", (PYTHON, "-I", "-c", JSON_ROUND_TRIP)),
    # Python's own allocator of small blocks is off, so that each object is a malloc.
    Workload(
        "python3 JSON, no pymalloc",
        (PYTHON, "-s", "-c", JSON_ROUND_TRIP),
        settings=("PYTHONMALLOC", "malloc"),
        without=("tcmalloc HEAPPROFILE",),
    ),
    Workload("sqlite3 in memory", ("/usr/bin/sqlite3", "-batch", ":memory:", SQL)),
    Workload(START_UP, ("start", str(STARTS))),
]
# The workloads of runtime_compare.py that take a second or less.
MANAGED = ["binary trees 16", "lists", "AVL map", "GCBench 16", "byte strings"]


class RunError(Exception):
    """A program could not be run, or failed.  The message is one line."""


def processor_seconds(command, environment, folder):
    """User and system time of a program and of the children that it waited for."""
    plain = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                env={**plain, **environment},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        except OSError as error:
            raise RunError(f"cannot run {command[0]}: {error.strerror}") from error
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # an interrupt, for example: the program must not go on running
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip().split("\n")[-1]
            name = os.path.basename(command[0])
            raise RunError(f"{name} ended with {process.returncode}: {last}")
    return usage.ru_utime + usage.ru_stime


class Runner:
    """Runs a workload under a configuration; scratch files are removed at once."""

    def __init__(self, program):
        self.program = program

    def _run(self, command, environment):
        with tempfile.TemporaryDirectory() as folder:
            return processor_seconds(command, environment, folder)

    def start_up_seconds(self, environment):
        """The time of a run of our program that does nothing, to be subtracted from other runs."""
        return self._run([self.program, "pair", "64", "0"], environment)

    def seconds(self, workload, environment, divisor):
        """The time of the whole program or, if the workload has operations, of its share."""
        if workload.command[0] == "start":
            # Only /bin/true gets the configuration, not the program that starts it.
            settings = [f"{name}={value}" for name, value in environment.items()]
            return self._run([self.program, *workload.command, *settings], {})
        if not workload.operations:
            own = dict([workload.settings] if workload.settings else [])
            return self._run(list(workload.command), {**environment, **own})
        count = str(workload.operations // divisor)
        return self._run([self.program, *workload.command, count], environment)
