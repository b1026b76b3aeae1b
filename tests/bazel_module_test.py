#!/usr/bin/env python3
"""What Bazel 7 and later need of the tree, for those who build with Bazel 4.

MODULE.bazel has the version of the library.  A BUILD file loads its rules, which later ones do not
have built in, and names dependencies as Bazel's registry does: of a user's Abseil and the system's,
a program must have one.  Each name is in the list that ./bazelw writes for Debian's Bazel 7.
"""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
NATIVE = re.compile(r"^ *((?:cc|sh|py)_(?:binary|library|test|import|toolchain))\(", re.MULTILINE)
LOADED = re.compile(r"^load\(([^)]*)\)", re.MULTILINE)


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def build_files():
    """Paths of all that Bazel reads as BUILD files or loads, relative to the root."""
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if not name.startswith((".", "bazel-"))]
        for name in names:
            if name in ("BUILD", "BUILD.bazel") or name.endswith((".BUILD", ".bzl")):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def version_of_allomon(module, pattern):
    found = re.search(pattern, module)
    return found and found.group(1)


def rules_not_loaded(text):
    loaded = set(re.findall(r'"(\w+)"', " ".join(LOADED.findall(text))))
    return sorted(set(NATIVE.findall(text)) - loaded)


class BazelModule(unittest.TestCase):
    def test_the_version_is_the_library_s(self):
        version = re.search(r'"allomon (\S+)"', read("tracker", "formats", "version.h")).group(1)
        module = read("MODULE.bazel")
        self.assertEqual(version_of_allomon(module, r'version = "([^"]*)"'), version)
        for path in ("docs/install.md", "tests/bazel_consumer/workspace/MODULE.bazel"):
            used = version_of_allomon(read(path), r'name = "allomon", version = "([^"]*)"')
            self.assertEqual(used, version, path)

    def test_rules_are_loaded(self):
        files = [path for path in build_files() if "/stand_ins/" not in path]
        self.assertGreater(len(files), 50)
        missing = {path: rules_not_loaded(read(path)) for path in files}
        self.assertEqual({path: rules for path, rules in missing.items() if rules}, {})

    def test_a_rule_that_is_not_loaded_is_found(self):
        self.assertEqual(rules_not_loaded('load("@r//:r.bzl", "cc_test")\ncc_test(\n'), [])
        self.assertEqual(rules_not_loaded('load("@r//:r.bzl", "cc_test")\nsh_test(\n'), ["sh_test"])

    def test_only_stand_ins_take_what_the_registry_has_from_debian(self):
        for path in build_files():
            if "/stand_ins/" not in path and path != "tools/workspace/debian.bzl":
                self.assertNotIn("@debian_stand_ins", read(path), path)
                self.assertNotRegex(read(path), r"@debian//:(absl|gtest|benchmark|nlohmann)", path)

    def test_each_dependency_is_had_without_network(self):
        written = read("tools", "setup", "write_bazelrc.sh")
        for name in re.findall(r'^bazel_dep\(name = "([^"]*)"', read("MODULE.bazel"), re.MULTILINE):
            word = re.sub("^rules_(?!shell)", "", name)
            self.assertRegex(written, rf"\b{re.escape(word)}\b")


if __name__ == "__main__":
    unittest.main()
