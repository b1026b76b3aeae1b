#!/usr/bin/env python3
"""usage: builds_agree_test.py BUILD_FOLDER

The two builds compile the same files with the same flags: what the BUILD files say of each source
is compared with the commands that CMake ran.  That they make the same code is what the golden files
hold, which both builds are tested against (instructions, imported and exported symbols).
"""

import json
import os
import re
import shlex
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "cmake", "suites"))

import build_files  # pylint: disable=wrong-import-position

PRODUCTS = ("allocator", "runtime", "tools", "tracker")

# Sources of Bazel's build that CMake's has not.
ONLY_BAZEL = r"allocator/backends/system/.*"

# Code of packages, which only CMake makes; Bazel compiles it for its tests.
PACKAGES = r"allocator/old_glibc/.*"

# Flags of CMake's build for more files than the BUILD files say: everything is compiled once, for
# executables and for shared libraries.
EVERYWHERE = {"-fPIC", "-fPIE", "-fno-omit-frame-pointer", "-fno-math-errno"} | {
    "-ftls-model=initial-exec"
}


def of_bazel():
    """source -> options, by the BUILD files."""
    workspace, options = build_files.Workspace(ROOT), {}
    for folder in PRODUCTS:
        for package in workspace.packages_under(folder):
            if package.startswith("tools/workspace"):
                continue
            for rule in workspace.package(package).values():
                for label in rule.labels("srcs") if rule.kind.startswith("cc_") else ():
                    options["/".join(build_files.split(label))] = set(rule.get("copts"))
    return {path: flags for path, flags in options.items() if path.endswith(".cc")}


def of_cmake(build):
    """source -> options of each command that compiles it for users."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    found = {}
    for command in commands:
        path = os.path.relpath(command["file"], ROOT)
        if path.split("/")[0] in PRODUCTS and path.endswith(".cc"):
            if re.fullmatch(PACKAGES, path):
                continue
            words = shlex.split(command["command"])
            if ".objects.dir" not in command["command"]:  # not a test's own copy
                found.setdefault(path, []).append(set(words))
    return found


class BuildsAgree(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.bazel, cls.cmake = of_bazel(), of_cmake(BUILD)

    def test_same_sources(self):
        others = f"{ONLY_BAZEL}|{PACKAGES}"
        bazel = {path for path in self.bazel if not re.fullmatch(others, path)}
        made = {path for path in bazel if not os.path.exists(os.path.join(ROOT, path))}
        self.assertGreater(len(bazel), 200)
        self.assertEqual(sorted(self.cmake), sorted(bazel - made))

    def test_flags_of_bazel_are_in_cmake(self):
        for path, commands in self.cmake.items():
            for words in commands:
                self.assertEqual(self.bazel[path] - words, set(), path)

    def test_flags_of_cmake_are_in_bazel(self):
        for path, commands in self.cmake.items():
            for words in commands:
                flags = {word for word in words if re.match("-[fm]", word)}
                self.assertEqual(flags - EVERYWHERE - self.bazel[path], set(), path)


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
