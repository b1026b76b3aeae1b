#!/usr/bin/env python3
"""Every command and subcommand says what it can do and which version it is, on standard output and
with status 0, and one line about an option that it does not have."""

import os
import re
import subprocess
import sys
import unittest

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
COMMANDS = {
    "allomon": ["tools/allomon/allomon"],
    "allomon run": ["tools/allomon/allomon", "run"],
    "allomon report": ["tools/allomon/allomon", "report"],
    "allomon diff": ["tools/allomon/allomon", "diff"],
    "allomon flame": ["tools/allomon/allomon", "flame"],
    "allomon export": ["tools/allomon/allomon", "export"],
    "allomon list": ["tools/allomon/allomon", "list"],
    "allomon ctl": ["tools/allomon/allomon", "ctl"],
    "allomon top": ["tools/allomon/allomon", "top"],
    "allomon save": ["tools/allomon/allomon", "save"],
    "allomon explain": ["tools/allomon/allomon", "explain"],
    "allomon leaks": ["tools/allomon/allomon", "leaks"],
    "allomon serve": ["tools/allomon/allomon", "serve"],
    "allomon heap": ["tools/allomon/allomon", "heap"],
    "allomon symbols": ["tools/allomon/allomon", "symbols"],
    "allomon gate": ["tools/allomon/allomon", "gate"],
    "allomon help": ["tools/allomon/allomon", "help"],
    "mlprof": ["tools/mlprof/mlprof"],
    "prof": ["tools/prof/prof"],
}


def read(path):
    with open(os.path.join(RUNFILES, path), encoding="utf-8") as file:
        return file.read()


def run(command, *args):
    return subprocess.run(
        [os.path.join(RUNFILES, command[0]), *command[1:], *args],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


class CommandsTest(unittest.TestCase):
    def test_help(self):
        for name, command in COMMANDS.items():
            with self.subTest(name):
                done = run(command, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(done.stdout, f"^usage: {name} ")
                self.assertIn("--", done.stdout)

    def test_help_of_allomon_names_its_commands_and_helps_with_them(self):
        listed = re.findall(r"^  (\w+) ", run(COMMANDS["allomon"], "--help").stdout, re.MULTILINE)
        self.assertEqual(
            [f"allomon {name}" for name in listed],
            [name for name in COMMANDS if name.startswith("allomon ")],
        )
        self.assertGreaterEqual(len(listed), 2)
        for name in listed:
            helped = run(COMMANDS["allomon"], "help", name)
            self.assertEqual(helped.stdout, run(COMMANDS[f"allomon {name}"], "--help").stdout)

    def test_version_is_that_of_the_changelog(self):
        version = re.search('"allomon (.+)"', read("tracker/formats/version.h")).group(1)
        for name, command in COMMANDS.items():
            with self.subTest(name):
                done = run(command, "--version")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, f"{name.split()[0]} {version}\n")
        newest = re.search(r"^## \[(.*?)\]", read("CHANGELOG.md"), re.MULTILINE).group(1)
        if newest == "Unreleased":
            self.assertRegex(version, r"^[0-9]+\.[0-9]+\.[0-9]+-dev$")
        else:
            self.assertEqual(version, newest)

    def test_library_says_its_version_to_strings(self):
        version = run(COMMANDS["allomon"], "--version").stdout.strip()
        with open(os.path.join(RUNFILES, "allocator/liballomon.so"), "rb") as file:
            self.assertTrue(version.encode() + b"\0" in file.read(), version)

    def test_unknown_option_is_one_line(self):
        for name, command in COMMANDS.items():
            with self.subTest(name):
                done = run(command, "--unknown")
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stdout, "")
                self.assertRegex(done.stderr, "^.*--unknown.*(--help|usage: ).*\n$")

    def test_unknown_command_is_one_line(self):
        for args in ["repotr"], ["help", "repotr"], ["repotr", "--help"]:
            done = run(COMMANDS["allomon"], *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, "^allomon: unknown command repotr; did you mean report[?]"
                                          ".*--help.*\n$")

    def test_file_behind_two_dashes_is_no_option(self):
        done = run(COMMANDS["allomon report"], "--", "--version")
        self.assertIn("cannot read --version", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
