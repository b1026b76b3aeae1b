#!/usr/bin/env python3
"""bazelw before it starts Bazel: where the clone is, and the compiler that Bazel would take."""

import os
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is

from machine import Machine

CHECK = "tools/setup/check_compiler.sh"


class BazelwTest(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.addCleanup(self.machine.close)

    def compiler(self, name, version, first_line):
        self.machine.has(
            name, f"case $* in *dump*) echo {version};; *) echo '{first_line}';; esac"
        )

    def test_a_path_with_a_space_is_named(self):
        machine = Machine("my clone")
        self.addCleanup(machine.close)
        status, said = machine.run("bazelw", "build", "//...")
        self.assertEqual((1, 1), (status, len(said)), said)
        self.assertIn(f"move this clone from '{machine.root}'", said[0])

    def test_no_argument_is_no_command(self):
        status, said = self.machine.run("bazelw")
        self.assertEqual(2, status)
        self.assertTrue(said[0].startswith("usage: ./bazelw"), said)

    def test_the_first_step_that_fails_ends_the_setup(self):
        status, said = self.machine.run("bazelw", "--setup-only")  # there is no apt-get
        self.assertEqual((1, 1), (status, len(said)), said)
        self.assertFalse(os.path.exists(os.path.join(self.machine.root, ".deps")))

    def test_compilers_that_were_tested_pass(self):
        self.compiler("gcc", "12.2.0", "gcc (Debian 12.2.0-14) 12.2.0")
        self.compiler("clang", "14.0.6", "Debian clang version 14.0.6")
        self.assertEqual((0, []), self.machine.run(CHECK))
        self.assertEqual((0, []), self.machine.run(CHECK, CC="clang"))

    def test_compilers_that_are_too_old_are_named_with_their_versions(self):
        self.compiler("gcc", "9.4.0", "gcc (Somewhere) 9.4.0")
        self.compiler("clang", "13.0.1", "clang version 13.0.1")
        for name in ("gcc", "clang"):
            status, said = self.machine.run(CHECK, CC=name)
            self.assertEqual((1, 1), (status, len(said)), said)
            self.assertIn(f"{name} is version ", said[0])
            self.assertIn("g++ 12 or clang 14", said[0])

    def test_a_compiler_that_is_not_there(self):
        status, said = self.machine.run(CHECK, CC="/nowhere/cc")
        self.assertEqual((1, 1), (status, len(said)), said)
        self.assertIn("'/nowhere/cc' does not run: unset CC", said[0])


if __name__ == "__main__":
    unittest.main()
