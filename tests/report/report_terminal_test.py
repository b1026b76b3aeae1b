#!/usr/bin/env python3
"""Tests the command `allomon report` on a terminal, into a pipe and into files."""

import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
import xml.etree.ElementTree

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
PROGRAM = os.path.join(RUNFILES, "examples/fib_tak")  # answers for its functions itself

# A name with an escape sequence, a wide name, and one that is too long for a narrow terminal.
SOURCES = """#!/bin/sh
exec tail -n +3 "$0"
0x00000001
6
<unknown>
<gc>
<main>
evil\033[2J\033]0;title\a	a.cc: 1
Größe::名前<int>	b&c.cc: 2
{long}::Method	long.cc: 3
6
0 2
1 2
2 2
3 2
4 2
5 2
3
0 
1 

""".format(long="n" * 200)
COUNTS = ["0 0 0", "8 0 8", "0 92 8", "50 60 8", "32 40 0", "10 10 0"]
PROFILE = "\n".join(
    ["MLton prof", "alloc", "stack", "0x00000001", "92 8", "6", *COUNTS, "6", *COUNTS, ""]
)


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("mlmon.out", PROFILE)
        self.write("mlmon.out.sources", SOURCES)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def environment(self, **variables):
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        return {**env, **variables}

    def piped(self, *args, **variables):
        return subprocess.run(
            [ALLOMON, "report", *args],
            cwd=self.folder,
            env=self.environment(**variables),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )

    def on_terminal(self, *args, columns=80, lines=24, **variables):
        """The output of the command, with its standard error, on a terminal of this size."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        with subprocess.Popen(
            [ALLOMON, "report", *args],
            cwd=self.folder,
            env=self.environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=follower,
        ) as child:
            os.close(follower)
            text = b""
            try:
                while chunk := os.read(leader, 65536):
                    text += chunk
            except OSError:
                pass  # Linux reports the end of a terminal as EIO
            os.close(leader)
            self.assertEqual(child.wait(60), 0, text)
        return text.decode("utf-8").replace("\r\n", "\n")

    def assert_only_colours(self, text):
        """The only control sequences are colours and the erasure of the progress line."""
        for piece in text.split("\033")[1:]:
            self.assertRegex(piece, r"^\[(0|1|2|31|32|33)?(m|K)")
        self.assertNotIn("\a", text)

    def test_terminal_gets_colours_and_nothing_else(self):
        text = self.on_terminal()
        self.assertIn("\033[1m", text)
        self.assertIn(r"title\x07", text)
        self.assert_only_colours(text)

    def test_no_color_and_dumb_terminals(self):
        for variables in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
            with self.subTest(variables):
                self.assertNotRegex(self.on_terminal(**variables), "\033\\[[0-9]*m")
        self.assertIn("\033[1m", self.on_terminal(NO_COLOR=""))
        self.assertIn("\033[1m", self.on_terminal("--color=always", NO_COLOR="1"))

    def test_pipe_gets_no_colour_and_no_cuts(self):
        done = self.piped()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("\033", done.stdout)
        self.assertIn("n" * 200 + "::Method", done.stdout)

    def test_other_locales_get_ascii(self):
        done = self.piped("--width=80", LC_ALL="C")
        self.assertTrue(done.stdout.isascii(), done.stdout)
        self.assertIn("Gr\\xf6\\xdfe", done.stdout)

    def test_lines_fit_the_terminal(self):
        for columns in 40, 80, 200:
            with self.subTest(columns):
                text = self.on_terminal("--color=never", columns=columns)
                for line in text.split("\033[K")[-1].split("\n"):
                    # The two wide characters take two columns each.
                    self.assertLessEqual(len(line) + line.count("名") + line.count("前"), columns)
                self.assertIn("::Method", text)

    def test_json_and_csv(self):
        report = json.loads(self.piped("--json").stdout)
        self.assertEqual(report["functions"][1]["name"], "evil\033[2J\033]0;title\a")
        self.assertEqual(sum(f["current"] for f in report["functions"]), 100)
        head = self.piped("--csv").stdout.split("\n")[0]
        self.assertEqual(head, "function,position,current,stack,gc")

    def test_pictures_are_well_formed(self):
        self.write("after.out", PROFILE.replace("92 8", "93 8").replace("50 60 8", "51 61 8"))
        self.write("after.out.sources", SOURCES)
        for args in ["mlmon.out"], ["--diff", "mlmon.out", "after.out"]:
            with self.subTest(args):
                done = self.piped(*args, "--picture", "x.svg")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                root = xml.etree.ElementTree.fromstring(self.read("x.svg"))
                self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
                texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
                self.assertIn("mlmon.out: 92 B allocated", " ".join(texts))
                self.assertIn("]0;title\\x07", " ".join(texts))

    def test_full_disk_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [ALLOMON, "report"],
                cwd=self.folder,
                env=self.environment(),
                stdout=full,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                timeout=60,
            )
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write standard output", done.stderr)

    def test_program_beside_the_profile_runs_only_if_nobody_else_can_write_there(self):
        """A program that somebody puts beside a profile must not be run by a reader of the profile.
        """
        program = os.path.join(self.folder, "prog")
        shutil.copy(PROGRAM, program)
        done = subprocess.run([program], cwd=self.folder, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0)
        os.remove(os.path.join(self.folder, "mlmon.out.sources"))
        for folder_mode, mode, runs in (
            (0o755, 0o755, True),
            (0o777, 0o755, False),
            (0o775, 0o755, False),
            (0o755, 0o757, False),
            (0o755, 0o644, False),
        ):
            os.chmod(self.folder, folder_mode)
            os.chmod(program, mode)
            with self.subTest(folder=oct(folder_mode), program=oct(mode)):
                done = self.piped("mlmon.fib.out")
                if runs:
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertIn("functions by ./prog, found beside the profile", done.stdout)
                else:
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    self.assertIn("there is no mlmon.fib.out.sources", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
