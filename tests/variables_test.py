#!/usr/bin/env python3
"""tracker/formats/variables.h has all environment variables that any component reads, and no other;
docs/environment.md is the page that environment_page.py makes of it."""

import os
import re
import sys
import unittest

# Beside this file in the source tree, not beside the link to it that Bazel runs.
ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import environment_page

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

    def test_page_is_generated(self):
        self.assertEqual(
            read(environment_page.PAGE),
            environment_page.page(),
            "tests/support/environment_page.py --write makes the page anew",
        )

    def test_page_has_each_with_its_values(self):
        page, values = read(environment_page.PAGE), environment_page.values()
        self.assertGreater(len(values), 15)
        for name in LITERAL.findall(read(TABLE)):
            self.assertRegex(page, rf"\n\| (\*\*)?`{name}`(\*\*)? \|", name)
        for name, value in values.items():
            self.assertTrue(value, name)


if __name__ == "__main__":
    unittest.main()
