#!/usr/bin/env python3
"""All C and C++ sources are as clang-format 14 writes them, by .clang-format.

Other versions break lines elsewhere, so the test looks for that one, and is skipped where it is
not installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

VERSION = "14"
MODULES = ["tracker", "allocator", "runtime", "tools", "examples", "tests", "benchmarks"]
FILES_AT_ONCE = 200


def sources(root):
    for module in MODULES:
        for folder, subfolders, files in os.walk(os.path.join(root, module)):
            subfolders.sort()
            for name in sorted(files):
                if name.endswith((".c", ".cc", ".h")):
                    yield os.path.join(folder, name)


def unformatted(clang_format, root, paths):
    """The lines in which clang-format says what it would change."""
    paths = list(paths)
    found = []
    for at in range(0, len(paths), FILES_AT_ONCE):
        done = subprocess.run(
            [clang_format, "--dry-run", "--style=file", *paths[at : at + FILES_AT_ONCE]],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        found += [line for line in done.stderr.split("\n") if "clang-format-violations" in line]
    return found


class Format(unittest.TestCase):
    def setUp(self):
        self.root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
        self.clang_format = shutil.which(f"clang-format-{VERSION}")
        if self.clang_format is None:
            self.skipTest(f"clang-format-{VERSION} is not installed")

    def test_source_tree(self):
        paths = list(sources(self.root))
        self.assertGreater(len(paths), 1000)
        found = unformatted(self.clang_format, self.root, paths)
        remedy = f"clang-format-{VERSION} -i FILE mends them\n"
        self.assertEqual(found, [], "\n" + remedy + "\n".join(found))

    def test_a_crooked_line_is_found(self):
        with tempfile.TemporaryDirectory() as copy:
            shutil.copy(os.path.join(self.root, ".clang-format"), copy)
            with open(os.path.join(copy, "a.cc"), "w", encoding="utf-8") as source:
                source.write("int   a ;\n")
            self.assertNotEqual(unformatted(self.clang_format, copy, ["a.cc"]), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
