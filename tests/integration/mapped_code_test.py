#!/usr/bin/env python3
"""Code is what is mapped, not what lies at a path: a table of situations by kinds of profiles.

In each situation the program's files are taken away, exchanged or out of reach while it runs.  Its
functions are named, or named by addresses with a line that says so; they are never called what the
functions of another file are."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, Mlmon, runfile  # noqa: E402

ALLOMON = runfile("//tools/allomon:allomon")
LIBRARY = runfile("//allocator:liballomon.so")
LOADER = "/lib64/ld-linux-x86-64.so.2"
REFUSED = 77  # the host's status when it may not do something
IN_NAMESPACE = ["unshare", "-m", "--propagation", "private", "sh", "-ec"]
NO_PROC = (
    "umount -l /proc && while umount -l /proc 2>&-; do :; done; "
    "if [ -e /proc/self ]; then echo umount: another /proc lies below >&2; exit 1; fi"
)

FUNCTIONS = ("Large", "Small", "Visible")
AMOUNTS = {"Large": 600_000, "Small": 200_000, "Visible": 100_000}

FLAT = ("alloc", "count", "time")
ALL = FLAT + ("recording",)

# What is expected of a cell: all names; those that are exported, and a line; none, and a line.
NAMES, EXPORTED, NONE = "names", "exported names", "no names"


def may_open_what_is_mapped():
    """By the links in /proc/PID/map_files, which takes a capability."""
    try:
        name = os.listdir("/proc/self/map_files")[0]
        os.close(os.open("/proc/self/map_files/" + name, os.O_RDONLY))
        return True
    except OSError:
        return False


def build(name, which="Right"):
    return runfile(f"//tests/integration:{name.format(which)}")


class MappedCode(Case):
    """`self.where` is whose functions are looked at: the program's, or the library's."""

    def setUp(self):
        super().setUp()
        self.where = "Program"
        self.out = self.path("out")

    def place(self, path, which="Right", library=False, mtime=None):
        """Puts a build of the program or the library there as package managers and rsync do, which
        keep its time."""
        path = self.path(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        program = "mapped_code_{}" + "_hooked" * (self.mode == "count")
        shutil.copy(build("libmapped_code_{}.so" if library else program, which), path + ".new")
        os.chmod(path + ".new", 0o755)
        if mtime is not None:
            os.utime(path + ".new", (mtime, mtime))
        os.rename(path + ".new", path)
        return path

    def environment(self):
        env = {"LD_PRELOAD": LIBRARY, "ALLOMON_RATE": "1"}
        if self.mode == "recording":
            return {**env, "ALLOMON_RECORD": self.out}
        return {
            **env,
            "ALLOMON_PROFILE": self.mode,
            "ALLOMON_HZ": "1000",
            "ALLOMON_OUT": self.out,
        }

    def run_host(self, *argv, script=None, at_pause=None, then_report=False):
        """`script`: a shell's, in a mount namespace of its own, before the host is executed."""
        if self.mode == "time":
            actions = argv.index(self.path("host")) + 1 if argv[0] == LOADER else 1
            argv = [*argv[:actions], "spin", *argv[actions:]]
        if script is not None:
            pairs = [f"{name}={value}" for name, value in self.environment().items()]
            script += '\nenv "$@"'
            if then_report and self.mode == "recording":
                script += f"\n{ALLOMON} report --json {self.out} > {self.path('report')}"
            argv = [*IN_NAMESPACE, script, "sh", *pairs, *argv]
        host = subprocess.Popen(
            argv,
            env={"PATH": "/usr/bin:/bin", **(self.environment() if script is None else {})},
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if at_pause is not None and host.stdout.readline() == "ready\n":
            at_pause()
        _, self.said = host.communicate("go\n", timeout=60)
        if host.returncode == REFUSED or re.search(r"^(unshare|mount|umount):", self.said, re.M):
            self.skipTest("NOT TESTED: " + self.said.strip())
        self.assertEqual(host.returncode, 0, self.said)

    def report(self):
        """Where the host was in a namespace of its own, as it is made there."""
        if os.path.exists(self.path("report")):
            return json.loads(self.read("report"))
        done = self.run_plain([ALLOMON, "report", "--json", self.out])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def functions(self):
        """{name: amount} of all functions, the lines that were said, and the program's path."""
        if self.mode == "recording":
            report = self.report()
            rows = {row["function"]: row["self"] for row in report["functions"]}
            return rows, report["notes"], report["program"]
        with open(self.out + ".sources", encoding="utf-8") as script:
            lines = [line.rstrip("\n") for line in script]
        first = next(i for i, line in enumerate(lines) if line.startswith("exec tail"))
        count = int(lines[first + 2])
        names = [line.split("\t")[0] for line in lines[first + 3 : first + 3 + count]]
        rows = dict(zip(names, Mlmon(self.out).masters))
        return rows, self.said.splitlines(), None

    def check(self, expected, file, why=None):
        """`file` has the functions; `why` is a part of the line that says what is missing."""
        rows, lines, program = self.functions()
        named = [f"Right{self.where}{name}" for name in FUNCTIONS]
        with_names = {NAMES: named, EXPORTED: named[2:], NONE: []}[expected]
        about = [line for line in lines if file in line and "functions" in line]
        self.assertFalse([name for name in rows if "Wrong" in name], rows)
        self.assertEqual([name for name in named if name in rows], with_names, (rows, lines))
        if program is not None and self.where == "Program":
            self.assertEqual(os.path.basename(program), file)
        by_address = {n: a for n, a in rows.items() if n.startswith(file + "+0x") and a > 0}
        if expected == NAMES:
            self.assertEqual((by_address, about), ({}, []))
        else:
            self.assertEqual(len(by_address), len(FUNCTIONS) - len(with_names), rows)
            self.assertEqual(len(about), 1, lines)
            self.assertIn(why, about[0])
        if self.mode in ("alloc", "recording"):
            amounts = [rows[n] for n in with_names] + list(by_address.values())
            self.assertEqual(sorted(amounts), sorted(AMOUNTS.values()), rows)

    # The situations.

    def by_the_loader(self):
        self.run_host(LOADER, self.place("host"), "work")
        self.check(NAMES, "host")

    def loader_with_options(self):
        host = self.place("host")
        os.makedirs(self.path("elsewhere"), exist_ok=True)
        argv = [LOADER, "--library-path", self.path("elsewhere"), "--argv0", "daemon", host]
        self.run_host(*argv, "work")
        self.check(NAMES, "host")

    def program_replaced_by_an_older_one(self):
        host = self.place("host")
        self.run_host(
            host, "work", "pause", at_pause=lambda: self.place("host", "Wrong", mtime=1e9)
        )
        recorded = NONE if self.mode == "recording" else NAMES
        self.check(recorded, "host", "has changed since")

    def program_replaced_before_its_first_block(self):
        host = self.place("host")
        self.run_host(
            host, "pause", "work", at_pause=lambda: self.place("host", "Wrong", mtime=1e9)
        )
        recorded = NONE if self.mode == "recording" else NAMES
        self.check(recorded, "host", "has changed since")

    def program_from_the_future(self):
        self.run_host(self.place("host", mtime=4e9), "work")
        self.check(NAMES, "host")

    def program_deleted(self):
        host = self.place("host")
        self.run_host(host, "work", "pause", at_pause=lambda: os.unlink(host))
        recorded = NONE if self.mode == "recording" else NAMES
        self.check(recorded, "host", "is not there any more")

    def program_that_may_not_be_read(self):
        host = self.place("host")
        os.chmod(host, 0o111)
        self.run_host(host, "work", "drop")
        self.check(NAMES if self.mode == "recording" else EXPORTED, "host", "cannot be read")

    def library(self, change, why, *more):
        """The library's file is not its own any more when the process ends."""
        host, library = self.place("host"), self.place("lib.so", library=True)
        if self.mode != "count":  # only what the program was started with has hooks
            self.where = "Library"
        self.run_host(host, "work", "library", library, "pause", *more, at_pause=change(library))
        if self.mode == "count":
            self.check(NAMES, "host")
        elif self.mode == "recording":
            self.check(NONE, "lib.so", why)
        else:
            opens = may_open_what_is_mapped() and not more
            self.check(NAMES if opens else EXPORTED, "lib.so", why)

    def library_unlinked(self):
        self.library(lambda path: lambda: os.unlink(path), "is not there any more")

    def library_unlinked_without_capabilities(self):
        self.library(lambda path: lambda: os.unlink(path), "is not there any more", "drop")

    def library_replaced(self):
        self.library(
            lambda path: lambda: self.place("lib.so", "Wrong", library=True, mtime=1e9),
            "has changed since",
            "drop",
        )

    def library_unlinked_and_unloaded(self):
        host, library = self.place("host"), self.place("lib.so", library=True)
        self.run_host(
            *(host, "work", "library", library, "pause", "unload"),
            at_pause=lambda: os.unlink(library),
        )
        if self.mode == "count":
            return self.check(NAMES, "host")
        self.where = "Library"
        rows, lines, _ = self.functions()
        by_address = [n for n, a in rows.items() if n.startswith("lib.so+0x") and a > 0]
        self.assertEqual(len(by_address), 3, rows)
        self.assertEqual(len([line for line in lines if "is not there any more" in line]), 1, lines)

    def library_of_a_namespace_unloaded(self):
        """Another library comes to lie at its place.  Of what is allocated by the C library of a
        namespace nothing is seen."""
        host, library = self.place("host"), self.place("lib.so", library=True)
        other = self.place("other.so", "Wrong", library=True)
        self.run_host(host, "work", "namespace", library, "unload", "occupy", other)
        self.check(NAMES, "host")
        if self.mode == "time":
            self.where = "Library"
            self.check(NAMES, "lib.so")

    def in_a_jail(self, *more, inside=None, script=None, expected=EXPORTED, why=""):
        """A daemon's: an empty folder, or one with another program at the same path."""
        host = self.place("host")
        jail = self.path("jail")
        os.makedirs(jail + "/proc", exist_ok=True)
        if inside is not None:
            self.place("jail" + host, inside)
        if self.mode != "recording":
            self.out = jail + "/out"
        self.run_host(host, "work", "chroot", jail, *more, script=script)
        self.check(NAMES if self.mode == "recording" else expected, "host", why)

    def changed_root(self):
        self.in_a_jail(why="is not there any more")
        if self.mode in ("alloc", "time"):  # the report is made outside, where the file is
            named = {row["name"] for row in self.report()["functions"]}
            self.assertLessEqual({f"RightProgram{name}" for name in FUNCTIONS}, named)

    def changed_root_and_file_replaced(self):
        self.in_a_jail(why="is not there any more")
        self.place("host", "Wrong", mtime=1e9)
        if self.mode in ("alloc", "time"):
            report = self.report()
            self.assertFalse([row for row in report["functions"] if "Wrong" in row["name"]])
            self.assertRegex(report["notes"][0], "host has changed since; functions without names")

    def changed_root_with_another_program_there(self):
        self.in_a_jail(inside="Wrong", why="has changed since")

    def changed_root_with_proc(self):
        proc = self.path("jail/proc")
        mount = f"mount --rbind /proc {proc}"
        self.in_a_jail("drop", inside="Wrong", script=mount, expected=NAMES)

    def proc_is_unmounted(self):
        self.run_host(self.place("host"), "work", "noproc")
        self.check(NAMES, "host")

    def proc_never_was(self):
        self.run_host(self.place("host"), "work", script=NO_PROC)
        if self.mode == "count":  # nobody says how many threads there are
            return self.assertIn("cannot start: entry hooks", self.said)
        self.check(NAMES, "host")

    def proc_never_was_and_program_replaced(self):
        host = self.place("host")
        self.run_host(
            *(host, "work", "pause"),
            script=NO_PROC,
            at_pause=lambda: self.place("host", "Wrong", mtime=1e9),
        )
        if self.mode == "count":
            return self.assertIn("cannot start: entry hooks", self.said)
        expected = NONE if self.mode == "recording" else EXPORTED
        self.check(expected, "host", "has changed since")

    def in_a_mount_namespace(self):
        """Another file lies at the path outside of it, where the report is made."""
        self.place("outside/host", "Wrong")
        self.place("inside/host")
        host = self.path("outside/host")
        mount = f"mount --bind {self.path('inside')} {self.path('outside')}"
        self.run_host(host, "work", script=mount)
        recorded = NONE if self.mode == "recording" else NAMES
        self.check(recorded, "host", "has changed since")

    def on_an_overlay(self):
        """As in containers; maps have another device there than stat(2)."""
        for folder in ("below", "both"):
            os.makedirs(self.path(folder), exist_ok=True)
        self.place("below/host")
        script = f"""
            mkdir {self.path("above")}
            mount -t tmpfs none {self.path("above")}
            mkdir {self.path("above/upper")} {self.path("above/work")}
            mount -t overlay none {self.path("both")} -o lowerdir={self.path("below")},upperdir=\
{self.path("above/upper")},workdir={self.path("above/work")}"""
        self.run_host(self.path("both/host"), "work", script=script, then_report=True)
        self.check(NAMES, "host")


SITUATIONS = [
    "by_the_loader",
    "loader_with_options",
    "program_replaced_by_an_older_one",
    "program_replaced_before_its_first_block",
    "program_from_the_future",
    "program_deleted",
    "program_that_may_not_be_read",
    "library_unlinked",
    "library_unlinked_without_capabilities",
    "library_replaced",
    "library_unlinked_and_unloaded",
    "library_of_a_namespace_unloaded",
    "changed_root",
    "changed_root_and_file_replaced",
    "changed_root_with_another_program_there",
    "changed_root_with_proc",
    "proc_is_unmounted",
    "proc_never_was",
    "proc_never_was_and_program_replaced",
    "in_a_mount_namespace",
    "on_an_overlay",
]


def cell(situation, mode):
    def test(self):
        self.mode = mode
        getattr(self, situation)()

    return test


for situation_name in SITUATIONS:
    for mode_name in ALL:
        setattr(
            MappedCode, f"test_{situation_name}__{mode_name}", cell(situation_name, mode_name)
        )


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
