#!/usr/bin/env python3
"""tracker/formats/variables.h has all environment variables that any component reads, and no other;
README.md tells of each."""

import os
import re
import unittest

# Beside this file in the source tree, not beside the link to it that Bazel runs.
ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
TABLE = "tracker/formats/variables.h"
COMPONENTS = ["allocator", "runtime", "tools", "tracker"]
LITERAL = re.compile(r'"(ALLOMON_[A-Z][A-Z_]*)"')


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def sources():
    for component in COMPONENTS:
        for folder, _, names in os.walk(os.path.join(ROOT, component)):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if name.endswith((".cc", ".h", ".py", ".sh")) and path != TABLE:
                    yield path


class Variables(unittest.TestCase):
    def test_what_is_read_is_in_the_table_and_nothing_else(self):
        read_by = {}
        for path in sources():
            for name in LITERAL.findall(read(path)):
                read_by.setdefault(name, set()).add(path)
        self.assertEqual(sorted(read_by), sorted(LITERAL.findall(read(TABLE))), read_by)

    def test_readme_tells_of_each(self):
        readme = read("README.md")
        for name in LITERAL.findall(read(TABLE)):
            self.assertIn(f"`{name}", readme)


if __name__ == "__main__":
    unittest.main()
